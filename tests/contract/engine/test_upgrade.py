"""A rolling upgrade: an older process skips work that it cannot read, and stays alive."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path

import pytest
from sqlalchemy import text

from askback.domain.actions import Choose
from askback.domain.form import Form, Option, Question
from askback.domain.outgoing_message import OutgoingMessage
from askback.domain.who import Who
from askback.internal.clock import now
from askback.store.errors import StoreError
from askback_sandbox.model.script import turn
from askback_sandbox.services import Services
from support.board import ANN, HERE, Board
from support.engine import Engine, engine, eventually, question
from support.stores import url_in

pytestmark = pytest.mark.usefixtures("stored")

OPTIONS = (Option(value="yes", label="Yes"), Option(value="no", label="No"))
TEA = Form(questions=(Question(id="tea", prompt="Tea?", options=OPTIONS),))
COLUMN = ("ALTER TABLE asks RENAME COLUMN attend_at TO due_at", "ALTER TABLE asks RENAME COLUMN due_at TO attend_at")
FIELD = (
    """UPDATE asks SET policy = replace(policy, '"groups"', '"shift": 1, "groups"')""",
    """UPDATE asks SET policy = replace(policy, '"shift": 1, "groups"', '"groups"')""",
)


async def _execute(one: Engine, statement: str, **values: object) -> int:
    return await one.store._database.run(  # pyright: ignore[reportPrivateUsage] - as a newer process would
        lambda connection: connection.execute(text(statement), values).rowcount
    )


async def _found(one: Engine, query: str, **values: object) -> list[tuple[object, ...]]:
    return await one.store._database.read(  # pyright: ignore[reportPrivateUsage]
        lambda connection: [tuple(row) for row in connection.execute(text(query), values)]
    )


def _left(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the kinds of work that the log reports as left to a newer process, once per record."""
    return [record.__dict__["kind"] for record in caplog.records if record.__dict__.get("action") == "left_to_newer"]


