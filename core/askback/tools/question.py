"""`question`: one or many questions with values for programs and labels for people."""

from __future__ import annotations

__all__ = ["QuestionsTool"]

import json
import re
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue, model_validator

from askback.domain.form import Form
from askback.domain.form_limits import MAX_OPTIONS, MAX_QUESTIONS
from askback.domain.outcome import Outcome
from askback.errors import ModelError
from askback.text.unseen import has_visible_text
from askback.tools.aliases import CHOICES, DESCRIPTION, HEADER, LABEL, PROMPT
from askback.tools.base import QuestionTool, ToolResult, describe_unanswered
from askback.tools.lenient_parser import (
    TO_DESCRIPTION,
    LenientText,
    NameList,
    ToolInput,
    add_names,
    build_length_limits,
    drop_blank,
    rename_fields,
    to_list,
    to_options,
    wrap_in_object,
)

NO_QUESTIONS = "Error: No questions provided"


class OptionInput(ToolInput):
    model_config = ConfigDict(json_schema_extra={"required": ["value", "label"]})

    value: LenientText = Field(
        default="", description="The value that you get for this option.", json_schema_extra=build_length_limits(2000)
    )
    label: LenientText = Field(
        description="The text for people.", min_length=1, json_schema_extra=build_length_limits(2000)
    )
    description: LenientText | None = Field(
        default=None, description="The meaning of this option.", json_schema_extra=build_length_limits(4000)
    )

    @model_validator(mode="before")
    @classmethod
    def _normalize_input(cls, value: object) -> object:
        return rename_fields(
            value,
            text="label",
            value=("id",),
            label=LABEL,
            description=DESCRIPTION,
        )

    @property
    def sent_value(self) -> str:
        return drop_blank(self.value) or self.label


class QuestionInput(ToolInput):
    model_config = ConfigDict(json_schema_extra={"required": ["id", "prompt", "options"]})

    id: LenientText = Field(
        default="", description="A stable id for the answer.", json_schema_extra=build_length_limits(200)
    )
    label: LenientText | None = Field(
        default=None,
        description="A short name for the head of the card and the review. Default: Q1, Q2 …",
        json_schema_extra=build_length_limits(200),
    )
    prompt: LenientText = Field(
        description="The full question.", json_schema_extra=build_length_limits(10_000, least=1)
    )
    options: Annotated[list[OptionInput], BeforeValidator(to_options)] = Field(
        default_factory=list[OptionInput],
        description="The choices. 'Something else…' is always added: do not add it yourself.",
        json_schema_extra={"maxItems": MAX_OPTIONS},
    )

    @model_validator(mode="before")
    @classmethod
    def _normalize_input(cls, value: object) -> object:
        return rename_fields(
            value,
            text="prompt",
            id=("key",),
            prompt=PROMPT,
            label=HEADER,
            options=CHOICES,
        )


class QuestionsInput(ToolInput):
    questions: Annotated[list[QuestionInput], BeforeValidator(to_list)] = Field(
        description="One question, or several that are asked together.",
        json_schema_extra={"minItems": 1, "maxItems": MAX_QUESTIONS},
    )
    to: NameList = Field(default_factory=list[str], description=TO_DESCRIPTION)

    @model_validator(mode="before")
    @classmethod
    def _normalize_input(cls, value: object) -> object:
        return add_names(value, wrap_in_object(value, "questions", "question", "prompt") or {"questions": []})


class QuestionsTool(QuestionTool[QuestionsInput]):
    """The tool named `question`."""

    name: ClassVar[str] = "question"
    description: ClassVar[str] = (
        "Ask the people in this conversation one or several multiple-choice questions and wait for their answer, "
        'which may take minutes or days. Every question also offers "Something else…" for a written answer. '
        "Use it only for what you cannot find out or decide yourself."
    )
    example: ClassVar[str] = (
        '{"questions": [{"id": "db", "label": "Database", "prompt": "Which database should we use?", "options": '
        '[{"value": "pg", "label": "PostgreSQL", "description": "Relational"}, {"value": "lite", "label": "SQLite"}]}]}'
    )
    input_type = QuestionsInput

    def to_form(self, parsed: QuestionsInput) -> Form:
        if not parsed.questions:
            raise ModelError(NO_QUESTIONS, example=self.example)
        return Form.parse(
            {
                "questions": [
                    {
                        "id": identity,
                        "prompt": question.prompt,
                        "header": drop_blank(question.label),
                        "options": [
                            {
                                "value": option.sent_value,
                                "label": option.label,
                                "description": drop_blank(option.description),
                            }
                            for option in question.options
                        ],
                    }
                    for question, identity in zip(parsed.questions, _assign_ids(parsed.questions), strict=True)
                ]
            }
        )

    def list_addressees(self, parsed: QuestionsInput) -> list[str]:
        return parsed.to

    def get_field_name(self, field: str) -> str:
        return re.sub(r"\]\.header$", "].label", field)

    def build_error_result(self, error: ModelError) -> ToolResult:
        data: dict[str, JsonValue] = {"questions": [], "answers": [], "cancelled": True, "error": error.problem}
        if error.advice:
            data["message"] = error.advice
        return ToolResult(text=_dump_json(data), data=data, is_error=True)

    def render_result(self, parsed: QuestionsInput, outcome: Outcome) -> ToolResult:
        answers: list[JsonValue] = []
        ids = _assign_ids(parsed.questions)
        for identity in ids:
            answer = outcome.get(identity)
            if answer is None:
                continue
            if answer.choices:
                choice = answer.choices[0]
                answers.append(
                    {
                        "id": identity,
                        "value": choice.value,
                        "label": choice.label,
                        "wasCustom": False,
                        "index": choice.index + 1,
                    }
                )
            else:
                answers.append({"id": identity, "value": answer.text, "label": answer.text, "wasCustom": True})
        data: dict[str, JsonValue] = {
            "questions": [
                _describe_question(*one) for one in zip(parsed.questions, ids, range(1, len(ids) + 1), strict=True)
            ],
            "answers": answers,
            "cancelled": outcome.status != "answered",
        }
        if outcome.status != "answered":
            data |= {"reason": outcome.status, "message": describe_unanswered(outcome)}
        return ToolResult(text=_dump_json(data), data=data)

    def summarize(self, parsed: QuestionsInput) -> str:
        questions = parsed.questions
        names = ", ".join(question.label or f"Q{number}" for number, question in enumerate(questions, 1))
        return f"{len(questions)} question{'s' if len(questions) != 1 else ''}" + (f" · {names}" if names else "")


def _assign_ids(questions: list[QuestionInput]) -> list[str]:
    """Return the ids of the questions. A question without one gets its number, with underscores if that is taken."""
    ids: list[str] = []
    given = {question.id for question in questions}
    for number, question in enumerate(questions, 1):
        identity = question.id
        if not identity.strip():
            identity = f"q{number}"
            while identity in given:
                identity += "_"
        ids.append(identity)
    return ids


def _describe_question(question: QuestionInput, identity: str, number: int) -> JsonValue:
    """Return the question as it was asked, with every default filled in."""
    options: list[JsonValue] = []
    for option in question.options:
        data: dict[str, JsonValue] = {"value": option.sent_value, "label": option.label}
        if option.description:
            data["description"] = option.description
        options.append(data)
    label = question.label if question.label and has_visible_text(question.label) else f"Q{number}"
    return {"id": identity, "label": label, "prompt": question.prompt, "options": options}


def _dump_json(data: dict[str, JsonValue]) -> str:
    return json.dumps(data, ensure_ascii=False)
