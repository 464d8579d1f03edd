"""Worker: deliveries in order, once, and every card settled in every case."""

from __future__ import annotations

import asyncio
from collections import deque
from pathlib import Path

import pytest

from askback.agent.concurrency_slots import Slot
from askback.domain.actions import Choose
from askback.domain.incoming_message import IncomingMessage
from askback.domain.outgoing_message import OutgoingMessage
from askback.domain.turn import Message
from askback.internal.clock import utc_now
from askback.manager import build_ask, build_policy
from askback.ports.platform import DeliveryError, RetryableError
from askback.runtime.turns import LocalTurnScheduler
from askback.runtime.worker import Worker
from askback.store.errors import StoreUnavailable
from support.board import ANN, HERE, Board
from support.engine import engine, eventually

from .worker_asks import COLOUR, ONLY_ANN, asking, drop, rest

pytestmark = pytest.mark.usefixtures("stored")


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
