"""A text that was saved with the next turn proves that the agent took the outcomes of the turn before it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from askback.domain.hand_over import KNOWN, UNKNOWN
from askback.doors.hand_over import HandOvers, NotClaimed, OutcomeUnknown
from askback.store.url import parse_database_url
from e2e.ask.office import Office
from support.optional import optional

from . import agents, openai_shop
from .environment import settle_in

TESTS = Path(__file__).parents[2]
PROGRAM = """
import asyncio, sys
from pathlib import Path

sys.path.insert(0, {tests!r})
from askback.store.queries import hand_overs
from e2e.doors.{module} import Shop, door

hand_overs.CLAIM_SECONDS = 1.0

async def main():
    shop = Shop(Path("."), [{deploy!r}], later=[{ask!r}], dies="after the save")
    async with door(shop, "{platform}:#deploys") as one:
        await one.run("Deploy!", "talk")

asyncio.run(main())
"""
DEPLOY = ("deploy", {"where": "eu"})
INTERRUPTED, FINISHED = UNKNOWN.partition(",")[0], KNOWN.partition(":")[0]


@pytest.fixture(params=[agents, openai_shop], ids=["pydantic-ai", "openai-agents"])
def framework(request: pytest.FixtureRequest) -> ModuleType:
    optional("pydantic_ai" if request.param is agents else "agents")
    return request.param


class Run:
    """A run whose process is killed after it saved the second turn, and before it acknowledged the first."""

    def __init__(self, office: Office, framework: ModuleType) -> None:
        self.office = office
        self.framework = framework
        self.name = "pydantic-ai" if framework is agents else "openai-agents"
        self.ask = ("ask_person" if framework is agents else "ask_people", {"question": "Which region?"})
        self.first = self.second = ""
        """The text that was saved with each turn."""

    async def die(self) -> None:
        office = self.office
        file = office.folder / "program.py"
        given = {"tests": str(TESTS), "module": self.framework.__name__.rpartition(".")[2], "platform": office.platform}
        file.write_text(PROGRAM.format(**given, deploy=DEPLOY, ask=self.ask), encoding="utf-8")
        process = await office.start(program=file, ASKBACK_QUESTION_PACE="0s")
        await office.card("Run deploy?")
        self.first = self.saved()
        await office.click("ada", "Approve", "Run deploy?")
        await process.ended()
        self.second = self.saved()
        assert self.second != self.first

    def open(self) -> tuple[Any, Any]:
        """Return the same agent in this process, and its door."""
        shop = self.framework.Shop(self.office.folder, [DEPLOY], later=[self.ask])
        return shop, self.framework.door(shop, f"{self.office.platform}:#deploys")

    def saved(self, conversation: str = "talk") -> str:
        return (self.office.folder / f"{conversation}.json").read_text(encoding="utf-8")

    async def read_state(self, conversation: str = "talk") -> str:
        """Return the state of the first turn's hand-over, after lost claims were marked as unknown."""
        where = parse_database_url(self.office.environment()["ASKBACK_DATABASE_URL"])
        found = await HandOvers(where).list_of_run(self.name, conversation)
        return next(one.state for one in found if one.id.call == "call-0")

    async def learn_unknown(self, door: Any) -> None:
        """Resume the text of the first turn until people have read that its outcome is unknown."""
        while True:
            try:
                await door.resume("talk", self.first)
            except NotClaimed as error:
                assert error.result == "taken"  # noqa: PT017
                await asyncio.sleep(0.2)
            except OutcomeUnknown:
                break
        await self.office.until(lambda: INTERRUPTED in self.office.picture())

    def count(self, words: str) -> int:
        """Return the number of messages with these words."""
        return sum(words in self.office.reads(one) for one in self.office.shown())

    async def end(self, resumed: asyncio.Task[Any]) -> None:
        """Answer the question of the second turn, and let the agent end."""
        await self.office.fill("ada", "Write an answer…", "Frankfurt", "Which region?")
        result = await resumed
        assert getattr(result, "final_output", None) or result.output == "done"
        assert (self.office.folder / "done.txt").read_text(encoding="utf-8") == "eu\n"


