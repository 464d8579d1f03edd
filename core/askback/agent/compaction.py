"""When the Messages API is asked to keep a conversation within the model's window. Pure.

The API does the work: from a size on, it puts a summary of what came before in front of its answer, as a
block of its own. That block goes back with every later request, and the API leaves out what stands before
it. Our rows keep everything, so no call is ever parted from its result.
"""

from __future__ import annotations

__all__ = ["BETA", "COMPACT_AT", "LEAST", "characters", "edits", "is_wanted"]

import json
from typing import Final

from pydantic import JsonValue

from askback.agent.budget import CHARACTERS

BETA: Final = "compact-2026-01-12"
COMPACT_AT: Final = 150_000
"""Tokens from which on a conversation is compacted: the API's own default."""
LEAST: Final = 50_000
"""The least that the API takes for it."""


def is_wanted(messages: tuple[dict[str, JsonValue], ...], at: int | None) -> bool:
    """Whether a request has to speak of compaction: it may reach the size, or was compacted before.

    All others go without, since not everything that speaks this API knows of it.
    """
    if any(_is_compacted(message) for message in messages):
        return True
    return at is not None and characters(messages) >= at * CHARACTERS


def characters(parts: tuple[dict[str, JsonValue], ...]) -> int:
    """Return the size of parts of a request, as JSON."""
    return sum(len(json.dumps(part)) for part in parts)


def edits(at: int | None) -> dict[str, JsonValue]:
    """The parameter `context_management`. Without a size, what was compacted before is still understood."""
    if at is None:
        return {"edits": []}
    return {"edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": at}}]}


def _is_compacted(message: dict[str, JsonValue]) -> bool:
    content = message["content"]
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") == "compaction" for block in content
    )
