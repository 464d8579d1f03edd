"""`AskUserQuestion`: up to four questions at once, in a format that models know well."""

from __future__ import annotations

__all__ = ["AskUserQuestion", "join_labels"]

import json
from typing import Annotated, ClassVar, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue, model_validator
from pydantic.json_schema import SkipJsonSchema

from askback.domain.form import Form
from askback.domain.outcome import Answer, Outcome
from askback.domain.schema_choices import format_number
from askback.text.literal import to_single_line
from askback.text.unseen import find_lookalikes
from askback.tools.aliases import CHOICES, DESCRIPTION, HEADER, LABEL, PROMPT, SEVERAL
from askback.tools.base import QuestionTool, ToolResult, describe_unanswered
from askback.tools.lenient_parser import (
    TO_DESCRIPTION,
    LenientBool,
    LenientText,
    NameList,
    ToolInput,
    add_fields,
    add_names,
    build_length_limits,
    drop_blank,
    has_field,
    rename_fields,
    to_list,
    to_options,
    wrap_in_object,
)
from askback.translations.catalogue import _


class OptionInput(ToolInput):
    model_config = ConfigDict(json_schema_extra={"required": ["label", "description"]})

    label: LenientText = Field(
        description="The text that people see and choose. Short: 1-5 words.",
        min_length=1,
        json_schema_extra=build_length_limits(2000),
    )
    description: LenientText = Field(
        default="",
        description="What this option means, or what happens if it is chosen.",
        json_schema_extra=build_length_limits(4000),
    )
    preview: LenientText | None = Field(
        default=None,
        description="Optional text to look at before choosing: code, a draft, a sketch.",
        json_schema_extra=build_length_limits(10_000),
    )

    @model_validator(mode="before")
    @classmethod
    def _normalize_input(cls, value: object) -> object:
        return rename_fields(
            value,
            text="label",
            label=LABEL,
            description=DESCRIPTION,
            preview=(),
        )


_KINDS: Final = frozenset({"choice", "text", "number"})


def _read_kind(value: object) -> object:
    """Return a kind that Claude Code has. Models also send others, and then the options say what is asked."""
    kind = value.strip().lower() if isinstance(value, str) else None
    return kind if kind in _KINDS else None


# Claude Code has these fields only in hosts that switch them on. So they are understood, and models are not told of
# them.
Kind = SkipJsonSchema[Annotated[Literal["choice", "text", "number"] | None, BeforeValidator(_read_kind)]]
Text = SkipJsonSchema[LenientText | None]
Number = SkipJsonSchema[Annotated[float | None, Field(allow_inf_nan=False)]]
_OF_NUMBERS: Final = ("min", "max", "step", "default_value", "unit")


class QuestionInput(ToolInput):
    model_config = ConfigDict(json_schema_extra={"required": ["question", "header", "options"]})

    question: LenientText = Field(
        description="The complete question. Clear, specific, ending with a question mark.",
        json_schema_extra=build_length_limits(10_000, least=1),
    )
    header: LenientText = Field(
        default="",
        description="A very short label for the question, at most 12 characters.",
        json_schema_extra=build_length_limits(200),
    )
    options: Annotated[list[OptionInput], BeforeValidator(to_options)] = Field(
        default_factory=list[OptionInput],
        description="2-4 distinct choices. Do not add an 'Other' option: people can always write their own answer. "
        "Leave it empty to ask for a written answer.",
        json_schema_extra={"anyOf": [{"maxItems": 0}, {"minItems": 2, "maxItems": 4}]},
    )
    multi_select: LenientBool = Field(
        default=False, alias="multiSelect", description="Whether several options may be chosen together."
    )
    kind: Kind = None
    description: Text = None
    placeholder: Text = None
    min: Number = None
    max: Number = None
    step: Number = None
    default_value: Number = Field(default=None, alias="defaultValue")
    unit: Text = None

    @model_validator(mode="before")
    @classmethod
    def _normalize_input(cls, value: object) -> object:
        return rename_fields(
            value,
            text="question",
            question=PROMPT,
            header=HEADER,
            options=CHOICES,
            multiSelect=SEVERAL,
            **dict.fromkeys(("kind", "description", "placeholder", "min", "max", "step", "defaultValue", "unit"), ()),
        )

    @model_validator(mode="after")
    def _check(self) -> QuestionInput:
        count = len(self.options)
        if self.kind in ("text", "number") and count:
            raise ValueError(f"is a {self.kind} question and has options: remove them, or leave out its kind")
        if self.kind != "number" and (given := [name for name in _OF_NUMBERS if getattr(self, name) is not None]):
            raise ValueError(f"has {given[0]}, which only a number question can have: give it the kind “number”")
        if self.default_value is not None and not self._permits(self.default_value):
            raise ValueError("has a defaultValue outside of min and max: correct it, or leave it out")
        if count == 1 or count > 4:
            raise ValueError(
                f"offers {count} option{'s' if count > 1 else ''}: give 2 to 4 options, "
                "or none to ask for a written answer"
            )
        labels = [option.label for option in self.options]
        if len(set(labels)) < count:
            raise ValueError("offers the same label twice: make each option's label different")
        alike = find_lookalikes(labels)
        if alike is not None:
            raise ValueError(f"offers two labels as one: {alike}")
        return self

    def _permits(self, number: float) -> bool:
        return (self.min is None or number >= self.min) and (self.max is None or number <= self.max)