def _unexpected(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


PUT = """
    INSERT INTO outbox (target, kind, conversation_id, ask_id, payload, due_at)
    VALUES (:target, :kind, :conversation_id, :ask_id, :payload, :due)
"""
PLAIN = OutgoingMessage(target="plain", text="From today.", markdown=False)
NEWER = json.dumps({"target": "new", "text": "From tomorrow.", "markdown": False, "colour": "red"})


@pytest.mark.parametrize(("newer", "back"), [COLUMN, FIELD], ids=["another column", "another rule"])
async def test_a_click_that_an_older_process_cannot_take_changes_nothing_and_the_process_goes_on(
    tmp_path: Path, newer: str, back: str
) -> None:
    if newer == COLUMN[0] and url_in(tmp_path) is None:
        return  # only one process works on a file
    board = Board()
    async with engine(tmp_path, board) as one:
        asking = asyncio.create_task(one.manager.ask(TEA, to=HERE, who=Who.from_people(ANN), timeout=None))
        (card,) = await one.asked()
        await one.recorded(card)
        await _execute(one, newer)
        with pytest.raises(StoreError, match="newer askback"):
            await one.press(card, Choose(index=0), ANN)
        one.worker.wake()
        await asyncio.sleep(0)
        await _execute(one, back)
        await one.press(card, Choose(index=0), ANN)
        assert (await asyncio.wait_for(asking, 30)).status == "answered"


async def _begun(one: Engine, services: Services, word: str) -> str:
    """Begin a conversation in the usual place; return its id."""
    services.model.script(turn(f"Hello, {word}."), when=word)
    await one.write(word)
    await one.says(f"Hello, {word}.")
    conversation = await one.store.find_conversation(HERE)
    assert conversation is not None
    return conversation.id


@pytest.mark.parametrize(
    ("kind", "payload"),
    [("say", NEWER), ("hologram", PLAIN.model_dump_json()), ("say", "no JSON"), ("say", "[]"), ("removal", NEWER)],
    ids=["another field", "another kind", "another form", "another shape", "another removal"],
)
async def test_texts_of_a_newer_release_wait_for_its_processes_and_hold_up_no_other_place(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str, payload: str
) -> None:
    """More of them than fit in one batch; they come before the work that this process can read."""
    async with Services(port=0) as services, engine(tmp_path, Board(), services) as one:
        conversation_id = await _begun(one, services, "world")
        for number in range(40):
            row = {"target": f"n{number}", "kind": kind, "ask_id": None, "payload": payload, "due": now() - 10**9}
            await _execute(one, PUT, conversation_id=f"elsewhere {number}", **row)
        one.worker.wake()
        await one.store.enqueue_message(PLAIN, conversation_id)
        one.worker.wake()
        await one.says("From today.")
        assert one.store._database.commits < 1000, "it does not look again and again"  # type: ignore[attr-defined]
        waiting = await _found(one, "SELECT attempts, leased_until FROM outbox WHERE target LIKE 'n%'")
        assert waiting == [(0, None)] * 40

        async def sleeps() -> bool:
            return await one.store.get_time_until_due() is None

        await eventually(sleeps)
    assert _left(caplog) == ["outbox"]
    assert not _unexpected(caplog)


async def test_questions_of_a_newer_release_wait_and_the_deadlines_of_others_do_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    board = Board()
    async with Services(port=0) as services, engine(tmp_path, board, services) as one:
        there = HERE.evolve(thread="2")
        asking = asyncio.create_task(one.manager.ask(TEA, to=there, who=Who.from_people(ANN), timeout=None))
        (card,) = await one.asked()
        await one.recorded(card)

        async def delivered() -> bool:
            return not await _found(one, "SELECT id FROM outbox WHERE ask_id = :id", id=card.id)

        await eventually(delivered)  # a commit after the one that recorded the card
        await _execute(one, FIELD[0])
        # Its deadline has passed, its card is due to be drawn, and a reminder is due.
        await _execute(one, "UPDATE asks SET attend_at = 1")
        nothing = {"conversation_id": None, "payload": None, "due": now()}
        await _execute(one, PUT, target=f"ask:{card.id}", kind="card", ask_id=card.id, **nothing)
        reminder = OutgoingMessage(target=f"remind:{card.id}:0", text="Still open.", markdown=False).model_dump_json()
        await _execute(
            one, PUT, target="r", kind="say", ask_id=card.id, conversation_id=None, payload=reminder, due=now()
        )
        one.worker.wake()
        # Another question times out as it should, and a message in another thread reaches the agent.
        outcome = await one.manager.ask(TEA, to=HERE.evolve(thread="3"), who=Who.from_people(ANN), timeout=0.3)
        assert outcome.status == "timed_out"
        services.model.script(turn("I hear you."), when="over there")
        await one.write("over there", place=there)
        await one.says("I hear you.")
        with pytest.raises(StoreError, match="newer askback"):
            await one.press(card, Choose(index=0), ANN)

        async def left() -> bool:
            rows = await _found(
                one, "SELECT attempts FROM outbox WHERE ask_id = :id AND leased_until IS NULL", id=card.id
            )
            return rows == [(0,), (0,)]

        await eventually(left)
        asking.cancel()
    assert sorted(_left(caplog)) == ["ask", "outbox"]
    # A process that can read it continues its work.
    async with engine(tmp_path, board) as newer:
        await _execute(newer, FIELD[1])
    async with engine(tmp_path, board) as newer:
        await newer.says("Still open.")
        found = await newer.manager.get(card.id)
        assert found is not None
        await newer.press(found, Choose(index=0), ANN)


async def test_a_conversation_of_a_newer_release_waits_and_others_go_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    board = Board()
    async with Services(port=0) as services:
        async with engine(tmp_path, board, services) as one:
            await _begun(one, services, "world")
            await _execute(one, 'UPDATE conversations SET starter = replace(starter, \'"id"\', \'"mood": 1, "id"\')')
            services.model.script(turn(question("Tea?", "Yes", "No")), when="tea")
            with pytest.raises(StoreError, match="newer askback"):
                await one.write("tea, please")
            await _execute(one, "UPDATE conversations SET wants_turn = :yes", yes=True)
            one.worker.wake()
            services.model.script(turn("Elsewhere it goes on."), when="elsewhere")
            await one.write("elsewhere", place=HERE.evolve(thread="9"))
            await one.says("Elsewhere it goes on.")
            await eventually(lambda: _waits(caplog))
        assert _left(caplog) == ["turn"]
        assert not _unexpected(caplog)


async def _waits(caplog: pytest.LogCaptureFixture) -> bool:
    return _left(caplog) == ["turn"]
