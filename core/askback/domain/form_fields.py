"""The questions of a form as fields that a person fills in together, and the problems with what they sent."""

from __future__ import annotations

__all__ = ["FieldProblem", "FormField", "FormFields", "build_form_fields", "find_field_problems", "has_field_for_each"]

from pydantic import Field

from askback.domain.caller_absence import Absence
from askback.domain.form import DEFAULT_PLACEHOLDER, Form, Question
from askback.domain.interview import Interview
from askback.internal.values import Value
from askback.text.literal import is_readable_line
from askback.translations.catalogue import N_, Language, _, get_language

UNANSWERED = N_("Please answer this question.")
NEITHER = N_("Please choose an option or write an answer.")
BOTH = N_("You chose an option and wrote an answer. Please keep one of them.")


class FormField(Value):
    """One question of a form with its answer so far."""

    index: int
    """The index of the question in the form, from 0."""
    header: str
    question: Question
    chosen: tuple[int, ...]
    """The indexes of the options that are chosen when the fields open."""
    value: str
    """The text in the field for a written answer when the fields open."""

    @property
    def placeholder(self) -> str:
        """The hint in the empty text field, in the current language."""
        given = self.question.placeholder
        return _(DEFAULT_PLACEHOLDER) if given == DEFAULT_PLACEHOLDER else given


class FormFields(Value):
    """All questions of a form as fields."""

    ask_id: str
    step: int
    revision: int
    """The revision of the interview that the fields show."""
    fields: tuple[FormField, ...]
    absence: Absence | None = None
    """The reason why no program waits for the answers."""
    language: Language = Field(default_factory=get_language)
    """The language of the person. A platform builds the modal under `use_language`."""


class FieldProblem(Value):
    """The reason why one question is not answered yet, in words for the person."""

    index: int
    """The index of the question in the form, from 0."""
    header: str
    message: str
    in_text: bool
    """True if the written text is the problem, and not the choice."""


def has_field_for_each(form: Form) -> bool:
    """Return True if fields can show the whole of several questions at once.

    No question depends on another or asks to pick people or channels, and each option is a label and a description of
    one line each. The platforms have further limits.
    """
    return not form.is_single and all(map(_fits_field, form.questions))


def build_form_fields(ask_id: str, interview: Interview) -> FormFields:
    """Return the fields of a form with the answers so far. A rejected text is in its field again."""
    fields = tuple(
        FormField(
            index=index,
            header=interview.form.get_header(index),
            question=question,
            chosen=draft.chosen,
            value=draft.shown_text,
        )
        for index, (question, draft) in enumerate(zip(interview.form.questions, interview.drafts, strict=True))
    )
    return FormFields(ask_id=ask_id, step=interview.step, revision=interview.revision, fields=fields)


def find_field_problems(interview: Interview) -> tuple[FieldProblem, ...]:
    """Return the problems of a form whose questions are all shown, in their order."""
    found = ((index, _find_problem(interview, index)) for index in range(len(interview.drafts)))
    return tuple(
        FieldProblem(index=index, header=interview.form.get_header(index), message=problem[0], in_text=problem[1])
        for index, problem in found
        if problem is not None
    )


def _find_problem(interview: Interview, index: int) -> tuple[str, bool] | None:
    question, draft = interview.form.questions[index], interview.drafts[index]
    if draft.unsent is not None and draft.unsent.strip():
        return question.rules.find_problem(draft.unsent) or _(BOTH), True
    if interview.is_answered(index):
        return None
    if not question.options:
        return _(UNANSWERED), True
    count = question.describe_count()
    if count is not None:
        return _("Please {needed}.").format(needed=count), False
    return _(NEITHER if question.allow_custom else UNANSWERED), False


def _fits_field(question: Question) -> bool:
    if question.show_if is not None or question.details is not None or question.picks is not None:
        return False
    if any(option.preview or option.image for option in question.options):
        return False
    labels = [option.label for option in question.options]
    lines = [*labels, *(option.description for option in question.options if option.description is not None)]
    return all(map(is_readable_line, lines)) and len(set(labels)) == len(labels)
