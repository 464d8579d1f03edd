"""Edits and deletions in the core alone, on both stores: races, orders, and restarts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from askback.domain.actions import Choose
from askback.domain.ask import Ask
from askback.domain.bot_access import Access
from askback.domain.form import Form, Option, Question
from askback.domain.identity import Actor, MessageRef
from askback.domain.incoming_message import DeletedMessages, EditedMessage, IncomingMessage, MessageResult
from askback.domain.who import Who
from askback.inbound.card_recovery import CardRecovery
from askback.internal.clock import utc_now
from askback.ports.platform import Messages
from askback_sandbox.model.script import turn
from askback_sandbox.services import Services
from support.board import ANN, BEN, HERE, WITHIN, Board
from support.engine import Engine, engine, eventually, last_request, question

pytestmark = pytest.mark.usefixtures("stored")

OPTIONS = (Option(value="yes", label="Yes"), Option(value="no", label="No"))
TEA = Form(questions=(Question(id="tea", prompt="Tea?", options=OPTIONS),))
START = datetime(2026, 1, 1, tzinfo=UTC)


def texts(services: Services) -> list[str]:
    """Return the texts in the model's newest request, except tool results."""
    return [block["text"] for one in last_request(services) for block in one["content"] if block["type"] == "text"]


async def edit(one: Engine, words: str, *, second: int, author: Actor = ANN, key: str = "m1") -> MessageResult:
    """Edit a message at that second of the minute."""
    heard = IncomingMessage(place=HERE, author=author, text=words, dedupe_key=key, at=utc_now())
    return await one.changes.handle_edit(EditedMessage(message=heard, at=START.replace(second=second)))


@asynccontextmanager
async def tea(one: Engine) -> AsyncGenerator[tuple[Ask, MessageRef]]:
    """Yield an open card and its location."""
    task = asyncio.create_task(one.manager.ask(TEA, to=HERE, who=Who.from_people(ANN), timeout=None))
    try:
        (card,) = await one.asked()
        await one.recorded(card)
        ask = await one.manager.get(card.id)
        assert ask is not None
        yield ask, ask.messages[0]
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def taken_away(board: Board, message: MessageRef) -> DeletedMessages:
    """Delete a message from the board; return the event."""
    board.messages.pop(message.id)
    return DeletedMessages(messages=(message,), keys=(f"{message.channel}:{message.id}",))


async def stands_alone(one: Engine, ask: Ask, *, without: MessageRef) -> MessageRef:
    """Wait until the card has exactly one message, another one, and its location is stored."""

    async def found() -> MessageRef | None:
        now = await one.manager.get(ask.id)
        assert now is not None
        there = [number for number, posted in one.board.messages.items() if posted.name == ask.id]
        known = [message.id for message in now.messages]
        return now.messages[0] if now.is_drawn and there == known and len(there) == 1 else None

    message = await eventually(found)
    assert message != without
    return message


# Cards


