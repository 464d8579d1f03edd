"""Assembles an answer of the model from the events of its stream. Pure.

The SDK's own class fails the whole stream if it cannot parse a tool's input. Here only that call is lost.
"""

from __future__ import annotations

__all__ = ["ResponseAccumulator"]

import json
from typing import Any, cast

from pydantic import JsonValue
from pydantic_core import from_json

_TEXTS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
"""Maps each kind of delta to the field of the block that it appends to."""


class ResponseAccumulator:
    """Collects the events of one stream, in order."""

    def __init__(self) -> None:
        self.blocks: list[dict[str, JsonValue]] = []
        """The model's content blocks in the API's format. They still hold fields that the API rejects in requests."""
        self.parse_errors: dict[int, str] = {}
        """Parse errors of tool inputs, by index of the block. Such an input is an empty object in `blocks`."""
        self.stop_reason: str | None = None
        """None until the answer has ended."""
        self._inputs: dict[int, list[str]] = {}

    def add_event(self, event: Any) -> str | None:
        """Take an event. Return the text for people that it adds, perhaps empty, or None if there is nothing to
        report."""
        match event.type:
            case "message_start":
                return ""
            case "content_block_start":
                # Without warnings, since the SDK accepts blocks that its own types do not describe.
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
            # Other deltas arrive in one piece, such as a summary.
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
                self.blocks[index]["input"] = _parse_json(raw)
            except ValueError as error:
                self.blocks[index]["input"] = {}
                self.parse_errors[index] = str(error)
        return "\n\n" if self.blocks[index].get("type") == "text" else None


def _parse_json(raw: str) -> JsonValue:
    """Parse an input. Raises `ValueError` if some JSON parser or database would reject it."""
    value = cast("JsonValue", from_json(raw.encode("utf-8", "surrogatepass"), allow_inf_nan=False))
    # A number such as 1e400 becomes infinite.
    json.dumps(value, allow_nan=False)
    return value
