"""Applies the answers to the questions of a form that a person sent together. No I/O."""

from __future__ import annotations

__all__ = ["apply_form"]

from collections.abc import Iterable

from askback.domain.actions import Action, FieldAnswer, SubmitForm
from askback.domain.answer_file import AnswerFile
from askback.domain.file_rules import FileRules
from askback.domain.form import Question
from askback.domain.form_fields import find_field_problems, find_field_questions
from askback.domain.form_limits import MAX_PICKED
from askback.domain.interview import Draft, Interview, move, settle
from askback.domain.outcome import Outcome, Picked
from askback.domain.selection import sort_picked
from askback.domain.text_problem import find_text_problem
from askback.errors import PersonError
from askback.text.unseen import strip_text
from askback.translations.catalogue import _


class NoFields(PersonError):
    """Raised if the form cannot be answered in this way. No card of askback shows such a control."""

    def __init__(self) -> None:
        super().__init__(_("These questions cannot be answered together; please use the newest card."))


def apply_form(interview: Interview, sent: SubmitForm, action: Action) -> Interview:
    """Return the interview with these answers: closed if no question is left.

    Every answer is kept, also if another one has a problem, which `find_field_problems` reports. If an answer replaces
    another one that somebody gave after the fields were opened, the form shows its review instead of ending, so that
    people see what is submitted. If the answers call for questions that had no fields, the first of these is next.
    Raises `NoFields` if the form has no such fields.
    """
    asked = find_field_questions(interview.form)
    if asked is None or [one.index for one in sent.answers] != [*asked.indexes]:
        raise NoFields
    sender = f"{action.actor.platform}:{action.actor.id}:{sent.revision}"
    before = interview.drafts
    filled = {
        # The marks stay, so that a click on the card behind the modal that is delivered twice still counts once.
        one.index: _fill(interview.form.questions[one.index], before[one.index], one).evolve(
            sender=sender, marks=before[one.index].marks
        )
        for one in sent.answers
    }
    drafts = tuple(filled.get(index, draft) for index, draft in enumerate(before))
    after = interview.evolve(drafts=drafts)
    problems = find_field_problems(after, sent)
    is_hidden = after.current not in after.visible
    if problems and is_hidden:
        return move(after, problems[0].index, after.phase)  # the answers hide the question that was shown
    if problems:
        return after.evolve(revision=interview.revision + any(map(_is_changed, before, drafts)))
    if is_hidden:
        after = after.evolve(current=asked.indexes[0])
    if sent.revision != interview.revision and any(
        before[index].sender != sender and _is_replaced(before[index], draft) for index, draft in filled.items()
    ):
        return move(after, after.current, "reviewing")
    others = [index for index in after.visible if index not in filled]
    if not others:
        return settle(after, Outcome(status="answered", at=action.at, by=action.actor, answers=after.answers))
    left = [index for index in others if not (after.is_answered(index) and after.drafts[index].seen)]
    return move(after, left[0], "asking") if left else move(after, after.current, "reviewing")


def _is_replaced(before: Draft, after: Draft) -> bool:
    return before.is_answer and _list_answer(before) != _list_answer(after)


def _list_answer(draft: Draft) -> tuple[object, ...]:
    """Return what counts as the answer. The names of what was picked may come later."""
    return draft.chosen, _list_ids(draft.picked), draft.files, draft.text, draft.note


def _list_ids(picked: Iterable[Picked]) -> frozenset[str]:
    return frozenset(one.id for one in picked)


def _is_changed(before: Draft, after: Draft) -> bool:
    """Return True if people would see another draft: the same answers from another sender change nothing."""
    return before.evolve(sender=after.sender) != after


def _fill(question: Question, draft: Draft, sent: FieldAnswer) -> Draft:
    if question.files is not None:
        return _fill_files(question.files, draft, sent)
    text = strip_text(sent.text)
    if sent.files is not None:
        raise NoFields
    if not all(0 <= index < len(question.options) for index in sent.chosen):
        raise NoFields
    if text and not (question.allow_custom or question.allow_note):
        raise NoFields
    if max(len(sent.chosen), len(sent.picked)) > 1 and not question.multi_select:
        raise NoFields
    if question.picks is None and (sent.picked or sent.rejected):
        raise NoFields
    if question.allow_note:
        return _fill_with_note(question, draft, sent)
    chosen, picked = tuple(sorted(set(sent.chosen))), _name(sent.picked[:MAX_PICKED], draft)
    if sent.text is None and question.takes_several:
        return draft.evolve(chosen=chosen, picked=picked, seen=True)  # there was no field for the text
    is_both = bool(text and (chosen or picked)) and not question.multi_select
    is_new = (chosen, _list_ids(picked)) != (draft.chosen, _list_ids(draft.picked))
    if is_both and text == draft.shown_text.strip() and is_new:
        text, is_both = "", False  # the choice is new, and the text was in the field before
    if is_both or (text and question.rules.find_problem(text) is not None):
        return Draft(chosen=chosen, picked=picked, text=None, unsent=sent.text, seen=True)
    return Draft(chosen=chosen, picked=picked, text=question.rules.normalize(text) or None, seen=True)


def _fill_with_note(question: Question, draft: Draft, sent: FieldAnswer) -> Draft:
    """Fill in a question of which one option can be chosen: a text with an option is its note."""
    chosen, text = sent.chosen, strip_text(sent.text)
    if sent.text is None:  # there was no field for the text
        return Draft(chosen=chosen, note=draft.note if chosen == draft.chosen else None, seen=True)
    if text and find_text_problem(question, text, has_choice=bool(chosen)) is not None:
        return Draft(chosen=chosen, unsent=sent.text, seen=True)
    if chosen:
        return Draft(chosen=chosen, note=text or None, seen=True)
    return Draft(text=question.rules.normalize(text) or None, seen=True)


def _name(picked: tuple[Picked, ...], draft: Draft) -> tuple[Picked, ...]:
    """Return people or channels, each once, with the names that are known already."""
    known = {one.id: one for one in draft.picked}
    found = {one.id: one if one.name else known.get(one.id, one) for one in picked}
    return sort_picked(found.values())


def _fill_files(rules: FileRules, draft: Draft, sent: FieldAnswer) -> Draft:
    """Return the draft with the files that were sent. Earlier ones stay if there are none, or if they cannot be one."""
    if sent.chosen or sent.text:
        raise NoFields
    if not sent.files or rules.find_problem(sent.files) is not None:
        return draft.evolve(seen=True)
    return Draft(files=tuple(map(AnswerFile.from_attached, sent.files)), seen=True)
