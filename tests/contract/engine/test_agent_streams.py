"""Streams that the local Messages API never sends: a server that sends literal bytes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from askback.domain.actions import Cancel, Choose
from askback_sandbox.model.script import ToolCall
from askback_sandbox.services import Services
from support.board import HERE, Board
from support.engine import engine, question, results

pytestmark = pytest.mark.usefixtures("stored")
ONE_STORE = pytest.mark.one_store("the store has no part in it")


@pytest.fixture
async def literal(services: Services, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[Any]]:
    """A Messages API that streams the given events, and records its requests."""
    answers: list[Any] = []
    asked: list[Any] = []

    async def messages(request: web.Request) -> web.StreamResponse:
        asked.append(await request.json())
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for event in answers.pop(0):
            await response.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        return response

    application = web.Application()
    application.router.add_post("/v1/messages", messages)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    monkeypatch.setattr(type(services), "anthropic_url", f"http://127.0.0.1:{port}")
    answers_and_asked = [answers, asked]
    yield answers_and_asked
    await runner.cleanup()


def stream(*blocks: tuple[dict[str, Any], dict[str, Any]], stop: str | None = "end_turn") -> list[dict[str, Any]]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    begun = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun | {"stop_reason": None}}]
    for index, (start, delta) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    if stop is not None:
        events.append({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage})
        events.append({"type": "message_stop"})
    return events


def said(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"type": "text", "text": ""}, {"type": "text_delta", "text": text}


def called(identifier: str, arguments: str) -> tuple[dict[str, Any], dict[str, Any]]:
    start = {"type": "tool_use", "id": identifier, "name": "AskUserQuestion", "input": {}}
    return start, {"type": "input_json_delta", "partial_json": arguments}


def arguments(asked: ToolCall) -> str:
    return json.dumps(asked.input)


def checked(asked: list[Any]) -> None:
    """Check that the Messages API would accept every request."""
    from askback_sandbox.model.rules import check

    for body in asked:
        check(body)


@ONE_STORE
async def test_a_stream_that_ends_before_the_message_does_is_no_answer(
    tmp_path: Path, board: Board, services: Services, literal: list[Any]
) -> None:
    answers, asked = literal
    answers += [stream(said("Half a thou"), called("toolu_1", '{"questions": ['), stop=None), stream(said("Whole."))]
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        await one.says("The connection to the model broke.")
        assert not board.cards()
        await one.write("go on")
        await one.says("Whole.")
    checked(asked)


@ONE_STORE
async def test_ids_of_calls_that_come_again_are_told_apart(
    tmp_path: Path, board: Board, services: Services, literal: list[Any]
) -> None:
    answers, asked = literal
    again = called("toolu_1", arguments(question("A?")))
    answers += [
        stream(again, again, stop="tool_use"),
        stream(again, stop="tool_use"),
        stream(said("Thanks.")),
    ]
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        for card in await one.asked(2):
            await one.press(card, Choose(index=0))
        (card,) = await one.asked(1)
        await one.press(card, Choose(index=1))
        await one.says("Thanks.")
    checked(asked)
    told = results(asked[-1]["messages"])
    assert ["Green" in block["content"] for block in told] == [True, True, False]


@ONE_STORE
@pytest.mark.parametrize("given", ["[1, 2]", '"text"', "7", "null", "{}", '{"questions": null}'])
async def test_an_input_that_is_no_object_spoils_no_conversation(
    tmp_path: Path, board: Board, services: Services, literal: list[Any], given: str
) -> None:
    answers, asked = literal
    answers += [stream(called("toolu_1", given), stop="tool_use"), stream(said("Let me think again."))]
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        await board.until(lambda: len(asked) == 2 or board.open())
        for card in board.open():  # some of the input is readable
            await one.press(card, Cancel())
        await one.says("Let me think again.")
    checked(asked)
    assert len(results(asked[-1]["messages"])) == 1


@ONE_STORE
async def test_an_input_that_is_no_json_is_told_to_the_model(
    tmp_path: Path, board: Board, services: Services, literal: list[Any]
) -> None:
    answers, asked = literal
    answers += [stream(called("toolu_1", '{"a": nonsense}'), stop="tool_use"), stream(said("Again, then."))]
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        await one.says("Again, then.")
    (result,) = asked[-1]["messages"][-1]["content"]
    assert result["is_error"]
    assert "not valid JSON" in result["content"]
    checked(asked)


@ONE_STORE
async def test_an_answer_without_a_word_leaves_the_conversation_usable(
    tmp_path: Path, board: Board, services: Services, literal: list[Any]
) -> None:
    answers, asked = literal
    answers += [stream(said("  \n ")), stream(said("Here I am."))]
    async with engine(tmp_path, board, services) as one:
        await one.write("hello")
        await board.until(lambda: len(asked) == 1)
        await one.write("are you there?")
        await one.says("Here I am.")
    checked(asked)


@ONE_STORE
@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": None, "output_tokens": None}, "left out"])
async def test_a_gateway_that_reports_no_usage_loses_no_answer_and_is_estimated(
    tmp_path: Path, board: Board, literal: list[Any], services: Services, usage: object
) -> None:
    answers, asked = literal
    events = stream(said("It is a fig."))
    for holder in (events[0]["message"], events[-2]):
        if usage == "left out":
            del holder["usage"]
        else:
            holder["usage"] = usage
    answers.append(events)
    async with engine(tmp_path, board, services) as one:
        await one.write("which fruit?")
        await one.says("It is a fig.")
        conversation = await one.store.find_conversation(HERE)
        assert conversation is not None
        # Its request alone is longer, with the tools.
        assert (await one.store.get_usage(conversation.id)).conversation > 100
    assert len(asked) == 1
    assert "broke" not in str(board.texts())
