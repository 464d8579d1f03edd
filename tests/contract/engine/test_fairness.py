"""One person's running work does not delay anyone else."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from askback_sandbox.model.script import Fault, call, turn
from askback_sandbox.services import Services
from support.board import ANN, BEN, HERE, Board
from support.engine import Engine, engine

MANY = 20
"""Conversations of one person, more than there are slots for turns and for tools."""


@asynccontextmanager
async def busy(one: Engine, text: str) -> AsyncIterator[None]:
    for number in range(MANY):
        await one.write(f"{text} {number}", author=ANN, place=HERE.evolve(thread=f"ann {number}"))
    yield


@pytest.mark.usefixtures("stored")
async def test_slow_tools_of_one_person_hold_up_no_turn_and_no_tool_of_another(
    tmp_path: Path, board: Board, services: Services, released: threading.Event
) -> None:
    """One user with 16 conversations in slow tools delayed another's first turn by 9.7 s."""
    running: list[str] = []

    def wait(who: str) -> str:
        running.append(who)
        if who == "ann":
            released.wait()
        return "done"

    services.model.script(turn(call("wait", who="ann")), turn("Ann's is done."), when="ann")
    services.model.script(turn(call("wait", who="ben")), turn("Ben's is done."), when="ben")
    async with engine(tmp_path, board, services, own=(wait,)) as one, busy(one, "ann"):
        await board.until(lambda: running.count("ann") >= 8)
        await one.write("ben", author=BEN, place=HERE.evolve(thread="ben"))
        await one.says("Ben's is done.")
        assert "Ann's is done." not in board.texts()
        released.set()
        await board.until(lambda: board.texts().count("Ann's is done.") == MANY)


@pytest.mark.usefixtures("stored")
async def test_long_answers_to_one_person_hold_up_no_answer_to_another(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn("Dear Ann, this is long.", Fault(kind="stall", times=MANY, after=12)), when="ann")
    services.model.script(turn("Dear Ben."), when="ben")
    async with engine(tmp_path, board, services, patience=60) as one, busy(one, "ann"):
        await board.until(lambda: len(board.messages) >= 8)
        await one.write("ben", author=BEN, place=HERE.evolve(thread="ben"))
        await one.says("Dear Ben.")
