"""Approval of a tool call: the question, the digest of what people approve, and the result.

The question holds the arguments as JSON, so that no value can pretend to be another argument. Characters that would be
invisible, or would reorder the visible text, appear as escapes. Cards show them as a table; see `arguments`.
"""

from __future__ import annotations

__all__ = [
    "ALWAYS",
    "APPROVE",
    "DENY",
    "build_form",
    "compute_digest",
    "describe_changes",
    "describe_unapproved",
    "get_approved_arguments",
    "is_allowed",
    "is_approval",
    "is_approved",
    "is_standing",
    "list_approvers",
    "list_standing_approvers",
    "permits_tool",
    "revoke",
]

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from pydantic import JsonValue

from askback.domain.approval_title import format_title
from askback.domain.argument_change import ArgumentChange, apply_changes
from askback.domain.ask import Ask
from askback.domain.form import Form, Option, Question
from askback.domain.form_limits import MAX_ID, MAX_PROMPT
from askback.domain.identity import Actor
from askback.domain.outcome import Outcome, Revocation, Vote
from askback.errors import CallerError
from askback.text.bodies import indent_body
from askback.text.literal import find_break
from askback.text.unseen import escape_unseen, has_visible_text
from askback.translations.catalogue import N_, _, ngettext
from askback.translations.sentences import group_digits

APPROVE: Final = "approve"
DENY: Final = "deny"
ALWAYS: Final = "always"
HEADER: Final = N_("Approval")

SHOWN: Final = 1500
"""Maximum number of characters of the arguments that the prompt quotes. Its details hold all of them."""
LONGEST: Final = 1_000_000
"""Maximum number of characters of arguments that the details can show. Longer calls fail."""

_LABELS: Final = {APPROVE: N_("Approve"), DENY: N_("Deny"), ALWAYS: N_("Always in this conversation")}


def build_form(
    tool: str, data: JsonValue, *, always: bool = False, template: str | None = None, description: str | None = None
) -> Form:
    """Return the question that asks if a tool may run with this input. `always` adds an option for all later calls.

    It is in the current language, and stays in it.

    `template` is the tool's own title; see `approval_title`. None means that the question names the tool. `description`
    is the developer's own text below the title.

    Raises `CallerError` if the name or the arguments cannot be shown in full, because nobody should approve what they
    cannot see.
    """
    if not has_visible_text(tool):
        raise CallerError("The tool has no name that people can read: give it one.")
    if len(tool) > MAX_ID:
        raise CallerError(f"The name of the tool has {len(tool):,} characters: shorten it to {MAX_ID}.")
    whole = _format_arguments(data)
    if len(whole) > LONGEST:
        raise CallerError(
            f"Its arguments have {len(whole):,} characters, and a card can show at most {LONGEST:,}. Shorten them."
        )
    shown = whole
    if len(whole) > SHOWN:
        at = find_break(whole, SHOWN)
        left = len(whole) - at
        more = ngettext("… and {count} more character.", "… and {count} more characters.", left).format(
            count=group_digits(left)
        )
        shown = f"{whole[:at].rstrip()}\n{more}"
    title = _("Run {tool}?").format(tool=tool) if template is None else format_title(template, data)
    offered = (APPROVE, DENY, ALWAYS) if always else (APPROVE, DENY)
    if not data:
        title = f"{title} {_('It takes no arguments.')}"
    parts = [title, *([escape_unseen(description).strip()] if description and description.strip() else [])]
    prompt = "\n\n".join(parts)
    if data:
        # A blank line only below a description, so that `get_excerpt` finds the arguments in both cases.
        prompt += f"\n\n{shown}" if len(parts) > 1 else f"\n{shown}"
    if len(prompt) > MAX_PROMPT:
        raise CallerError(f"The description of {tool} is too long for a card: shorten it.")
    question = Question(
        # The id is the tool's name, so that an “Always” answer can later be matched to the tool.
        id=tool,
        header=_(HEADER) if template is None else f"{_(HEADER)} · {tool}",
        prompt=prompt,
        options=tuple(Option(value=one, label=_(_LABELS[one])) for one in offered),
        allow_custom=False,
        details=whole if data else None,
    )
    return Form(questions=(question,))


