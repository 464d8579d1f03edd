"""Cards whose question changes, or ends, before or while they are posted."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from askback.domain.form import Form, Question
from askback.domain.schedule import NOT_POSTED
from askback.domain.who import Who
from askback.manager.new_asks import build_ask, build_policy
from askback.runtime.delivery import Delivery
from askback.store.queries import outbox_leases
from askback.tools.base import describe_unanswered
from support.board import ANN, HERE, Board
from support.engine import engine

pytestmark = pytest.mark.usefixtures("stored")

DEADLINE = 0.05
FORM = Form(questions=(Question(id="colour", prompt="Which colour?"),))


async def test_a_card_is_not_posted_after_its_deadline_even_if_nobody_has_applied_that_yet(
    tmp_path: Path, board: Board
) -> None:
    """After an outage, the deadline and the first delivery are due in the same moment."""
    async with engine(tmp_path, board, work=False) as one:
        ask = build_ask(FORM, to=HERE, policy=build_policy(Who.from_people(ANN), DEADLINE))
        await one.manager.submit(ask)
        await asyncio.sleep(2 * DEADLINE)
        delivery = Delivery(one.store, one.manager, {HERE.platform: board})
        for _ in range(2):  # the second one draws the settled ask
            for item in await one.store.lease(10):
                await delivery.deliver(item)
        assert board.calls == []
        found = await one.manager.get(ask.id)
        assert found is not None
        assert found.outcome is not None
        assert (found.status, found.outcome.reason) == ("timed_out", NOT_POSTED)
        assert describe_unanswered(found.outcome).startswith(f"Nobody answered in time: {NOT_POSTED}. ")
        assert await one.store.get_time_until_due() is None


async def test_a_card_that_another_process_changed_while_it_was_posted_is_drawn_again_at_once(
    tmp_path: Path, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that posted it keeps its lease meanwhile, and gives it back then."""
    async with engine(tmp_path, board, work=False) as one:
        ask = build_ask(FORM, to=HERE, policy=build_policy(Who.from_people(ANN), None))
        await one.manager.submit(ask)
        delivery = Delivery(one.store, one.manager, {HERE.platform: board})
        board.holds["show"] = asyncio.Event()
        (posting,) = await one.store.lease(10)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(delivery.deliver(posting))
            await board.until(lambda: board.calls == ["show"])
            with monkeypatch.context() as other_process:
                other_process.setattr(outbox_leases, "_TOKEN", "another")
                await one.manager.cancel(ask.id)
            assert await one.store.lease(10) == ()
            board.holds["show"].set()
        (redrawing,) = await one.store.lease(10)
        await delivery.deliver(redrawing)
        assert [card.status for card in board.cards()] == ["cancelled"]
        assert await one.store.lease(10) == ()
