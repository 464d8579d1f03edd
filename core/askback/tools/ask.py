"""`ask`: what a form can hold, for questions that the simpler tools cannot ask.

Two things of a form are for programs alone. The address of a picture could carry what the model has read to a foreign
server as soon as the card is posted. A pattern could be one that takes hours to match.
"""

from __future__ import annotations

__all__ = ["AskTool"]

import json
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue, model_validator

from askback.domain.answer_values import list_answer_values, list_fallback_values, list_notes
from askback.domain.choice_words import Picks
from askback.domain.form import Form
from askback.domain.form_limits import (
    DEFAULT_ANSWER,
    MAX_ANSWER,
    MAX_DESCRIPTION,
    MAX_DETAILS,
    MAX_HEADER,
    MAX_ID,
    MAX_LABEL,
    MAX_NOTE_OPTIONS,
    MAX_OPTIONS,
    MAX_PICKED,
    MAX_PLACEHOLDER,
    MAX_PREVIEW,
    MAX_PROMPT,
    MAX_QUESTIONS,
    MAX_VALUE,
)
from askback.domain.outcome import Outcome
from askback.domain.reserved_options import RESERVED, build_no_answer_option
from askback.domain.timeout_action import TimeoutAction, find_default_problem
from askback.errors import ModelError
from askback.tools.base import QuestionTool, ToolResult, describe_unanswered
from askback.tools.files_input import OptionalFiles
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
    rename_fields,
    to_list,
    wrap_in_object,
)

Kind = Literal["text", "integer", "number", "email", "uri", "date", "time", "date-time"]

Values = Annotated[list[LenientText], BeforeValidator(to_list)]
"""Values of options. Accepts a single one."""

_FIELD_NAMES = {
    "prompt": "question",
    "multi_select": "multiSelect",
    "allow_custom": "allowCustom",
    "allow_note": "allowNote",
    "min_choices": "minChoices",
    "max_choices": "maxChoices",
    "show_if": "showIf",
    "any_of": "anyOf",
    "none_of": "noneOf",
    "rules.min_length": "minLength",
    "rules.max_length": "maxLength",
    "rules.": "",
}
"""The model's names for the fields of a form."""


class OptionInput(ToolInput):
    model_config = ConfigDict(json_schema_extra={"required": ["label"]})

    label: LenientText = Field(
        description="The text that people choose.", min_length=1, json_schema_extra=build_length_limits(MAX_LABEL)
    )
    value: LenientText | None = Field(
        default=None,
        description="The value that you get. Default: the label.",
        json_schema_extra=build_length_limits(MAX_VALUE),
    )
    description: LenientText | None = Field(
        default=None, description="What choosing it means.", json_schema_extra=build_length_limits(MAX_DESCRIPTION)
    )
    preview: LenientText | None = Field(
        default=None,
        description="A text to look at before choosing: code, a draft.",
        json_schema_extra=build_length_limits(MAX_PREVIEW),
    )

    @model_validator(mode="before")
    @classmethod
    def _normalize_input(cls, value: object) -> object:
        return rename_fields(
            value,
            text="label",
            label=("title", "name", "text", "value", "id"),
            value=("id",),
            description=("desc", "detail", "explanation"),
            preview=(),
        )

    @property
    def sent_value(self) -> str:
        return drop_blank(self.value) or self.label


class ConditionInput(ToolInput):
    model_config = ConfigDict(json_schema_extra={"required": ["question"]})

    question: LenientText = Field(description="The id of an earlier question.")
    any_of: Values = Field(
        default_factory=list[str],
        alias="anyOf",
        description="Values, one of which must be chosen. Without anything else, any answer is enough.",
    )
    none_of: Values = Field(
        default_factory=list[str], alias="noneOf", description="Values, none of which may be chosen."
    )
    skipped: LenientBool = Field(default=False, description="True: the earlier question was not asked.")

    @model_validator(mode="before")
    @classmethod
    def _normalize_input(cls, value: object) -> object:
        return rename_fields(
            value,
            text="question",
            question=("id",),
            anyOf=("is", "isOneOf", "oneOf", "in", "equals", "value", "values"),
            noneOf=("isNot", "not", "notIn"),
            skipped=("wasSkipped",),
        )