def compute_digest(tool: str, data: JsonValue) -> str:
    """Return a digest of 64 characters that identifies the call: another tool or input has another digest."""
    canonical = json.dumps([tool, data], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def is_approval(ask: Ask) -> bool:
    """Return True if a tool call waits for this ask. False for any other question."""
    return ask.policy.approval is not None and ask.policy.approval.subject is not None


def is_approved(ask: Ask) -> bool:
    """Return True if people approved the call."""
    return is_approval(ask) and not _is_denied(ask) and _get_chosen_label(ask) in (APPROVE, ALWAYS)


def is_allowed(ask: Ask, tool: str, data: JsonValue, *, own: bool) -> bool:
    """Return True if people approved this call.

    `own` says that the ask was about this very call, so the digests must match. Otherwise the ask was about an earlier
    call, and must allow the tool for the rest of the conversation.
    """
    approval = ask.policy.approval
    if approval is None or not is_approved(ask) or ask.interview.form.questions[0].id != tool:
        return False
    return approval.subject == compute_digest(tool, data) if own else is_standing(ask)


def is_standing(ask: Ask) -> bool:
    """Return True if people approved the tool for the rest of the conversation, and the operator has not ended that."""
    return permits_tool(ask) and ask.outcome is not None and ask.outcome.revoked is None


def permits_tool(ask: Ask) -> bool:
    """Return True if people approved the tool for the rest of the conversation, even if that was ended later."""
    return is_approved(ask) and _get_chosen_label(ask) == ALWAYS


def revoke(ask: Ask, revocation: Revocation) -> Ask | None:
    """Return the ask without its approval of later calls. None if it has none, or if that was ended before.

    Its settled card changes, too, if it was posted.
    """
    if not is_standing(ask) or ask.outcome is None:
        return None
    interview = ask.interview
    outcome = ask.outcome.evolve(revoked=revocation)
    return ask.evolve(interview=interview.evolve(outcome=outcome, revision=interview.revision + bool(ask.messages)))


def get_approved_arguments(
    ask: Ask, tool: str, given: Mapping[str, JsonValue], *, own: bool = True
) -> dict[str, JsonValue] | None:
    """Return the arguments with which people approved a call that was made with `given`. None if they did not.

    They are those that people saw last, with the changes that people made. `own` is as in `is_allowed`: an approval of
    all later calls changes no argument of these.
    """
    data = apply_changes(given, ask.interview.changes) if own else dict(given)
    return data if data is not None and is_allowed(ask, tool, data, own=own) else None


def describe_changes(tool: str, changes: Iterable[ArgumentChange], name: Callable[[Actor], str]) -> str:
    """Return the changes of people to a call that ran, in words for a model. `name` returns a person's name for it.

    Empty if they changed nothing.
    """
    shown = "; ".join(
        f"{escape_unseen(json.dumps(one.name, ensure_ascii=False))} is "
        f"{'left out' if one.is_removed else _dump(one.after)}"
        f"{'' if one.is_new else f' and not {_dump(one.before)}'} (changed by {name(one.by)})"
        for one in changes
    )
    if not shown:
        return ""
    return (
        f"People approved {tool} with changes: {shown}. The call ran with these arguments and not with yours. They "
        "meant that, so do not repeat your call."
    )


def list_approvers(ask: Ask) -> tuple[Actor, ...]:
    """Return the people who voted to run the call."""
    return () if ask.outcome is None else tuple(vote.by for vote in ask.outcome.votes if vote.choice.value != DENY)


def list_standing_approvers(ask: Ask) -> tuple[Actor, ...]:
    """Return the people who voted to allow the tool for the rest of the conversation; empty if that was revoked."""
    if ask.outcome is None or ask.outcome.revoked is not None:
        return ()
    return tuple(vote.by for vote in ask.outcome.votes if vote.choice.value == ALWAYS)


def describe_unapproved(tool: str, outcome: Outcome, name: Callable[[Actor], str]) -> str:
    """Return the reason why a call did not run, in words for a model. `name` returns a person's name for the model."""
    match outcome.status:
        case "answered":
            reasons = "; ".join(_format_vote_against(vote, name) for vote in outcome.votes if vote.choice.value == DENY)
            return f"{tool} was denied{reasons and f' {reasons}'}. It was not run."
        case "timed_out":
            why = f" ({outcome.reason})" if outcome.reason else ""
            return f"Nobody decided in time whether {tool} may run{why}. It was not run."
        case "undeliverable":
            why = (outcome.reason or "the platform cannot reach anybody here").rstrip(". ")
            return f"{tool} was not run: nobody could be asked for approval: {why}."
        case "cancelled" | "declined":
            by = "" if outcome.by is None else f" by {name(outcome.by)}"
            return f"The request to run {tool} was withdrawn{by}{_format_reason(outcome.reason)}. It was not run."


def _dump(value: JsonValue) -> str:
    return escape_unseen(json.dumps(value, ensure_ascii=False))


def _is_denied(ask: Ask) -> bool:
    return ask.outcome is None or ask.outcome.refused


def _get_chosen_label(ask: Ask) -> str | None:
    outcome = ask.outcome
    if outcome is None or outcome.status != "answered" or len(outcome.answers) != 1:
        return None
    choices = outcome.answers[0].choices
    return choices[0].value if len(choices) == 1 else None


def _format_vote_against(vote: Vote, name: Callable[[Actor], str]) -> str:
    return f"by {name(vote.by)}{_format_reason(vote.reason)}"


def _format_reason(reason: str | None) -> str:
    return f": {indent_body(reason.strip().rstrip('.'))}" if reason and reason.strip() else ""


def _format_arguments(data: JsonValue) -> str:
    try:
        text = json.dumps(data, ensure_ascii=False, indent=2)
    except RecursionError:
        raise CallerError("Its arguments are nested too deeply for a card to show them. Flatten them.") from None
    return escape_unseen(text)
