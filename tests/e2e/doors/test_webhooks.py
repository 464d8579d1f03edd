"""Webhooks of `askback serve`: the program learns the outcome without waiting, at least once."""

from __future__ import annotations

from e2e.ask.office import Office
from support.webhook_receiver import SECRET, is_signed, receiving

from .http_caller import FIRST, QUESTION, HttpCaller, caller, serve, write_callers
from .test_waiting import run


def allow(office: Office, *urls: str, more: str = "") -> None:
    """Write the file of the callers, of which the first may name these webhooks."""
    write_callers(office, first=f'webhooks = {[*urls]}\nwebhook_secret = "{SECRET}"\n{more}')


async def test_the_outcome_is_sent_once_and_signed_when_people_have_answered(stored_office: Office) -> None:
    office = stored_office
    async with receiving() as receiver:
        allow(office, receiver.url)
        async with caller(office, file=office.folder / "callers.toml") as one:
            asked = await one.ask(**QUESTION, webhook=receiver.url + "42?token=t")
            found = await one.get(asked["id"])
            (state,) = found["webhooks"]
            assert (state["state"], state["attempts"], state["url"]) == ("pending", 0, receiver.url + "42")
            await office.click("ada", "Yes")
            await office.until(lambda: receiver.received)
            (attempt,) = receiver.received
            assert is_signed(attempt)
            assert attempt.headers["content-type"] == "application/json"
            found = await one.get(asked["id"])
            (state,) = found.pop("webhooks")
            assert attempt.document == found
            assert (attempt.document["answer"], attempt.id) == ("Yes", state["id"])
