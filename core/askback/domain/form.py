"""Questions, their options and conditions, and forms."""

from __future__ import annotations

__all__ = [
    "DEFAULT_PLACEHOLDER",
    "Condition",
    "Form",
    "Option",
    "Question",
    "TextRules",
]

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, cast

from pydantic import (
    AfterValidator,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails

from askback.domain.choice_words import Picks, describe_count
from askback.domain.file_rules import FileRules, describe_files
from askback.domain.form_limits import (
    MAX_DESCRIPTION,
    MAX_DETAILS,
    MAX_HEADER,
    MAX_HELP_TEXT,
    MAX_ID,
    MAX_IMAGE_URL,
    MAX_LABEL,
    MAX_NOTE_OPTIONS,
    MAX_OPTIONS,
    MAX_PICKED,
    MAX_PLACEHOLDER,
    MAX_PREVIEW,
    MAX_PROMPT,
    MAX_QUESTIONS,
    MAX_TITLE,
    MAX_VALUE,
)
from askback.domain.text_rules import TextRules, limit_line
from askback.internal.values import Value, find_repeats, is_from_store
from askback.text.unseen import find_lookalikes, has_visible_text
from askback.translations.catalogue import N_

DEFAULT_PLACEHOLDER = N_("Enter your answer…")


def _limit_text(what: str, longest: int) -> AfterValidator:
    """Return a validator for a non-blank text of at most `longest` characters, which keeps the text unchanged."""

    def check(value: str, info: ValidationInfo) -> str:
        if not has_visible_text(value) and not is_from_store(info):
            raise ValueError(f"is empty: write {what}")
        if len(value) > longest:
            raise ValueError(f"has {len(value):,} characters: shorten {what} to {longest:,}")
        return value

    return AfterValidator(check)


def _check_https(value: str) -> str:
    if not re.match(r"https://[^\s<>|\"]+\Z", value) or len(value) > MAX_IMAGE_URL:
        raise ValueError(f"is not an https address: give a full https:// URL of at most {MAX_IMAGE_URL:,} characters")
    return value


# A rule about several fields is in the validator of the last one. So the error names that field, and is reported even
# if another field is wrong.


class Option(Value):
    """One of the options of a question."""

    value: Annotated[str, _limit_text("a value for the program", MAX_VALUE)]
    label: Annotated[str, _limit_text("the label that people read", MAX_LABEL)]
    description: Annotated[str, _limit_text("what choosing it means", MAX_DESCRIPTION)] | None = None
    preview: Annotated[str, _limit_text("the preview", MAX_PREVIEW)] | None = None
    image: Annotated[str, AfterValidator(_check_https)] | None = None

    @property
    def recommended(self) -> bool:
        """True if the label contains "(Recommended)" in any case, as models write it."""
        return "(recommended)" in self.label.lower()


class Condition(Value):
    """Show a question only after certain answers to an earlier one.

    Without any further field, any answer is enough. A question that is not shown has no answer.
    """

    question: str
    any_of: tuple[str, ...] = ()
    """Option values, one of which must be chosen."""
    # Both are excluded by default, because an older process rejects a field that it does not know.
    none_of: tuple[str, ...] = Field(default=(), exclude_if=lambda value: not value)
    """Option values, none of which may be chosen. Any other answer is enough."""
    skipped: bool = Field(default=False, exclude_if=lambda value: not value)
    """True if the earlier question must not have been shown."""

    @field_validator("skipped")
    @classmethod
    def _check_one(cls, value: bool, info: ValidationInfo) -> bool:
        if sum(map(bool, (info.data.get("any_of"), info.data.get("none_of"), value))) > 1:
            raise ValueError("does not go together with another condition: give only one of them")
        return value

    def is_met(self, *, shown: bool, answered: bool, chosen: Collection[str]) -> bool:
        """Return True if the question is to be shown. The arguments describe the earlier question and its answer."""
        if self.skipped:
            return not shown
        if not (shown and answered):
            return False
        if self.none_of:
            return not any(value in chosen for value in self.none_of)
        return not self.any_of or any(value in chosen for value in self.any_of)


class Question(Value):
    """One question. Without options it asks for a text, or for what `picks` or `files` says."""

    id: Annotated[str, _limit_text("an id", MAX_ID)]
    prompt: Annotated[str, _limit_text("the question", MAX_PROMPT)]
    header: Annotated[str, _limit_text("a short header", MAX_HEADER)] | None = None
    # The next three are excluded by default, because an older process rejects a field that it does not know.
    help_text: Annotated[str, _limit_text("the help text", MAX_HELP_TEXT)] | None = Field(
        default=None, exclude_if=lambda value: value is None
    )
    """A text below the question that helps to answer it."""
    picks: Picks | None = Field(default=None, exclude_if=lambda value: value is None)
    """The list that people pick from: people or channels of the workspace or server. It then has no options."""
    files: FileRules | None = Field(default=None, exclude_if=lambda value: value is None)
    """The number and the kinds of files that people give. It then has no options."""
    options: tuple[Option, ...] = ()
    multi_select: bool = False
    allow_custom: bool = True
    """True if people may write an answer. The default is False if the question has `picks` or `files`."""
    placeholder: Annotated[str, _limit_text("a hint for the text field", MAX_PLACEHOLDER)] = DEFAULT_PLACEHOLDER
    rules: TextRules = TextRules()
    default: tuple[str, ...] = ()
    """The values that are chosen at the start."""
    show_if: Condition | None = None
    # The next three are excluded by default, because an older process rejects a field that it does not know.
    min_choices: int = Field(default=1, ge=1, exclude_if=lambda value: value == 1)
    """The smallest number of options, people or channels to choose, if several can be chosen."""
    max_choices: int | None = Field(default=None, ge=1, validate_default=True, exclude_if=lambda value: value is None)
    allow_note: bool = Field(default=False, exclude_if=lambda value: not value)
    """True if people may write a note to the option that they choose, such as "but after six"."""
    details: Annotated[str, _limit_text("the details", MAX_DETAILS)] | None = None
    """The full text of what the prompt is about, such as a tool's arguments. Shown to anyone who asks to see it."""

    @model_validator(mode="before")
    @classmethod
    def _take_no_text_by_default(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        fields = cast("Mapping[str, object]", value)
        has_own = fields.get("picks") is not None or fields.get("files") not in (None, False)
        if not has_own or "allow_custom" in fields:
            return fields
        return {**fields, "allow_custom": False}

    @field_validator("files", mode="before")
    @classmethod
    def _read_files(cls, value: object) -> object:
        if not isinstance(value, bool):
            return value
        return FileRules() if value else None

    @field_validator("files")
    @classmethod
    def _check_files(cls, value: FileRules | None, info: ValidationInfo) -> FileRules | None:
        if value is not None and info.data.get("picks") is not None:
            raise ValueError("does not go together with picks: leave out one of the two")
        return value

    @field_validator("options")
    @classmethod
    def _check_options(cls, value: tuple[Option, ...], info: ValidationInfo) -> tuple[Option, ...]:
        if value and info.data.get("picks") is not None:
            raise ValueError("do not go together with picks: leave out one of the two")
        if value and info.data.get("files") is not None:
            raise ValueError("do not go together with files: leave out one of the two")
        if len(value) > MAX_OPTIONS:
            raise ValueError(f"has {len(value):,} options: give at most {MAX_OPTIONS:,}")
        repeated = find_repeats("the value", [option.value for option in value])
        # Equal labels are numbered on the card. Labels that only look alike are a trap, no matter who wrote them.
        alike = None if is_from_store(info) else find_lookalikes([option.label for option in value])
        if repeated is not None or alike is not None:
            raise ValueError("; ".join(filter(None, (repeated, alike))))
        return value

    @field_validator("multi_select")
    @classmethod
    def _fits_files(cls, value: bool, info: ValidationInfo) -> bool:
        if value and info.data.get("files") is not None:
            raise ValueError("does not go together with files, whose `max` says how many: leave it out")
        return value

    @field_validator("allow_custom")
    @classmethod
    def _can_be_answered(cls, value: bool, info: ValidationInfo) -> bool:
        has_other = info.data.get("picks") is not None or info.data.get("files", True) is not None
        if not value and info.data.get("options") == () and not has_other:
            raise ValueError("is False, but the question has no options: add options, or leave it True")
        return value

    @field_validator("rules")
    @classmethod
    def _fits_options(cls, value: TextRules, info: ValidationInfo) -> TextRules:
        if value.lines is not None and info.data.get("multi_select") is True:
            raise ValueError("with lines does not go together with multi_select: leave out one of the two")
        return value

    @field_validator("default")
    @classmethod
    def _can_be_chosen(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        problems: list[str] = []
        options = cast("tuple[Option, ...] | None", info.data.get("options"))
        if options is not None:
            known = {option.value for option in options}
            problems += [f"{one!r} is not the value of an option: use one of them" for one in value if one not in known]
        if len(value) > 1 and info.data.get("multi_select") is False:
            problems.append("has several values: give one, or set multi_select")
        if problems:
            raise ValueError("; ".join(problems))
        return value

    @field_validator("max_choices")
    @classmethod
    def _check_max_choices(cls, value: int | None, info: ValidationInfo) -> int | None:
        least = cast("int", info.data.get("min_choices", 1))
        options = cast("tuple[Option, ...] | None", info.data.get("options"))
        picks = cast("Picks | None", info.data.get("picks"))
        if (value is not None or least > 1) and info.data.get("multi_select") is False:
            raise ValueError("needs a question with multi_select: set it, or leave out min_choices and max_choices")
        if value is not None and least > value:
            raise ValueError(f"is smaller than min_choices ({least}): swap the two")
        if picks is not None and max(least, value or 1) > MAX_PICKED:
            raise ValueError(f"exceeds {MAX_PICKED}: one answer holds at most {MAX_PICKED} {picks}")
        if picks is None and options is not None and least > max(len(options), 1):
            raise ValueError(f"fits no answer: the question has {len(options)} options, and min_choices is {least}")
        return value

    @field_validator("allow_note")
    @classmethod
    def _check_note(cls, value: bool, info: ValidationInfo) -> bool:
        options = cast("tuple[Option, ...] | None", info.data.get("options"))
        if not value or options is None:
            return value
        if not options or info.data.get("multi_select") is True:
            raise ValueError("needs options of which one can be chosen: give such options, or leave it out")
        if len(options) > MAX_NOTE_OPTIONS:
            raise ValueError(f"goes with at most {MAX_NOTE_OPTIONS} options: give fewer, or leave it out")
        return value

    @property
    def asks_for_text(self) -> bool:
        """True if there is nothing to choose, so that people can only write."""
        return not self.options and self.picks is None and self.files is None

    @property
    def takes_text_beside_choice(self) -> bool:
        """True if people can choose the answer, and can also write an answer or a note."""
        return not self.asks_for_text and (self.allow_custom or self.allow_note)

    @property
    def takes_several(self) -> bool:
        """True if several options, people or channels can be chosen."""
        return self.multi_select and not self.asks_for_text

    @property
    def whole_prompt(self) -> str:
        """The question with its help text below it."""
        return self.prompt if self.help_text is None else f"{self.prompt}\n{self.help_text}"

    @property
    def has_hidden_details(self) -> bool:
        """True if the prompt does not contain the details in full."""
        return self.details is not None and self.details not in self.prompt

    def list_texts(self) -> list[str]:
        """Return all texts of the question: those that people read, its id, and the values of its options."""
        options = [text for one in self.options for text in (one.value, one.label, one.description, one.preview)]
        rules = (self.rules.hint, self.rules.unit)
        own = (self.id, self.header, self.prompt, self.help_text, self.details, self.placeholder, *rules)
        return [text for text in (*own, *options) if text]

    def find_count_problem(self, count: int) -> str | None:
        """Return what to do if this number of choices is not allowed, such as "choose at least 2 options"."""
        if self.files is not None:
            return None if self.files.min <= count <= self.files.max else describe_files(self.files)
        return None if self.min_choices <= count <= (self.max_choices or count) else self.describe_count()

    def describe_count(self) -> str | None:
        """Return how many to choose, such as "choose at least 2 options". None means any number."""
        if self.files is not None:
            return describe_files(self.files)
        if not self.multi_select or (self.min_choices == 1 and self.max_choices is None):
            return None
        return describe_count(self.picks, self.min_choices, self.max_choices)


class Form(Value):
    """One or more questions that are asked together."""

    questions: tuple[Question, ...]
    # Excluded by default, because an older process rejects a field that it does not know.
    title: Annotated[str, limit_line("title", MAX_TITLE)] | None = Field(
        default=None, exclude_if=lambda value: value is None
    )
    """The heading above the questions."""

    @field_validator("questions", mode="wrap")
    @classmethod
    def _fit_together(cls, value: object, build: ValidatorFunctionWrapHandler) -> tuple[Question, ...]:
        try:
            questions = cast("tuple[Question, ...]", build(value))
        except ValidationError as error:
            # Report problems between the questions together with problems inside them.
            wrong = [_repeat_error(entry) for entry in error.errors(include_url=False)]
            if isinstance(value, list | tuple):
                wrong += _find_conflicts([_sketch_question(one) for one in cast("list[object]", value)])
            raise ValidationError.from_exception_data(cls.__name__, wrong) from None
        wrong = _find_conflicts(questions)
        if wrong:
            raise ValidationError.from_exception_data(cls.__name__, wrong)
        return questions

    @property
    def is_single(self) -> bool:
        """True if it has one question only: choosing an option settles it, without a review."""
        return len(self.questions) == 1

    @property
    def has_pattern(self) -> bool:
        """True if a written answer must match a pattern, which can take hours: Python's patterns have no limit."""
        return any(question.rules.pattern is not None for question in self.questions)

    def list_texts(self) -> list[str]:
        """Return all texts of the form, as `Question.list_texts` does of a question."""
        title = [] if self.title is None else [self.title]
        return [*title, *(text for question in self.questions for text in question.list_texts())]

    @property
    def summary(self) -> str:
        """The title, or else the first question."""
        return self.questions[0].prompt if self.title is None else self.title

    def get_header(self, index: int) -> str:
        """Return the short name of a question for cards and reviews: its header, or Q1, Q2 …"""
        return self.questions[index].header or f"Q{index + 1}"

    def find_index(self, question_id: str) -> int | None:
        """Return the index of a question, or None if the form has no question with that id."""
        return next((i for i, question in enumerate(self.questions) if question.id == question_id), None)


@dataclass(frozen=True)
class _Sketch:
    """The known fields of a question that is itself invalid."""

    id: str | None
    show_if: Condition | None
    options: None = None


def _sketch_question(value: object) -> Question | _Sketch:
    if isinstance(value, Question):
        return value
    try:
        return Question.model_validate(value)
    except ValidationError:
        pass
    fields: Mapping[str, object] = cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
    identity = fields.get("id")
    try:
        show_if = Condition.model_validate(fields.get("show_if"))
    except ValidationError:
        show_if = None
    return _Sketch(identity if isinstance(identity, str) else None, show_if)


def _find_conflicts(questions: Sequence[Question | _Sketch]) -> list[InitErrorDetails]:
    """Return the problems between questions, such as repeated ids."""
    wrong: list[InitErrorDetails] = []
    if not 1 <= len(questions) <= MAX_QUESTIONS:
        wrong.append(_build_error((), f"has {len(questions)} questions: give 1 to {MAX_QUESTIONS}"))
    repeated = find_repeats("the id", [question.id for question in questions if question.id is not None])
    if repeated is not None:
        wrong.append(_build_error((), repeated))
    earlier: dict[str, Question | _Sketch] = {}
    for index, question in enumerate(questions):
        condition = question.show_if
        if condition is not None:
            asked = earlier.get(condition.question)
            if asked is None:
                message = f"{condition.question!r} is not an earlier question: put it before this one"
                wrong.append(_build_error((index, "show_if", "question"), message))
            elif asked.options is not None:
                known = {option.value for option in asked.options}
                for field, values in (("any_of", condition.any_of), ("none_of", condition.none_of)):
                    strange = ", ".join(repr(one) for one in values if one not in known)
                    if strange:
                        message = f"{condition.question!r} has no option {strange}: use its values"
                        wrong.append(_build_error((index, "show_if", field), message))
        if question.id is not None:
            earlier[question.id] = question
    return wrong


def _repeat_error(entry: ErrorDetails) -> InitErrorDetails:
    return InitErrorDetails(type=entry["type"], loc=entry["loc"], input=entry["input"], ctx=entry.get("ctx", {}))


def _build_error(loc: tuple[int | str, ...], message: str) -> InitErrorDetails:
    return InitErrorDetails(type="value_error", loc=loc, input=None, ctx={"error": ValueError(message)})
