"""Helpers for two processes on one database: their database rows, and a question that both may see."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import psycopg
import pytest

from askback_sandbox.model.script import Fault, turn

from .driver import ADA, Desk, Talk, asks, line, one, settled, told, turn_of
from .replicas import Office

STALLED = Fault(kind="stall", after=60)
HELD = 1_000_000.0
"""Seconds of a delay that the test itself ends."""
STORY = "It begins here. " + "And then it goes on for a while. " * 14 + "Here it ends."


async def fruit(desk: Desk, *, direct: bool = False) -> Talk:
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("Enjoy it."), when="fruit")
    return await (desk.direct(ADA, "fruit, please") if direct else desk.mention(ADA, "fruit, please"))


def read_revision(office: Office) -> int:
    """Return the revision of the one card that waits to be drawn; 0 if none does."""
    with psycopg.connect(office.database, autocommit=True) as connection:
        found = connection.execute("SELECT revision FROM outbox WHERE kind = 'card'").fetchone()
        return 0 if found is None else found[0]


def lengthen_lease(office: Office, by: timedelta) -> int:
    """Lengthen the lease of the one card that waits to be drawn, and return its revision."""
    microseconds = by // timedelta(microseconds=1)
    with psycopg.connect(office.database, autocommit=True) as connection:
        connection.execute("UPDATE outbox SET leased_until = leased_until + %s WHERE kind = 'card'", [microseconds])
    return read_revision(office)


def is_recorded(office: Office) -> bool:
    """Return True if the database has the card's location."""
    with psycopg.connect(office.database, autocommit=True) as connection:
        found = connection.execute("SELECT 1 FROM asks WHERE messages <> '[]' AND drawn_revision >= revision")
        return found.fetchone() is not None


async def eaten(desk: Desk, talk: Talk, answer: str) -> None:
    """Check that it ends with this answer, once, and without any notice."""
    await settled(desk, talk, answer)
    assert f'"Which fruit?"="{answer}"' in (await turn_of(desk, "fruit", 2)).result
    await line(desk, talk, "Enjoy it.")
    assert (desk.notices(ADA), len(desk.cards(talk)), len(told(desk, "fruit"))) == ((), 1, 2)
    assert len([said for said in desk.lines(talk) if said.text == "Enjoy it."]) == 1


def hold(office: Office, monkeypatch: pytest.MonkeyPatch, seconds: float = HELD) -> asyncio.Event:
    """Let the platforms' delays of that many seconds end when the event is set."""
    released = asyncio.Event()
    clock = office.services.discord.guild.clock
    sleep = clock.sleep
    monkeypatch.setattr(clock, "sleep", lambda length: released.wait() if length == seconds else sleep(length))
    return released
