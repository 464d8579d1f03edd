"""`askQuestion`: one question, options as plain texts."""

from __future__ import annotations

__all__ = ["AskQuestion"]

import json
from collections.abc import Mapping
from typing import Annotated, ClassVar, cast

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue, model_validator

from askback.domain.form import DEFAULT_PLACEHOLDER, Form
from askback.domain.form_limits import MAX_OPTIONS
from askback.domain.outcome import Outcome
from askback.tools.aliases import CHOICES, LABEL, PROMPT
from askback.tools.base import QuestionTool, ToolResult, describe_unanswered, to_timestamp_ms
from askback.tools.lenient_parser import (
    TO_DESCRIPTION,
    LenientBool,
    LenientText,
    NameList,
    ToolInput,
    drop_blank,
    rename_fields,
    to_options,
)


def _read_labels(value: object) -> object:
    """Return options as texts, also if the model sent objects with a label."""
    listed = to_options(value)
    return [_read_label(one) for one in cast("list[object]", listed)] if isinstance(listed, list) else listed


def _drop_none(value: object) -> object:
    return True if value is None else value


def _read_label(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    renamed = rename_fields(cast("object", value), label=LABEL)
    return cast("Mapping[str, object]", renamed).get("label")


class AskQuestionInput(ToolInput):
    model_config = ConfigDict(json_schema_extra={"required": ["question", "options"]})

    question: LenientText = Field(description="The question to ask.", min_length=1, max_length=500)
    options: Annotated[
        list[Annotated[LenientText, Field(min_length=1, max_length=200)]], BeforeValidator(_read_labels)
    ] = Field(
        default_factory=list[str],
        description="The choices, at least 2.",
        json_schema_extra={"minItems": 2, "maxItems": MAX_OPTIONS},
    )
    allow_custom: Annotated[LenientBool, BeforeValidator(_drop_none)] = Field(
        default=True, alias="allowCustom", description="Whether people may write their own answer."
    )
    custom_placeholder: LenientText | None = Field(
        default=None, alias="customPlaceholder", description="A hint inside the text field.", max_length=100
    )
    to: NameList = Field(default_factory=list[str], description=TO_DESCRIPTION)

    @model_validator(mode="before")
    @classmethod
    def _normalize_input(cls, value: object) -> object:
        return rename_fields(
            value,
            question=PROMPT,
            options=CHOICES,
            allowCustom=("allowOther",),
            customPlaceholder=("placeholder",),
            to=(),
        )

    @model_validator(mode="after")
    def _check(self) -> AskQuestionInput:
        if len(self.options) == 1 or (not self.options and not self.allow_custom):
            raise ValueError("give at least 2 options, or none and allowCustom to ask for a written answer")
        return self


class AskQuestion(QuestionTool[AskQuestionInput]):
    """The tool named `askQuestion`."""

    name: ClassVar[str] = "askQuestion"
    description: ClassVar[str] = (
        "Ask the people in this conversation one multiple-choice question and wait for the answer, which may take "
        "minutes or days. Use it only for what you cannot find out or decide yourself. If nobody answers in time, the "
        'answer is "timeout" with timedOut: true. That is not a choice that they made.'
    )
    example: ClassVar[str] = (
        '{"question": "Which language do you prefer?", "options": ["Python", "TypeScript"], "allowCustom": true}'
    )
    input_type = AskQuestionInput

    def to_form(self, parsed: AskQuestionInput) -> Form:
        return Form.parse(
            {
                "questions": [
                    {
                        "id": "question",
                        "prompt": parsed.question,
                        "options": [
                            {"value": value, "label": label}
                            for value, label in zip(_make_unique(parsed.options), parsed.options, strict=True)
                        ],
                        "allow_custom": parsed.allow_custom,
                        "placeholder": drop_blank(parsed.custom_placeholder) or DEFAULT_PLACEHOLDER,
                    }
                ]
            }
        )

    def list_addressees(self, parsed: AskQuestionInput) -> list[str]:
        return parsed.to

    def get_field_name(self, field: str) -> str:
        if field.endswith(".value"):
            return ""
        return field.removeprefix("questions[0].").replace("prompt", "question").removesuffix(".label")

    def render_result(self, parsed: AskQuestionInput, outcome: Outcome) -> ToolResult:
        data: dict[str, JsonValue]
        if outcome.status == "answered":
            answer = outcome.answers[0]
            data = {"answer": answer.labels[0], "isCustom": answer.is_custom}
            if answer.choices:
                data["selectedIndex"] = answer.choices[0].index
        elif outcome.status == "timed_out":
            data = {"answer": "timeout", "isCustom": False, "timedOut": True}
            if outcome.halted or outcome.fallback:
                data["message"] = describe_unanswered(outcome)
        else:
            data = {
                "answer": outcome.status,
                "isCustom": False,
                outcome.status: True,
                "message": describe_unanswered(outcome),
            }
        data["timestamp"] = to_timestamp_ms(outcome)
        return ToolResult(text=json.dumps(data, ensure_ascii=False), data=data)

    def summarize(self, parsed: AskQuestionInput) -> str:
        return f"{len(parsed.options)} options · {parsed.question}"


def _make_unique(labels: list[str]) -> list[str]:
    """Return a value for each label. Equal labels get a number, so that each value is unique."""
    values: dict[str, None] = {}
    for number, label in enumerate(labels):
        value = label
        while value in values:
            value = f"{value} ({number})"
        values[value] = None
    return list(values)