@pytest.fixture
async def run(office: Office, framework: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Run:
    run = Run(office, framework)
    await run.die()
    settle_in(office, monkeypatch)
    return run


@pytest.fixture
def stored_run(stored_office: Office, run: Run) -> Run:
    """The same on each of the databases."""
    return run


async def test_a_run_is_saved_by_asynchronous_code_before_people_are_asked(here: Office, framework: ModuleType) -> None:
    saved: list[str] = []

    async def save(conversation: str, text: str) -> None:
        await asyncio.sleep(0.2)
        assert here.shown() == []
        saved.append(text)

    shop = framework.Shop(here.folder, [DEPLOY])
    async with framework.door(shop, f"{here.platform}:#deploys", save=save) as one:
        running = asyncio.create_task(one.run("Deploy!", "talk"))
        await here.card("Run deploy?")
        running.cancel()
        await asyncio.wait([running])
        resumed = asyncio.create_task(one.resume("talk", saved[0]))
        await here.click("ada", "Approve", "Run deploy?")
        await resumed
    assert shop.done() == ["eu"]


async def test_nobody_is_told_of_a_turn_that_the_text_of_the_next_proves(stored_run: Run) -> None:
    run = stored_run
    _, opening = run.open()
    async with opening as one:
        await asyncio.sleep(1.0)  # the claim of the dead process is lost now
        resumed = asyncio.create_task(one.resume("talk", run.second))
        await run.office.card("Which region?")
        assert await run.read_state() == "acknowledged"
        await run.end(resumed)
    assert INTERRUPTED not in run.office.picture()


async def test_people_who_read_that_a_turn_is_unknown_learn_once_that_it_is_known(stored_run: Run) -> None:
    run = stored_run
    _, opening = run.open()
    async with opening as one:
        await run.learn_unknown(one)
        assert await run.read_state() == "unknown"  # the text of the turn itself proves nothing
        resumed = asyncio.create_task(one.resume("talk", run.second))
        await run.office.until(lambda: run.count(FINISHED))
        await run.end(resumed)
        assert await run.read_state() == "acknowledged"
    assert (run.count(INTERRUPTED), run.count(FINISHED)) == (1, 1)


def rename_claim(text: str) -> str:
    (claim,) = [value for key, value in json.loads(text).items() if key.endswith("claim")]
    return text.replace(claim, claim[:-1] + ("1" if claim.endswith("0") else "0"))


def drop_claim(text: str) -> str:
    """Return the text as older versions of askback save it."""
    return json.dumps({key: value for key, value in json.loads(text).items() if not key.endswith("claim")})


@pytest.mark.parametrize("change", [rename_claim, drop_claim])
async def test_a_text_with_another_claim_proves_nothing(run: Run, change: Callable[[str], str]) -> None:
    _, opening = run.open()
    async with opening as one:
        await run.learn_unknown(one)
        resumed = asyncio.create_task(one.resume("talk", change(run.second)))
        await run.end(resumed)
        assert await run.read_state() == "unknown"
    assert FINISHED not in run.office.picture()


async def test_the_text_of_an_equal_run_in_another_conversation_proves_nothing(run: Run) -> None:
    """All calls of both have the same ids and arguments."""
    _, opening = run.open()
    async with opening as one:
        await run.learn_unknown(one)
        (run.office.folder / "done.txt").unlink()
        other = asyncio.create_task(one.run("Deploy!", "other"))
        await run.office.click("ada", "Approve", "Run deploy?")
        await run.office.card("Which region?")
        other.cancel()
        await asyncio.wait([other])
        assert await run.read_state("other") == "acknowledged"
        mistaken = asyncio.create_task(one.resume("talk", run.saved("other")))
        await run.office.until(lambda: len([c for c in run.office.shown() if run.office.list_acting(c)]) == 2)
        mistaken.cancel()
        await asyncio.wait([mistaken])
        assert await run.read_state() == "unknown"
    assert FINISHED not in run.office.picture()
