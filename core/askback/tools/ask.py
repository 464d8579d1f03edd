"""`ask`: what a form can hold, for questions that the simpler tools cannot ask."""

from __future__ import annotations

__all__ = ["AskTool"]

import json
from collections.abc import Sequence
from typing import ClassVar

from pydantic import JsonValue

from askback.domain.answer_values import list_answer_values, list_fallback_values, list_notes
from askback.domain.form import Form
from askback.domain.outcome import Outcome
from askback.domain.reserved_options import RESERVED, build_no_answer_option
from askback.domain.timeout_action import TimeoutAction, find_default_problem
from askback.errors import ModelError
from askback.tools.ask_input import AskInput, ConditionInput, QuestionInput
from askback.tools.base import QuestionTool, ToolResult, describe_unanswered
from askback.tools.lenient_parser import (
    drop_blank,
)

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
