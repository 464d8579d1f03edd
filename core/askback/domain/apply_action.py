"""Applies what people do to an interview. No I/O: `apply_action(interview, action) -> interview`."""

from __future__ import annotations

__all__ = [
    "REASON_RULES",
    "Closed",
    "FilesRefused",
    "Incomplete",
    "NotPossible",
    "Stale",
    "apply_action",
    "check_reason",
    "is_click_recorded",
    "record_click",
]

from typing import Final

from askback.domain.actions import (
    Action,
    AttachFiles,
    Back,
    Cancel,
    Choose,
    ClearText,
    Decline,
    GoTo,
    Next,
    OpenDecline,
    OpenFiles,
    OpenForm,
    OpenTextField,
    Operation,
    Pick,
    Review,
    Select,
    ShowDetails,
    Submit,
    SubmitForm,
    SubmitText,
)
from askback.domain.answer_file import AnswerFile
from askback.domain.apply_form import apply_form
from askback.domain.choice_words import describe_least, describe_text_refusal, describe_too_many
from askback.domain.form import Question
from askback.domain.form_limits import MAX_PICKED
from askback.domain.interview import Draft, Interview, move, settle
from askback.domain.outcome import Outcome
from askback.domain.selection import apply_ticks
from askback.domain.text_problem import find_text_problem
from askback.domain.text_rules import TextRules
from askback.errors import PersonError
from askback.text.unseen import strip_text
from askback.translations.catalogue import N_, _

REASON_RULES: Final = TextRules(max_length=1000)
"""The rules for a reason, which may also be missing."""

KEPT_DELIVERIES = 20
"""Number of clicks that an interview remembers by the platform's ids, to deduplicate them."""

_NO_FILES: Final = N_("This question does not ask for files; please use the newest card.")

_OPENING: Final = OpenTextField | OpenFiles | OpenForm | OpenDecline | ShowDetails

KEPT_FOR_EACH_VOTE = 4
"""The same number for each voter, if several people decide."""


class Stale(PersonError):
    """Raised for a click on a step that has passed."""


class Closed(PersonError):
    """Raised for a click on an ask that has ended."""

    def __init__(self) -> None:
        super().__init__(_("This question is already closed. Your click changed nothing."))


class Incomplete(PersonError):
    """Raised if a question is still unanswered."""


class FilesRefused(PersonError):
    """Raised for files that cannot be an answer. The person can choose others."""


class NotPossible(PersonError):
    """Raised if the question does not offer this action. No card of askback shows such a control."""


def apply_action(interview: Interview, action: Action) -> Interview:
    """Return the interview after one action.

    Raises `Closed`, `Stale`, `Incomplete`, `FilesRefused` or `NotPossible` if the action changes nothing. The text of
    the error is for the person who acted. A written text that breaks the rules raises nothing: `unsent` keeps it, and
    `find_text_problem` gives the reason. A click that counted already changes nothing and raises nothing.
    """
    if is_click_recorded(interview, action):
        return interview
    return record_click(_apply_operation(interview, action), action)


def record_click(interview: Interview, action: Action) -> Interview:
    """Return the interview with this click recorded as applied."""
    if action.delivery is None or isinstance(action.operation, _OPENING):
        return interview
    # If many people decide, their clicks must not push out an earlier one: delivered again, it would undo a change.
    kept = max(KEPT_DELIVERIES, KEPT_FOR_EACH_VOTE * len(interview.votes))
    return interview.evolve(deliveries=(*interview.deliveries, action.delivery)[-kept:])


def is_click_recorded(interview: Interview, action: Action) -> bool:
    """Return True if this very click was applied before."""
    return action.delivery is not None and action.delivery in interview.deliveries


def check_reason(reason: str | None) -> str | None:
    """Return a person's sentence without the spaces around it; None if that is empty.

    Raises `NotPossible` if it is too long.
    """
    reason = strip_text(reason)
    problem = REASON_RULES.find_problem(reason) if reason else None
    if problem is not None:
        raise NotPossible(problem)
    return reason or None


