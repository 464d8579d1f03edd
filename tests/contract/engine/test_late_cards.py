"""A question whose deadline passed before anybody saw its card is not posted any more."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from askback.domain.ask_policy import Who
from askback.domain.form import Form, Question
from askback.domain.schedule import NOT_POSTED
from askback.manager.new_asks import build_ask, build_policy
from askback.runtime.delivery import Delivery
from askback.tools.base import describe_unanswered
from support.engine import ANN, HERE, Board, engine

pytestmark = pytest.mark.usefixtures("stored")

DEADLINE = 0.05
FORM = Form(questions=(Question(id="colour", prompt="Which colour?"),))


async def test_a_card_is_not_posted_after_its_deadline_even_if_nobody_has_applied_that_yet(
    tmp_path: Path, board: Board
) -> None:
    """After an outage, the deadline and the first delivery are due in the same moment."""
    async with engine(tmp_path, board, work=False) as one:
        ask = build_ask(FORM, to=HERE, policy=build_policy(Who.only(ANN), DEADLINE))
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
