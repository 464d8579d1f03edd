"""A caller of a door names the moment until which its question is open. The operator's limit still applies."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from askback.doors.call_question import Unanswered
from askback.errors import CallerError
from e2e.ask.office import OPTIONS, Office

from .ask_script import ask
from .client import agent
from .graphs import asking
from .http_caller import QUESTION, caller, serve, write_callers
from .langgraph_programs import door

LATE = datetime.now(UTC).replace(microsecond=0) + timedelta(days=40)
PAST = "2026-01-05T09:00:00+01:00"
WRONG = [
    (PAST, "The deadline 2026-01-05T08:00:00Z has passed, so nobody was asked: give a later moment."),
    ("2027-01-05T09:00:00", "deadline: has no offset, so it depends on the time zone: add one, such as"),
    ("2099-01-05T09:00:00Z", "deadline: is too late: give a moment within the next ten years"),
    ("0001-01-01T00:00:00+10:00", "deadline: has passed"),
    ("9999-12-31T23:59:59-10:00", "deadline: is too late"),
    ("2h", "deadline: is not a moment: give the date and the time, such as 2026-12-01T17:00:00+01:00"),
]


def after(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


async def test_a_program_gives_a_deadline_over_http(office: Office) -> None:
    async with caller(office) as one:
        found = await one.ask(**QUESTION, deadline=LATE.astimezone().isoformat())
        assert datetime.fromisoformat(found["deadline"]) == LATE
        assert f"until {LATE:%Y-%m-%d %H:%M} UTC. Its id is" in found["message"]
        (listed,) = (await one.request("GET", "/v1/asks"))[1]["asks"]
        assert datetime.fromisoformat(listed["deadline"]) == LATE
        for given, words in WRONG:
            said = await one.problem(422, "POST", "/v1/asks", json={"question": "Deploy 1.5?", "deadline": given})
            assert words in said
        both = {"question": "Deploy 1.5?", "deadline": LATE.isoformat(), "timeout": 60}
        assert "leave out one of them" in await one.problem(422, "POST", "/v1/asks", json=both)
    assert len(office.shown()) == 1


async def test_the_same_request_finds_its_outcome_after_the_deadline(office: Office) -> None:
    # What is left of the time must not change which question it is.
    file = write_callers(office, first='escalate = { 3s = "@ben" }\nremind = "3s"')
    async with caller(office, file=file) as one:
        given = QUESTION | {"deadline": after(5)}
        first = await one.ask(wait=20, key="k", **given)
        assert first["status"] == "timed_out"
        assert await one.ask(key="k", **given) == first
        assert "has passed" in await one.problem(422, "POST", "/v1/asks", json=given)


async def test_the_operators_limit_ends_a_question_before_its_deadline(office: Office) -> None:
    async with caller(office, file=write_callers(office, first='wait = "1s"')) as one:
        assert (await one.ask(wait=20, **QUESTION, deadline=LATE.isoformat()))["status"] == "timed_out"


DEFAULT = {"question": "Where?", "options": ["Staging", "Production"], "on_timeout": "default", "default": "Staging"}


async def test_a_default_without_a_deadline_is_refused_with_the_fields_of_the_caller(office: Office) -> None:
    needs = "on_timeout “default” needs a deadline, and this question has none. Give"
    async with caller(office) as one:
        said = await one.problem(422, "POST", "/v1/asks", json=DEFAULT)
        assert f"{needs} `timeout` in seconds, or a moment as `deadline`." in said
        assert (await one.ask(**DEFAULT, timeout=60))["status"] == "open"
    async with agent(office) as one:
        assert f"{needs} `deadline` a moment, such as 2026-12-01T17:00:00+01:00." in await one.error("ask", **DEFAULT)
    assert len(office.shown()) == 1


async def test_an_agent_gives_a_deadline(office: Office) -> None:
    async with agent(office, "--call-wait", "1s") as one:
        found = await one.call("ask", question="Deploy 1.4.2?", options=["Yes", "No"], deadline=LATE.isoformat())
        assert datetime.fromisoformat(found["deadline"]) == LATE
        assert f"until {LATE:%Y-%m-%d %H:%M} UTC. Its id is" in found["message"]
        for given, words in WRONG:
            assert words in await one.error("ask", question="Deploy 1.5?", deadline=given)
    assert len(office.shown()) == 1


async def test_a_run_that_is_resumed_after_the_moment_gets_the_outcome_and_asks_nobody_again(here: Office) -> None:
    moment = datetime.now(UTC) + timedelta(seconds=3)
    async with asking(here.folder, "Which version?") as graph:
        async with door(here, graph, wait=moment, remind="1s") as one:
            with pytest.raises(Unanswered) as caught:
                await one.run({}, "thread")
        assert caught.value.outcome.at >= moment
        async with door(here, graph, wait=moment) as other:
            with pytest.raises(CallerError, match="has passed, so nobody was asked: give a later moment"):
                await other.resume("thread")
    assert len(here.shown()) <= 2, "the card, and its reminder"


async def test_a_script_that_asks_through_a_server_reads_until_when(office: Office) -> None:
    _, address = await serve(office)
    asking = await ask(office, address, "Deploy 1.4.2?", *OPTIONS, "--wait", f"{LATE:%Y-%m-%d %H:%M}", TZ="UTC")
    await asking.said(f"Asked in #deploys until {LATE:%Y-%m-%d %H:%M} UTC. To wait for the answer again")
    refused = await (await ask(office, address, "Deploy 1.5?", "--wait", PAST)).refused()
    assert "The deadline 2026-01-05T08:00:00Z has passed" in refused
