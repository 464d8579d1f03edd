"""What one person lets an agent do holds up nobody else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from askback.agent.slots import Closed, Slots
from askback_local.model.script import Fault, call, turn
from askback_local.services import Services
from core_engine import ANN, BEN, HERE, Board, Engine, engine

MANY = 20
"""Conversations of one person: more than turns, and more than tools, are under way at the same time."""


@asynccontextmanager
async def busy(one: Engine, text: str) -> AsyncIterator[None]:
    for number in range(MANY):
        await one.write(f"{text} {number}", author=ANN, place=HERE.evolve(thread=f"ann {number}"))
    yield


@pytest.mark.usefixtures("stored")
async def test_slow_tools_of_one_person_hold_up_no_turn_and_no_tool_of_another(
    tmp_path: Path, board: Board, services: Services, released: threading.Event
) -> None:
    """One user with 16 conversations in slow tools held up another's first turn for 9.7 s."""
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


async def test_a_slot_goes_to_whoever_has_fewest_and_nobody_has_more_than_a_share() -> None:
    slots = Slots(4, each=3)
    held: list[str] = []
    leave: dict[str, asyncio.Event] = {}

    async def hold(name: str) -> None:
        async with slots.held(name[0]):
            held.append(name)
            await leave.setdefault(name, asyncio.Event()).wait()

    async with AsyncExitStack() as stack:
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        for name in ("a1", "a2", "a3", "a4", "b1", "a5", "b2", "c1"):
            tasks.create_task(hold(name))
        await settle()
        assert held == ["a1", "a2", "a3", "b1"], "a has its share, and all are taken"
        for name, then in (("a1", "c1"), ("a2", "a4"), ("b1", "b2"), ("c1", "a5")):
            leave[name].set()
            await settle()
            assert held[-1] == then
        for name in held:
            leave[name].set()


async def test_whoever_gives_up_waiting_keeps_nothing() -> None:
    slots = Slots(1, each=1)
    held: list[str] = []

    async def hold(name: str) -> None:
        async with slots.held(name):
            held.append(name)
            await asyncio.sleep(0)

    async with slots.held("a"):
        waiting = [asyncio.create_task(hold(name)) for name in "bcd"]
        await settle()
        waiting[0].cancel()
        await settle()
    waiting[1].cancel()  # it has the slot by now, and has not run since
    await asyncio.gather(*waiting, return_exceptions=True)
    assert held == ["d"]


async def test_one_who_lets_others_go_first_waits_for_a_slot_again() -> None:
    slots = Slots(1, each=1)
    async with slots.held("a") as slot:
        slot.leave()
        async with slots.held("b"):
            pass
        await slot.take()
        await slot.take()
        blocked = asyncio.create_task(slots.held("b").__aenter__())
        await settle()
        assert not blocked.done()
        slots.close()
        with pytest.raises(Closed):
            await blocked
    with pytest.raises(Closed):
        await slots.held("b").__aenter__()


async def settle() -> None:
    """Let every task go as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)
