"""A Messages API request as a model reads it: the turns so far, the context, the news, and the size."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from .compaction import ScriptPosition, kept, read_position
from .tools import Object

__all__ = ["ASKING_TOOLS", "ReceivedRequest", "texts", "tokens"]

ASKING_TOOLS = ("AskUserQuestion", "question", "askQuestion")


@dataclass(frozen=True)
class ReceivedRequest:
    """A request that passed the rules, as a model reads it."""

    body: Mapping[str, JsonValue]

    @property
    def messages(self) -> tuple[Object, ...]:
        return _objects(self.body.get("messages"))

    @property
    def tools(self) -> tuple[Object, ...]:
        return _objects(self.body.get("tools"))

    @property
    def context(self) -> tuple[Object, ...]:
        """The messages that count, from the last compaction on."""
        for at, message in reversed(list(enumerate(self.messages))):
            blocks = _objects(message.get("content"))
            first = kept(blocks)
            if first is not None:
                return ({**message, "content": list(blocks[first:])}, *self.messages[at + 1 :])
        return self.messages

    @property
    def mark(self) -> ScriptPosition | None:
        """The position in the script at the last compaction; None if there is none."""
        blocks = _objects(self.context[0].get("content"))
        return read_position(blocks[0]) if kept(blocks[:1]) is not None else None

    @property
    def turns(self) -> tuple[JsonValue, ...]:
        """The model's turns so far; a compaction alone is not a turn."""
        contents = [message["content"] for message in self.messages if message["role"] == "assistant"]
        return tuple(content for content in contents if _says_something(content))

    @property
    def turns_since(self) -> tuple[JsonValue, ...]:
        """The model's turns since the last compaction."""
        return ReceivedRequest({**self.body, "messages": list(self.context)}).turns

    @property
    def tokens(self) -> int:
        """The estimated size of the request in tokens."""
        return tokens({**self.body, "messages": list(self.context)})

    @property
    def first_text(self) -> str:
        return texts(self.messages[0])

    @property
    def news(self) -> tuple[Object, ...]:
        """The messages since the model's last turn."""
        news: list[Object] = []
        for message in reversed(self.messages):
            if message["role"] == "assistant":
                break
            news.insert(0, message)
        return tuple(news)

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.messages, sort_keys=True).encode()).hexdigest()

    def tool(self, name: str | None) -> str:
        """Return `name` if given, or else the asking tool that this request offers."""
        if name is not None:
            return name
        offered = [str(tool.get("name")) for tool in self.tools]
        for known in ASKING_TOOLS:
            if known in offered:
                return known
        return offered[0] if offered else ASKING_TOOLS[0]


def texts(message: Mapping[str, JsonValue]) -> str:
    """Return the text blocks of a message, without its tool results."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    blocks = [block for block in _objects(content) if block.get("type") == "text"]
    return "\n".join(str(block.get("text", "")) for block in blocks)


def tokens(value: JsonValue | Mapping[str, JsonValue] | Sequence[JsonValue]) -> int:
    """Estimate the number of tokens at four characters each, close to the real counter."""
    return 1 + len(json.dumps(value, default=dict)) // 4


def _objects(value: JsonValue | None) -> tuple[Object, ...]:
    return tuple(item for item in value if isinstance(item, dict)) if isinstance(value, list) else ()


def _says_something(content: JsonValue) -> bool:
    blocks = _objects(content)
    return not blocks or any(block.get("type") != "compaction" for block in blocks)
