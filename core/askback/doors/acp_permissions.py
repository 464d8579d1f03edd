"""Reads a permission request of an ACP agent as a question for approvers, and their decision as its answer. Pure.

The agent names the options. What each of them permits is in its kind, so the card says that in askback's own words.
"""

from __future__ import annotations

__all__ = ["PermissionRequest", "read_request"]

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from acp.schema import (
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    PermissionOptionKind,
    RequestPermissionResponse,
    ToolCallUpdate,
)
from pydantic import JsonValue

from askback.domain import approval
from askback.domain.approval_title import format_title
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval
from askback.domain.form import Form, Option
from askback.doors.acp_call_table import build_call_table
from askback.doors.call_question import CallQuestion
from askback.doors.results import to_result
from askback.errors import CallerError
from askback.text.unseen import escape_unseen
from askback.translations.catalogue import N_, _

_OTHERS: Final = frozenset({"tool_call_id", "status", "raw_output", "field_meta"})
"""Fields of a call that do not say what it is about to do."""
_TELLING: Final = frozenset({"title", "rawInput", "content"})
"""Fields of which a call needs one, so that people know what they permit."""
_PERMITTING: Final = frozenset[PermissionOptionKind]({"allow_once", "allow_always"})
_EFFECTS: Final[Mapping[PermissionOptionKind, str]] = {
    "allow_once": N_("Permits this call only."),
    "allow_always": N_("Permits this call, and later ones without asking again."),
    "reject_once": N_("Denies this call only."),
    "reject_always": N_("Denies this call, and later ones without asking again."),
}


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """A request for permission, with the question about it."""

    question: CallQuestion
    options: Mapping[str, PermissionOption]
    """The agent's options that people can choose, by the value of the card's option."""

    def build_response(self, ask: Ask, where: str) -> RequestPermissionResponse:
        """Return the decision. Without one, or without a fitting option of the agent, it is `cancelled`.

        `_meta` says in words who decided and why, or that nobody did.
        """
        outcome = ask.outcome
        assert outcome is not None
        told = to_result(ask, outcome, "permit", where)
        meta = {"askback": {"status": told.status, "message": told.message}}
        chosen = self._find_chosen(ask)
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"), field_meta=meta)
        selected = AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        return RequestPermissionResponse(outcome=selected, field_meta=meta)

    def _find_chosen(self, ask: Ask) -> PermissionOption | None:
        outcome, vote = ask.outcome, ask.policy.approval
        if outcome is None or outcome.status != "answered" or vote is None or vote.subject != self.question.digest:
            return None
        (answer,) = outcome.answers
        chosen = self.options.get(answer.choices[0].value)
        is_permitted = chosen is not None and chosen.kind in _PERMITTING
        return None if is_permitted and outcome.refused else chosen


def read_request(call: ToolCallUpdate, options: Sequence[PermissionOption], *, allow_always: bool) -> PermissionRequest:
    """Return a request with its question, which shows everything that the agent says about the call.

    Raises `CallerError` if people cannot be asked that.
    """
    data = cast(
        "dict[str, JsonValue]", call.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={*_OTHERS})
    )
    if not data.keys() & _TELLING:
        raise CallerError(
            "The agent asks for permission without saying what for, so nobody was asked: it has to give the call's "
            "title, its input or its content, here or in an update that reaches the door's session_update."
        )
    offered = {str(index): one for index, one in enumerate(options) if allow_always or one.kind != "allow_always"}
    permitting = [value for value, one in offered.items() if one.kind in _PERMITTING]
    if not permitting:
        raise CallerError(
            "The agent offers no option that permits this call only, so nobody was asked. To let people choose an "
            "option that permits later calls, too, open the door with allow_always=True."
        )
    denying = [value for value in offered if value not in permitting]
    shown = [_build_option(value, one) for value, one in offered.items()]
    if not denying:
        shown.append(Option(value=approval.DENY, label=_("Deny")))
        denying.append(approval.DENY)
    vote = Approval(
        approving=tuple(permitting),
        refusing=tuple(denying),
        # Who permits later calls permits this one.
        wider=tuple(
            (wide, narrow)
            for wide in permitting
            for narrow in permitting
            if offered[wide].kind == "allow_always" and offered[narrow].kind == "allow_once"
        ),
    )
    name, kind = str(data.get("title") or data.get("kind") or "call"), str(data.get("kind", "call"))
    title = format_title(_("Run {tool}?"), {"tool": name})
    template = title.replace("{", "{{").replace("}", "}}")  # it has no arguments any more
    table = build_call_table(data, named=f"“{name}”" in title)
    (question,) = approval.build_form(kind, table, template=template).questions
    form = Form(questions=(question.evolve(options=tuple(shown)),))
    digest = approval.compute_digest("acp", [data, [[one.option_id, one.kind, one.name] for one in offered.values()]])
    return PermissionRequest(CallQuestion("permit", form, digest, vote=vote), offered)


def _build_option(value: str, option: PermissionOption) -> Option:
    return Option(value=value, label=escape_unseen(option.name), description=_(_EFFECTS[option.kind]))
