"""Processes for different platforms on one database: each takes only its platform's work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from askback.domain.actions import Choose
from askback.domain.ask import Ask
from askback.domain.form import Form, Option, Question
from askback.domain.identity import Actor
from askback.domain.who import Who
from askback.errors import CallerError
from askback.manager import build_ask, build_policy, questions
from askback.runtime import maintenance
from askback.runtime.postgres_backend import PostgresBackend
from askback_sandbox.model.model import Model
from askback_sandbox.model.script import turn
from askback_sandbox.services import Services
from support.board import HERE, Board
from support.engine import Engine, engine, eventually, question
from support.stores import URL_FILE

OPTIONS = (Option(value="yes", label="Yes"), Option(value="no", label="No"))
TEA = Form(questions=(Question(id="tea", prompt="Tea?", options=OPTIONS),))
ANYONE = Who(anyone=True)
THERE = HERE.evolve(platform="wall")
MANY = 12


def wall() -> Board:
    """Return another platform."""
    board = Board()
    board.name = "wall"
    return board


@pytest.fixture
def on_postgres(tmp_path: Path, postgres_url: str) -> None:
    (tmp_path / URL_FILE).write_text(postgres_url, encoding="utf-8")


@pytest.fixture
async def both(
    tmp_path: Path, on_postgres: None, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Engine, Engine]]:
    """Two processes, one for each platform. Neither looks by itself at what the other changed."""
    monkeypatch.setattr(maintenance, "UNSERVED_SECONDS", 0.5)
    monkeypatch.setattr(PostgresBackend, "look_again", 3600.0)
    async with AsyncExitStack() as stack:
        services = await stack.enter_async_context(Services(port=0, model=Model()))
        services.model.script(*[turn("Let me ask.", question()), turn("Thanks.")] * 2 * MANY)
        here = await stack.enter_async_context(engine(tmp_path, Board(), services))
        there = await stack.enter_async_context(engine(tmp_path, wall(), services))
        yield here, there


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the warnings that something waits for another process."""
    return [record.getMessage() for record in caplog.records if getattr(record, "action", None) == "unserved"]


async def test_a_conversation_is_gone_on_with_by_a_process_of_its_platform_alone(
    both: tuple[Engine, Engine], caplog: pytest.LogCaptureFixture
) -> None:
    """Repeated checks must not report the other platform as unserved either."""
    for one in both:
        for number in range(MANY):
            person = Actor(platform=one.board.name, tenant="T1", id="U1", name="Ann")
            place = HERE.evolve(platform=one.board.name, thread=str(number))
            await one.write("tea, please", person, place)
    for one in both:
        person = Actor(platform=one.board.name, tenant="T1", id="U1", name="Ann")
        cards: list[Ask] = await one.asked(MANY)
        assert {card.place.platform for card in cards} == {one.board.name}
        await one.recorded(*cards)
        for card in cards:
            await one.press(card, Choose(index=0), person)
    for one in both:
        await one.board.until(lambda one=one: one.board.texts().count("Thanks.") == MANY)
        assert (len(one.board.cards()), len(one.board.open())) == (MANY, 0)
    assert warned(caplog) == []


async def test_a_deadline_passes_and_is_shown_at_once_on_each_platform(
    both: tuple[Engine, Engine], caplog: pytest.LogCaptureFixture
) -> None:
    async with asyncio.TaskGroup() as group:
        asking = [
            group.create_task(
                one.manager.ask(TEA, to=HERE.evolve(platform=one.board.name, thread=str(number)), who=ANYONE)
            )
            for one in both
            for number in range(MANY)
        ]
        for one in both:
            cards: list[Ask] = await one.asked(MANY)
            await one.recorded(*cards)
            for card in cards:
                await one.expire(card.id)
    assert {task.result().status for task in asking} == {"timed_out"}
    for one in both:
        await one.board.until(lambda one=one: len(one.board.cards()) == MANY and not one.board.open())
    assert warned(caplog) == []


async def test_what_a_program_asks_on_a_platform_of_another_process_is_asked_there_at_once(
    both: tuple[Engine, Engine],
) -> None:
    here, there = both
    asking = asyncio.create_task(here.manager.ask(TEA, to=THERE, who=ANYONE, timeout=None))
    (card,) = await there.board.until(lambda: there.board.open())
    await there.recorded(card)
    await there.press(card, Choose(index=0), Actor(platform="wall", id="U1"))
    assert (await asyncio.wait_for(asking, 30)).status == "answered"


