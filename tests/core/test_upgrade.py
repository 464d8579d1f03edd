"""An upgrade goes one process after the other: one of before it refuses what it cannot take, and stays alive."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text

from askback.actions import Choose
from askback.policy import Who
from askback.questions import Form, Option, Question
from askback.store.errors import StoreError
from core_engine import ANN, HERE, Board, Engine, engine
from stores import url_in

pytestmark = pytest.mark.usefixtures("stored")

OPTIONS = (Option(value="yes", label="Yes"), Option(value="no", label="No"))
TEA = Form(questions=(Question(id="tea", prompt="Tea?", options=OPTIONS),))
COLUMN = ("ALTER TABLE asks RENAME COLUMN attend_at TO due_at", "ALTER TABLE asks RENAME COLUMN due_at TO attend_at")
FIELD = (
    """UPDATE asks SET policy = replace(policy, '"groups"', '"shift": 1, "groups"')""",
    """UPDATE asks SET policy = replace(policy, '"shift": 1, "groups"', '"groups"')""",
)


async def _execute(one: Engine, statement: str) -> None:
    await one.store._database.run(  # pyright: ignore[reportPrivateUsage] - as a newer process would
        lambda connection: connection.execute(text(statement)).rowcount
    )


@pytest.mark.parametrize(("newer", "back"), [COLUMN, FIELD], ids=["another column", "another rule"])
async def test_a_click_that_an_older_process_cannot_take_changes_nothing_and_the_process_goes_on(
    tmp_path: Path, newer: str, back: str
) -> None:
    if newer == COLUMN[0] and url_in(tmp_path) is None:
        return  # one process alone works on a file
    board = Board()
    async with engine(tmp_path, board) as one:
        asking = asyncio.create_task(one.manager.ask(TEA, to=HERE, who=Who.only(ANN), timeout=None))
        (card,) = await one.asked()
        await one.recorded(card)
        await _execute(one, newer)
        with pytest.raises(StoreError, match="newer askback"):
            await one.press(card, Choose(index=0), ANN)
        one.manager.nudge()
        await asyncio.sleep(0)
        await _execute(one, back)
        await one.press(card, Choose(index=0), ANN)
        assert (await asyncio.wait_for(asking, 30)).status == "answered"