def _apply_operation(interview: Interview, action: Action) -> Interview:
    if interview.phase == "closed":
        raise Closed
    operation = action.operation
    match operation:
        case Cancel(reason=reason):
            return settle(
                interview,
                Outcome(status="cancelled", at=action.at, by=action.actor, reason=check_reason(reason)),
            )
        case Decline(reason=reason, discuss=discuss):
            return settle(
                interview,
                Outcome(status="declined", at=action.at, by=action.actor, reason=check_reason(reason), discuss=discuss),
            )
        case OpenDecline() | OpenForm() | ShowDetails():
            return interview
        case SubmitForm():
            return apply_form(interview, operation, action)
        case _:
            pass
    if action.step != interview.step:
        raise Stale(_("The card has moved on to another step. Your click changed nothing; please use the newest card."))
    if action.ticks is not None and interview.phase == "asking" and _fits(interview.question, action.ticks):
        interview = _select(interview, action.ticks, action)
    if interview.phase == "reviewing":
        return _apply_to_review(interview, operation, action)
    return _apply_to_question(interview, operation, action)


def _apply_to_question(interview: Interview, operation: Operation, action: Action) -> Interview:
    question = interview.question
    match operation:
        case OpenTextField():
            _require(question.allow_custom or question.allow_note, _build_text_refusal(question))
            return interview
        case OpenFiles():
            _require(question.files is not None, _(_NO_FILES))
            return interview
        case AttachFiles():
            return _attach(interview, operation, action)
        case Choose(index=index, note=note):
            _require(not question.multi_select and 0 <= index < len(question.options), _("There is no such option."))
            return _choose(interview, index, note, action)
        case Pick(picked=picked) if not question.multi_select:
            _require(question.picks is not None and len(picked) == 1, _build_pick_refusal(question))
            return _advance(
                _replace_draft(interview, interview.draft.evolve(picked=picked, text=None, unsent=None)), action
            )
        case Pick():
            _require(question.picks is not None, _build_pick_refusal(question))
            return _select(interview, operation, action)
        case Select():
            _require(question.multi_select, _("Only one of these options can be chosen."))
            return _select(interview, operation, action)
        case SubmitText(text=text):
            return _write(interview, text, action)
        case ClearText():
            return _replace_draft(interview, interview.draft.evolve(text=None, unsent=None, note=None))
        case Submit():
            _require(
                interview.form.is_single,
                _("Please answer every question first. The Submit button is on the review."),
            )
            return _submit(interview, action)
        case Next():
            return _move_to_next(interview)
        case _:
            return _apply_navigation(interview, operation)


def _apply_to_review(interview: Interview, operation: Operation, action: Action) -> Interview:
    match operation:
        case Submit():
            return _submit(interview, action)
        case Back():
            return move(interview, interview.visible[-1], "asking")
        case _:
            return _apply_navigation(interview, operation)


def _apply_navigation(interview: Interview, operation: Operation) -> Interview:
    """Apply a move that is possible from every position of a form."""
    match operation:
        case GoTo(index=index):
            _require(index in interview.visible, _("There is no such question."))
            return move(interview, index, "asking")
        case Review():
            _require(not interview.form.is_single, _("There is nothing to review."))
            return move(interview, interview.current, "reviewing")
        case Back():
            before = [index for index in interview.visible if index < interview.current]
            _require(bool(before), _("This is the first question."))
            return move(interview, before[-1], "asking")
        case _:
            raise NotPossible(_("That is not possible here; please use the newest card."))


def _choose(interview: Interview, index: int, note: str | None, action: Action) -> Interview:
    """Choose an option. Without a note, the one that this option has stays."""
    question, draft = interview.question, interview.draft
    written = None if note is None else strip_text(note)
    _require(not written or question.allow_note, _("This question takes no note."))
    if written and find_text_problem(question, written, has_choice=True) is not None:
        return _replace_draft(interview, draft.evolve(chosen=(index,), text=None, unsent=note, note=None))
    kept = draft.note if written is None and draft.chosen == (index,) else written or None
    chosen = draft.evolve(chosen=(index,), text=None, unsent=None, note=kept)
    return _advance(_replace_draft(interview, chosen), action)


def _write(interview: Interview, text: str, action: Action) -> Interview:
    question, draft = interview.question, interview.draft
    _require(question.allow_custom or question.allow_note, _build_text_refusal(question))
    if find_text_problem(question, text, has_choice=False) is not None:
        return _replace_draft(interview, draft.evolve(unsent=text))
    if not question.multi_select:
        draft = draft.evolve(chosen=(), picked=(), files=(), note=None)
    written = _replace_draft(interview, draft.evolve(text=question.rules.normalize(text), unsent=None))
    return written if question.takes_several else _advance(written, action)


