"""A process renews its lease during a long delivery; if it cannot, it stops before others take over."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from askback.domain.incoming_message import IncomingMessage
from askback.domain.outgoing_message import OutgoingMessage
from askback.internal.clock import utc_now
from askback.store import leases
from askback.store.leases import LeaseLost, keep_lease
from askback.store.queries.outbox_leases import LEASE_SECONDS
from askback.store.store import Store
from askback_sandbox.model.script import turn
from askback_sandbox.services import Services
from support.board import ANN, HERE, Board
from support.engine import engine

pytestmark = pytest.mark.usefixtures("stored")
LONGER = LEASE_SECONDS + 2.0


async def test_a_text_that_takes_longer_than_a_lease_is_said_by_the_agent_alone(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn("Hello, Ann."))
    async with engine(tmp_path, board, services) as one:
        board.holds["finish"] = asyncio.Event()
        await one.write("hello")
        await board.until(lambda: "finish" in board.calls)
        await asyncio.sleep(LONGER)
        assert not board.said, "the outbox said it, too"
        board.holds["finish"].set()
        await board.until(lambda: board.statuses[-1] == "idle")
        assert board.texts() == ["Hello, Ann."]
        assert await one.store.get_time_until_due() is None


async def test_a_text_that_takes_longer_than_a_lease_is_delivered_once(tmp_path: Path, board: Board) -> None:
    board.holds["post"] = asyncio.Event()
    async with engine(tmp_path, board) as one, engine(tmp_path, board, work=False) as other:
        await queued(one.store)
        one.worker.wake()
        await board.until(lambda: "post" in board.calls)
        await asyncio.sleep(LONGER)
        assert await other.store.lease(1) == ()
        board.holds["post"].set()
        await board.until(board.texts)
        assert board.calls.count("post") == 1


async def test_who_cannot_renew_a_lease_lets_go_before_somebody_else_may_take_it(
    tmp_path: Path, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "MARGIN_SECONDS", LEASE_SECONDS - leases.RENEW_SECONDS - 1)
    async with engine(tmp_path, board, work=False) as one, engine(tmp_path, board, work=False) as other:
        await queued(one.store)
        began = asyncio.get_running_loop().time()
        (item,) = await one.store.lease(1)
        await one.store._database.close()
        with pytest.raises(LeaseLost, match=item.target):
            async with keep_lease(one.store, item.target, began):
                await asyncio.Event().wait()
        assert asyncio.get_running_loop().time() - began < LEASE_SECONDS
        assert await other.store.lease(1) == ()
        pause = await other.store.get_time_until_due()
        assert pause is not None
        await asyncio.sleep(pause.total_seconds())
        (again,) = await other.store.lease(1)
        assert (again.target, again.attempts) == (item.target, 2)


async def test_a_text_waits_for_those_before_it_and_for_none_behind_it(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board, work=False) as one:
        first, second = await queued(one.store), await queued(one.store, "second")
        assert not await one.store.has_earlier_text(first, before="first")
        assert await one.store.has_earlier_text(second, before="second")
        assert await one.store.has_earlier_text(second, before="not queued yet")


async def queued(store: Store, name: str = "first") -> str:
    """Queue a text in the conversation that Ann began; return the conversation's id."""
    heard = IncomingMessage(place=HERE, author=ANN, text="hello", dedupe_key=name, at=utc_now())
    received = await store.receive(heard, begin=True)
    assert received is not None
    await store.enqueue_message(OutgoingMessage(target=name, text=name, markdown=False), received.conversation.id)
    return received.conversation.id
