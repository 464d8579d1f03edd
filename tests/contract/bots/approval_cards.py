"""Decisions of several people: their form, rules, people and place."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval
from askback.domain.form import Form
from askback.domain.who import Who
from askback.internal import clock

from .driver import CY, GROUPS, WITHIN, Desk, Talk, form_of

PROMPT = "Deploy 1.4.2?"
YES, NO = "v0", "v1"


def deploy(prompt: str = PROMPT, **more: Any) -> Form:
    return form_of(prompt, ["Yes", "No"], allow_custom=False, **more)


def approval(**more: Any) -> Approval:
    return Approval(refusing=(NO,), **{"quorum": 2, **more})


def those(desk: Desk, *people: str, group: bool = False) -> Who:
    return Who(people=tuple(map(desk.actor, people)), groups=(GROUPS[desk.platform],) if group else ())


async def place(desk: Desk) -> Talk:
    return await desk.thread(CY, "It is release day.")


async def later(desk: Desk, monkeypatch: pytest.MonkeyPatch, seconds: float, *asks: Ask) -> None:
    """Do at once everything that is due within `seconds`, even on a busy machine."""
    asks = asks or await desk.host.manager.list_open_asks()
    await asyncio.gather(*(stands(desk, ask) for ask in asks))
    with monkeypatch.context() as patch:
        now = clock.now
        patch.setattr(clock, "now", lambda: now() + round(seconds * clock.SECOND))
        for ask in asks:
            await desk.host.manager.deadlines.apply(ask.id)
    # Back in the present, everything that was queued then is due.
    await desk.host.store.repair_due_times()
    desk.host.wake()


async def stands(desk: Desk, ask: Ask) -> None:
    """Wait until the card's location is stored; reminders require a card that people can see."""
    async with asyncio.timeout(WITHIN):
        while (newest := await desk.host.manager.get(ask.id)) is None or not newest.messages:  # noqa: ASYNC110 - only the store knows
            await asyncio.sleep(0.005)


def mentions(desk: Desk, person: str) -> int:
    """Return how often the bot has mentioned this person."""
    return sum(desk.actor(person).id in ping for ping in desk.pings())
