"""The local Messages API, used through the real anthropic client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import anthropic
import httpx2
import pytest
from aiohttp import web
from anthropic import AsyncAnthropic

from askback_sandbox.model.api import routes
from askback_sandbox.model.model import Model
from askback_sandbox.model.script import Fault, Script, call, turn

ASK = {
    "name": "question",
    "description": "Ask.",
    "input_schema": {"type": "object", "properties": {"questions": {"type": "array"}}},
}
QUESTION = {"questions": [{"id": "a", "prompt": "Which? ⚡ 你好", "options": [{"value": "x", "label": "X"}]}]}


class Service:
    def __init__(self, model: Model, url: str) -> None:
        self.model = model
        self.url = url

    def client(self, key: str = "sk-good", retries: int = 0) -> AsyncAnthropic:
        return AsyncAnthropic(api_key=key, base_url=self.url, max_retries=retries, timeout=30)


@asynccontextmanager
async def serving(model: Model) -> AsyncIterator[Service]:
    app = web.Application()
    app.add_routes(routes(model))
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield Service(model, f"http://127.0.0.1:{runner.addresses[0][1]}")
    finally:
        await runner.cleanup()


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    async with serving(Model()) as service:
        yield service


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content[0] if isinstance(content[0], str) else list(content)}


def assistant(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def use(identifier: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": identifier, "name": "question", "input": {}}


def result(identifier: str, content: str = "done") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identifier, "content": content}


PICTURE: dict[str, Any] = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/gif", "data": "R0lGODlhAQABAAAAACw="},
}


async def create(client: AsyncAnthropic, *messages: Any, **more: Any) -> anthropic.types.Message:
    arguments: dict[str, Any] = {"model": "claude-opus-5", "max_tokens": 1000, "messages": list(messages)}
    return await client.messages.create(**{**arguments, **more})


async def stream(client: AsyncAnthropic, *messages: Any, **more: Any) -> anthropic.types.Message:
    arguments: dict[str, Any] = {"model": "claude-opus-5", "max_tokens": 1000, "messages": list(messages)}
    async with client.messages.stream(**{**arguments, **more}) as stream:
        return await stream.get_final_message()


@pytest.mark.parametrize("ask", [create, stream])
async def test_text_and_calls_arrive_whole(service: Service, ask: Any) -> None:
    service.model.script(turn("Let me ask. ⚡", call("question", **QUESTION), call("question", questions=[])))
    async with service.client() as client:
        message = await ask(client, user("hello"), tools=[ASK])
    assert [block.type for block in message.content] == ["text", "tool_use", "tool_use"]
    assert message.content[0].text == "Let me ask. ⚡"
    assert message.content[1].input == QUESTION
    assert message.content[1].id.startswith("toolu_01")
    assert message.content[1].id != message.content[2].id
    assert message.stop_reason == "tool_use"
    assert message.usage.output_tokens > 1


async def test_the_stream_is_the_real_sequence_of_events(service: Service) -> None:
    service.model.chunk = 5
    service.model.script(turn("Hello world", call("question", questions=[])))
    body = {"model": "m", "max_tokens": 10, "stream": True, "messages": [user("hi")]}
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{service.url}/v1/messages", json=body, headers=headers) as response,
    ):
        lines = (await response.text()).split("\n")
        assert response.headers["request-id"].startswith("req_")
    assert [line.removeprefix("event: ") for line in lines if line.startswith("event")] == [
        "message_start",
        "ping",
        "content_block_start",
        *["content_block_delta"] * 3,
        "content_block_stop",
        "content_block_start",
        *["content_block_delta"] * 5,
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert '"partial_json": ""' in "".join(lines)


async def test_the_history_decides_the_turn_also_after_a_restart(service: Service) -> None:
    script = Script(turns=(turn("one"), turn("two"), turn("three")))
    service.model.add(script)
    history = [user("hi"), assistant(text("one")), user("and?")]
    async with service.client() as client:
        assert (await create(client, *history)).content[0].text == "two"
        assert (await create(client, *history)).content[0].text == "two"
    async with serving(Model(script)) as second, second.client() as client:
        assert (await create(client, *history)).content[0].text == "two"


async def test_ids_are_the_same_on_every_run_and_new_on_every_answer(service: Service) -> None:
    script = Script(turns=(turn(call("question", questions=[])),))
    service.model.add(script)
    async with service.client() as client:
        first = await create(client, user("hi"), tools=[ASK])
        again = await create(client, user("hi"), tools=[ASK])
    async with serving(Model(script)) as second, second.client() as client:
        rerun = await create(client, user("hi"), tools=[ASK])
    assert first.content[0].id == rerun.content[0].id != again.content[0].id


async def test_a_word_of_the_first_message_chooses_the_script(service: Service) -> None:
    service.model.script(turn("default"))
    service.model.script(turn("about cats"), when="cats")
    service.model.script(turn("about black cats"), when="black Cats")
    async with service.client() as client:
        assert (await create(client, user("Ada: dogs"))).content[0].text == "default"
        assert (await create(client, user("Ada: <@U1> cats!"))).content[0].text == "about cats"
        assert (await create(client, user(text("my black  cats")))).content[0].text == "about black cats"


async def test_a_call_without_a_name_takes_the_tool_on_offer(service: Service) -> None:
    service.model.script(turn(call(None, questions=[])))
    async with service.client() as client:
        message = await create(client, user("hi"), tools=[ASK])
        assert message.content[0].name == "question"


async def test_count_tokens(service: Service) -> None:
    async with service.client() as client:
        counted = await client.messages.count_tokens(model="m", messages=[{"role": "user", "content": "hi"}])
        assert counted.input_tokens > 1


REFUSED: list[tuple[str, list[Any], str]] = [
    ("no messages", [], "messages: at least one message is required"),
    ("assistant first", [assistant(text("a"))], 'messages: first message must use the "user" role'),
    ("unknown role", [user("a"), {"role": "tool", "content": "x"}], 'messages: Unexpected role "tool"'),
    ("empty text", [user(text(""))], "messages: text content blocks must be non-empty"),
    ("blank text", [user(text(" \n"))], "messages: text content blocks must contain non-whitespace text"),
    ("empty content", [user("a"), assistant(), user("b")], "messages.1: all messages must have non-empty content"),
    ("prefill", [user("a"), assistant(text("b"))], "This model does not support assistant message prefill"),
    (
        "unanswered call",
        [user("a"), assistant(use("toolu_1")), user("b")],
        (
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each "
            "`tool_use` block must have a corresponding `tool_result` block in the next message."
        ),
    ),
    (
        "last message calls",
        [user("a"), assistant(use("toolu_1"))],
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
    ),
    (
        "one of two answered",
        [user("a"), assistant(use("t1"), use("t2")), user(result("t1"))],
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t2",
    ),
    (
        "results not first",
        [user("a"), assistant(use("t1")), user(text("b"), result("t1"))],
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1",
    ),
    (
        "text between results",
        [user("a"), assistant(use("t1"), use("t2")), user(result("t1"), text("b"), result("t2"))],
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t2",
    ),
    (
        "result of nothing",
        [user("a"), assistant(text("b")), user(result("t1"))],
        (
            "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1. Each `tool_result` "
            "block must have a corresponding `tool_use` block in the previous message."
        ),
    ),
    (
        "result a message late",
        [user("a"), assistant(use("t1")), user(result("t1")), assistant(text("b")), user(result("t1"))],
        "messages.4.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1",
    ),
    (
        "two results",
        [user("a"), assistant(use("t1")), user(result("t1"), result("t1", "other"))],
        (
            "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with "
            "id: t1"
        ),
    ),
    (
        "a failed call with more than texts",
        [user("a"), assistant(use("t1")), user({**result("t1"), "is_error": True, "content": [text("b"), PICTURE]})],
        "messages.2.content.0.tool_result: all content must be type `text` if `is_error` is true",
    ),
    (
        "an id twice",
        [user("a"), assistant(use("t1")), user(result("t1")), assistant(use("t1")), user(result("t1"))],
        "messages.3.content.0: `tool_use` ids must be unique",
    ),
    (
        "unknown key in a block",
        [user("a"), assistant({**text("b"), "parsed_output": None}), user("c")],
        "messages.1.content.0.text.parsed_output: Extra inputs are not permitted",
    ),
    (
        "input is no object",
        [user("a"), assistant({**use("t1"), "input": "{}"}), user(result("t1"))],
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
    ),
    (
        "a call by the user",
        [user(use("t1"))],
        "messages.0: `tool_use` blocks can only be in `assistant` messages",
    ),
]


@pytest.mark.parametrize(("messages", "words"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
@pytest.mark.parametrize("ask", [create, stream])
async def test_refuses_what_the_real_one_refuses(service: Service, ask: Any, messages: list[Any], words: str) -> None:
    async with service.client(retries=2) as client:
        with pytest.raises(anthropic.BadRequestError) as caught:
            await ask(client, *messages)
    assert caught.value.type == "invalid_request_error"
    assert (caught.value.api_message or "").startswith(words)
    assert caught.value.request_id
    assert len(service.model.log) == 1, "a refusal is not worth a repetition"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"tools": [{**ASK, "name": "a.b"}]}, "tools.0.custom.name: String should match pattern"),
        ({"tools": [{**ASK, "name": "a" * 129}]}, "tools.0.custom.name: String should match pattern"),
        ({"tools": [ASK, ASK]}, "tools: Tool names must be unique."),
        ({"tools": [{"name": "a"}]}, "tools.0.custom.input_schema: Field required"),
        ({"tools": [{"name": "a", "input_schema": {}}]}, "tools.0.custom.input_schema.type: Field required"),
        (
            {"tools": [{"name": "a", "input_schema": {"type": "array"}}]},
            "tools.0.custom.input_schema.type: Input should be 'object'",
        ),
        (
            {"tools": [{"name": "a", "input_schema": {"type": "object", "oneOf": []}}]},
            "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
        ),
        (
            {"tools": [{"name": "a", "input_schema": {"type": "object", "properties": {"b": {"type": "str"}}}}]},
            "tools.0.custom.input_schema: JSON schema is invalid.",
        ),
        ({"tools": [{**ASK, "strictly": True}]}, "tools.0.custom.strictly: Extra inputs are not permitted"),
        ({"max_tokens": -1}, "max_tokens: Input should be greater than or equal to 0"),
        ({"extra_body": {"temprature": 1}}, "temprature: Extra inputs are not permitted"),
        ({"system": [text("")]}, "system: text content blocks must be non-empty"),
    ],
)
async def test_refuses_wrong_parameters(service: Service, more: dict[str, Any], words: str) -> None:
    async with service.client() as client:
        with pytest.raises(anthropic.BadRequestError) as caught:
            await create(client, user("a"), **more)
    assert (caught.value.api_message or "").startswith(words)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"model": "m", "messages": [{"role": "user", "content": "a"}]}', "max_tokens: Field required"),
        (b'{"max_tokens": 1, "messages": [{"role": "user", "content": "a"}]}', "model: Field required"),
        (b'{"model": "m", "max_tokens": 1}', "messages: Field required"),
        (b'{"model": ', "The request body is not valid JSON"),
        (b"[]", "The request body is not valid JSON"),
    ],
)
async def test_refuses_what_no_client_would_send(service: Service, body: bytes, words: str) -> None:
    headers = {"authorization": "Bearer k", "anthropic-version": "2026-10-21"}
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{service.url}/v1/messages", data=body, headers=headers) as response,
    ):
        assert response.status == 400
        assert (await response.json())["error"]["message"].startswith(words)


async def test_what_the_real_one_takes_is_taken(service: Service) -> None:
    service.model.script(turn("a"), turn("b"), turn("c"))
    messages = [
        user("one"),
        user("two, joined with the one before"),
        assistant(text("a"), use("t1"), use("t2")),
        user(result("t2", ""), result("t1"), text("and this was written meanwhile")),
        user("and this"),
    ]
    async with service.client() as client:
        assert (await create(client, *messages, tools=[ASK])).content[0].text == "b"


async def test_keys_are_checked_and_never_kept(service: Service) -> None:
    service.model.bad_keys.add("sk-bad")
    async with service.client("sk-bad") as client:
        with pytest.raises(anthropic.AuthenticationError) as caught:
            await create(client, user("a"))
    assert caught.value.type == "authentication_error"
    async with service.client("sk-good") as client:
        await create(client, user("a"))
    assert "sk-" not in str([exchange.json() for exchange in service.model.log])


@pytest.mark.parametrize(
    ("fault", "error", "kind"),
    [
        (Fault(kind="overloaded"), anthropic.OverloadedError, "overloaded_error"),
        (Fault(kind="rate_limited", retry_after=7), anthropic.RateLimitError, "rate_limit_error"),
        (Fault(kind="bad_key"), anthropic.AuthenticationError, "authentication_error"),
        (Fault(kind="no_permission"), anthropic.PermissionDeniedError, "permission_error"),
        (Fault(kind="prompt_too_long"), anthropic.BadRequestError, "invalid_request_error"),
        (Fault(kind="request_too_large"), anthropic.ContentTooLargeError, "request_too_large"),
        (Fault(kind="server_error"), anthropic.InternalServerError, "api_error"),
    ],
)
@pytest.mark.parametrize("ask", [create, stream])
async def test_refusals_on_order(
    service: Service, ask: Any, fault: Fault, error: type[anthropic.APIStatusError], kind: str
) -> None:
    service.model.script(turn("fine", fault))
    async with service.client() as client:
        with pytest.raises(error) as caught:
            await ask(client, user("a"))
        assert caught.value.type == kind
        if fault.retry_after:
            assert caught.value.response.headers["retry-after"] == "7"
        assert (await ask(client, user("a"))).content[0].text == "fine"


async def test_an_overload_twice_is_repeated_by_the_client(service: Service) -> None:
    service.model.fail(Fault(kind="overloaded", times=2))
    service.model.script(turn("fine"))
    async with service.client(retries=2) as client:
        assert (await create(client, user("a"))).content[0].text == "fine"
    assert [exchange.status for exchange in service.model.log] == [529, 529, 200]


async def test_errors_in_mid_stream_come_after_text(service: Service) -> None:
    service.model.script(turn("Let me think about it", Fault(kind="overloaded", mid_stream=True)))
    heard: list[str] = []
    async with service.client() as client:
        with pytest.raises(anthropic.APIStatusError) as caught:  # noqa: PT012
            async with client.messages.stream(
                model="m", max_tokens=9, messages=[{"role": "user", "content": "a"}]
            ) as events:
                async for piece in events.text_stream:
                    heard.append(piece)  # noqa: PERF401 - what came before the error counts
    assert caught.value.type == "overloaded_error"
    assert "".join(heard) == "Let me think"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(kind="disconnect"), httpx2.TransportError),
        (Fault(kind="disconnect", after=0), httpx2.TransportError),
        (Fault(kind="stall", seconds=0.2), httpx2.TransportError),
        (Fault(kind="malformed"), ValueError),
    ],
)
async def test_broken_streams(service: Service, fault: Fault, error: type[Exception]) -> None:
    service.model.script(turn("Let me think about it", fault))
    async with service.client() as client:
        with pytest.raises(error):
            await stream(client, user("a"))
        assert (await stream(client, user("a"))).content[0].text == "Let me think about it"
    assert [exchange.delivered for exchange in service.model.log] == [False, True]


async def test_a_client_may_leave_a_stalled_stream(service: Service) -> None:
    service.model.script(turn("Let me think about it", Fault(kind="stall", seconds=60)))
    async with service.client() as client:
        with pytest.raises(httpx2.TimeoutException):
            await stream(client.with_options(timeout=0.3), user("a"))


@pytest.mark.parametrize("ask", [create, stream])
async def test_refusal_says_why_and_is_dropped_or_kept(service: Service, ask: Any) -> None:
    service.model.script(turn(stop="refusal"), turn("again"), turn("last"))
    async with service.client() as client:
        refused = await ask(client, user("a"))
        assert (refused.stop_reason, refused.content) == ("refusal", [])
        assert refused.stop_details.type == "refusal"
        assert (await ask(client, user("a"))).stop_reason == "refusal", "asked again, refused again"
        assert (await ask(client, user("a\nb"))).stop_reason == "end_turn"
        after = await ask(client, user("a\nb"), assistant(text("again")), user("c"))
        assert after.content[0].text == "last"


async def test_pause_turn_may_be_sent_back_as_it_is(service: Service) -> None:
    service.model.script(turn("Hold on", stop="pause_turn"), turn("Here we are"))
    async with service.client() as client:
        paused = await stream(client, user("a"))
        assert paused.stop_reason == "pause_turn"
        message = await stream(client, user("a"), paused.to_param())
        assert message.content[0].text == "Here we are"


@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded"])
async def test_other_reasons_to_stop(service: Service, stop: Any) -> None:
    service.model.script(turn("It is so that", stop=stop))
    async with service.client() as client:
        assert (await stream(client, user("a"))).stop_reason == stop


async def test_a_turn_that_is_only_a_fault_gives_way_to_the_next(service: Service) -> None:
    service.model.script(turn(Fault(kind="server_error")), turn("one"), turn("two"))
    async with service.client() as client:
        with pytest.raises(anthropic.InternalServerError):
            await create(client, user("a"))
        assert (await create(client, user("a"))).content[0].text == "one"
        after = await create(client, user("a"), assistant(text("one")), user("b"))
        assert after.content[0].text == "two"


async def test_scripts_and_log_over_http(service: Service) -> None:
    async with aiohttp.ClientSession() as http, service.client() as client:
        orders = {
            "reset": True,
            "scripts": [{"turns": [{"say": "hello", "calls": [{"tool": "question", "input": QUESTION}]}]}],
        }
        async with http.post(f"{service.url}/model/script", json=orders) as response:
            assert await response.json() == {"ok": True}
        asked = await create(client, user("a"), tools=[ASK])
        identifier = asked.content[1].id
        await create(client, user("a"), asked.to_param(), user(result(identifier, "X")))
        async with http.get(f"{service.url}/log/model") as response:
            log = await response.json()
        assert [entry["status"] for entry in log] == [200, 200]
        assert log[0]["answer"]["content"][1]["id"] == identifier
        assert log[1]["request"]["messages"][-1]["content"][0]["content"] == "X"
        assert log[1]["beyond"] is True
        async with http.post(f"{service.url}/model/script", json={"script": []}) as response:
            assert response.status == 400
