"""The return values, exceptions and output of the operator's own tools, and their visibility."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from anthropic.lib.tools import ToolError

from askback_sandbox.model.script import call, turn
from askback_sandbox.services import Services
from support.board import Board
from support.engine import engine, last_request, results
from support.tools import IMAGE, PIXEL, Size, lengthen, result_of

# Return values


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
        # Results that the service would refuse are sent as text instead.
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
        "x" * 2000 + "\n[Truncated: these are the first 2000 of 5000000 characters. Ask for less.]"
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
    assert told[2].startswith("b" * 100 + "\n[Truncated: these are the first 100 of 900 characters.")
    assert told[3:] == ["[The remaining texts are left out.]"]


# Errors in a tool


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
        (Unspeakable, "Unspeakable: (reading its text failed: SystemExit)"),
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
    assert record.getMessage() == "A tool failed; the model gets the error."
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
    assert "Declare its function with async def" in block["content"]


async def test_one_that_fails_leaves_the_others_alone(tmp_path: Path, board: Board, services: Services) -> None:
    def fail() -> None:
        raise SystemExit

    services.model.script(turn(call("fail"), call("lengthen", text="a"), call("nope")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(fail, lengthen)) as one:
        await one.write("hello")
        await one.says("Thanks.")
        told = [block["content"] for block in results(last_request(services))]
        assert told[:2] == ["SystemExit", "aa"]
        assert told[2] == "There is no tool 'nope'. The tools are: AskUserQuestion, fail, lengthen."


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
        await one.says("I have called the model 3 times without a message from you.")
        assert len(services.model.log) == 3


# Output


async def test_what_it_prints_reaches_neither_the_model_nor_people(
    tmp_path: Path, board: Board, services: Services, capfd: pytest.CaptureFixture[str]
) -> None:
    def chatter() -> str:
        os.write(1, b"\x1b[31m<!channel>\n")
        return "quiet"

    block = await result_of(tmp_path, board, services, chatter, call("chatter"))
    assert block["content"] == "quiet"
    assert "<!channel>" in capfd.readouterr().out