async def test_what_a_program_ends_on_a_platform_of_another_process_is_settled_there_at_once(
    both: tuple[Engine, Engine],
) -> None:
    here, there = both
    asking = asyncio.create_task(here.manager.ask(TEA, to=THERE, who=ANYONE, timeout=None))
    (card,) = await there.asked()
    await there.recorded(card)
    assert await here.manager.cancel(card.id)
    await there.board.until(lambda: not there.board.open())
    assert (await asking).status == "cancelled"


async def test_where_no_process_serves_it_a_question_still_times_out_for_whoever_waits(
    tmp_path: Path, on_postgres: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "LATE_SECONDS", 0.2)
    async with engine(tmp_path, Board()) as here:
        outcome = await asyncio.wait_for(here.manager.ask(TEA, to=THERE, who=ANYONE, timeout=0.5), 10)
        assert outcome.status == "timed_out"


async def test_however_often_others_change_something_a_question_times_out_for_whoever_waits(
    tmp_path: Path, on_postgres: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "LATE_SECONDS", 1.0)
    async with engine(tmp_path, Board()) as here:

        async def change() -> None:
            while True:
                here.manager.callers.wake()
                await asyncio.sleep(0.1)

        changing = asyncio.create_task(change())
        outcome = await asyncio.wait_for(here.manager.ask(TEA, to=THERE, who=ANYONE, timeout=0.5), 10)
        changing.cancel()
        assert outcome.status == "timed_out"


async def test_on_a_file_what_no_bot_here_can_post_is_refused(tmp_path: Path) -> None:
    async with engine(tmp_path, Board()) as here:
        with pytest.raises(CallerError, match="The bot for wall does not run in this process"):
            await here.manager.ask(TEA, to=THERE, who=ANYONE)


async def test_what_no_process_serves_waits_is_told_once_and_is_taken_when_one_comes(
    tmp_path: Path, on_postgres: None, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "UNSERVED_SECONDS", 0.2)
    async with engine(tmp_path, Board(), give_up=1.0) as here:
        asking = asyncio.create_task(here.manager.ask(TEA, to=THERE, who=ANYONE, timeout=None))

        async def told() -> bool:
            return bool(warned(caplog))

        await eventually(told)
        await asyncio.sleep(1.5)  # longer than any retry
        (said,) = warned(caplog)
        assert "`askback wall`" in said
        assert not asking.done()
        async with engine(tmp_path, wall()) as there:
            (card,) = await there.asked()
            await there.recorded(card)
            await there.press(card, Choose(index=0), Actor(platform="wall", id="U1"))
            assert (await asyncio.wait_for(asking, 30)).status == "answered"
        assert here.board.cards() == []


@pytest.mark.usefixtures("stored")
async def test_a_process_of_another_platform_leaves_alone_what_lies_in_the_database(tmp_path: Path) -> None:
    async with Services(port=0, model=Model()) as services:
        services.model.script(turn("Hello there."))
        person = Actor(platform="wall", id="U1", name="Ann")
        async with engine(tmp_path, wall(), services, work=False) as before:
            await before.write("hello", person, THERE)
            ask = build_ask(TEA, to=THERE, policy=build_policy(ANYONE, 1.0))
            await before.manager.submit(ask)
        async with engine(tmp_path, Board(), services, give_up=0.2) as here:
            asking = asyncio.create_task(here.manager.ask(TEA, to=HERE, who=ANYONE))
            (card,) = await here.asked()
            await here.expire(card.id)
            assert (await asyncio.wait_for(asking, 30)).status == "timed_out"
            kept = await here.manager.get(ask.id)
            assert kept is not None
            assert (kept.outcome, len(here.board.cards()), len(services.model.log)) == (None, 1, 0)
            assert here.board.texts() == []
        async with engine(tmp_path, wall(), services) as after:
            await after.says("Hello there.")
            over = await asyncio.wait_for(after.manager.wait_for_outcome(ask), 10)
            assert over.status == "timed_out"
