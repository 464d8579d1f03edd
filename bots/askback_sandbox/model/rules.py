"""The requests that the Messages API refuses, with its error messages.

The messages are worded as people quote them from the real API. `messages.N` counts the messages as they were sent,
although the API joins consecutive messages of one role before it checks them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from .compaction import check_block, check_edits, kept
from .media import check_media
from .tools import Object, Refused, check_tools, is_object, must_match

__all__ = ["Refused", "check", "spoken"]

_TOOL_USE_ID = "^[a-zA-Z0-9_-]+$"
_REQUEST = frozenset(
    {
        "model",
        "messages",
        "max_tokens",
        "system",
        "tools",
        "tool_choice",
        "stream",
        "stop_sequences",
        "metadata",
        "cache_control",
        "container",
        "diagnostics",
        "inference_geo",
        "output_config",
        "service_tier",
        "speed",
        "thinking",
        "temperature",
        "top_p",
        "top_k",
        "context_management",
    }
)
_BLOCKS: dict[str, frozenset[str]] = {
    "text": frozenset({"type", "text", "citations", "cache_control"}),
    "tool_use": frozenset({"type", "id", "name", "input", "caller", "toolset_name", "cache_control"}),
    "image": frozenset({"type", "source", "cache_control"}),
    "document": frozenset({"type", "source", "title", "context", "citations", "cache_control"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error", "toolset_name", "cache_control"}),
}


@dataclass(frozen=True)
class _Block:
    path: str
    value: Object

    def text(self, key: str) -> str:
        value = self.value.get(key)
        return value if isinstance(value, str) else ""


@dataclass(frozen=True)
class _Message:
    index: int
    role: str
    blocks: tuple[_Block, ...]


def check(
    body: JsonValue,
    *,
    counting: bool = False,
    paused: frozenset[str] = frozenset(),
    betas: frozenset[str] = frozenset(),
) -> None:
    """Raise `Refused` for a body that the Messages API would reject with these beta features.

    `paused` holds the result of `spoken` for each answer that ended with `pause_turn`. Only these may come last.
    """
    if not is_object(body):
        raise Refused("The request body is not valid JSON: expected an object")
    for key in body:
        if key not in _REQUEST:
            raise Refused(f"{key}: Extra inputs are not permitted")
    if not isinstance(body.get("model"), str):
        raise Refused("model: Field required")
    if not counting:
        _max_tokens(body)
    check_edits(body, betas)
    messages = _read(body.get("messages"), betas)
    _system(body.get("system"))
    check_tools(body.get("tools"))
    _pairs(_joined(_remaining(messages)))
    _prefill(messages, paused)
    marked = json.dumps(body).count('"cache_control": {')
    if marked > 4:
        raise Refused(f"A maximum of 4 blocks with cache_control may be provided. Found {marked}.")


def spoken(content: JsonValue | Sequence[JsonValue]) -> str:
    """Return the identity of an answer: its text and the ids of its calls."""
    if isinstance(content, str):
        return content
    blocks = [block for block in content if is_object(block)] if isinstance(content, Sequence) else []
    return "".join(str(block.get("text") or block.get("id") or "") for block in blocks)


def _max_tokens(body: Object) -> None:
    match body.get("max_tokens"):
        case None:
            raise Refused("max_tokens: Field required")
        case bool() | float() | str() | list() | dict():
            raise Refused("max_tokens: Input should be a valid integer")
        case int() as limit if limit < 0:
            raise Refused("max_tokens: Input should be greater than or equal to 0")
        case _:
            pass


def _remaining(messages: list[_Message]) -> list[_Message]:
    """Return the messages that count, from the last compaction on."""
    for at, message in reversed(list(enumerate(messages))):
        first = kept([block.value for block in message.blocks])
        if first is not None:
            return [_Message(message.index, message.role, message.blocks[first:]), *messages[at + 1 :]]
    return messages


def _read(value: JsonValue | None, betas: frozenset[str]) -> list[_Message]:
    if value is None:
        raise Refused("messages: Field required")
    if not isinstance(value, list):
        raise Refused("messages: Input should be a valid list")
    if not value:
        raise Refused("messages: at least one message is required")
    messages: list[_Message] = []
    for index, item in enumerate(value):
        where = f"messages.{index}"
        if not is_object(item):
            raise Refused(f"{where}: Input should be a valid dictionary")
        role = item.get("role")
        if role is None:
            raise Refused(f"{where}.role: Field required")
        if role not in ("user", "assistant", "system"):
            raise Refused(f'messages: Unexpected role "{role}". Allowed roles are "user" or "assistant".')
        if role == "system" and index == 0:
            raise Refused("messages.0: use the top-level 'system' parameter for the initial system prompt")
        for key in item:
            if key not in ("role", "content"):
                raise Refused(f"{where}.{key}: Extra inputs are not permitted")
        last = index == len(value) - 1
        blocks = _content(item.get("content"), where, empty_allowed=last and role == "assistant")
        for block in blocks:
            if block.value.get("type") == "compaction":
                check_block(block.value, block.path, str(role), betas)
        if role == "assistant" and index == 0 and kept([block.value for block in blocks[:1]]) is None:
            raise Refused('messages: first message must use the "user" role')
        messages.append(_Message(index, str(role), blocks))
    return messages


def _content(value: JsonValue | None, where: str, *, empty_allowed: bool) -> tuple[_Block, ...]:
    if value is None:
        raise Refused(f"{where}.content: Field required")
    if isinstance(value, str):
        value = [{"type": "text", "text": value}] if value else []
    if not isinstance(value, list):
        raise Refused(f"{where}.content: Input should be a valid list")
    if not value and not empty_allowed:
        raise Refused(
            f"{where}: all messages must have non-empty content except for the optional final assistant message"
        )
    return tuple(_block(block, f"{where}.content.{number}") for number, block in enumerate(value))


def _block(value: JsonValue, path: str) -> _Block:
    if not is_object(value):
        raise Refused(f"{path}: Input should be a valid dictionary")
    kind = value.get("type")
    if not isinstance(kind, str):
        raise Refused(f"{path}.type: Field required")
    known = _BLOCKS.get(kind)
    for key in value:
        if known is not None and key not in known:
            raise Refused(f"{path}.{kind}.{key}: Extra inputs are not permitted")
    match kind:
        case "text":
            _text(value, path, "messages")
        case "image" | "document":
            check_media(value, path)
        case "tool_use":
            for key in ("id", "name", "input"):
                if key not in value:
                    raise Refused(f"{path}.tool_use.{key}: Field required")
            must_match(value["id"], _TOOL_USE_ID, f"{path}.tool_use.id")
            if not is_object(value["input"]):
                raise Refused(f"{path}.tool_use.input: Input should be a valid dictionary")
        case "tool_result":
            if not isinstance(value.get("tool_use_id"), str):
                raise Refused(f"{path}.tool_result.tool_use_id: Field required")
            inner = value.get("content", "")
            if not isinstance(inner, str | list):
                raise Refused(f"{path}.tool_result.content: Input should be a valid list")
            for number, part in enumerate(inner if isinstance(inner, list) else []):
                _block(part, f"{path}.tool_result.content.{number}")
                if value.get("is_error") and is_object(part) and part.get("type") != "text":
                    raise Refused(f"{path}.tool_result: all content must be type `text` if `is_error` is true")
        case _:
            # A client must not invent types of blocks.
            if kind.startswith("askback"):
                raise Refused(f"{path}: Input tag '{kind}' found using 'type' does not match any of the expected tags")
    return _Block(path, value)


def _text(block: Object, path: str, root: str) -> None:
    text = block.get("text")
    if not isinstance(text, str):
        raise Refused(f"{path}.text.text: Field required")
    if not text:
        raise Refused(f"{root}: text content blocks must be non-empty")
    if not text.strip():
        raise Refused(f"{root}: text content blocks must contain non-whitespace text")


def _system(value: JsonValue | None) -> None:
    if value is None or isinstance(value, str):
        return
    if not isinstance(value, list):
        raise Refused("system: Input should be a valid list")
    for number, block in enumerate(value):
        if not is_object(block) or block.get("type") != "text":
            raise Refused(f"system.{number}.type: Input should be 'text'")
        _text(block, f"system.{number}", "system")


def _joined(messages: list[_Message]) -> list[_Message]:
    joined: list[_Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role:
            previous = joined[-1]
            joined[-1] = _Message(previous.index, message.role, previous.blocks + message.blocks)
        else:
            joined.append(message)
    return joined


def _pairs(messages: list[_Message]) -> None:
    """Check that each tool_use has its result at the start of the next message, and that no other results exist."""
    seen: set[str] = set()
    called: list[str] = []
    for position, message in enumerate(messages):
        answered: set[str] = set()
        for block in message.blocks:
            match block.value.get("type"), message.role:
                case "tool_use", "assistant":
                    if block.text("id") in seen:
                        raise Refused(f"{block.path}: `tool_use` ids must be unique")
                    seen.add(block.text("id"))
                case "tool_use", role:
                    raise Refused(
                        f"messages.{message.index}: `tool_use` blocks can only be in `assistant` messages, not {role}"
                    )
                case "tool_result", "user":
                    identifier = block.text("tool_use_id")
                    if identifier in answered:
                        raise Refused(
                            f"{block.path}: each tool_use must have a single result. "
                            f"Found multiple `tool_result` blocks with id: {identifier}"
                        )
                    if identifier not in called:
                        raise Refused(
                            f"{block.path}: unexpected `tool_use_id` found in `tool_result` blocks: {identifier}. "
                            "Each `tool_result` block must have a corresponding `tool_use` block in the previous "
                            "message."
                        )
                    answered.add(identifier)
                case "tool_result", _:
                    raise Refused(f"messages.{message.index}: `tool_result` blocks can only be in `user` messages")
                case _:
                    pass
        _answered(messages, position, called)
        called = [block.text("id") for block in message.blocks if block.value.get("type") == "tool_use"]
    if called:
        _answered(messages, len(messages), called)


def _answered(messages: list[_Message], position: int, called: list[str]) -> None:
    """Check that every call has a result; results count only at the start of the message."""
    leading: set[str] = set()
    for block in messages[position].blocks if position < len(messages) else ():
        if block.value.get("type") != "tool_result":
            break
        leading.add(block.text("tool_use_id"))
    missing = [identifier for identifier in called if identifier not in leading]
    if missing:
        raise Refused(
            f"messages.{messages[position - 1].index}: `tool_use` ids were found without `tool_result` blocks "
            f"immediately after: {', '.join(missing)}. Each `tool_use` block must have a corresponding "
            "`tool_result` block in the next message."
        )


def _prefill(messages: list[_Message], paused: frozenset[str]) -> None:
    last = messages[-1]
    if last.blocks and last.blocks[-1].value.get("type") == "compaction":
        return  # a pause after a compaction continues from there
    if last.role == "assistant" and spoken([block.value for block in last.blocks]) not in paused:
        raise Refused(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )
