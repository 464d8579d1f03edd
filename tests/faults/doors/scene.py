"""The place of a round: a platform with people, a database, and the programs that are killed."""

from __future__ import annotations

import asyncio
import json
import random
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from askback.domain.hand_over import UNKNOWN
from askback.store.external_access import DatabaseNotFound, DatabaseNotReady, read_snapshot
from askback.store.schema import asks, hand_overs, outbox
from askback.store.url import parse_database_url
from askback_sandbox.model import script
from e2e.ask.office import Office, Process
from e2e.ask.offices import opened
from faults import databases
from support.processes import Launcher

from .frameworks import APPROVED, CLAUDE_TOOL, REGIONS
from .record import Order, Story

HERE = Path(__file__).parents[1]
AGENT, SERVER = HERE / "agent.py", HERE / "server.py"
APPROVE = "Approve"
LOOK_SECONDS = 0.15
WITHIN = 60.0
"""Seconds that any step of a story may take."""
NOTICE = UNKNOWN.partition(",")[0]
PACE = {"ASKBACK_QUESTION_PACE": "0s", "ASKBACK_OPEN_QUESTIONS": "1000"}
RAN = "deployed.jsonl"
"""The file in which the tool of a framework takes effect."""


class Scene:
    """A platform, a database, and people who answer."""

    def __init__(self, office: Office, dice: random.Random, *, with_bot: bool) -> None:
        self.office = office
        self.with_bot = with_bot
        self.dice = dice
        self.where = parse_database_url(office.environment()["ASKBACK_DATABASE_URL"])

    @property
    def to(self) -> str:
        return f"{self.office.platform}:#deploys"

    def script(self, story: Story) -> None:
        """Let the model of a framework that runs a program of its own make the call of a story."""
        deploying = script.turn(script.call(CLAUDE_TOOL, where=story.site))
        self.office.services.model.script(deploying, script.turn("It is deployed."), when=f"Deploy {story.site}.")

    async def start(self, story: Story, call: str, window: str | None = None) -> Process:
        """Start a process that runs the agent of a story, or continues it."""
        order = {"door": story.door, "window": window, "call": call, "to": self.to, "run": story.run}
        order["model"] = self.office.services.url
        return await self.office.start(json.dumps(order | {"site": story.site}), program=AGENT, **PACE)

    def read(self, work: Callable[[Connection], Any], otherwise: Any = None) -> Any:
        """Run `work` on a snapshot of the database. Return `otherwise` while there is none."""
        try:
            return read_snapshot(self.where, work)
        except (DatabaseNotFound, DatabaseNotReady):
            return otherwise

    def list_asks(self, story: Story) -> list[tuple[str, str]]:
        """Return the id and the status of each question of a story."""
        found = select(asks.c.id, asks.c.status).where(asks.c.form.contains(story.site))
        return self.read(lambda connection: [(row[0], row[1]) for row in connection.execute(found)], [])

    def is_settled(self, story: Story) -> bool:
        found = self.list_asks(story)
        return bool(found) and all(status != "open" for _, status in found)

    def list_states(self, story: Story) -> list[str]:
        """Return the state of each hand-over of a story."""
        found = select(hand_overs.c.state).where(hand_overs.c.run == story.run)
        return self.read(lambda connection: [row[0] for row in connection.execute(found)], [])

    def count_unsent(self) -> int:
        """Return the number of notices and cards that wait to be sent."""
        return self.read(lambda connection: len(connection.execute(select(outbox.c.id)).all()), 0)

    def list_cards(self, story: Story) -> list[Any]:
        # The text that people read takes long to draw, so it is drawn for few.
        found = [one for one in self.office.shown() if story.site in repr(one)]
        return [one for one in found if story.site in self.office.reads(one)]

    def count_notices(self, story: Story) -> int:
        """Return the number of notices below the cards of a story."""
        cards = {str(getattr(card, "ts", None) or card.id) for card in self.list_cards(story)}
        notices = [one for one in self.office.shown() if NOTICE in self.office.reads(one)]
        return sum(str(getattr(one, "thread_ts", None) or getattr(one, "reference", None)) in cards for one in notices)

    async def until(self, holds: Callable[[], object], what: str) -> None:
        """Wait until it holds. Raises `TimeoutError`."""
        try:
            async with asyncio.timeout(WITHIN):
                while not holds():  # noqa: ASYNC110 - the database has no event to wait for
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            raise TimeoutError(f"not within {WITHIN:g} s: {what}") from None

    async def answer(self, story: Story, gate: asyncio.Event) -> None:
        """Answer the question of a story once the gate is open, until the database knows it."""
        await gate.wait()
        pressed = ""
        while not self.is_settled(story):
            usable = [one for one in self.list_cards(story) if self.office.list_acting(one)]
            if usable:
                label = self._choose(usable[0])
                pressed = APPROVED if label == APPROVE else label
                if await self.office.press("ada", usable[0], label) and not story.answer:
                    story.answer = pressed
            await asyncio.sleep(LOOK_SECONDS)
        # The bot may have been killed between its commit and the ack.
        story.answer = story.answer or pressed

    def _choose(self, card: Any) -> str:
        labels = [one.label for one in self.office.list_acting(card)]
        return APPROVE if APPROVE in labels else self.dice.choice([one for one in REGIONS if one in labels])


@asynccontextmanager
async def set_scene(order: Order, launcher: Launcher, folder: Path) -> AsyncGenerator[Scene]:
    """Yield a scene with a fresh database."""
    with databases.fresh(order.store, folder) as url:
        async with opened(order.platform, folder, launcher) as office:
            office.settings = {"ASKBACK_DATABASE_URL": url}
            if order.with_bot:
                await office.bot()
            yield Scene(office, random.Random(order.seed), with_bot=order.with_bot)


async def stop(process: Process) -> None:
    """End a process as an operator does."""
    process.signal(signal.SIGTERM)
    await process.ended()


async def within(work: Awaitable[Any], what: str) -> Any:
    """Wait for it. Raises `TimeoutError`."""
    try:
        async with asyncio.timeout(WITHIN):
            return await work
    except TimeoutError:
        raise TimeoutError(f"not within {WITHIN:g} s: {what}") from None
