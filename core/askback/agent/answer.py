"""An answer of the model, put together from the events of its stream. Pure.

The package's own class ends the whole stream at an input of a tool that it cannot parse. Here only that call is lost.
"""

from __future__ import annotations

__all__ = ["Answer"]

import json
from typing import Any, cast

from pydantic import JsonValue
from pydantic_core import from_json

_TEXTS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
"""What each kind of delta adds to, in its block."""


class Answer:
    """Takes the events one after the other."""

    def __init__(self) -> None:
        self.blocks: list[dict[str, JsonValue]] = []
        """What the model said, as the API takes it back, but for what only answers carry."""
        self.unreadable: dict[int, str] = {}
        """Why the input of a block cannot be read, by its index; it is an empty object in `blocks`."""
        self.stop_reason: str | None = None
        """None: the answer has not ended."""
        self._inputs: dict[int, list[str]] = {}

    def hear(self, event: Any) -> str | None:
        """Take an event. Return what people may read of it, which may be nothing; None where it tells nothing new."""
        match event.type:
            case "message_start":
                return ""
            case "content_block_start":
                # Without warnings: the package takes what it was sent, whatever its own types say.
                block = event.content_block.model_dump(mode="json", exclude_none=True, by_alias=True, warnings=False)
                self.blocks.append(block)
            case "content_block_delta":
                return self._add(event.index, event.delta)
            case "content_block_stop":
                return self._end(event.index)
            case "message_delta":
                self.stop_reason = event.delta.stop_reason
            case _:
                pass
        return None

    def _add(self, index: int, delta: Any) -> str | None:
        block = self.blocks[index]
        if delta.type == "input_json_delta":
            self._inputs.setdefault(index, []).append(delta.partial_json)
            return ""
        if delta.type == "citations_delta":
            return None
        if delta.type not in _TEXTS:
            # It comes in one piece, such as a summary.
            whole = delta.model_dump(mode="json", exclude_none=True, by_alias=True, warnings=False)
            block.update({name: value for name, value in whole.items() if name != "type"})
            return None
        name = _TEXTS[delta.type]
        text = getattr(delta, name)
        block[name] = f"{block.get(name) or ''}{text}"
        return text if delta.type == "text_delta" else None

    def _end(self, index: int) -> str | None:
        if raw := "".join(self._inputs.pop(index, [])):
            try:
                self.blocks[index]["input"] = _parsed(raw)
            except ValueError as error:
                self.blocks[index]["input"] = {}
                self.unreadable[index] = str(error)
        return "\n\n" if self.blocks[index].get("type") == "text" else None


def _parsed(raw: str) -> JsonValue:
    """Read an input. Raises `ValueError` where it is none that every JSON parser and database takes."""
    value = cast("JsonValue", from_json(raw.encode("utf-8", "surrogatepass"), allow_inf_nan=False))
    # A number such as 1e400 becomes infinite.
    json.dumps(value, allow_nan=False)
    return value
