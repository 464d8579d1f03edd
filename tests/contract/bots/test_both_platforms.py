"""A process for each platform, on one database: each serves its own platform and leaves the other's work alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from askback_sandbox.model.script import Fault, turn
from support.processes import Launcher

from .driver import ADA, Desk, Talk, asks, card, line, one, settled, told, turn_of
from .replicas import Office, open_offices

STALLED = Fault(kind="stall", after=60)
STORY = "It begins here. " + "And then it goes on for a while. " * 14 + "Here it ends."
STALE_SECONDS = 6.0
"""Seconds within which a process takes over from another one of its platform."""


@pytest.fixture
async def offices(tmp_path: Path, postgres_url: str, launcher: Launcher) -> AsyncIterator[dict[str, Office]]:
    async with open_offices(tmp_path, postgres_url, launcher) as opened:
        yield opened


@pytest.fixture
async def office(platform: str, offices: dict[str, Office]) -> Office:
    """The office of the platform under test; no process runs there yet."""
    return offices[platform]


@pytest.fixture
async def other(platform: str, offices: dict[str, Office]) -> AsyncIterator[Office]:
    """The office of another platform; its one process must not be disturbed by the first."""
    (name,) = set(offices) - {platform}
    await offices[name].start()
    yield offices[name]
    (replica,) = offices[name].replicas
    assert not replica.is_gone
    for grade in (" WARNING ", " ERROR ", "Traceback"):
        assert grade not in replica.said, replica.said


async def fruit(desk: Desk) -> Talk:
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("Enjoy it."), when="fruit")
    return await desk.mention(ADA, "fruit, please")


async def eaten(desk: Desk, talk: Talk) -> None:
    await desk.press(ADA, await card(desk, talk, "Which fruit?"), "Pear")
    await settled(desk, talk, "Pear")
    assert '"Which fruit?"="Pear"' in (await turn_of(desk, "fruit", 2)).result
    await line(desk, talk, "Enjoy it.")
    assert (desk.notices(ADA), len(desk.cards(talk)), len(told(desk, "fruit"))) == ((), 1, 2)


@pytest.mark.usefixtures("other")
async def test_a_conversation_goes_on_beside_a_process_of_another_platform(office: Office) -> None:
    await office.start()
    began = time.monotonic()
    await eaten(office.desk, await fruit(office.desk))
    print(f"over after {time.monotonic() - began:.1f} s")


@pytest.mark.usefixtures("other")
async def test_what_one_that_was_killed_left_is_its_platforms_alone(office: Office) -> None:
    desk = office.desk
    killed = await office.start()
    talk = await fruit(desk)
    await card(desk, talk, "Which fruit?")
    desk.model.script(turn(STORY, STALLED), when="story")  # the second request gets the full text
    story = await desk.mention(ADA, "a story, please")
    await line(desk, story, "It begins")
    await killed.kill()
    await asyncio.sleep(STALE_SECONDS)
    assert len(told(desk, "story")) == 1
    began = time.monotonic()
    await office.start()
    await line(desk, story, "Here it ends.")
    print(f"taken over {time.monotonic() - began:.1f} s after the start")
    await eaten(desk, talk)
    assert len([said for said in desk.lines(story) if "It begins" in said.text]) == 1
