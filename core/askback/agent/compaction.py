"""Decides when the Messages API has to compact a conversation, so that it fits the model's window. Pure.

The API does the work. From a given size on, it puts a summary of the earlier conversation in front of its answer, as a
separate block. Every later request sends that block back, and the API ignores everything before it. Our rows keep
everything, so no call is ever separated from its result.
"""

from __future__ import annotations

__all__ = ["BETA", "COMPACT_AT", "LEAST", "build_context_management", "count_characters", "is_wanted"]

import json
from typing import Final

from pydantic import JsonValue

from askback.agent.budget import CHARACTERS_PER_TOKEN
from askback.agent.file_blocks import count_tokens

BETA: Final = "compact-2026-01-12"
COMPACT_AT: Final = 150_000
"""Number of tokens at which the API compacts a conversation: its own default."""
LEAST: Final = 50_000
"""Smallest threshold that the API accepts, in tokens."""


def is_wanted(messages: tuple[dict[str, JsonValue], ...], at: int | None) -> bool:
    """Return True if a request needs the compaction parameter: it may reach size `at`, or contains a compaction.

    Other requests omit the parameter, since not every service with this API supports it.
    """
    if any(_is_compacted(message) for message in messages):
        return True
    return at is not None and count_characters(messages) >= at * CHARACTERS_PER_TOKEN


def count_characters(parts: tuple[dict[str, JsonValue], ...]) -> int:
    """Return the number of characters of parts of a request, as JSON. A file counts as text with as many tokens."""
    return sum(len(json.dumps(part)) for part in parts) + count_tokens(parts) * CHARACTERS_PER_TOKEN


def build_context_management(at: int | None) -> dict[str, JsonValue]:
    """Return the parameter `context_management`. Without a size, the API still understands earlier compactions."""
    if at is None:
        return {"edits": []}
    return {"edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": at}}]}


def _is_compacted(message: dict[str, JsonValue]) -> bool:
    content = message["content"]
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") == "compaction" for block in content
    )
