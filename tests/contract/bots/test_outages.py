"""An hour without the platform loses nothing: each text, card, settlement and notice is delivered once, in order.

The platform answers 500, or 429 with Retry-After: 3600, or nothing at all, or executes calls and loses the answers. Or
a proxy answers in its place, with a page, with nothing, or with half of the platform's own answer.
The test controls the time; only the platform's state shows the deliveries.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from askback_discord import api_calls
from askback_sandbox.model.script import turn
from askback_slack import app
from support.clocks import DrivenTime
from support.engine import eventually
from support.outage import DONE, KINDS, End, of_discord, of_slack

from .conftest import PLATFORMS
from .driver import (
    ADA,
    BEN,
    Desk,
    Talk,
    asks,
    card,
    form_of,
    line,
    notice,
    one,
    program_asks,
    settled,
    transcript,
    turn_of,
    until,
)

SHORT, LONG = 300, 7200
"""Seconds of an outage."""
LINES_A_MINUTE = 20


OUTAGES = [
    (kind, ("sqlite", "postgres")[number % 2], (SHORT, LONG)[number // 2 % 2]) for number, kind in enumerate(KINDS)
]
"""Each kind meets each platform. Stores and lengths take turns, so that each platform meets all four pairs of them."""


def outage(desk: Any, kind: str) -> End:
    """Make every call of the platform's API fail that way."""
    if desk.platform == "slack":
        return of_slack(desk.workspace.faults, kind)
    return of_discord(desk.guild.faults, kind)


@pytest.fixture
def driven(request: pytest.FixtureRequest, stored: str, monkeypatch: pytest.MonkeyPatch) -> DrivenTime:
    monkeypatch.setattr(app, "CALL_SECONDS", 0.4)
    monkeypatch.setattr(api_calls, "CALL_SECONDS", 0.4, raising=False)
    return DrivenTime(monkeypatch, request.getfixturevalue("postgres_url") if stored == "postgres" else None)


@pytest.fixture
async def here(
    request: pytest.FixtureRequest,
    platform: str,
    stored: str,
    driven: DrivenTime,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Desk]:
    url = request.getfixturevalue("postgres_url") if stored == "postgres" else None
    logging.getLogger("askback").setLevel(logging.DEBUG)
    async with PLATFORMS[platform].open_desk(tmp_path, monkeypatch, database=url) as opened:  # type: ignore[call-arg]
        yield opened


def tries(desk: Desk) -> int:
    return desk.journal.actions().count("delivery_later")


async def time_passes(desk: Desk, driven: DrivenTime, seconds: float) -> None:
    """Advance the time during the outage; due deliveries are tried."""
    for _ in range(10):
        before = tries(desk)
        driven.advance(seconds / 10)
        desk.host.wake()
        # While the platform counts as down, only some of the due deliveries are tried.
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                while tries(desk) == before and await is_due(desk):  # noqa: ASYNC110 - only the database knows
                    await asyncio.sleep(0.01)


async def is_due(desk: Desk) -> bool:
    due = await desk.host.store.get_time_until_due()
    return due is not None and due.total_seconds() <= 0


async def all_delivered(desk: Desk, driven: DrivenTime) -> None:
    """Advance the time until there is nothing left to deliver."""
    async with asyncio.timeout(60):
        while (due := await desk.host.store.get_time_until_due()) is not None:
            driven.advance(max(due.total_seconds(), 31.0))
            desk.host.wake()
            await asyncio.sleep(0.05)


def said(desk: Desk, talk: Talk) -> list[str]:
    return [("card " if one.card else "") + one.text for one in desk.lines(talk) if one.bot]


