"""The HTTP hooks of Claude Code: what they send, and the answers.

See https://code.claude.com/docs/en/hooks
"""

from __future__ import annotations

__all__ = [
    "ElicitationBody",
    "HookBody",
    "HookRequest",
    "answer_elicitation",
    "answer_hook",
    "build_call_id",
    "build_elicitation",
]

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, RootModel

from askback.client.ask_result import AskResult
from askback.domain.ask_policy import Approval
from askback.domain.form import Form
from askback.domain.form_limits import MAX_ID
from askback.domain.json_schema import read_form
from askback.doors.confirmation import build_confirmation
from askback.doors.permission import PermissionAnswer
from askback.doors.results import CallKind
from askback.errors import CallerError
from askback.text.literal import to_single_line

LONGEST_SERVER_NAME: Final = 200


class _Body(BaseModel):
    """The input of every hook. Further fields are for others."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    session_id: str | None = Field(default=None, max_length=200)


class HookBody(_Body):
    """The input of a hook about a call of a tool."""

    hook_event_name: Literal["PermissionRequest", "PreToolUse"]
    tool_name: str = Field(min_length=1, max_length=MAX_ID)
    tool_input: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    tool_use_id: str | None = Field(default=None, max_length=200)


class ElicitationBody(_Body):
    """The input of the hook about an MCP server that asks Claude Code's user for something."""

    hook_event_name: Literal["Elicitation"]
    mcp_server_name: str = Field(min_length=1, max_length=LONGEST_SERVER_NAME)
    message: str
    mode: Literal["form", "url"] | None = None
    requested_schema: dict[str, JsonValue] | None = None
    elicitation_id: str | None = Field(default=None, max_length=200)


class HookRequest(RootModel[Annotated[HookBody | ElicitationBody, Field(discriminator="hook_event_name")]]):
    """The input of one of the hooks."""


def build_call_id(body: HookBody | ElicitationBody) -> str | None:
    """Return the id of the call, which is the same if the hook is sent again. None if Claude Code gives none."""
    if isinstance(body, ElicitationBody):
        return None if body.elicitation_id is None else f"elicitation:{body.session_id or ''}:{body.elicitation_id}"
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


def build_elicitation(body: ElicitationBody) -> tuple[CallKind, Form, Approval | None]:
    """Return what an MCP server asks for. Without fields, people accept or decline.

    Raises `CallerError` if it is not for a chat. Claude Code then asks its own user.
    """
    if body.mode == "url" or body.requested_schema is None:
        raise CallerError(
            "The MCP server asks its user to open an address, which nobody can do for them in a chat, so nobody was "
            "asked: open it in Claude Code."
        )
    message = f"{to_single_line(body.mcp_server_name)}: {body.message}"
    if not body.requested_schema.get("properties"):
        return build_confirmation(message)
    return "form", read_form(body.requested_schema, message=message, titled=True), None


def answer_elicitation(result: AskResult) -> dict[str, JsonValue]:
    """Return the result of the question in the format of the hook. Without an answer, the request is cancelled."""
    found: dict[str, JsonValue] = {"hookEventName": "Elicitation"}
    match result.status:
        case "answered":
            found |= {"action": "accept", "content": result.values or {}}
        case "declined" | "refused":
            found["action"] = "decline"
        case _:
            found["action"] = "cancel"
    return {"hookSpecificOutput": found}
