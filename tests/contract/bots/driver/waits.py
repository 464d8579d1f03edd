"""Waits for what people see: cards, messages and notices."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from sqlalchemy import Connection, text

from support.clocks import DrivenTime

from .desk import Desk
from .values import WITHIN, Card, Line, Talk

T = TypeVar("T")


async def until(condition: Callable[[], T | None], what: str, *, within: float = WITHIN, every: float = 0.005) -> T:
    """Return the condition's first value that is not None, False or empty; fail after `within` seconds."""
    end = time.monotonic() + within
    while True:
        found = condition()
        if found is not None and found is not False and found not in ((), [], ""):
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not within {within:g} s: {what}")
        await asyncio.sleep(every)


def pass_time(desk: Desk, driven: DrivenTime, *, hours: float) -> None:
    """Let this time pass for the bot and its platform."""
    driven.advance(hours * 3600)
    desk.host.wake()


async def card(desk: Desk, talk: Talk, showing: str = "", *, without: str | None = None) -> Card:
    """Return the newest card with something to decide that shows this text."""

    def live() -> Card | None:
        for one in reversed(desk.cards(talk)):
            if one.is_live and showing in one.shown and (without is None or without not in one.shown):
                return one
        return None

    try:
        return await until(live, f"a live card with {showing!r}")
    except AssertionError as error:
        raise AssertionError(f"{error}; there is:\n{transcript(desk, talk)}") from None


async def settled(desk: Desk, talk: Talk, showing: str = "") -> Card:
    """Return the newest card with nothing left to decide that shows this text."""

    def over() -> Card | None:
        return next((one for one in reversed(desk.cards(talk)) if not one.is_live and showing in one.text), None)

    try:
        return await until(over, f"a settled card with {showing!r}")
    except AssertionError as error:
        raise AssertionError(f"{error}; there is:\n{transcript(desk, talk)}") from None


async def line(desk: Desk, talk: Talk, text: str) -> Line:
    """Return a message of the bot that contains the text."""

    def said() -> Line | None:
        return next((one for one in desk.lines(talk) if one.bot and not one.card and text in one.text), None)

    try:
        return await until(said, f"the bot says {text!r}")
    except AssertionError as error:
        raise AssertionError(f"{error}; there is:\n{transcript(desk, talk)}") from None


async def notice(desk: Desk, person: str, text: str, *, count: int = 1) -> str:
    """Return the newest ephemeral notice; check that there are `count` in all, and that it contains the text."""

    def told() -> str | None:
        notices = desk.notices(person)
        return notices[-1] if len(notices) >= count else None

    newest = await until(told, f"{count} private notices for {person}, there is {desk.notices(person)}")
    assert len(desk.notices(person)) == count, desk.notices(person)
    assert text in newest, newest
    return newest


async def delivered(desk: Desk) -> None:
    """Wait until there is nothing left to deliver."""
    async with asyncio.timeout(WITHIN):
        while await desk.host.store.get_time_until_due() is not None:  # noqa: ASYNC110 - only the store knows
            await asyncio.sleep(0.02)


def transcript(desk: Desk, talk: Talk) -> str:
    lines = [f"{'·' if one.card else ' '} {one.author}: {one.text}" for one in desk.lines(talk)]
    lines += [f"! {record.getMessage()}" for record in desk.journal.records if record.levelno >= logging.WARNING]
    return "\n".join(lines)


async def gather(*work: Awaitable[T]) -> list[T]:
    return list(await asyncio.gather(*work))


async def kept(desk: Desk, said: str) -> None:
    """Wait until a message with these words is in the database."""

    def there(connection: Connection) -> bool:
        return connection.execute(text("SELECT 1 FROM inbox WHERE text = :said"), {"said": said}).first() is not None

    while not await desk.host.store._database.read(there):  # noqa: ASYNC110 - only the store knows
        await asyncio.sleep(0.01)


async def at_rest(desk: Desk, talk: Talk) -> None:
    """Wait until the platform shows no work of the bot."""
    await until(lambda: desk.mood(talk) is None, "nothing says any more that the bot works")