class AskUserQuestionInput(ToolInput):
    questions: Annotated[list[QuestionInput], BeforeValidator(to_list)] = Field(
        description="1-4 questions, asked together.", json_schema_extra={"minItems": 1, "maxItems": 4}
    )
    to: NameList = Field(default_factory=list[str], description=TO_DESCRIPTION)
    title: Text = None

    @model_validator(mode="before")
    @classmethod
    def _normalize_input(cls, value: object) -> object:
        understood = add_names(value, wrap_in_object(value, "questions", "question", "prompt"))
        # The title of a single question is its header.
        return add_fields(value, understood, title=()) if has_field(value, "questions") else understood

    @model_validator(mode="after")
    def _check(self) -> AskUserQuestionInput:
        count = len(self.questions)
        if not 1 <= count <= 4:
            raise ValueError(f"it has {count} questions: ask 1 to 4 at a time, the most important ones first")
        return self


class AskUserQuestion(QuestionTool[AskUserQuestionInput]):
    """The tool named `AskUserQuestion`. Its result gives the answers by the text of their questions."""

    name: ClassVar[str] = "AskUserQuestion"
    description: ClassVar[str] = (
        "Ask the people in this conversation 1-4 multiple-choice questions and wait for their answer, which may take "
        "minutes or days. Use it when you need a decision, a preference or a fact that only they can give; do not use "
        "it for what you can find out or decide yourself. People can always write their own answer instead of "
        'choosing. If you recommend an option, put it first and end its label with "(Recommended)".'
    )
    example: ClassVar[str] = (
        '{"questions": [{"question": "Which database should we use?", "header": "Database", "multiSelect": false, '
        '"options": [{"label": "PostgreSQL", "description": "Relational"}, '
        '{"label": "SQLite", "description": "One file"}]}]}'
    )
    input_type = AskUserQuestionInput

    def to_form(self, parsed: AskUserQuestionInput) -> Form:
        title = drop_blank(parsed.title)
        return Form.parse(
            {
                "title": None if title is None else to_single_line(title),
                "questions": [
                    {
                        "id": f"q{number}",
                        "prompt": question.question,
                        "header": drop_blank(question.header),
                        "help_text": drop_blank(question.description),
                        "options": [
                            {
                                "value": option.label,
                                "label": option.label,
                                "description": drop_blank(option.description),
                                "preview": drop_blank(option.preview),
                            }
                            for option in question.options
                        ],
                        "multi_select": question.multi_select,
                        **_build_text(question),
                    }
                    for number, question in enumerate(parsed.questions, 1)
                ],
            }
        )

    def list_addressees(self, parsed: AskUserQuestionInput) -> list[str]:
        return parsed.to

    def get_field_name(self, field: str) -> str:
        if field.endswith(".value"):
            return ""
        for name, own in _FIELDS.items():
            field = field.replace(name, own)
        return field

    def render_result(self, parsed: AskUserQuestionInput, outcome: Outcome) -> ToolResult:
        if outcome.status != "answered":
            text = describe_unanswered(outcome)
            return ToolResult(text=text, data={"status": outcome.status, "message": text})
        data: dict[str, JsonValue] = {}
        pairs: list[str] = []
        for number, question in enumerate(parsed.questions, 1):
            answer = outcome.get(f"q{number}")
            if answer is None:
                continue
            key = _make_unique(question.question, data)
            several = question.multi_select and bool(question.options)
            data[key] = list(answer.labels) if several else answer.labels[0]
            pairs.append(f'"{key}"="{join_labels(answer, multi_select=several)}"')
        text = (
            f"User has answered your questions: {', '.join(pairs)}. "
            "You can now continue with the user's answers in mind."
        )
        return ToolResult(text=text, data=data)

    def summarize(self, parsed: AskUserQuestionInput) -> str:
        questions = parsed.questions
        names = ", ".join(question.header or question.question for question in questions)
        return f"{len(questions)} question{'s' if len(questions) > 1 else ''} · {names}"


_FIELDS: Final = {
    ".prompt": ".question", ".help_text": ".description", ".rules.minimum": ".min", ".rules.maximum": ".max",
    ".rules.": ".",
}  # fmt: skip
"""The model's names for fields of the form."""


def _build_text(question: QuestionInput) -> dict[str, object]:
    """Return the fields of the form for an answer that people write."""
    if question.kind != "number":
        hint = drop_blank(question.placeholder)
        return {} if hint is None else {"placeholder": hint}
    limits = (question.min, question.max, question.step, question.default_value)
    is_whole = question.step is not None and all(one is None or one.is_integer() for one in limits)
    unit = drop_blank(question.unit)
    rules = {
        "kind": "integer" if is_whole else "number",
        "minimum": question.min,
        "maximum": question.max,
        "step": question.step,
        "unit": None if unit is None else to_single_line(unit),
    }
    if question.default_value is None:
        return {"rules": rules}
    text = format_number(question.default_value)
    option = {"value": text, "label": text, "description": _("The default.")}
    return {"rules": rules, "options": [option], "default": [text]}


def join_labels(answer: Answer, *, multi_select: bool) -> str:
    """Return an answer as one text, in the way of Claude Code.

    Several labels are joined by commas. Of these, one with a comma or a quotation mark is written as JSON.
    """
    if not multi_select or len(answer.labels) == 1:
        return answer.labels[0]
    return ", ".join(
        json.dumps(label, ensure_ascii=False) if ", " in label or '"' in label else label for label in answer.labels
    )


def _make_unique(question: str, taken: dict[str, JsonValue]) -> str:
    """Return the question's text. A repeated text gets a number, so that no answer hides another."""
    key, number = question, 1
    while key in taken:
        number += 1
        key = f"{question} ({number})"
    return key
