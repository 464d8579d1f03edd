"""`AskUserQuestion`: up to four questions at once, in a format that models know well."""

from __future__ import annotations

__all__ = ["AskUserQuestion", "join_labels"]

import json
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue, model_validator

from askback.domain.form import Form
from askback.domain.outcome import Answer, Outcome
from askback.tools.base import QuestionTool, ToolResult, describe_unanswered
from askback.tools.lenient_parser import (
    TO_DESCRIPTION,
    LenientBool,
    LenientText,
    NameList,
    ToolInput,
    add_names,
    build_length_limits,
    drop_blank,
    rename_fields,
    to_list,
    wrap_in_object,
)


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
            label=("title", "name", "text", "value"),
            description=("desc", "detail", "explanation"),
            preview=(),
        )


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
    options: Annotated[list[OptionInput], BeforeValidator(to_list)] = Field(
        default_factory=list[OptionInput],
        description="2-4 distinct choices. Do not add an 'Other' option: people can always write their own answer. "
        "Leave it empty to ask for a written answer.",
        json_schema_extra={"anyOf": [{"maxItems": 0}, {"minItems": 2, "maxItems": 4}]},
    )
    multi_select: LenientBool = Field(
        default=False, alias="multiSelect", description="Whether several options may be chosen together."
    )

    @model_validator(mode="before")
    @classmethod
    def _normalize_input(cls, value: object) -> object:
        return rename_fields(
            value,
            text="question",
            question=("prompt", "text"),
            header=("label", "title"),
            options=("choices", "answers"),
            multiSelect=("multiple", "multi", "allowMultiple"),
        )

    @model_validator(mode="after")
    def _check(self) -> QuestionInput:
        count = len(self.options)
        if count == 1 or count > 4:
            raise ValueError(
                f"offers {count} option{'s' if count > 1 else ''}: give 2 to 4 options, "
                "or none to ask for a written answer"
            )
        labels = [option.label for option in self.options]
        if len(set(labels)) < count:
            raise ValueError("offers the same label twice: make each option's label different")
        return self


class AskUserQuestionInput(ToolInput):
    questions: Annotated[list[QuestionInput], BeforeValidator(to_list)] = Field(
        description="1-4 questions, asked together.", json_schema_extra={"minItems": 1, "maxItems": 4}
    )
    to: NameList = Field(default_factory=list[str], description=TO_DESCRIPTION)

    @model_validator(mode="before")
    @classmethod
    def _normalize_input(cls, value: object) -> object:
        return add_names(value, wrap_in_object(value, "questions", "question", "prompt"))

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
        return Form.parse(
            {
                "questions": [
                    {
                        "id": f"q{number}",
                        "prompt": question.question,
                        "header": drop_blank(question.header),
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
                    }
                    for number, question in enumerate(parsed.questions, 1)
                ]
            }
        )

    def list_addressees(self, parsed: AskUserQuestionInput) -> list[str]:
        return parsed.to

    def get_field_name(self, field: str) -> str:
        return "" if field.endswith(".value") else field.replace(".prompt", ".question")

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
