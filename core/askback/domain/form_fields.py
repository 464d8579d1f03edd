"""The questions of a form as fields that a person fills in together, and the problems with what they sent."""

from __future__ import annotations

__all__ = [
    "ANSWER_ALL",
    "ANSWER_SEVERAL",
    "FieldProblem",
    "FieldQuestions",
    "FormField",
    "FormFields",
    "WhenEmpty",
    "build_form_fields",
    "describe_choice",
    "find_field_problems",
    "find_field_questions",
    "find_open_questions",
    "fits_field",
]

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import Field

from askback.domain.actions import FieldAnswer, SubmitForm
from askback.domain.caller_absence import Absence
from askback.domain.choice_words import NOT_PICKED, SOMETHING_ELSE, describe_number, describe_too_many
from askback.domain.form import Form, Question
from askback.domain.form_limits import MAX_PICKED
from askback.domain.interview import Interview
from askback.domain.outcome import Picked
from askback.domain.text_problem import NEITHER, find_text_problem, get_placeholder
from askback.internal.values import Value
from askback.text.literal import is_readable_line
from askback.text.unseen import has_visible_text
from askback.translations.catalogue import N_, Language, _, get_language

MAX_FIELD_OPTIONS: Final = 100
"""Maximum number of a question's options in a field: that of Slack's menu, the longest of any platform."""
ANSWER_ALL = N_("Answer all…")
"""Label of the button that opens a modal with all questions of a form."""
ANSWER_SEVERAL = N_("Answer {count} together…")
"""Label of that button if other questions depend on these."""
EMPTY_REMOVES = N_("Empty it to leave the argument out.")
EMPTY_IS_NULL = N_("Empty it to send null.")
EMPTY_IS_LIST = N_("Empty it to send an empty list.")
WhenEmpty = Literal["removed", "null", "list"]
"""The effect of an empty field on an argument of a tool call."""
_EMPTY: Final[Mapping[WhenEmpty, str]] = {
    "removed": EMPTY_REMOVES,
    "null": EMPTY_IS_NULL,
    "list": EMPTY_IS_LIST,
}
TITLE = N_("Your answers")
EDIT_TITLE = N_("Change the arguments")
SAVE = N_("Change")
UNANSWERED = N_("Please answer this question.")
BOTH = N_("You chose an option and wrote an answer. Please keep one of them.")
BOTH_PICKED = N_("You chose from the list and wrote an answer. Please keep one of them.")
NOT_WRITTEN = N_("You chose “{choice}”: please write your answer, or change the choice.")
LEAST: Final = 2
"""The smallest number of questions that fields show together."""


class FieldQuestions(Value):
    """The questions of a form that fields can show together: all that depend on no other."""

    indexes: tuple[int, ...]
    """Their indexes in the form, from 0."""
    questions: tuple[Question, ...]
    is_whole: bool
    """True if these are all questions of the form. Otherwise, the others may follow."""

    @property
    def label(self) -> str:
        """The label of the button that opens the fields, in the current language."""
        return _(ANSWER_ALL) if self.is_whole else _(ANSWER_SEVERAL).format(count=len(self.questions))


class FormField(Value):
    """One question of a form with its answer so far."""

    index: int
    """The index of the question in the form, from 0."""
    header: str
    question: Question
    chosen: tuple[int, ...]
    """The indexes of the options that are chosen when the fields open."""
    picked: tuple[Picked, ...] = ()
    """The people or channels that are picked when the fields open."""
    value: str
    """The text in the field for a written answer when the fields open."""
    files: tuple[str, ...] = ()
    """The names of the files that were given so far. No platform shows these in the field itself."""
    is_optional: bool = False
    """True if the field may stay empty."""
    is_exact: bool = False
    """True if the field must hold its text exactly, and not as the nearest value of a picker."""
    when_empty: WhenEmpty | None = None
    """The effect of an empty field, if it has a value that people may take away."""

    def add_empty_hint(self, hint: str | None) -> str | None:
        """Return the sentence about the value with the effect of an empty field, in the current language."""
        if self.when_empty is None:
            return hint
        return " ".join(filter(None, (hint, _(_EMPTY[self.when_empty]))))

    @property
    def placeholder(self) -> str:
        """The hint in the empty text field, in the current language."""
        return get_placeholder(self.question)


class FormFields(Value):
    """The questions of a form that a person answers together, as fields."""

    ask_id: str
    step: int
    revision: int
    """The revision of the interview that the fields show."""
    fields: tuple[FormField, ...]
    is_whole: bool = True
    """True if these are all questions of the form. Otherwise, others may follow."""
    is_edit: bool = False
    """True if the fields change the arguments of a tool call."""
    absence: Absence | None = None
    """The reason why no program waits for the answers."""
    language: Language = Field(default_factory=get_language)
    """The language of the person. A platform builds the modal under `use_language`."""

    @property
    def title(self) -> str:
        """The title of the modal, in the current language."""
        return _(EDIT_TITLE if self.is_edit else TITLE)

    @property
    def submit_label(self) -> str:
        """The label of the button that sends the fields, in the current language."""
        if self.is_edit:
            return _(SAVE)
        return _("Submit") if self.is_whole else _("Next")

    def get_header(self, index: int) -> str:
        """Return the short name of a question, by its index in the form."""
        return next((one.header for one in self.fields if one.index == index), "")


