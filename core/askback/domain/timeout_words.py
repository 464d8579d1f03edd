"""The words of a card about its deadline: what happens then, and what has happened. No I/O."""

from __future__ import annotations

__all__ = ["CAPTION", "UNUSED_DRAFTS", "Consequence", "TimeoutNotice", "build_consequence", "build_notice"]

from askback.domain.form import Form
from askback.domain.interview import Interview
from askback.domain.outcome import Answer, Outcome
from askback.domain.timeout_action import TimeoutAction, build_fallback
from askback.internal.values import Value
from askback.text.literal import quote_line, to_single_line
from askback.translations.catalogue import N_, _

CAPTION = N_("If nobody answers in time:")
"""The line above the defaults."""
UNUSED_DRAFTS = N_("Answers that were begun, but not submitted, do not count.")
"""The note of a settled card whose defaults apply, if people had begun to answer."""
LONGEST_DEFAULT = 60
"""Maximum number of characters of a default in a sentence. A longer one is quoted below it, in full."""


class TimeoutNotice(Value):
    """The announcement of an open card about its deadline."""

    words: str
    """The end of the line with the deadline, such as “then the work stops”. It may quote a label."""
    defaults: tuple[str, ...]
    """The defaults to show below it in full; empty if the line says all."""


class Consequence(Value):
    """The sentence of a settled card about its timeout."""

    words: str
    """A sentence. It may quote a label."""
    lists_defaults: bool
    """True if the sentence ends with a colon, and the defaults are listed below it."""


def build_notice(interview: Interview, action: TimeoutAction) -> TimeoutNotice | None:
    """Return what the open card says about its deadline; None if a timeout does nothing but report it."""
    if action == "report":
        return None
    if action == "halt":
        return TimeoutNotice(words=_("then the work stops"), defaults=())
    form = interview.form
    fallback = build_fallback(form)
    if form.is_single:
        short = _quote_short(fallback)
        if short is not None:
            return TimeoutNotice(words=_("then {default}").format(default=short), defaults=())
        return TimeoutNotice(words=_("then the default applies"), defaults=fallback[0].labels)
    # A question shows its own default, and the review those of all.
    shown = fallback if interview.phase == "reviewing" else _select(fallback, interview.question.id)
    if interview.phase == "asking" and all(_is_marked(interview, one) for one in shown):
        shown = ()  # the card marks it as chosen already
    return TimeoutNotice(words=_("then the defaults apply"), defaults=tuple(_format_line(form, one) for one in shown))


def build_consequence(form: Form, outcome: Outcome) -> Consequence | None:
    """Return what follows from a timeout. None if nothing does."""
    if outcome.halted:
        return Consequence(words=_("The work stops, as announced."), lists_defaults=False)
    if not outcome.fallback:
        return None
    if not form.is_single:
        return Consequence(words=_("The defaults apply, as announced:"), lists_defaults=True)
    short = _quote_short(outcome.fallback)
    if short is None:
        return Consequence(words=_("The default applies, as announced:"), lists_defaults=True)
    return Consequence(words=_("{default} applies, as announced.").format(default=short), lists_defaults=False)


def _quote_short(fallback: tuple[Answer, ...]) -> str | None:
    """Return the only default in quotation marks, if a sentence can hold it."""
    labels = fallback[0].labels
    if len(labels) != 1 or len(labels[0]) > LONGEST_DEFAULT or to_single_line(labels[0]) != labels[0]:
        return None
    return quote_line(labels[0], 2 * LONGEST_DEFAULT)


def _select(fallback: tuple[Answer, ...], question_id: str) -> tuple[Answer, ...]:
    return tuple(one for one in fallback if one.question_id == question_id)


def _is_marked(interview: Interview, default: Answer) -> bool:
    """Return True if what is chosen on the card is the default."""
    draft = interview.draft
    return draft.text is None and draft.chosen == tuple(choice.index for choice in default.choices)


def _format_line(form: Form, answer: Answer) -> str:
    index = form.find_index(answer.question_id)
    assert index is not None
    return f"{form.get_header(index)}: {', '.join(answer.labels)}"