def _attach(interview: Interview, operation: AttachFiles, action: Action) -> Interview:
    rules = interview.question.files
    if rules is None:
        raise NotPossible(_(_NO_FILES))
    problem = rules.find_problem(operation.files)
    if problem is not None:
        raise FilesRefused(problem)
    files = tuple(map(AnswerFile.from_attached, operation.files))
    return _advance(_replace_draft(interview, interview.draft.evolve(files=files, text=None, unsent=None)), action)


def _select(interview: Interview, operation: Select | Pick, action: Action) -> Interview:
    question = interview.question
    if isinstance(operation, Select):
        offered = range(len(question.options))
        if not all(index in offered for index in (*operation.chosen, *(operation.base or ()))):
            raise NotPossible(_("There is no such option."))
    who = f"{action.actor.platform}:{action.actor.id}"
    draft = apply_ticks(interview.draft, operation, who=who, revision=interview.revision)
    if len(draft.picked) > MAX_PICKED:
        raise NotPossible(describe_too_many(question.picks, MAX_PICKED))
    return _replace_draft(interview, draft)


def _fits(question: Question, ticks: Select | Pick) -> bool:
    """Return True if a question takes several choices of this kind."""
    return question.multi_select and isinstance(ticks, Pick) == (question.picks is not None)


def _build_text_refusal(question: Question) -> str:
    if question.files is not None:
        return _("Please choose files on the card: this question takes no written answer.")
    return describe_text_refusal(question.picks, several=question.multi_select)


def _build_pick_refusal(question: Question) -> str:
    match question.picks:
        case "people":
            return _("Please choose one person.")
        case "channels":
            return _("Please choose one channel.")
        case None:
            return _("This question does not ask for people or channels; please use the newest card.")


def _submit(interview: Interview, action: Action) -> Interview:
    missing = interview.missing
    if missing and interview.form.is_single:
        needed = interview.find_count_problem(0) or describe_least(interview.question.picks)
        if interview.question.allow_custom:
            raise Incomplete(_("Please {needed}, or write an answer, then submit.").format(needed=needed))
        raise Incomplete(_("Please {needed}, then submit.").format(needed=needed))
    if missing:
        names = ", ".join(_name_missing(interview, index) for index in missing)
        raise Incomplete(_("Not answered yet: {names}. Please answer, then submit.").format(names=names))
    return settle(interview, Outcome(status="answered", at=action.at, by=action.actor, answers=interview.answers))


def _name_missing(interview: Interview, index: int) -> str:
    needed, header = interview.find_count_problem(index), interview.form.get_header(index)
    return header if needed is None else f"{header} ({needed})"


def _advance(interview: Interview, action: Action) -> Interview:
    """Move on after an answer: submit a single question; else go to the next one, or to the review if none is left.

    A question that is answered only by its default counts as left until people have seen it.
    """
    if interview.form.is_single:
        return _submit(interview, action)
    if not interview.missing and all(interview.drafts[index].seen for index in interview.visible):
        return move(interview, interview.current, "reviewing")
    return _move_to_next(interview)


def _move_to_next(interview: Interview) -> Interview:
    _require(not interview.form.is_single, _("There is only one question."))
    after = [index for index in interview.visible if index > interview.current]
    if after:
        return move(interview, after[0], "asking")
    return move(interview, interview.current, "reviewing")


def _replace_draft(interview: Interview, draft: Draft) -> Interview:
    """Replace the draft of the current question. If only invisible marks changed, the revision stays."""
    before = interview.draft
    if draft == before:
        return interview
    if draft.evolve(marks=before.marks) != before:
        draft = draft.evolve(sender=None)
    seen = draft.marks == before.marks or draft.evolve(marks=before.marks) != before
    return _set_draft(interview, interview.current, draft, revision=interview.revision + seen)


def _set_draft(interview: Interview, index: int, draft: Draft, **changes: int) -> Interview:
    return interview.evolve(drafts=(*interview.drafts[:index], draft, *interview.drafts[index + 1 :]), **changes)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise NotPossible(otherwise)
