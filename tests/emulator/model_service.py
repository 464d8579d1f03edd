"""A local Messages API, served for the real anthropic client, and the blocks of a conversation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anthropic
from aiohttp import web
from anthropic import AsyncAnthropic

from askback_sandbox.model.api import routes
from askback_sandbox.model.model import Model

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
