"""Compaction as in the Messages API: its request, its block, and the messages that count after it.

The opaque part of a block names its script and the position in it. A client may therefore omit everything
before the block and still gets the next turn.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from .tools import Object, Refused, is_object

__all__ = [
    "BETA",
    "Edit",
    "ScriptPosition",
    "block_of",
    "check_block",
    "check_edits",
    "edit_in",
    "kept",
    "read_position",
]

BETA = "compact-2026-01-12"
_CONTEXT_BETAS = frozenset({BETA, "context-management-2025-06-27"})
_LEAST = 50_000
_DEFAULT = 150_000
_EDITS = ("clear_tool_uses_20250919", "clear_thinking_20251015", "compact_20260112")
_EDIT = frozenset({"type", "instructions", "pause_after_compaction", "trigger"})
_BLOCK = frozenset({"type", "content", "encrypted_content", "signature", "tool_changes", "cache_control"})


@dataclass(frozen=True)
class Edit:
    """A request's compaction settings: the trigger in tokens, and True in `pause` to stop after it."""

    trigger: int
    pause: bool


@dataclass(frozen=True)
class ScriptPosition:
    """A conversation's position in its script at compaction; if `paused`, that turn was not said yet."""

    script: str
    turn: int
    paused: bool


def edit_in(body: Object) -> Edit | None:
    """Return the compaction edit of a checked request; None if it does not ask for compaction."""
    management = body.get("context_management")
    edits = management.get("edits") if is_object(management) else None
    for edit in edits if isinstance(edits, list) else []:
        if is_object(edit) and edit.get("type") == "compact_20260112":
            trigger = edit.get("trigger")
            value = trigger.get("value") if is_object(trigger) else None
            return Edit(value if isinstance(value, int) else _DEFAULT, edit.get("pause_after_compaction") is True)
    return None


def block_of(summary: str, mark: ScriptPosition) -> Object:
    """Return the block of a compaction that succeeded."""
    sealed = json.dumps([_digest(summary), mark.script, mark.turn, mark.paused]).encode()
    return {"type": "compaction", "content": summary, "encrypted_content": base64.b64encode(sealed).decode()}


def kept(blocks: Sequence[Object]) -> int | None:
    """Return the index of a message's last compaction block with content; None if there is none.

    Everything before that block is dropped. A block without content drops nothing.
    """
    found = [at for at, block in enumerate(blocks) if block.get("type") == "compaction" and block.get("content")]
    return found[-1] if found else None


def read_position(block: Object) -> ScriptPosition | None:
    """Return the mark in a block; None if its opaque part is missing or invalid."""
    sealed = block.get("encrypted_content")
    if not isinstance(sealed, str):
        return None
    try:
        digest, script, turn, paused = json.loads(base64.b64decode(sealed, validate=True))
    except (ValueError, TypeError):
        return None
    known = isinstance(script, str) and isinstance(turn, int) and digest == _digest(str(block.get("content")))
    return ScriptPosition(script, turn, paused is True) if known else None


def check_edits(body: Object, betas: frozenset[str]) -> None:
    """Raise `Refused` for a `context_management` that the API would reject."""
    if "context_management" not in body:
        return
    management = body["context_management"]
    if not betas & _CONTEXT_BETAS:
        raise Refused("context_management: Extra inputs are not permitted")
    if management is None:
        return
    if not is_object(management):
        raise Refused("context_management: Input should be a valid dictionary")
    for key in management:
        if key != "edits":
            raise Refused(f"context_management.{key}: Extra inputs are not permitted")
    edits = management.get("edits", [])
    if not isinstance(edits, list):
        raise Refused("context_management.edits: Input should be a valid list")
    known = tuple(name for name in _EDITS if name != "compact_20260112" or BETA in betas)
    for number, edit in enumerate(edits):
        _check_edit(edit, f"context_management.edits.{number}", known)


def _check_edit(edit: JsonValue, path: str, known: tuple[str, ...]) -> None:
    kind = edit.get("type") if is_object(edit) else None
    if not is_object(edit) or kind not in known:
        expected = ", ".join(f"'{name}'" for name in known)
        raise Refused(
            f"{path}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {expected}"
        )
    if kind != "compact_20260112":
        return
    for key in edit:
        if key not in _EDIT:
            raise Refused(f"{path}.{kind}.{key}: Extra inputs are not permitted")
    trigger = edit.get("trigger")
    if trigger is None:
        return
    value = trigger.get("value") if is_object(trigger) else None
    if not is_object(trigger) or trigger.get("type") != "input_tokens":
        raise Refused(f"{path}.{kind}.trigger.type: Input should be 'input_tokens'")
    if isinstance(value, bool) or not isinstance(value, int):
        raise Refused(f"{path}.{kind}.trigger.value: Input should be a valid integer")
    if value < _LEAST:
        raise Refused(f"{path}.{kind}.trigger.value: Input should be greater than or equal to {_LEAST}")


def check_block(block: Object, path: str, role: str, betas: frozenset[str]) -> None:
    """Raise `Refused` for a compaction block that the API would reject."""
    if BETA not in betas:
        raise Refused(
            f"{path}: Input tag 'compaction' found using 'type' does not match any of the expected tags: "
            "'document', 'image', 'redacted_thinking', 'search_result', 'text', 'thinking', 'tool_result', 'tool_use'"
        )
    if role != "assistant":
        raise Refused(f"{path}: `compaction` blocks can only be in `assistant` messages")
    for key in block:
        if key not in _BLOCK:
            raise Refused(f"{path}.compaction.{key}: Extra inputs are not permitted")
    content, sealed = block.get("content"), block.get("encrypted_content")
    if content is not None and not isinstance(content, str):
        raise Refused(f"{path}.compaction.content: Input should be a valid string")
    if content == "":
        raise Refused(f"{path}.compaction.content: content must be non-empty or null")
    if content is not None and sealed is not None and read_position(block) is None:
        raise Refused(f"{path}: Invalid `encrypted_content` in `compaction` block")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
