"""A pipeline in parallel with a bot of the same app on another database: every click gets a true answer."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from .office import WITHIN, Office, Process

PATIENCE = 2.0
"""Seconds after which a person whose click changed nothing clicks again."""
UNTRUE = "changed nothing"
PEOPLE = ("ada", "ben", "cy")


async def beside_a_bot(office: Office, *arguments: str) -> Process:
    """Start a pipeline that asks, and a bot that does not know its question; both receive all events."""
    await office.bot()
    office.settings = {"ASKBACK_DATABASE_URL": str(office.folder / "pipeline.db")}
    asked = await office.ask(*arguments)
    await office.connected(2)
    return asked


async def voted(office: Office, person: str, reads: str) -> None:
    """Click until the card shows this; the vote counts once, even if the wrong process gets some clicks."""

    def counted() -> bool:
        return any(reads in office.reads(one) for one in office.shown())

    async with asyncio.timeout(WITHIN):
        while not counted():
            told = len(office.private())
            assert await office.press(person, await office.card(), "Yes")
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await office.until(lambda told=told: counted() or len(office.private()) > told)
            assert all("click again" in words for words in office.private()[told:])


async def test_a_click_that_another_database_counts_is_never_told_otherwise(office: Office) -> None:
    asked = await beside_a_bot(office, "--quorum", "3")
    for person, reads in zip(PEOPLE, ("1 of 3 agree", "2 of 3 agree", "Approved"), strict=True):
        await voted(office, person, reads)
    outcome = await asked.outcome()
    assert len(outcome["votes"]) == len(PEOPLE)
    assert not any(UNTRUE in words for words in office.private()), office.private()
    # Slack sends each click to one of the two. On Discord both receive it, and the one that knows it answers.
    assert bool(office.private()) == (office.platform == "slack"), office.private()
