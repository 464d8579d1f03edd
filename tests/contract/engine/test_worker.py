"""Worker: deliveries in order, once, and every card settled in every case."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, select, update

from askback.agent.concurrency_slots import Slot
from askback.domain.actions import Action, Choose, Select
from askback.domain.ask import Ask
from askback.domain.form import Form, Option, Question
from askback.domain.incoming_message import IncomingMessage
from askback.domain.outcome import Outcome
from askback.domain.outgoing_message import OutgoingMessage
from askback.domain.turn import Message
from askback.domain.who import Who
from askback.internal.clock import to_micros, utc_now
from askback.manager import build_ask, build_policy
from askback.ports.platform import DeliveryError, RetryableError
from askback.runtime import circuit_breaker, delivery_retries, outbox_worker
from askback.runtime.turns import LocalTurnScheduler
from askback.runtime.worker import Worker
from askback.store.errors import StoreUnavailable
from askback.store.schema import outbox
from support.engine import ANN, HERE, Board, Engine, engine, eventually

pytestmark = pytest.mark.usefixtures("stored")

COLOURS = (Option(value="green", label="Green"), Option(value="blue", label="Blue"))
COLOUR = Form(questions=(Question(id="colour", prompt="Which colour?", options=COLOURS),))
SEVERAL = Form(questions=(Question(id="colours", prompt="Which?", options=COLOURS, multi_select=True),))
ONLY_ANN = Who.from_people(ANN)


def asking(one: Engine, form: Form = COLOUR, **more: object) -> asyncio.Task[Outcome]:
    return asyncio.create_task(one.manager.ask(form, to=HERE, who=ONLY_ANN, **more))  # type: ignore[arg-type]


async def drop(*tasks: asyncio.Task[Outcome]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def rest(one: Engine) -> None:
    """Wait until there is nothing left to deliver."""

    async def nothing() -> bool:
        return await one.store.get_time_until_due() is None

    await eventually(nothing)


async def test_a_permanent_refusal_fails_the_ask_at_once_with_the_reason(tmp_path: Path, board: Board) -> None:
    board.faults["show"].append(DeliveryError("I am not in that channel."))
    async with engine(tmp_path, board) as one:
        async with asyncio.timeout(30):  # temporary errors are retried for a minute
            outcome = await asking(one, timeout=None)
        assert (outcome.status, outcome.reason) == ("undeliverable", "I am not in that channel.")
        await rest(one)
        assert not board.messages


async def test_a_passing_refusal_is_tried_again_and_costs_nothing(tmp_path: Path, board: Board) -> None:
    board.faults["show"] = deque([RetryableError("busy"), RetryableError("busy"), RetryableError("busy", 0.05)])
    async with engine(tmp_path, board) as one:
        task = asking(one)
        await one.asked()
        assert board.calls.count("show") == 4
        await rest(one)
        await drop(task)


async def test_an_ask_is_tried_until_its_own_deadline_and_no_longer(tmp_path: Path, board: Board) -> None:
    board.faults["show"] = deque(RetryableError("the platform is down") for _ in range(1000))
    async with engine(tmp_path, board, give_up=0.01) as one:
        task = asking(one, timeout=3600)
        await board.until(lambda: board.calls.count("show") > 1)
        (stored,) = await one.manager.list_open_asks()
        await one.expire(stored.id)
        assert (await task).status == "timed_out"
        board.faults["show"].clear()
        await rest(one)
        assert not board.messages


async def test_a_fault_of_our_own_ends_the_ask_soon_with_its_kind(tmp_path: Path, board: Board) -> None:
    board.faults["show"] = deque(KeyError("a bug") for _ in range(1000))
    async with engine(tmp_path, board, give_up=0.3) as one:
        outcome = await asking(one, timeout=None)
        assert outcome.status == "undeliverable"
        assert "KeyError" in (outcome.reason or "")
        await rest(one)


async def test_how_long_the_platform_wants_to_be_left_alone_is_kept(tmp_path: Path, board: Board) -> None:
    board.faults["show"].append(RetryableError("ratelimited", 0.4))
    async with engine(tmp_path, board) as one:
        task = asking(one)
        await one.asked()
        first, second = [at for name, at in zip(board.calls, board.at, strict=True) if name == "show"]
        assert second - first >= 0.39
        await drop(task)


async def test_a_post_whose_answer_got_lost_is_found_and_not_posted_twice(tmp_path: Path, board: Board) -> None:
    board.after["show"].append(RetryableError("the connection broke"))
    async with engine(tmp_path, board) as one:
        task = asking(one)
        await one.asked()
        await rest(one)
        assert len(board.messages) == 1
        assert board.calls[:3] == ["show", "find_posted", "show"]
        await drop(task)


@pytest.mark.parametrize("ending", ["cancelled", "refused"])
async def test_a_card_whose_posting_got_no_answer_is_settled_however_late_it_can_be_looked_for(
    tmp_path: Path, board: Board, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_worker, "LOOK_PAUSE", 0.05)
    board.after["show"].append(RetryableError("the connection broke"))
    # The history cannot be read for a while, and afterwards the bot may not read it for another while.
    board.faults["find_posted"] = deque([RetryableError("down"), RetryableError("down")])
    if ending == "refused":
        board.faults["find_posted"] += [DeliveryError("I am not in that channel.")] * 3
    async with engine(tmp_path, board, give_up=0.01) as one:
        task = asking(one, timeout=None)
        await board.until(lambda: board.calls.count("find_posted") >= 1)
        (stored,) = await one.manager.list_open_asks()
        assert await one.cancel(stored.id)
        assert (await task).status == "cancelled"
        await board.until(lambda: not board.open())
        await rest(one)
        assert len(board.messages) == 1


async def test_a_text_is_not_said_before_an_earlier_one_that_is_tried_again(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        heard = IncomingMessage(place=HERE, author=ANN, text="hello", dedupe_key="1", at=utc_now())
        received = await one.store.receive(heard, begin=True)
        assert received is not None
        conversation = received.conversation
        board.faults["post"] = deque(RetryableError("down") for _ in range(3))
        ask = build_ask(COLOUR, to=HERE, policy=build_policy(ONLY_ANN, None))
        await one.store.enqueue_message(
            OutgoingMessage(target="problem:1", text="first", markdown=False), conversation.id
        )
        await one.manager.submit(ask.evolve(conversation_id=conversation.id))
        await one.store.enqueue_message(
            OutgoingMessage(target="problem:2", text="second", markdown=False), conversation.id
        )
        elsewhere = asking_in(one, "2")
        one.worker.wake()
        await board.until(lambda: "second" in board.texts())
        told = [posted.text or posted.name for posted in board.messages.values() if posted.place == HERE]
        assert told == ["first", ask.id, "second"]
        await drop(elsewhere)


def asking_in(one: Engine, thread: str) -> asyncio.Task[Outcome]:
    return asyncio.create_task(one.manager.ask(COLOUR, to=HERE.evolve(thread=thread), who=ONLY_ANN))


async def test_a_platform_that_does_not_answer_is_probed_and_not_stormed(
    tmp_path: Path, board: Board, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(circuit_breaker, "FIRST_PAUSE", 0.1)
    monkeypatch.setattr(circuit_breaker, "LONGEST_PAUSE", 0.4)
    board.faults["show"] = deque(RetryableError("down") for _ in range(23))
    async with engine(tmp_path, board) as one:
        tasks = [asking_in(one, str(number)) for number in range(40)]
        await board.until(lambda: not board.faults["show"])
        shows = [at for name, at in zip(board.calls, board.at, strict=True) if name == "show"][:23]
        assert all(later - earlier >= 0.09 for earlier, later in pairwise(shows[-3:])), shows
        await one.asked(40)
        actions = [getattr(record, "action", "") for record in caplog.records if record.levelno >= logging.WARNING]
        assert (actions.count("platform_down"), actions.count("platform_back")) == (1, 1)
        assert actions.count("delivery_later") <= delivery_retries.TOLD_A_MINUTE
        await drop(*tasks)


async def put_off(one: Engine, board: Board, count: int) -> list[asyncio.Task[Outcome]]:
    """Ask in several threads while the platform fails; return when each card waits for twenty seconds."""
    board.faults["show"] = deque(RetryableError("down") for _ in range(1000))
    tasks = [asking_in(one, f"down {number}") for number in range(count)]

    waiting = select(func.count()).where(outbox.c.first_failed_at.is_not(None), outbox.c.leased_until.is_(None))

    async def all_wait() -> bool:
        return await one.store._database.read(lambda connection: connection.scalar(waiting)) == count

    await eventually(all_wait)
    board.faults["show"].clear()
    return tasks


async def test_what_failed_in_an_earlier_process_is_shown_as_soon_as_the_platform_answers(
    tmp_path: Path, board: Board
) -> None:
    async with engine(tmp_path, board, first_pause=20) as one:
        await drop(*await put_off(one, board, 2))
    async with engine(tmp_path, board, first_pause=20) as two:
        elsewhere = asking_in(two, "up")
        await board.until(lambda: len(board.open()) == 3, within=8)
        await drop(elsewhere)


async def test_one_delivery_that_succeeds_after_a_failure_brings_the_others_at_once(
    tmp_path: Path, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(circuit_breaker, "NEWS_SECONDS", 0.0)
    async with engine(tmp_path, board, first_pause=20) as one:
        first = asking_in(one, "first")
        await one.asked()
        tasks = await put_off(one, board, 3)

        def is_due(connection: Connection) -> None:
            (target, *_) = connection.execute(select(outbox.c.target)).scalars()
            connection.execute(update(outbox).where(outbox.c.target == target).values(due_at=to_micros(utc_now())))

        await one.store._database.run(is_due)
        one.worker.wake()
        await board.until(lambda: len(board.open()) == 4, within=8)
        await drop(first, *tasks)


async def test_a_card_that_somebody_deleted_is_posted_anew_while_it_is_open(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        task = asking(one, SEVERAL)
        (card,) = await one.asked()
        await rest(one)
        board.messages.clear()
        await one.press(card, Select(chosen=(1,), base=(), revision=0), draw=False)
        await one.manager.cards.leave_to_outbox(card.id)
        (again,) = await one.asked()
        assert again.interview.drafts[0].chosen == (1,)
        assert len(board.messages) == 1
        await drop(task)


async def test_a_card_that_somebody_deleted_is_not_posted_anew_once_it_is_over(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        task = asking(one)
        (card,) = await one.asked()
        await rest(one)
        board.messages.clear()
        await one.cancel(card.id)
        assert (await task).status == "cancelled"
        await rest(one)
        assert not board.messages


async def test_changes_that_come_faster_than_the_platform_are_drawn_together_and_in_order(
    tmp_path: Path, board: Board
) -> None:
    async with engine(tmp_path, board) as one:
        task = asking(one, SEVERAL)
        (card,) = await one.asked()
        await rest(one)
        board.holds["show"] = asyncio.Event()
        for number in range(12):
            chosen, base = ((0,), ()) if number % 2 == 0 else ((), (0,))
            await one.press(card, Select(chosen=chosen, base=base, revision=number), draw=False)
            await one.manager.cards.leave_to_outbox(card.id)
        await one.cancel(card.id)
        await board.until(lambda: board.calls.count("show") > 1)
        board.holds.pop("show").set()
        await board.until(lambda: not board.open())
        await rest(one)
        drawn = board.messages["1"].revisions
        assert drawn == sorted(set(drawn))
        assert len(drawn) <= 4
        await task


async def test_an_older_drawing_never_overwrites_a_newer_one(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board, work=False) as one:
        task = asking(one, SEVERAL)
        pending = await eventually(one.manager.list_open_asks)
        (card,) = pending
        await one.manager.cards.draw(card.id, board.show)
        slow, painting = asyncio.Event(), asyncio.Event()

        async def slowly(ask):
            painting.set()
            await slow.wait()
            return await board.show(ask)

        await one.press(card, Select(chosen=(0,), base=(), revision=0), draw=False)
        first = asyncio.create_task(one.manager.cards.draw(card.id, slowly))
        await painting.wait()
        await one.cancel(card.id)
        second = asyncio.create_task(one.manager.cards.draw(card.id, board.show))
        await asyncio.sleep(0)
        slow.set()
        await asyncio.gather(first, second)
        assert board.messages["1"].revisions == [0, 1, 2]
        settled = await one.manager.get(card.id)
        assert settled is not None
        assert (settled.drawn_revision, len(settled.messages)) == (2, 1)
        await task


async def test_an_older_drawing_of_another_process_is_drawn_over(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        task = asking(one, SEVERAL)
        await board.until(lambda: "1" in board.messages and board.messages["1"].revisions == [0])
        (card,) = await one.manager.list_open_asks()
        await one.cancel(card.id)
        await board.until(lambda: board.messages["1"].revisions == [0, 1])
        settled = await eventually(lambda: _drawn(one, card.id))
        # Another process was slow, and its version may be shown now.
        assert await one.store.mark_rendered(card.id, 0, settled.messages, before=settled.messages)
        one.worker.wake()
        await board.until(lambda: board.messages["1"].revisions == [0, 1, 2])
        await task


async def _drawn(one: Engine, ask_id: str) -> Ask | None:
    ask = await one.manager.get(ask_id)
    return ask if ask is not None and ask.is_drawn else None


async def test_one_delivery_that_is_kept_waiting_holds_up_no_other(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        board.holds["show"] = asyncio.Event()
        stuck = asking(one)
        await board.until(lambda: board.calls.count("show") == 1)
        held = board.holds.pop("show")
        others = [
            asyncio.create_task(one.manager.ask(COLOUR, to=HERE.evolve(thread=str(n)), who=ONLY_ANN)) for n in range(40)
        ]
        await one.asked(40)
        held.set()
        await one.asked(41)
        await drop(stuck, *others)


async def test_what_changed_while_it_was_being_shown_is_shown_at_once(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        board.holds["show"] = asyncio.Event()
        task = asking(one)
        await board.until(lambda: "show" in board.calls)
        (card,) = await one.manager.list_open_asks()
        await one.cancel(card.id)
        board.holds.pop("show").set()
        await board.until(lambda: board.cards() and not board.open())  # its lease is longer
        await rest(one)
        await task


@pytest.mark.parametrize("when", ["begin", "refused", "later"])
async def test_a_database_that_fails_while_something_is_shown_ends_nothing(
    tmp_path: Path, board: Board, when: str
) -> None:
    async with engine(tmp_path, board) as one:
        task = asking(one)
        (card,) = await one.asked()
        await rest(one)

        async def broken(*args: object, **more: object) -> None:
            broke.set()
            raise StoreUnavailable("The disk is full.")

        broke = asyncio.Event()
        name = {"begin": "lease", "refused": "delete_item", "later": "retry"}[when]
        works, _ = getattr(one.store, name), setattr(one.store, name, broken)
        if when != "begin":
            board.faults["show"].append(DeliveryError("no") if when == "refused" else RetryableError("busy"))
        await one.cancel(card.id)
        await asyncio.wait_for(broke.wait(), 30)
        setattr(one.store, name, works)
        assert (await task).status == "cancelled"
        other = asking(one)  # the worker still works
        await board.until(lambda: len(board.open()) >= 1 and board.open()[-1].id != card.id)
        await drop(other)


@pytest.mark.one_store("where others may work, a lease ends by its time")
async def test_leases_of_a_process_that_ended_end_with_it(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        task = asking(one)
        (card,) = await one.asked()
        await rest(one)
        board.holds["show"] = asyncio.Event()
        await one.press(card, Choose(index=0), draw=False)  # leased to the click that never draws
        assert (await task).status == "answered"
    board.holds.clear()
    async with engine(tmp_path, board) as two:
        await board.until(lambda: not board.open(), within=8)  # the click's lease is 10 s
        await rest(two)


async def test_a_deadline_wakes_a_worker_that_sleeps(tmp_path: Path, board: Board) -> None:
    """The worker looks again after thirty seconds on its own."""
    async with engine(tmp_path, board) as one:
        sleeping = build_ask(COLOUR, to=HERE, policy=build_policy(ONLY_ANN, None))
        await one.store.ask(sleeping, one.manager.limits)
        await one.recorded(*await one.asked())
        late = build_ask(COLOUR, to=HERE, policy=build_policy(ONLY_ANN, 1.0))
        await one.store.ask(late, one.manager.limits)

        async def get_status() -> str | None:
            ask = await one.store.get(late.id)
            return None if ask is None or ask.outcome is None else ask.outcome.status

        async with asyncio.timeout(15):
            assert await eventually(get_status) == "timed_out"


async def test_what_failed_before_a_restart_is_tried_as_if_for_the_first_time(tmp_path: Path, board: Board) -> None:
    board.faults["show"] = deque(RetryableError("down") for _ in range(1000))
    async with engine(tmp_path, board, first_pause=20) as one:
        task = asking(one, timeout=None)

        async def put_off() -> bool:
            due = await one.store.get_time_until_due()
            return due is not None and due > timedelta(seconds=5)

        await board.until(lambda: "show" in board.calls)
        await eventually(put_off)
        await drop(task)
    async with engine(tmp_path, board, work=False) as nobody:
        long_ago = to_micros(utc_now() - timedelta(hours=1))

        def an_hour_passes(connection: Connection) -> None:
            connection.execute(update(outbox).values(first_failed_at=long_ago, due_at=long_ago))

        await nobody.store._database.run(an_hour_passes)
    board.faults["show"] = deque([RetryableError("still down")])
    async with engine(tmp_path, board) as two:
        await two.asked()


async def test_an_ask_that_ended_before_anybody_saw_it_is_never_posted(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board, work=False) as one:
        task = asking(one)
        pending = await eventually(one.manager.list_open_asks)
        await one.cancel(pending[0].id)
        await task
    async with engine(tmp_path, board) as two:
        await rest(two)
        assert not board.messages


async def test_texts_of_a_conversation_keep_their_order_and_are_said_once(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        heard = IncomingMessage(place=HERE, author=ANN, text="hello", dedupe_key="1", at=utc_now())
        received = await one.store.receive(heard, begin=True)
        assert received is not None
        board.faults["post"] = deque([RetryableError("busy"), RetryableError("busy")])
        board.after["post"].append(RetryableError("answer lost"))
        for number in range(5):
            say = OutgoingMessage(target=f"problem:{number}", text=f"text {number}", markdown=False)
            await one.store.enqueue_message(say, received.conversation.id)
            await one.store.enqueue_message(say, received.conversation.id)
        one.worker.wake()
        await rest(one)
        assert board.texts() == [f"text {number}" for number in range(5)]


async def test_turns_that_fail_are_tried_again_and_hold_up_no_other(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board, work=False) as one:
        for thread in ("1", "2"):
            place = HERE.evolve(thread=thread)
            await one.store.receive(
                IncomingMessage(place=place, author=ANN, text="x", dedupe_key=thread, at=utc_now()), begin=True
            )
        bad, good = await one.store.list_runnable(utc_now())
        advanced: list[str] = []
        done = asyncio.Event()

        async def advance(conversation_id: str, slot: Slot) -> None:
            advanced.append(conversation_id)
            if conversation_id == bad and advanced.count(bad) == 1:
                raise RuntimeError("a bug")
            await one.store.begin_turn(conversation_id, lambda *_: _message())
            if advanced.count(bad) >= 2 and good in advanced:
                done.set()

        def _message() -> Message:
            return Message(seq=0, role="user", content=({"type": "text", "text": "x"},))

        worker = Worker(one.store, one.manager, {board.name: board}, LocalTurnScheduler(one.store, advance))
        task = asyncio.create_task(worker.run())
        await asyncio.wait_for(done.wait(), 30)
        assert advanced.index(good) < len(advanced) - 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_what_a_caller_of_the_library_does_is_drawn_at_once(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        waiting = asking(one, SEVERAL, timeout=None)
        (card,) = await one.asked()
        await one.recorded(card)
        await one.manager.act(
            Action(ask_id=card.id, actor=ANN, at=utc_now(), step=0, operation=Select(chosen=(1,), base=()))
        )
        async with asyncio.timeout(8):  # there was no click on a message, so no other drawing is coming
            await board.until(lambda: board.cards()[0].interview.draft.chosen == (1,))
        await drop(waiting)