@pytest.mark.timeout(240)
@pytest.mark.parametrize(("kind", "stored", "length"), OUTAGES, indirect=["stored"])
async def test_an_outage_delivers_everything_once_and_in_order_when_it_is_over(
    here: Desk, driven: DrivenTime, kind: str, length: int
) -> None:
    desk = here
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it."), when="fruit")
    desk.model.script(
        turn("Ready."), turn("First."), turn("Second."), turn(asks(one("Which colour?", "Red", "Blue"))), turn("Done."),
        when="begin",
    )  # fmt: skip
    desk.model.script(turn("Hello to you."), when="hello")
    fruit = await desk.mention(ADA, "fruit, please")
    await card(desk, fruit)
    talk = await desk.mention(ADA, "begin")
    await line(desk, talk, "Ready.")
    (ask,) = await desk.host.manager.list_open_asks()

    over = outage(desk, kind)
    lines = len([one for one in desk.journal.records if one.levelno >= logging.WARNING])
    assert await desk.host.manager.cancel(ask.id, reason="It is too late.")
    await desk.say(ADA, "one", talk)
    await turn_of(desk, "begin", 2)
    await desk.say(ADA, "two", talk)
    await turn_of(desk, "begin", 3)
    await desk.say(ADA, "ask", talk)
    await turn_of(desk, "begin", 4)
    await eventually(desk.host.manager.list_open_asks)
    await desk.say(BEN, "hm", talk)
    hello = await desk.mention(ADA, "hello")
    await turn_of(desk, "hello", 1)
    async with (
        program_asks(desk, fruit, form_of("Soon?", ["Yes", "No"]), timeout=120.0) as soon,
        program_asks(desk, fruit, form_of("Go?", ["Yes", "No"])) as asking,
    ):
        await time_passes(desk, driven, length)
        assert not asking.task.done()
        told = len([one for one in desk.journal.records if one.levelno >= logging.WARNING]) - lines
        assert told <= LINES_A_MINUTE * length / 60
        over()
        await all_delivered(desk, driven)

        assert "delivery_rejected" not in desk.journal.actions(), transcript(desk, talk)
        texts = said(desk, talk)
        assert [text.split(".")[0] for text in texts[:3]] == ["Ready", "First", "Second"], transcript(desk, talk)
        assert [text.startswith("card") for text in texts[3:]] == [True, False], transcript(desk, talk)
        assert "Got it." in texts[4]
        shown = await settled(desk, fruit, "Which fruit?")
        assert "It is too late." in shown.text or "cancelled" in shown.text.casefold()
        assert [text for text in said(desk, fruit) if not text.startswith("card")] == ["So be it."]
        assert said(desk, hello) == ["Hello to you."]
        assert (await soon.outcome()).status == "timed_out"
        late = [one for one in desk.cards(fruit) if "Soon?" in one.text]
        # If only the answer to its post was lost, the card may be there, but without controls.
        assert len(late) <= (kind in DONE)
        assert not any(one.is_live for one in late)
        assert len(desk.cards(fruit)) == 2 + len(late)
        await desk.press(ADA, await card(desk, fruit, "Go?"), "Yes")
        assert (await asking.outcome()).status == "answered"
    await desk.press(ADA, await card(desk, talk, "Which colour?"), "Red")
    await line(desk, talk, "Done.")
    assert len(desk.cards(talk)) == 1


@pytest.mark.one_store("the notice is not stored")
@pytest.mark.only("slack", reason="Discord shows a notice with the ack, or neither")
@pytest.mark.parametrize("kind", ["500", "429", "silent", "page", "blocked"])
async def test_a_notice_about_a_click_is_shown_after_a_short_outage(here: Desk, kind: str) -> None:
    desk = here
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it."), when="fruit")
    shown = await card(desk, await desk.mention(ADA, "fruit, please"))
    over = outage(desk, kind)
    await desk.press(BEN, shown, "Pear")
    await eventually_logged(desk, "notice_rejected")
    assert desk.notices(BEN) == ()
    over()
    await notice(desk, BEN, "can answer")


async def eventually_logged(desk: Desk, action: str) -> None:
    await until(lambda: action in desk.journal.actions(), f"{action} is logged")