class QuestionInput(ToolInput):
    model_config = ConfigDict(json_schema_extra={"required": ["id", "question"]})

    id: LenientText = Field(
        min_length=1, description="A stable id for the answer.", json_schema_extra=build_length_limits(MAX_ID)
    )
    question: LenientText = Field(
        description="The complete question.", json_schema_extra=build_length_limits(MAX_PROMPT, least=1)
    )
    header: LenientText | None = Field(
        default=None,
        description="A very short name, for the head of the card and the review.",
        json_schema_extra=build_length_limits(MAX_HEADER),
    )
    options: Annotated[list[OptionInput], BeforeValidator(to_list)] = Field(
        default_factory=list[OptionInput],
        description="The choices. Leave it out to ask for a written answer.",
        json_schema_extra={"maxItems": MAX_OPTIONS},
    )
    picks: Picks | None = Field(
        default=None,
        description="Instead of options: people choose one of the people or channels of this workspace. You get its id "
        f"and name, or a list of up to {MAX_PICKED} of them with multiSelect.",
    )
    files: OptionalFiles = Field(
        default=None,
        description="Instead of options: people give files. You get their names and sizes, and what is in them.",
    )
    multi_select: LenientBool = Field(default=False, alias="multiSelect", description="True: several may be chosen.")
    min_choices: int | None = Field(default=None, alias="minChoices", ge=1)
    max_choices: int | None = Field(default=None, alias="maxChoices", ge=1)
    allow_custom: LenientBool = Field(
        default=True,
        alias="allowCustom",
        description="True: people may write another answer instead. The default is False with picks or files.",
    )
    allow_note: LenientBool = Field(
        default=False,
        alias="allowNote",
        description="True: people may write a note to the option that they choose, such as “but after six”. You get it "
        f"in `notes`. For one choice of up to {MAX_NOTE_OPTIONS} options.",
    )
    kind: Kind = Field(default="text", description="The kind of a written answer, and of the options' values.")
    min_length: int | None = Field(default=None, alias="minLength", ge=1, le=MAX_ANSWER)
    max_length: int | None = Field(
        default=None, alias="maxLength", ge=1, le=MAX_ANSWER, description=f"Default: {DEFAULT_ANSWER}."
    )
    minimum: float | None = Field(default=None, description="The smallest number.", allow_inf_nan=False)
    maximum: float | None = Field(default=None, description="The largest number.", allow_inf_nan=False)
    placeholder: LenientText | None = Field(
        default=None,
        description="A hint in the empty text field.",
        json_schema_extra=build_length_limits(MAX_PLACEHOLDER),
    )
    default: Values = Field(default_factory=list[str], description="Values that are chosen at the start.")
    optional: LenientBool = Field(default=False, description="True: people may leave it without an answer.")
    show_if: ConditionInput | None = Field(
        default=None, alias="showIf", description="Ask it only after certain answers to an earlier question."
    )
    details: LenientText | None = Field(
        default=None,
        description="A long text that people can open, such as a diff.",
        json_schema_extra=build_length_limits(MAX_DETAILS),
    )

    @model_validator(mode="before")
    @classmethod
    def _normalize_input(cls, value: object) -> object:
        return rename_fields(
            value,
            text="question",
            id=("key", "name"),
            question=("prompt", "text"),
            header=("label", "title"),
            options=("choices",),
            picks=("pick",),
            files=("file", "attachments"),
            multiSelect=("multiple", "multi", "allowMultiple"),
            minChoices=(),
            maxChoices=(),
            allowCustom=("allowOther", "other"),
            allowNote=("allowNotes", "note", "notes"),
            kind=("type", "format"),
            minLength=(),
            maxLength=(),
            minimum=("min",),
            maximum=("max",),
            placeholder=("hint",),
            default=("defaults",),
            optional=(),
            showIf=("condition", "when"),
            details=(),
        )

    @model_validator(mode="after")
    def _check(self) -> QuestionInput:
        if self.optional and (self.min_choices or 1) > 1:
            raise ValueError("is optional, but needs several choices: leave out optional or minChoices")
        if self.optional and self.picks is not None:
            raise ValueError("is optional, but has picks, which need an answer: leave out optional, or use showIf")
        if self.optional and self.files is not None:
            raise ValueError("is optional, but has files, which need an answer: leave out optional, or use showIf")
        return self

    def find_value(self, named: str) -> str:
        """Return the value of an option that the model named by its value or its label."""
        values = [option.sent_value for option in self.options]
        if named in values:
            return named
        return next((option.sent_value for option in self.options if option.label == named), named)


def _read_action(value: object) -> object:
    """Return the action that a model means: another case, or another word for it."""
    if not isinstance(value, str):
        return value
    word = value.strip().lower()
    return {"": "report", "stop": "halt", "defaults": "default"}.get(word, word)


class AskInput(ToolInput):
    questions: Annotated[list[QuestionInput], BeforeValidator(to_list)] = Field(
        description="One question, or several that are asked together.",
        json_schema_extra={"minItems": 1, "maxItems": MAX_QUESTIONS},
    )
    to: NameList = Field(default_factory=list[str], description=TO_DESCRIPTION)
    on_timeout: Annotated[TimeoutAction, BeforeValidator(_read_action)] = Field(
        default="report",
        alias="onTimeout",
        description="What happens if nobody answers in time. report: you learn that nobody answered. halt: you must "
        "stop until a person writes. default: the `default` of each question applies, and the card tells people so "
        "beforehand.",
    )

    @model_validator(mode="before")
    @classmethod
    def _normalize_input(cls, value: object) -> object:
        understood = add_names(value, wrap_in_object(value, "questions", "question", "prompt"))
        return add_fields(value, understood, onTimeout=("timeoutAction", "ifNobodyAnswers"))


