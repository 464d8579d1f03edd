"""The local Messages API refuses what the real one refuses, in its words."""

from __future__ import annotations

from typing import Any

import aiohttp
import anthropic
import pytest

from askback_sandbox.model.script import Fault, turn
from emulator.model_service import ASK, PICTURE, Service, assistant, create, result, stream, text, use, user

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
