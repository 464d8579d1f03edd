"""A text is shown while the model writes it, and neither holds back the other."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from askback_sandbox.model.script import turn
from askback_sandbox.services import Services
from support.board import Board
from support.engine import engine, eventually

pytestmark = pytest.mark.usefixtures("stored")

STORY = "It begins here. " + "And then it goes on for a while. " * 14 + "Here it ends."


async def model_has_ended(caplog: pytest.LogCaptureFixture) -> bool:
    return any(record.getMessage().startswith("The model ended") for record in caplog.records)


async def test_a_platform_that_does_not_answer_does_not_hold_back_the_model(
    tmp_path: Path, board: Board, services: Services, caplog: pytest.LogCaptureFixture
) -> None:
    services.model.script(turn(STORY))
    services.model.delay = 0.05
    board.holds["append"] = asyncio.Event()
    async with engine(tmp_path, board, services) as one:
        with caplog.at_level("INFO", "askback.model"):
            await one.write("tell me a story")
            await board.until(lambda: "append" in board.calls)
            await eventually(lambda: model_has_ended(caplog))
        assert "finish" not in board.calls, "the part that is being shown comes first"
        board.holds["append"].set()
        await one.says(STORY)
    assert board.calls.count("append") == 1, "the rest came with the whole text"


async def test_a_text_that_is_complete_at_once_is_posted_with_one_call(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn("So be it."))
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        await one.says("So be it.")
    assert "append" not in board.calls
    assert board.calls.count("finish") == 1
