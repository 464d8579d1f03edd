"""Applies the answers to all questions of a form that a person sent together. No I/O."""

from __future__ import annotations

__all__ = ["apply_form"]

from askback.domain.actions import Action, FieldAnswer, SubmitForm
from askback.domain.answer_file import AnswerFile
from askback.domain.file_rules import FileRules
from askback.domain.form import Question
from askback.domain.form_fields import find_field_problems, has_field_for_each
from askback.domain.interview import Draft, Interview, settle
from askback.domain.outcome import Outcome
from askback.errors import PersonError
from askback.translations.catalogue import _


class NoFields(PersonError):
    """Raised if the form cannot be answered in this way. No card of askback shows such a control."""

    def __init__(self) -> None:
        super().__init__(_("These questions cannot be answered together; please use the newest card."))


def apply_form(interview: Interview, sent: SubmitForm, action: Action) -> Interview:
    """Return the interview with these answers: closed if they are complete.

    Every answer is kept, also if another one has a problem, which `find_field_problems` reports. If an answer replaces
    another one that somebody gave after the fields were opened, the form shows its review instead of ending, so that
    people see what is submitted. Raises `NoFields` if the form has no such fields.
    """
    questions = interview.form.questions
    if not has_field_for_each(interview.form) or [one.index for one in sent.answers] != [*range(len(questions))]:
        raise NoFields
    sender = f"{action.actor.platform}:{action.actor.id}:{sent.revision}"
    filled = tuple(map(_fill, questions, interview.drafts, sent.answers))
    drafts = tuple(draft.evolve(sender=sender) for draft in filled)
    after = interview.evolve(drafts=drafts)
    if find_field_problems(after, sent):
        return after.evolve(revision=interview.revision + (drafts != interview.drafts))
    if sent.revision != interview.revision and any(
        draft.sender != sender and _is_replaced(draft, other)
        for draft, other in zip(interview.drafts, drafts, strict=True)
    ):
        return after.evolve(phase="reviewing", step=interview.step + 1, revision=interview.revision + 1)
    return settle(after, Outcome(status="answered", at=action.at, by=action.actor, answers=after.answers))


def _is_replaced(before: Draft, after: Draft) -> bool:
    return before.is_answer and (before.chosen, before.text, before.files) != (after.chosen, after.text, after.files)


def _fill(question: Question, draft: Draft, sent: FieldAnswer) -> Draft:
    if question.files is not None:
        return _fill_files(question.files, draft, sent)
    text = (sent.text or "").strip()
    if sent.files is not None:
        raise NoFields
    if not all(0 <= index < len(question.options) for index in sent.chosen) or (text and not question.allow_custom):
        raise NoFields
    if len(sent.chosen) > 1 and not question.multi_select:
        raise NoFields
    chosen = tuple(sorted(set(sent.chosen)))
    if sent.text is None and question.multi_select:
        return draft.evolve(chosen=chosen, marks=(), seen=True)  # there was no field for the text
    is_both = bool(text and chosen) and not question.multi_select
    if is_both and text == draft.shown_text.strip() and chosen != draft.chosen:
        text, is_both = "", False  # the choice is new, and the text was in the field before
    if is_both or (text and question.rules.find_problem(text) is not None):
        return Draft(chosen=chosen, text=None, unsent=sent.text, seen=True)
    return Draft(chosen=chosen, text=text or None, seen=True)


def _fill_files(rules: FileRules, draft: Draft, sent: FieldAnswer) -> Draft:
    """Return the draft with the files that were sent. Earlier ones stay if there are none, or if they are no answer."""
    if sent.chosen or sent.text:
        raise NoFields
    if not sent.files or rules.find_problem(sent.files) is not None:
        return draft.evolve(seen=True)
    return Draft(files=tuple(map(AnswerFile.from_attached, sent.files)), seen=True)