class AskTool(QuestionTool[AskInput]):
    """The tool named `ask`."""

    name: ClassVar[str] = "ask"
    description: ClassVar[str] = (
        "Ask the people in this conversation anything that a form can hold, and wait for their answer, which may take "
        "minutes or days: choices, people or channels of this workspace, files, numbers, dates, addresses, texts, "
        "optional questions, and questions that depend on earlier answers. Use it only for what you cannot find out or "
        "decide yourself. Never ask for passwords or other secrets. You get the answers by the ids of the questions."
    )
    example: ClassVar[str] = (
        '{"questions": [{"id": "where", "question": "Where do we deploy?", "options": [{"label": "Staging"}, '
        '{"label": "Production"}]}, {"id": "day", "question": "On which day?", "kind": "date", "showIf": '
        '{"question": "where", "anyOf": ["Production"]}}]}'
    )
    input_type = AskInput

    def to_form(self, parsed: AskInput) -> Form:
        by_id = {question.id: question for question in parsed.questions}
        for question in parsed.questions:
            reserved = [option.sent_value for option in question.options if option.sent_value in RESERVED]
            if reserved:
                problem = f"The value {reserved[0]} belongs to askback: give the option another value."
                raise ModelError(problem, example=self.example)
        form = Form.parse({"questions": [_build_question(question, by_id) for question in parsed.questions]})
        problem = find_default_problem(form) if parsed.on_timeout == "default" else None
        if problem is not None:
            raise ModelError(f"onTimeout is “default”, so nobody was asked: {problem}", example=self.example)
        return form

    def list_addressees(self, parsed: AskInput) -> list[str]:
        return parsed.to

    def get_timeout_action(self, parsed: AskInput) -> TimeoutAction:
        return parsed.on_timeout

    def get_field_name(self, field: str) -> str:
        for ours, theirs in _FIELD_NAMES.items():
            field = field.replace(ours, theirs)
        return field

    def render_result(self, parsed: AskInput, outcome: Outcome) -> ToolResult:
        data: dict[str, JsonValue] = {"status": outcome.status}
        if outcome.status == "answered":
            answers = list_answer_values(self.to_form(parsed), outcome)
            skipped: list[JsonValue] = [question.id for question in parsed.questions if question.id not in answers]
            data["answers"] = answers
            if skipped:
                data["skipped"] = skipped
            if notes := list_notes(outcome):
                data["notes"] = notes
        else:
            if outcome.fallback:
                data["fallback"] = list_fallback_values(self.to_form(parsed), outcome)
            if outcome.halted:
                data["halted"] = True
            data["message"] = describe_unanswered(outcome)
        return ToolResult(text=json.dumps(data, ensure_ascii=False), data=data)

    def summarize(self, parsed: AskInput) -> str:
        questions = parsed.questions
        names = ", ".join(question.header or question.question for question in questions)
        return f"{len(questions)} question{'s' if len(questions) != 1 else ''} · {names}"


def _build_question(given: QuestionInput, by_id: dict[str, QuestionInput]) -> dict[str, object]:
    """Return the fields of a question of a form."""
    options: list[object] = [
        {
            "value": option.sent_value,
            "label": option.label,
            "description": drop_blank(option.description),
            "preview": drop_blank(option.preview),
        }
        for option in given.options
    ]
    if given.optional:
        options.append(build_no_answer_option())
    if given.picks is None and given.files is None:
        # Where there is nothing to choose but "(no answer)", people write.
        allow_custom = given.allow_custom or not given.options
    else:
        allow_custom = given.allow_custom and "allow_custom" in given.model_fields_set
    rules: dict[str, object] = {
        "kind": given.kind,
        "min_length": given.min_length,
        "max_length": given.max_length,
        "minimum": given.minimum,
        "maximum": given.maximum,
    }
    fields: dict[str, object] = {
        "id": given.id,
        "prompt": given.question,
        "header": drop_blank(given.header),
        "options": options,
        "multi_select": given.multi_select,
        "min_choices": given.min_choices,
        "max_choices": given.max_choices,
        "picks": given.picks,
        "files": None if given.files is None else given.files.build_rules(),
        "allow_custom": allow_custom,
        "allow_note": given.allow_note,
        "placeholder": drop_blank(given.placeholder),
        "rules": {name: value for name, value in rules.items() if value is not None},
        "default": [given.find_value(value) for value in given.default],
        "show_if": None if given.show_if is None else _build_condition(given.show_if, by_id),
        "details": drop_blank(given.details),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _build_condition(given: ConditionInput, by_id: dict[str, QuestionInput]) -> dict[str, object]:
    asked = by_id.get(given.question)

    def to_values(named: Sequence[str]) -> list[str]:
        return list(named) if asked is None else [asked.find_value(one) for one in named]

    return {
        "question": given.question,
        "any_of": to_values(given.any_of),
        "none_of": to_values(given.none_of),
        "skipped": given.skipped,
    }
