"""The outcome of a question, as a script reads it. Pure functions and values."""

from __future__ import annotations

__all__ = [
    "QUESTION_ID",
    "AskOutcome",
    "AskVote",
    "exit_code",
    "format_sentence",
    "get_outcome",
    "list_approving_labels",
]

import json
from collections.abc import Mapping
from typing import Final

from pydantic import AwareDatetime, JsonValue

from askback.domain.answer_values import list_answer_values, list_fallback_values, list_notes
from askback.domain.ask import Ask
from askback.domain.form import Form, Question
from askback.domain.identity import Actor
from askback.domain.outcome import Outcome, OutcomeState, Vote
from askback.domain.verdicts import can_approve
from askback.internal.values import Value
from askback.text.terminal import to_terminal_text

QUESTION_ID: Final = "answer"
"""The id of the only question if the caller gives no form."""
NEITHER = 6
"""Exit code of an answer that is neither a "yes" nor a "no", if some option is a "yes"."""
_CODES: dict[OutcomeState, int] = {
    "answered": 0, "refused": 3, "declined": 3, "cancelled": 3, "timed_out": 4, "undeliverable": 5,
}  # fmt: skip


class AskVote(Value):
    """One person's vote."""

    by: str
    id: str
    choice: str
    reason: str | None
    at: AwareDatetime


class AskOutcome(Value):
    """The outcome of a question. `askback ask` prints it as JSON, with these very names."""

    id: str
    key: str | None
    status: OutcomeState
    """`refused` means that they decided for an option that means "no"."""
    approved: bool | None
    """True if a "yes" was chosen. None if it was answered and no option is a "yes", unless it puts off a "no"."""
    answer: str | None
    """The chosen option or the written text, also of a refusal. None if no one answered, or if there are more."""
    answers: Mapping[str, JsonValue] | None
    """The answers to a form by the ids of its questions. A question that nobody was asked is missing.

    None if there is no form, or if no one answered.
    """
    by: str | None
    """The name of the person who settled it. A name alone proves nothing."""
    by_id: str | None
    reason: str | None
    votes: tuple[AskVote, ...]
    at: AwareDatetime
    fallback: Mapping[str, JsonValue] | None = None
    """The defaults that apply because nobody answered in time, by the ids of the questions. Nobody chose them.

    None if none apply.
    """
    halted: bool = False
    """True if nobody answered in time, and the work must therefore stop until a person says more."""
    note: str | None = None
    """The note that they wrote to the chosen option. None if there is none, or if there are more answers."""
    notes: Mapping[str, JsonValue] | None = None
    """The notes to the choices in a form, by the ids of its questions. None if there are none."""
    written: bool = False
    """True if `answer` is in the person's own words, even if it reads like an option. False for a chosen option."""


def get_outcome(ask: Ask) -> AskOutcome | None:
    """Return the outcome of an ask; None while it is open."""
    outcome = ask.outcome
    if outcome is None:
        return None
    form = ask.interview.form
    return AskOutcome(
        id=ask.id,
        key=ask.key,
        status=outcome.state,
        approved=_is_approved(ask, outcome),
        answer=", ".join(outcome.answers[0].labels) if len(outcome.answers) == 1 else None,
        answers=list_answer_values(form, outcome) if outcome.answers and not _is_plain(form) else None,
        by=None if outcome.by is None else _get_name(outcome.by),
        by_id=None if outcome.by is None else outcome.by.id,
        reason=outcome.reason,
        votes=tuple(map(_to_ask_vote, outcome.votes)),
        at=outcome.at,
        fallback=list_fallback_values(form, outcome) or None,
        halted=outcome.halted,
        note=outcome.answers[0].note if len(outcome.answers) == 1 else None,
        notes=None if _is_plain(form) else list_notes(outcome) or None,
        written=len(outcome.answers) == 1 and outcome.answers[0].text is not None,
    )


def list_approving_labels(ask: Ask) -> tuple[str, ...]:
    """Return the labels of the options that mean "yes"."""
    approval, options = ask.policy.approval, ask.interview.form.questions[0].options
    return () if approval is None else tuple(one.label for one in options if approval.is_approving(one, options))


def list_refusing_labels(ask: Ask) -> tuple[str, ...]:
    """Return the labels of the options that mean "no"."""
    approval, options = ask.policy.approval, ask.interview.form.questions[0].options
    return () if approval is None else tuple(one.label for one in options if approval.is_refusing(one))


def exit_code(outcome: AskOutcome) -> int:
    """Return the exit code for a shell."""
    if outcome.status == "answered" and outcome.approved is False:
        return NEITHER
    return _CODES[outcome.status]


def format_sentence(outcome: AskOutcome) -> str:
    """Return the outcome in words, for a person at a terminal."""
    by = "" if outcome.by is None else f" by {to_terminal_text(outcome.by)}"
    why = "" if not outcome.reason else f": {to_terminal_text(outcome.reason)}"
    match outcome.status:
        case "answered":
            answer = "" if outcome.answer is None else f": {to_terminal_text(outcome.answer)}"
            note = "" if outcome.note is None else f" (note: {to_terminal_text(outcome.note)})"
            return f"Answered{by}{', in their own words' if outcome.written else ''}{answer}{note}"
        case "refused":
            return f"Refused{by} ({to_terminal_text(outcome.answer or '')}){why}"
        case "timed_out":
            return f"Nobody answered in time{why}.{_format_consequence(outcome)}"
        case "undeliverable":
            return f"It could not be delivered{why}"
        case other:
            return f"{other.capitalize()}{by}{why}"


def _format_consequence(outcome: AskOutcome) -> str:
    if outcome.halted:
        return " The work stops, as announced."
    if outcome.fallback is None:
        return ""
    shown = {name: json.dumps(value, ensure_ascii=False) for name, value in outcome.fallback.items()}
    if len(shown) == 1:
        return f" The default applies, as announced: {to_terminal_text(*shown.values())}"
    values = "; ".join(f"{name}: {value}" for name, value in shown.items())
    return f" The defaults apply, as announced: {to_terminal_text(values)}"


def _is_plain(form: Form) -> bool:
    """Return True if the caller gave a question and no form."""
    return form.is_single and form.questions[0].id == QUESTION_ID and not _has_objects(form.questions[0])


def _has_objects(question: Question) -> bool:
    """Return True if the answers are objects with an id, such as people or files."""
    return question.picks is not None or question.files is not None


def _is_approved(ask: Ask, outcome: Outcome) -> bool | None:
    if outcome.status != "answered" or outcome.refused:
        return False
    yes = list_approving_labels(ask)
    chosen = outcome.answers[0].choices
    if yes:
        return any(choice.label in yes for choice in chosen)
    refusing = list_refusing_labels(ask)
    return False if refusing and not all(can_approve(choice.label, refusing) for choice in chosen) else None


def _to_ask_vote(vote: Vote) -> AskVote:
    return AskVote(by=_get_name(vote.by), id=vote.by.id, choice=vote.choice.label, reason=vote.reason, at=vote.at)


def _get_name(actor: Actor) -> str:
    return actor.name or actor.id