class FieldProblem(Value):
    """The reason why one question is not answered yet, in words for the person."""

    index: int
    """The index of the question in the form, from 0."""
    header: str
    message: str
    in_text: bool
    """True if the written text is the problem, and not the choice."""


def find_field_questions(form: Form) -> FieldQuestions | None:
    """Return the questions that fields can show together, each as a whole.

    None means that there are fewer than two, or that a field would show a part of one of them: each option has to be a
    label and a description of one line each, and a question for files takes no text. The platforms have further limits.
    """
    found = tuple((index, one) for index, one in enumerate(form.questions) if one.show_if is None)
    if len(found) < LEAST or not all(fits_field(question) for _index, question in found):
        return None
    indexes, questions = zip(*found, strict=True)
    return FieldQuestions(indexes=indexes, questions=questions, is_whole=len(indexes) == len(form.questions))


def find_open_questions(interview: Interview) -> FieldQuestions | None:
    """Return the questions that fields can show together, if at least two of them are left.

    The current question counts as left, and one with a default until people have seen it.
    """
    asked = find_field_questions(interview.form)
    if asked is None:
        return None
    left = [
        index
        for index in asked.indexes
        if index == interview.current or not (interview.is_answered(index) and interview.drafts[index].seen)
    ]
    return asked if len(left) >= LEAST else None


def build_form_fields(ask_id: str, interview: Interview, asked: FieldQuestions) -> FormFields:
    """Return the fields of a form with the answers so far. A rejected text is in its field again."""
    fields = tuple(
        FormField(
            index=index,
            header=interview.form.get_header(index),
            question=question,
            chosen=interview.drafts[index].chosen,
            picked=interview.drafts[index].picked,
            value=interview.drafts[index].shown_text,
            files=tuple(file.shown_name for file in interview.drafts[index].files),
        )
        for index, question in zip(asked.indexes, asked.questions, strict=True)
    )
    return FormFields(
        ask_id=ask_id,
        step=interview.step,
        revision=interview.revision,
        fields=fields,
        is_whole=asked.is_whole,
    )


def find_field_problems(interview: Interview, sent: SubmitForm) -> tuple[FieldProblem, ...]:
    """Return the problems of an interview with the answers that were just sent, in the order of the questions."""
    found = ((one.index, _find_problem(interview, one)) for one in sent.answers)
    return tuple(
        FieldProblem(index=index, header=interview.form.get_header(index), message=problem[0], in_text=problem[1])
        for index, problem in found
        if problem is not None
    )


def _find_problem(interview: Interview, sent: FieldAnswer) -> tuple[str, bool] | None:
    """Return a sentence about one answer, and True if the written text is the problem."""
    question, draft = interview.form.questions[sent.index], interview.drafts[sent.index]
    if question.files is not None and sent.files:
        problem = question.files.find_problem(sent.files)
        if problem is not None:
            return problem, False  # the interview does not keep these files
    if sent.rejected and question.picks is not None:
        return _(NOT_PICKED[question.picks]), False
    if len(sent.picked) > MAX_PICKED:
        return describe_too_many(question.picks, MAX_PICKED), False
    if draft.unsent is not None and has_visible_text(draft.unsent):
        both = _(BOTH if question.picks is None else BOTH_PICKED)
        return find_text_problem(question, draft.unsent, has_choice=bool(draft.chosen)) or both, True
    if sent.writes and draft.text is None:
        return _(NOT_WRITTEN).format(choice=_(SOMETHING_ELSE)), True
    if interview.is_answered(sent.index):
        return None
    if question.asks_for_text:
        return _(UNANSWERED), True
    return _describe_missing(question), False


def describe_choice(question: Question) -> str | None:
    """Return what to choose, in a sentence for the place next to the choice. None means any of the options."""
    count = question.describe_count()
    if question.picks is not None and question.allow_custom:
        needed = count or describe_number(question.picks, several=question.multi_select)
        return _("Please {needed}, or write an answer.").format(needed=needed)
    return None if count is None else _("Please {needed}.").format(needed=count)


def _describe_missing(question: Question) -> str:
    if question.picks is not None and not question.allow_custom and question.describe_count() is None:
        return _("Please {needed}.").format(needed=describe_number(question.picks, several=question.multi_select))
    return describe_choice(question) or _(NEITHER if question.allow_custom else UNANSWERED)


def fits_field(question: Question) -> bool:
    """Return True if a field can show the question as a whole. The platforms have further limits."""
    if question.details is not None or len(question.options) > MAX_FIELD_OPTIONS:
        return False
    if question.files is not None and question.allow_custom:
        return False
    if any(one.preview or one.image for one in question.options):
        return False
    labels = [option.label for option in question.options]
    lines = [*labels, *(option.description for option in question.options if option.description is not None)]
    return all(map(is_readable_line, lines)) and len(set(labels)) == len(labels)
