"""The operator's own tools across stops and the end of the process: each call still gets one result."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from askback import ToolContext, tool
from askback.domain.actions import Choose
from askback.store.errors import StoreUnavailable
from askback_sandbox.model.script import ToolCall, call, turn
from askback_sandbox.services import Services
from support.board import ANN, HERE, Board
from support.engine import engine, eventually, last_request, question, results
from support.tools import BOTH_STORES, lengthen

# Stops


@BOTH_STORES
@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_stop_ends_what_runs_and_its_late_result_changes_nothing(
    tmp_path: Path, board: Board, services: Services, released: threading.Event, kind: str
) -> None:
    began, ended = threading.Event(), threading.Event()

    def work() -> str:
        began.set()
        released.wait()
        ended.set()
        return "late"

    async def work_async() -> str:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "late"

    work_async.__name__ = "work"
    services.model.script(turn(call("work"), question("A?")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(work if kind == "sync" else work_async,)) as one:
        await one.write("hello")
        await one.asked()
        assert await asyncio.to_thread(began.wait, 10)
        await one.stop(ANN)
        one.worker.wake()
        await one.says("Stopped by Ann.")
        await board.until(lambda: board.statuses[-1] == "idle")
        if kind == "sync":
            released.set()
        assert await asyncio.to_thread(ended.wait, 10)
        assert len(services.model.log) == 1, "nothing goes on by itself"
        await one.write("go on")
        await one.says("Thanks.")
        told = results(last_request(services))
        assert told[0]["content"].startswith("Somebody stopped this before it finished.")
        assert told[0]["is_error"] is True
        assert len(told) == 2


# Ends of the process


@BOTH_STORES
@pytest.mark.parametrize("idempotent", [False, True])
async def test_one_that_ran_when_the_process_ended_is_not_run_again_unless_it_may_be(
    tmp_path: Path, board: Board, services: Services, idempotent: bool
) -> None:
    began: list[str] = []
    fast = False

    @tool(idempotent=idempotent)
    async def deploy(context: ToolContext) -> str:
        began.append(context.call_id)
        if not fast:
            await asyncio.Event().wait()
        return "deployed"

    services.model.script(turn(call("deploy"), call("lengthen", text="a")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploy, lengthen)) as one:
        await one.write("hello")
        await eventually(lambda: _is(began))
    fast = True
    async with engine(tmp_path, board, services, own=(deploy, lengthen)) as one:
        one.worker.wake()
        await one.says("Thanks.")
        told = results(last_request(services))
        sentence = (
            "I was interrupted while I ran “deploy”, so its outcome is unknown. I will not run it again: "
            "please check what it has done."
        )
        if idempotent:
            assert [block["content"] for block in told] == ["deployed", "aa"]
            assert len(began) == 2
            assert len(set(began)) == 1, "a key for services that do nothing twice"
            assert board.texts() == ["Thanks."]
        else:
            assert told[0]["content"].startswith("Interrupted, outcome unknown: this program ended")
            assert told[0]["is_error"] is True
            assert len(began) == 1
            await one.says(sentence)
            assert sorted(board.texts()) == [sentence, "Thanks."]


async def _is(found: list[str]) -> bool:
    return bool(found)


@BOTH_STORES
async def test_when_the_process_is_to_end_nothing_begins_and_what_runs_may_end(
    tmp_path: Path, board: Board, services: Services, released: threading.Event
) -> None:
    ran: list[str] = []

    def slow(name: str) -> str:
        ran.append(name)
        released.wait()
        return name

    services.model.script(turn(call("slow", name="first")), turn(call("slow", name="second")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(slow,)) as one:
        await one.write("hello")
        await eventually(lambda: _is(ran))
        finishing = asyncio.create_task(one.toolbox.finish(30))
        await asyncio.sleep(0)
        released.set()
        await finishing
        # The result is stored, the model makes the next call, and that one waits for the next process.
        await board.until(lambda: len(services.model.log) == 2)
        await eventually(lambda: _left(one))
        assert ran == ["first"]
    async with engine(tmp_path, board, services, own=(slow,)) as one:
        one.worker.wake()
        await one.says("Thanks.")
        assert [block["content"] for block in results(last_request(services))] == ["first", "second"]
        assert ran == ["first", "second"]
        assert board.texts() == ["Thanks."]


async def _left(one: Any) -> bool:
    conversation = await one.store.find_conversation(HERE)
    return (await one.store.get_next_step(conversation.id)).calls is not None


@BOTH_STORES
async def test_a_result_that_the_store_cannot_take_is_kept_until_it_can(
    tmp_path: Path, board: Board, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[int] = []

    def count() -> str:
        ran.append(1)
        return f"run {len(ran)}"

    services.model.script(turn(call("count")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(count,)) as one:
        end_call, failures = one.store.end_call, [StoreUnavailable("The disk is full.")]

        async def failing(*args: Any, **more: Any) -> bool:
            if failures:
                raise failures.pop()
            return await end_call(*args, **more)

        monkeypatch.setattr(one.store, "end_call", failing)
        await one.write("hello")
        await one.says("Thanks.")
        (block,) = results(last_request(services))
        assert (block["content"], "is_error" in block, len(ran)) == ("run 1", False, 1)


async def test_a_tool_that_is_gone_after_a_restart_is_told_as_gone(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(call("lengthen", text="a")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(lengthen,)) as one:
        await one.toolbox.finish(0)
        await one.write("hello")
        await eventually(lambda: _begun_and_left(one))
    async with engine(tmp_path, board, services) as one:
        one.worker.wake()
        await one.says("Thanks.")
        (block,) = results(last_request(services))
        assert (block["content"], block["is_error"]) == ("There is no tool 'lengthen' any more.", True)


async def _begun_and_left(one: Any) -> bool:
    return await one.store.find_conversation(HERE) is not None and await _left(one)


# The property


@BOTH_STORES
@pytest.mark.parametrize("seed", range(6))
async def test_whatever_a_turn_calls_and_whatever_ends_it_each_call_gets_one_result(
    tmp_path: Path, board: Board, services: Services, seed: int
) -> None:
    dice = random.Random(seed)
    forever = threading.Event()

    @tool(timeout=0.05)
    async def hang() -> None:
        await asyncio.Event().wait()

    @tool(timeout=0.05)
    def stuck() -> None:
        forever.wait()

    async def slow() -> str:
        await asyncio.sleep(0.05)
        return "slow"

    def fail(number: int) -> None:
        raise SystemExit(number)

    kinds: list[Callable[[], ToolCall]] = [
        lambda: call("lengthen", text="a"),
        lambda: call("lengthen", words="wrong"),
        lambda: call("hang"),
        lambda: call("stuck"),
        lambda: call("slow"),
        lambda: call("fail", number=1),
        lambda: call("nope"),
        lambda: question(f"Q{dice.random()}?"),
    ]
    turns = [turn(*(dice.choice(kinds)() for _ in range(dice.randint(1, 5)))) for _ in range(3)]
    services.model.script(*turns, turn("Thanks."))
    own = (lengthen, hang, stuck, slow, fail)
    try:
        for _ in range(3):
            async with engine(tmp_path, board, services, own=own) as one:
                await one.write("hello")
                for _ in range(dice.randint(0, 3)):
                    await asyncio.sleep(dice.random() * 0.05)  # random on purpose: the process may end at any moment
                    if dice.random() < 0.3:
                        await one.stop(ANN)
                        await one.write("and now?")
                    for card in board.open():
                        await one.press(card, Choose(index=0))
        async with engine(tmp_path, board, services, own=own) as one:
            await one.write("the end")

            async def done() -> bool:
                for card in board.open():
                    await one.press(card, Choose(index=0))
                return "Thanks." in board.texts()

            await eventually(done)
            messages = last_request(services)
            called = [b["id"] for m in messages for b in m["content"] if b["type"] == "tool_use"]
            told = [block["tool_use_id"] for block in results(messages)]
            assert called
            assert told == called
    finally:
        forever.set()
