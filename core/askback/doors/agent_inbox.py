"""Reads requests in the format of LangChain's Agent Inbox, and writes the decisions of people in it. Pure.

LangChain has replaced the format by its middleware, and graphs still use it.
"""

from __future__ import annotations

__all__ = ["InboxRequest", "read_requests"]

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from pydantic import JsonValue

from askback.domain import approval
from askback.domain.ask import Ask
from askback.doors.call_question import CallQuestion, get_answered
from askback.doors.tool_decisions import build_call_question, describe_rejection
from askback.errors import CallerError
from askback.text.unseen import has_visible_text

EXAMPLE: Final = (
    '{"action_request": {"action": "deploy", "args": {"version": "1.4.2"}}, "config": {"allow_accept": True, '
    '"allow_edit": True, "allow_respond": True, "allow_ignore": True}}'
)
_REQUEST: Final = "action_request"


@dataclass(frozen=True, slots=True)
class InboxRequest:
    """A request about one action, with its question."""

    action: str
    given: Mapping[str, JsonValue]
    can_respond: bool
    can_ignore: bool
    question: CallQuestion

    def read(self, ask: Ask) -> JsonValue:
        """Return the response of people. Raises `Unanswered`: the format has no word for that nobody decided."""
        outcome = get_answered(ask)
        if not approval.is_approval(ask):
            return {"type": "response", "args": "\n".join(outcome.answers[0].labels)}
        data = approval.get_approved_arguments(ask, self.action, self.given)
        if data is not None:
            return {
                "type": "edit" if ask.interview.changes else "accept",
                "args": {"action": self.action, "args": data},
            }
        # A response is all that tells the agent a reason.
        has_reason = any(vote.reason for vote in outcome.votes)
        if self.can_respond and (has_reason or not self.can_ignore):
            return {"type": "response", "args": describe_rejection(self.action, outcome)}
        return {"type": "ignore", "args": None}


def read_requests(value: JsonValue) -> tuple[InboxRequest, ...] | None:
    """Return the requests in the value of an interrupt. None if it is none of this format.

    Raises `CallerError` if people cannot be asked that.
    """
    listed = value if isinstance(value, list) else [value]
    if not listed or not all(isinstance(one, dict) and _REQUEST in one for one in listed):
        return None
    return tuple(_read_request(cast("Mapping[str, JsonValue]", one)) for one in listed)


def _read_request(value: Mapping[str, JsonValue]) -> InboxRequest:
    request, config = value[_REQUEST], value.get("config")
    action = request.get("action") if isinstance(request, dict) else None
    given = (request.get("args") or {}) if isinstance(request, dict) else None
    if not (isinstance(action, str) and has_visible_text(action) and isinstance(given, dict)):
        raise CallerError(f"An `{_REQUEST}` has no `action`, or its `args` are no dictionary: write {EXAMPLE}.")
    if not isinstance(config, dict):
        raise CallerError(
            f"The request about {action} has no `config`, which says what people may do: write {EXAMPLE}."
        )
    about = value.get("description")
    description = about if isinstance(about, str) and has_visible_text(about) else None
    can_respond, can_ignore = (config.get(name) is True for name in ("allow_respond", "allow_ignore"))
    allowed = _list_decisions(config, action, can_respond=can_respond, can_ignore=can_ignore)
    question = build_call_question(action, given, allowed, description)
    return InboxRequest(action, given, can_respond, can_ignore, question)


def _list_decisions(
    config: Mapping[str, JsonValue], action: str, *, can_respond: bool, can_ignore: bool
) -> tuple[str, ...]:
    """Return the decisions about a call to which the fields of a request amount."""
    if config.get("allow_accept") is True and (can_respond or can_ignore):
        return ("approve", "edit", "reject") if config.get("allow_edit") is True else ("approve", "reject")
    if can_respond:
        return ("respond",)
    raise CallerError(
        f"The `config` of the request about {action} lets people neither refuse it nor answer it: set `allow_accept` "
        "together with `allow_ignore` or `allow_respond`, or `allow_respond` alone."
    )