async def test_a_card_that_is_deleted_in_the_middle_of_a_redraw_stands_there_once(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one, tea(one) as (ask, first):
        board.holds["show"] = asyncio.Event()
        await one.store.enqueue_redraw(ask.id)
        one.worker.wake()
        await board.until(lambda: board.calls.count("show") == 2)
        await one.changes.handle_deletion(taken_away(board, first))
        board.holds.pop("show").set()
        await stands_alone(one, ask, without=first)


@pytest.mark.parametrize("heard_by", ["the process that posts it", "another process"])
async def test_a_card_that_is_deleted_before_it_is_known_where_it_stands_comes_back(
    tmp_path: Path, board: Board, heard_by: str
) -> None:
    async with engine(tmp_path, board) as one, engine(tmp_path, board, work=False) as other:
        hearing = one if heard_by == "the process that posts it" else other
        show = board.show

        async def deleted_at_once(ask: Ask) -> Messages:
            messages = await show(ask)
            if board.calls.count("show") == 1:
                board.messages.pop(messages[0].id)
                await hearing.changes.handle_deletion(DeletedMessages(messages=messages, keys=()))
            return messages

        board.show = deleted_at_once  # type: ignore[method-assign]
        task = asyncio.create_task(one.manager.ask(TEA, to=HERE, who=Who.from_people(ANN), timeout=None))
        await board.until(lambda: board.calls.count("show") >= 2)
        (card,) = await one.asked()
        await one.recorded(card)
        await one.press(card, Choose(index=0))
        assert (await asyncio.wait_for(task, WITHIN))["tea"].labels == ("Yes",)


async def test_a_card_that_is_deleted_again_before_its_place_is_recorded_comes_back_after_a_pause(
    tmp_path: Path, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askback.store.queries.card_messages.PAUSES", (0.0, 1.5))
    async with engine(tmp_path, board) as one, tea(one) as (ask, first):
        show = board.show

        async def deleted_at_once(ask: Ask) -> Messages:
            messages = await show(ask)
            if board.calls.count("show") == 2:
                await one.changes.handle_deletion(taken_away(board, messages[0]))
            return messages

        board.show = deleted_at_once  # type: ignore[method-assign]
        await one.changes.handle_deletion(taken_away(board, first))
        await stands_alone(one, ask, without=first)
        shown = [at for at, call in zip(board.at, board.calls, strict=True) if call == "show"]
        assert len(shown) == 3
        assert shown[2] - shown[1] >= 1.4


async def test_other_messages_that_are_deleted_while_a_card_is_posted_do_not_delay_its_return(
    tmp_path: Path, board: Board
) -> None:
    async with engine(tmp_path, board) as one:
        show = board.show

        async def others_are_deleted(ask: Ask) -> Messages:
            for number in "12":
                message = MessageRef(channel=HERE.channel, id=f"other {number}")
                await one.changes.handle_deletion(DeletedMessages(messages=(message,), keys=()))
            return await show(ask)

        board.show = others_are_deleted  # type: ignore[method-assign]
        async with tea(one) as (ask, first):
            await one.changes.handle_deletion(taken_away(board, first))
            await stands_alone(one, ask, without=first)


async def test_a_deletion_that_two_processes_hear_at_the_same_time_brings_one_card(
    tmp_path: Path, board: Board
) -> None:
    async with engine(tmp_path, board) as one, tea(one) as (ask, first):
        gone = taken_away(board, first)
        await asyncio.gather(*(one.changes.handle_deletion(gone) for _ in range(8)))
        second = await stands_alone(one, ask, without=first)
        await one.changes.handle_deletion(gone)
        assert await stands_alone(one, ask, without=first) == second
        assert board.calls.count("show") == 2


async def test_a_card_is_posted_by_the_next_process_where_the_one_that_heard_of_the_deletion_ended(
    tmp_path: Path, board: Board
) -> None:
    async with engine(tmp_path, board) as one, tea(one) as (ask, first):
        pass
    async with engine(tmp_path, board, work=False) as two:
        await two.changes.handle_deletion(taken_away(board, first))
        assert not board.open()
    async with engine(tmp_path, board) as three:
        await stands_alone(three, ask, without=first)
        await three.press(ask, Choose(index=0))
        assert (await three.manager.wait_for_outcome(ask))["tea"].labels == ("Yes",)


async def test_a_late_click_on_a_message_that_was_deleted_leaves_one_card(tmp_path: Path, board: Board) -> None:
    form = TEA.evolve(questions=(*TEA.questions, TEA.questions[0].evolve(id="more", prompt="More?")))
    async with engine(tmp_path, board) as one:
        task = asyncio.create_task(one.manager.ask(form, to=HERE, who=Who.from_people(ANN), timeout=None))
        (card,) = await one.asked()
        await one.recorded(card)
        ask = await one.manager.get(card.id)
        assert ask is not None
        first = ask.messages[0]
        await one.changes.handle_deletion(taken_away(board, first))
        await stands_alone(one, ask, without=first)
        await one.press(card, Choose(index=0), message=first, draw=False)
        await one.manager.cards.leave_to_outbox(ask.id)
        await stands_alone(one, ask, without=first)
        assert board.open()[0].interview.current == 1
        task.cancel()


async def test_a_late_click_on_a_message_that_was_deleted_settles_the_card_that_came_back(
    tmp_path: Path, board: Board
) -> None:
    async with engine(tmp_path, board) as one, tea(one) as (ask, first):
        await one.changes.handle_deletion(taken_away(board, first))
        again = await stands_alone(one, ask, without=first)
        await one.press(ask, Choose(index=0), message=first, draw=False)
        await one.manager.cards.leave_to_outbox(ask.id)
        await board.until(lambda: (shown := board.messages[again.id].ask) is not None and shown.outcome is not None)
        assert [number for number, posted in board.messages.items() if posted.name == ask.id] == [again.id]


async def test_the_card_of_an_ask_that_is_over_is_not_posted_again(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one, tea(one) as (ask, first):
        await one.cancel(ask.id)
        await board.until(lambda: not board.open())
        calls = board.calls.count("show")
        await one.changes.handle_deletion(taken_away(board, first))
        async with tea(one):
            assert board.calls.count("show") == calls + 1
            assert [card.id for card in board.cards()].count(ask.id) == 0


async def test_who_deletes_a_card_again_and_again_waits_longer_each_time(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one, tea(one) as (ask, message):
        await one.changes.handle_deletion(taken_away(board, message))
        message = await stands_alone(one, ask, without=message)
        before = utc_now()
        await one.changes.handle_deletion(taken_away(board, message))

        def due(connection: Connection) -> int:
            return connection.execute(text("SELECT due_at FROM outbox WHERE ask_id = :id"), {"id": ask.id}).scalar_one()

        paused = await one.store._database.read(due) / 1e6 - before.timestamp()
        assert 9 < paused < 20
        assert not board.open()
        # A user who asks for it does not wait.
        assert await one.store.enqueue_redraw(ask.id)
        one.worker.wake()
        await stands_alone(one, ask, without=message)


async def test_a_slow_look_that_finds_an_earlier_deletion_does_not_end_the_pause(tmp_path: Path, board: Board) -> None:
    """As after a new connection, when all cards are looked at while people go on deleting."""
    async with engine(tmp_path, board) as one, tea(one) as (ask, first):
        board.holds["missing"] = asyncio.Event()
        cards = CardRecovery(one.store, one.manager, {board.name: board})
        async with asyncio.TaskGroup() as tasks:
            looking = tasks.create_task(cards.check_card(ask))
            await board.until(lambda: "missing" in board.calls)
            await one.changes.handle_deletion(taken_away(board, first))
            second = await stands_alone(one, ask, without=first)
            await one.changes.handle_deletion(taken_away(board, second))
            board.holds["missing"].set()
        assert (await looking).posted_again
        assert await one.store.get_time_until_due(board.name) > timedelta(seconds=5)
        assert not board.open()


# Edits


async def test_an_edit_that_overtook_a_newer_one_changes_nothing(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(question()), turn("Fine."), when="go")
    async with engine(tmp_path, board, services) as one:
        await one.write("go", key="m0")
        (card,) = await one.asked()
        await one.recorded(card)
        await one.write("first", key="m1")
        await edit(one, "third", second=30)
        await edit(one, "second", second=20)
        await edit(one, "third", second=30)
        await one.press(card, Choose(index=0))
        await one.says("Fine.")
        assert [said for said in texts(services) if said.startswith("Ann")] == ["Ann: go", "Ann: third"]


@pytest.mark.parametrize("author", [BEN, ANN.evolve(tenant="T2")])
async def test_nobody_edits_what_somebody_else_wrote(
    tmp_path: Path, board: Board, services: Services, author: Actor
) -> None:
    services.model.script(turn("Fine."), turn("Again."), when="go")
    async with engine(tmp_path, board, services) as one:
        await one.write("go", key="m1")
        await one.says("Fine.")
        assert not (await edit(one, "stop", second=1, author=author)).new
        await one.write("and then", key="m2")
        await one.says("Again.")
        assert [said for said in texts(services) if ":" in said] == ["Ann: go", "Ann: and then"]


async def test_edits_by_people_who_may_not_talk_are_not_heard(tmp_path: Path, board: Board, services: Services) -> None:
    services.model.script(turn("Fine."), when="go")
    async with engine(tmp_path, board, services) as one:
        await one.write("go", key="m1")
        await one.says("Fine.")
    async with engine(tmp_path, board, services, access=Access(people=(BEN.id,), open=True)) as one:
        taken = await edit(one, "go away", second=1)
        assert (taken.new, taken.notice) == (False, None)

        def kept(connection: Connection) -> list[str]:
            return list(connection.execute(text("SELECT text FROM inbox")).scalars())

        assert await one.store._database.read(kept) == ["go"]


async def test_an_edit_while_the_turn_begins_is_read_in_one_version_or_in_both_and_never_lost(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(*[turn("Fine.")] * 40, when="go")
    async with engine(tmp_path, board, services) as one:
        await one.write("go", key="m")
        await one.says("Fine.")
        for number in range(6):
            key, old, new = f"k{number}", f"old {number}", f"new {number}"
            await one.write(old, key=key)
            taken = await edit(one, new, second=number, key=key)

            async def read(new: str = new) -> bool:
                return any(said.endswith(new) for said in texts(services))

            await eventually(read)
            found = [said for said in texts(services) if said.endswith((old, new))]
            whole = f"Ann: [edited a message that you have read. Before: “{old}”. Now:] {new}"
            assert found in ([f"Ann: {new}"], [f"Ann: {old}", whole])
            assert taken.new == (len(found) == 2)


async def test_an_edit_is_told_as_the_words_of_its_author_who_hears_of_it_once(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn("It begins."), turn("To production."), when="deploy")
    async with engine(tmp_path, board, services) as one:
        await one.write("deploy to stagin", key="m1")
        await one.says("It begins.")
        taken = await edit(one, "deploy to PRODUCTION", second=1)
        assert taken.notice is not None
        await one.says("To production.")
        assert texts(services)[-1].endswith("deploy to PRODUCTION")
        conversation = await one.store.find_conversation(HERE)
        assert conversation is not None
        assert (await one.store.get_approval_context(conversation.id, frozenset({"deploy"}))).requesters == {
            "deploy": (ANN,)
        }
        assert (await edit(one, "deploy to staging", second=2)).notice is None


async def test_the_edit_of_an_edit_tells_what_was_read_last(tmp_path: Path, board: Board, services: Services) -> None:
    services.model.script(turn("One."), turn("Two."), turn("Three."), when="first")
    async with engine(tmp_path, board, services) as one:
        await one.write("first", key="m1")
        await one.says("One.")
        await edit(one, "second", second=1)
        await one.says("Two.")
        await edit(one, "third", second=2)
        await one.says("Three.")
        assert "Before: “second”" in texts(services)[-1]


async def test_what_is_deleted_after_an_edit_that_nobody_has_read_is_told_in_no_further_version(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(question()), turn("Fine."), when="go")
    async with engine(tmp_path, board, services) as one:
        await one.write("go", key="m1")
        (card,) = await one.asked()
        await one.recorded(card)
        await edit(one, "go away", second=1)
        await one.changes.handle_deletion(DeletedMessages(messages=(), keys=("m1",)))
        await one.press(card, Choose(index=0))
        await one.says("Fine.")
        assert [said for said in texts(services) if ":" in said] == ["Ann: go"]
