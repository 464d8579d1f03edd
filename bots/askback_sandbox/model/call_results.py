"""The tool calls in the model's log, each with the results that came back for it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject, as_object, as_text, objects

__all__ = ["DeliveredCall", "Result", "list_calls", "refusals"]


@dataclass(frozen=True)
class Result:
    """A tool_result as the model read it."""

    text: str
    error: bool


@dataclass(frozen=True)
class DeliveredCall:
    """A delivered tool call, and every distinct result that was sent for it."""

    id: str
    name: str
    input: JsonObject
    results: tuple[Result, ...]
    asked_again: bool
    """True if a repeated request replaced this answer: it was lost, so its call needs no result."""


@dataclass
class _Call:
    id: str
    name: str
    input: JsonObject
    request: str
    answer: int
    results: dict[Result, None] = field(default_factory=dict[Result, None])


def list_calls(log: Sequence[JsonObject]) -> tuple[DeliveredCall, ...]:
    """Return the tool calls of a model's log in call order; repeated results count once."""
    calls: dict[str, _Call] = {}
    asked: list[str] = []
    for entry in log:
        messages = objects(as_object(entry.get("request")).get("messages"))
        if entry.get("status") == 200:
            for message in messages:
                for block in objects(message.get("content")):
                    call = calls.get(as_text(block.get("tool_use_id")))
                    if call is not None and block.get("type") == "tool_result":
                        call.results.setdefault(_result(block))
        if not entry.get("delivered") or as_text(entry.get("path")).endswith("count_tokens"):
            continue
        digest = _digest(messages)
        asked.append(digest)
        for block in objects(as_object(entry.get("answer")).get("content")):
            if block.get("type") == "tool_use":
                identifier = as_text(block.get("id"))
                name, given = as_text(block.get("name")), as_object(block.get("input"))
                calls.setdefault(identifier, _Call(identifier, name, given, digest, len(asked)))
    last = {call.request: call.answer for call in calls.values()}
    return tuple(
        DeliveredCall(
            call.id,
            call.name,
            call.input,
            tuple(call.results),
            asked_again=asked.count(call.request) > 1 and not call.results and last[call.request] != call.answer,
        )
        for call in calls.values()
    )


def refusals(log: Sequence[JsonObject]) -> tuple[str, ...]:
    """Return the error messages of the requests that the Messages API refused without an injected fault."""
    return tuple(
        as_text(as_object(as_object(entry.get("answer")).get("error")).get("message"))
        for entry in log
        if entry.get("status") not in (200, 0) and not entry.get("fault")
    )


def _result(block: JsonObject) -> Result:
    content: JsonValue = block.get("content", "")
    text = content if isinstance(content, str) else "".join(as_text(part.get("text")) for part in objects(content))
    return Result(text, block.get("is_error") is True)


def _digest(messages: Sequence[JsonObject]) -> str:
    return hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()
