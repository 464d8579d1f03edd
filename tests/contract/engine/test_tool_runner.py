"""The operator's own tools: their schema for the model, and that each call runs once, in parallel with other work."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any, Literal

import pytest
from anthropic import beta_async_tool, beta_tool

from askback import ToolContext, tool
from askback.domain.actions import Choose
from askback_sandbox.model.script import call, turn
from askback_sandbox.services import Services
from support.board import ANN, HERE, Board
from support.engine import engine, last_request, question, results
from support.tools import BOTH_STORES, Size, lengthen, result_of

# The model's view of a tool


async def test_a_typed_function_is_offered_with_its_docstring_and_its_result_goes_to_the_model(
    tmp_path: Path, board: Board, services: Services
) -> None:
    block = await result_of(tmp_path, board, services, lengthen, call("lengthen", text="ab", times="3"))
    assert block["content"] == "ababab"
    assert "is_error" not in block
    request: Any = services.model.log[0].request
    offered = {one["name"]: one for one in request["tools"]}
    assert set(offered) == {"AskUserQuestion", "lengthen"}
    assert offered["lengthen"]["description"] == "Say a text several times."
    schema = offered["lengthen"]["input_schema"]
    assert schema["properties"]["text"]["description"] == "What to say."
    assert schema["required"] == ["text"]


async def test_what_anthropics_decorators_made_is_taken_as_it_is(
    tmp_path: Path, board: Board, services: Services
) -> None:
    @beta_tool(name="twice_as_much", description="Doubles.")
    def double(number: int) -> str:
        return str(number * 2)

    @tool(idempotent=True)
    @beta_async_tool
    async def triple(number: int) -> str:
        return str(number * 3)

    services.model.script(turn(call("twice_as_much", number=4), call("triple", number=4)), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(double, triple)) as one:
        await one.write("hello")
        await one.says("Thanks.")
        assert [block["content"] for block in results(last_request(services))] == ["8", "12"]


async def test_a_tool_may_know_for_whom_it_runs_and_the_model_cannot_say_so(
    tmp_path: Path, board: Board, services: Services
) -> None:
    seen: list[ToolContext] = []

    async def whoami(context: ToolContext, loud: bool = False) -> str:
        seen.append(context)
        return context.starter.name or ""

    block = await result_of(tmp_path, board, services, whoami, call("whoami", loud=True))
    assert block["content"] == "Ann"
    assert (seen[0].starter, seen[0].place, seen[0].call_id) == (ANN, HERE, block["tool_use_id"])
    request: Any = services.model.log[0].request
    assert list(request["tools"][1]["input_schema"]["properties"]) == ["loud"]


async def test_the_model_cannot_set_the_context(tmp_path: Path, board: Board, services: Services) -> None:
    def whoami(context: ToolContext) -> str:
        raise AssertionError("it was called")

    block = await result_of(tmp_path, board, services, whoami, call("whoami", context={"starter": "root"}))
    assert block["is_error"] is True
    assert block["content"] == (
        "whoami was not run, because its input is invalid: context: is an unknown field: leave it out"
    )


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_wrong_input_is_told_with_every_wrong_field_and_nothing_is_called(
    tmp_path: Path, board: Board, services: Services, kind: str
) -> None:
    ran: list[object] = []

    def draw(size: Size, colour: Literal["red", "blue"], name: str) -> None:
        ran.append(size)

    async def draw_async(size: Size, colour: Literal["red", "blue"], name: str) -> None:
        ran.append(size)

    draw_async.__name__ = "draw"
    given = call("draw", size={"width": "wide", "height": 0}, colour="green", weight=3)
    block = await result_of(tmp_path, board, services, draw if kind == "sync" else draw_async, given)
    assert block["is_error"] is True
    for field_name in ("size.width: ", "size.height: ", "colour: ", "name: is missing", "weight: is an unknown field"):
        assert field_name in block["content"]
    assert ran == []


# Time


async def test_one_that_does_not_end_is_told_as_unknown_and_a_coroutine_is_cancelled(
    tmp_path: Path, board: Board, services: Services, caplog: pytest.LogCaptureFixture
) -> None:
    began, cancelled = threading.Event(), threading.Event()

    @tool(timeout=0.05)
    async def hang() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    block = await result_of(tmp_path, board, services, hang, call("hang"))
    # If it had not begun by then, it never does.
    assert block["content"] == (
        "hang did not end within 0.05 s; its outcome is unknown."
        if began.is_set()
        else "hang was not run: it could not start within 0.05 s. You may call it again."
    )
    assert block["is_error"] is True
    # On a very slow machine it may not have begun; then there is nothing to cancel.
    assert not began.is_set() or await asyncio.to_thread(cancelled.wait, 10)
    assert "A tool timed out after 0.05 s, so its outcome is unknown." in caplog.text


async def test_a_function_that_hangs_keeps_its_thread_and_nothing_else(
    tmp_path: Path, board: Board, services: Services, released: threading.Event
) -> None:
    @tool(timeout=0.05)
    def hang() -> str:
        released.wait()
        return "late"

    services.model.script(
        turn(call("hang"), call("lengthen", text="a")), turn(call("lengthen", text="b")), turn("Thanks.")
    )
    async with engine(tmp_path, board, services, own=(hang, lengthen), threads=2) as one:
        await one.write("hello")
        await one.says("Thanks.")
        told = [block["content"] for block in results(last_request(services))]
        assert told == ["hang did not end within 0.05 s; its outcome is unknown.", "aa", "bb"]


async def test_without_a_thread_left_a_function_is_not_run_and_that_is_said(
    tmp_path: Path, board: Board, services: Services, released: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    @tool(timeout=0.05)
    def hang() -> None:
        released.wait()

    services.model.script(turn(call("hang")), turn(call("lengthen", text="b")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(hang, lengthen), threads=1) as one:
        await one.write("hello")
        await one.says("Thanks.")
        block = results(last_request(services))[1]
        assert block["content"].startswith(
            "lengthen was not run: Calls that have not ended occupy all 1 threads for tools"
        )
        assert block["is_error"] is True
        assert "Restart askback" in caplog.text


async def test_a_coroutine_that_blocks_its_loop_holds_up_no_click(
    tmp_path: Path, board: Board, services: Services, released: threading.Event
) -> None:
    async def block() -> str:
        released.wait()
        return "at last"

    services.model.script(turn(call("block"), question("A?")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(block,)) as one:
        await one.write("hello")
        (card,) = await one.asked()
        await one.press(card, Choose(index=0))
        await board.until(lambda: not board.open())
        released.set()
        await one.says("Thanks.")
        assert results(last_request(services))[0]["content"] == "at last"


async def test_a_thread_that_a_coroutine_uses_keeps_no_process_alive_either(
    tmp_path: Path, board: Board, services: Services
) -> None:
    async def look() -> bool:
        return await asyncio.to_thread(lambda: threading.current_thread().daemon)

    block = await result_of(tmp_path, board, services, look, call("look"))
    assert block["content"] == "true"


# Concurrent calls, also with questions


async def test_calls_of_one_turn_run_at_the_same_time_and_are_told_in_the_models_order(
    tmp_path: Path, board: Board, services: Services
) -> None:
    all_there = threading.Barrier(3)

    def meet(name: str) -> str:
        all_there.wait(10)
        return name

    services.model.script(turn(*(call("meet", name=name) for name in "abc")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(meet,)) as one:
        await one.write("hello")
        await one.says("Thanks.")
        assert [block["content"] for block in results(last_request(services))] == ["a", "b", "c"]
        assert [len(message["content"]) for message in last_request(services)] == [1, 3, 3]


@BOTH_STORES
async def test_beside_a_question_both_go_on_and_the_model_hears_of_both_at_once(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(question("A?"), call("lengthen", text="x"), question("B?")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(lengthen,)) as one:
        await one.write("hello")
        cards = await one.asked(2)
        await board.until(lambda: board.statuses[-1] == "waiting")
        conversation = cards[0].conversation_id
        assert conversation is not None
        assert (await one.store.get_next_step(conversation)).calls is None, "it has run before anybody answered"
        await one.write("hurry")
        for card in cards:
            await one.press(card, Choose(index=0))
        await one.says("Thanks.")
        news = last_request(services)[-1]["content"]
        assert [block["type"] for block in news] == ["tool_result"] * 3 + ["text"]
        assert news[1]["content"] == "xx"
        assert len(services.model.log) == 2
        await board.until(lambda: board.statuses == ["working", "waiting", "working", "idle"])


@BOTH_STORES
async def test_answered_while_a_tool_runs_the_model_still_hears_of_both_at_once(
    tmp_path: Path, board: Board, services: Services, released: threading.Event
) -> None:
    def slow() -> str:
        released.wait()
        return "slowly"

    services.model.script(turn(call("slow"), question("A?")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(slow,)) as one:
        await one.write("hello")
        (card,) = await one.asked()
        await one.press(card, Choose(index=1))
        assert len(services.model.log) == 1
        released.set()
        await one.says("Thanks.")
        told = results(last_request(services))
        assert told[0]["content"] == "slowly"
        assert '"A?"="Blue"' in told[1]["content"]
