"""The HTTP hooks of Claude Code: what they send, and the answers. Pure.

See https://code.claude.com/docs/en/hooks
"""

from __future__ import annotations

__all__ = ["HookBody", "answer_hook", "build_call_id"]

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from askback.doors.permission import PermissionAnswer


class HookBody(BaseModel):
    """The input of a hook. Further fields are for others."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    hook_event_name: Literal["PermissionRequest", "PreToolUse"]
    tool_name: str = Field(min_length=1, max_length=500)
    tool_input: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    session_id: str | None = Field(default=None, max_length=200)
    tool_use_id: str | None = Field(default=None, max_length=200)


def build_call_id(body: HookBody) -> str | None:
    """Return the id of the call, which is the same if the hook is sent again. None if Claude Code gives none."""
    return None if body.tool_use_id is None else f"{body.session_id or ''}:{body.tool_use_id}"


def answer_hook(body: HookBody, answer: PermissionAnswer) -> dict[str, JsonValue]:
    """Return the answer of people in the format of the hook."""
    if body.hook_event_name == "PermissionRequest":
        return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": answer}}
    found: dict[str, JsonValue] = {"hookEventName": "PreToolUse", "permissionDecision": answer["behavior"]}
    if "updatedInput" in answer:
        found["updatedInput"] = answer["updatedInput"]
    if "message" in answer:
        found["permissionDecisionReason"] = answer["message"]
    return {"hookSpecificOutput": found}
