"""The worker tries again what may still succeed, and fails an ask at once for what cannot."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, select, update

from askback.domain.incoming_message import IncomingMessage
from askback.domain.outcome import Outcome
from askback.domain.outgoing_message import OutgoingMessage
from askback.internal.clock import to_micros, utc_now
from askback.manager import build_ask, build_policy
from askback.ports.platform import DeliveryError, RetryableError
from askback.runtime import circuit_breaker, delivery_retries, outbox_worker
from askback.store.schema import outbox
from support.board import ANN, HERE, Board
from support.engine import Engine, engine, eventually

from .worker_asks import COLOUR, ONLY_ANN, asking, asking_in, drop, rest

pytestmark = pytest.mark.usefixtures("stored")


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
