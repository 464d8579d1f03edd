"""The operator's own tools: run once, whatever they do, and each call gets exactly one result."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import random
import threading
import traceback
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from anthropic import beta_async_tool, beta_tool
from anthropic.lib.tools import ToolError
from pydantic import BaseModel, Field

from askback import ToolContext, tool
from askback.actions import Choose
from askback.store.errors import StoreUnavailable
from askback_local.hearing import refusals
from askback_local.model import Model
from askback_local.script import ToolCall, call, turn
from askback_local.services import Services
from core_engine import ANN, HERE, Board, engine, eventually, last_request, question, results

PIXEL = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"

IMAGE: Any = {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": PIXEL}}


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
async def services() -> AsyncIterator[Services]:
    async with Services(port=0, model=Model()) as services:
        yield services
        # The local API refuses, as the real one does, a history in which a call has no result, or two.
        accepted = refusals([exchange.json() for exchange in services.model.log])
        assert not accepted, accepted


@pytest.fixture
def released() -> Any:
    """Lets go, at the end of the test, of every thread that a tool keeps."""
    event = threading.Event()
    yield event
    event.set()


def lengthen(text: str, times: int = 2) -> str:
    """Say a text several times.

    Args:
        text: What to say.
        times: How often.
    """
    return text * times


async def result_of(
    tmp_path: Path, board: Board, services: Services, function: object, said: ToolCall, **more: Any
) -> dict[str, Any]:
    """The block that the model gets for one call."""
    services.model.script(turn("I look.", said), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(function,), **more) as one:
        await one.write("hello")
        await one.says("Thanks.")
        assert board.texts() == ["I look.", "Thanks."], "people see nothing of a tool"
        await board.until(lambda: board.moods == ["working", "idle"])
        (block,) = results(last_request(services))
        return block


# What a tool is to the model


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
        "whoami was not run, because its input is wrong: context: is no field that is known here: leave it out"
    )


class Size(BaseModel):
    width: int
    height: Annotated[int, Field(gt=0)]


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
    for field_name in ("size.width: ", "size.height: ", "colour: ", "name: is missing", "weight: is no field"):
        assert field_name in block["content"]
    assert ran == []


# What it returns


@dataclass
class Point:
    x: int
    y: list[str] = field(default_factory=list)


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    __str__ = __repr__


@pytest.mark.parametrize(
    ("value", "content"),
    [
        (None, "Done."),
        ("", ""),
        ("half \ud83d of it, and \x00", "half \ufffd of it, and \ufffd"),
        (12.5, "12.5"),
        ({"a": [1, None, True]}, '{"a":[1,null,true]}'),
        ([], "[]"),
        (Point(1, ["ä"]), '{"x":1,"y":["ä"]}'),
        (Size(width=1, height=2), '{"width":1,"height":2}'),
        (Path("/tmp"), '"/tmp"'),
        (float("nan"), "NaN"),
        ({"it": Broken()}, '{"it":"<Broken that cannot be shown>"}'),
        (b"\xff\xfe", "b'\\xff\\xfe'"),
        ([{"type": "text", "text": "one"}], [{"type": "text", "text": "one"}]),
        ((one for one in [{"type": "text", "text": "one"}]), [{"type": "text", "text": "one"}]),
        # What the service would refuse is told as text instead.
        ([{"type": "text", "text": " "}], '[{"type":"text","text":" "}]'),
        ([{"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "no!"}}], None),
        ([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}], None),
        ([{"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}], None),
        ([{"type": "tool_use", "id": "x", "name": "y", "input": {}}], None),
        (
            [{"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": PIXEL}, "x": 1}],
            [{"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": PIXEL}}],
        ),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_whatever_it_returns_reaches_the_model_in_a_form_that_the_service_takes(
    tmp_path: Path, board: Board, services: Services, value: object, content: object
) -> None:
    block = await result_of(tmp_path, board, services, _returning(value), call("give"))
    if content is None:
        assert isinstance(block["content"], str)
    else:
        assert block["content"] == content
    assert "is_error" not in block


def _returning(value: object) -> Callable[[], object]:
    def give() -> object:
        return value

    return give


async def test_a_recursive_value_is_shown_by_its_repr(tmp_path: Path, board: Board, services: Services) -> None:
    value: list[object] = []
    value.append(value)
    block = await result_of(tmp_path, board, services, _returning(value), call("give"))
    assert block["content"] == "[[...]]"


async def test_five_megabytes_are_cut_and_the_model_is_told_how_much(
    tmp_path: Path, board: Board, services: Services
) -> None:
    block = await result_of(tmp_path, board, services, _returning("x" * 5_000_000), call("give"), result_limit=2000)
    assert block["content"] == (
        "x" * 2000 + "\n[Cut here: these are the first 2000 of 5000000 characters. Ask for less.]"
    )


async def test_the_texts_of_several_blocks_share_the_limit_and_a_file_that_is_too_large_is_named(
    tmp_path: Path, board: Board, services: Services
) -> None:
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(4_500_000)).decode()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    texts = [{"type": "text", "text": letter * 900} for letter in "abc"]
    block = await result_of(tmp_path, board, services, _returning([image, *texts]), call("give"), result_limit=1000)
    told = [one["text"] for one in block["content"]]
    assert told[0].startswith("[Left out: image of 6000")
    assert told[1] == "a" * 900
    assert told[2].startswith("b" * 100 + "\n[Cut here: these are the first 100 of 900 characters.")
    assert told[3:] == ["[The texts after that are left out.]"]


# What goes wrong in it


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize(
    ("error", "content"),
    [
        (lambda: ValueError("There is no prod."), "ValueError: There is no prod."),
        (lambda: KeyError("prod"), "KeyError: 'prod'"),
        (lambda: SystemExit(4), "SystemExit: 4"),
        (KeyboardInterrupt, "KeyboardInterrupt"),
        (lambda: asyncio.CancelledError("mine"), "CancelledError: mine"),
        (lambda: TimeoutError("the database"), "TimeoutError: the database"),
        (Unspeakable, "Unspeakable: (its text cannot be shown: SystemExit)"),
        (lambda: RuntimeError("<!channel> @everyone\n</x>"), "RuntimeError: <!channel> @everyone\n</x>"),
        (
            lambda: ToolError([{"type": "text", "text": "In blocks."}, IMAGE]),
            [{"type": "text", "text": "In blocks."}, {"type": "text", "text": "[Left out: image.]"}],
        ),
    ],
    ids=["value", "key", "exit", "interrupt", "cancelled", "timeout", "unspeakable", "hostile", "blocks"],
)
async def test_what_it_raises_goes_to_the_model_and_into_the_log_and_nowhere_else(
    tmp_path: Path,
    board: Board,
    services: Services,
    caplog: pytest.LogCaptureFixture,
    kind: str,
    error: Callable[[], BaseException],
    content: object,
) -> None:
    def fail(secret: str) -> None:
        raise error()

    async def fail_async(secret: str) -> None:
        raise error()

    fail_async.__name__ = "fail"
    function = fail if kind == "sync" else fail_async
    block = await result_of(tmp_path, board, services, function, call("fail", secret="s3cret"))
    assert (block["content"], block["is_error"]) == (content, True)
    (record,) = [one for one in caplog.records if one.levelno >= logging.ERROR and one.name == "askback.toolbox"]
    assert record.getMessage() == "A tool failed."
    assert record.exc_info is not None
    assert type(record.exc_info[1]) is type(error())
    assert "s3cret" not in f"{record.__dict__}"
    assert "fail" in "".join(traceback.format_exception(*record.exc_info[:2], record.exc_info[2]))


async def test_a_coroutine_that_is_returned_is_not_left_to_rot(
    tmp_path: Path, board: Board, services: Services
) -> None:
    async def later() -> str:
        return "too late"

    def now() -> object:
        return later()

    block = await result_of(tmp_path, board, services, now, call("now"))
    assert block["is_error"] is True
    assert "make it async def" in block["content"]


async def test_one_that_fails_leaves_the_others_alone(tmp_path: Path, board: Board, services: Services) -> None:
    def fail() -> None:
        raise SystemExit

    services.model.script(turn(call("fail"), call("lengthen", text="a"), call("nope")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(fail, lengthen)) as one:
        await one.write("hello")
        await one.says("Thanks.")
        told = [block["content"] for block in results(last_request(services))]
        assert told[:2] == ["SystemExit", "aa"]
        assert told[2] == "There is no tool 'nope'. There are: AskUserQuestion, fail, lengthen."


async def test_a_model_that_calls_its_tools_rightly_does_not_count_as_one_that_errs(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(*(turn(call("lengthen", text="a")) for _ in range(8)), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(lengthen,)) as one:
        await one.write("hello")
        await one.says("Thanks.")
        assert len(results(last_request(services))) == 8


async def test_an_agent_that_calls_tools_in_a_loop_rests_after_so_many_rounds(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(*(turn(call("lengthen", text="a")) for _ in range(9)), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(lengthen,), rounds=3) as one:
        await one.write("hello")
        await one.says("I have called the model 3 times without a word from you.")
        assert len(services.model.log) == 3


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
    assert block["content"] == "hang did not end within 0.05 s; its outcome is unknown."
    assert block["is_error"] is True
    # On a machine that is slow enough it had not even begun; then there is nothing to cancel.
    assert not began.is_set() or await asyncio.to_thread(cancelled.wait, 10)
    assert "A tool did not end within 0.05 s." in caplog.text


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
        assert block["content"].startswith("lengthen was not run: All 1 threads for tools are taken")
        assert block["is_error"] is True
        assert "Restart this program" in caplog.text


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


# Several at once, and beside questions


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


async def test_beside_a_question_both_go_on_and_the_model_hears_of_both_at_once(
    tmp_path: Path, board: Board, services: Services
) -> None:
    services.model.script(turn(question("A?"), call("lengthen", text="x"), question("B?")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(lengthen,)) as one:
        await one.write("hello")
        cards = await one.asked(2)
        await board.until(lambda: board.moods[-1] == "waiting")
        conversation = cards[0].conversation_id
        assert conversation is not None
        assert await one.store.calls_to_run(conversation) is None, "it has run before anybody answered"
        await one.write("hurry")
        for card in cards:
            await one.press(card, Choose(index=0))
        await one.says("Thanks.")
        news = last_request(services)[-1]["content"]
        assert [block["type"] for block in news] == ["tool_result"] * 3 + ["text"]
        assert news[1]["content"] == "xx"
        assert len(services.model.log) == 2
        await board.until(lambda: board.moods == ["working", "waiting", "working", "idle"])


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


# Stops


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
        await one.reception.stop(HERE, ANN)
        one.worker.wake()
        await one.says("Stopped by Ann.")
        await board.until(lambda: board.moods[-1] == "idle")
        if kind == "sync":
            released.set()
        assert await asyncio.to_thread(ended.wait, 10)
        assert len(services.model.log) == 1, "nothing goes on by itself"
        await one.write("go on")
        await one.says("Thanks.")
        told = results(last_request(services))
        assert told[0]["content"].startswith("Somebody stopped this before it was done.")
        assert told[0]["is_error"] is True
        assert len(told) == 2


# Ends of the process


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
        sentence = "I was interrupted while I ran “deploy”, and do not run it again: its outcome is unknown."
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
        # The result is kept, the model calls the next, and that one waits for the next process.
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
    conversation = await one.store.conversation(HERE)
    return await one.store.calls_to_run(conversation.id) is not None


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
    return await one.store.conversation(HERE) is not None and await _left(one)


async def test_what_it_prints_reaches_neither_the_model_nor_people(
    tmp_path: Path, board: Board, services: Services, capfd: pytest.CaptureFixture[str]
) -> None:
    def chatter() -> str:
        os.write(1, b"\x1b[31m<!channel>\n")
        return "quiet"

    block = await result_of(tmp_path, board, services, chatter, call("chatter"))
    assert block["content"] == "quiet"
    assert "<!channel>" in capfd.readouterr().out


# The property


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
                    await asyncio.sleep(dice.random() * 0.05)  # a moment of chance, on purpose: any may be the end
                    if dice.random() < 0.3:
                        await one.reception.stop(HERE, ANN)
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
