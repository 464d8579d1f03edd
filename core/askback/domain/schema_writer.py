"""Writes a form as a JSON Schema, whose instances are the answers. Pure.

It is the way back of `json_schema.read_form`, for programs that show a form elsewhere. No part of askback calls it: its
tests show that a form loses nothing on the way to a schema and back.
"""

from __future__ import annotations

__all__ = ["write_schema"]

from pydantic import JsonValue

from askback.domain.form import Form, Question
from askback.domain.json_schema import NO, YES
from askback.domain.reserved_options import NO_ANSWER, NO_ANSWERS, NONE_OF_THESE, NULL
from askback.domain.schema_choices import write_choices
from askback.domain.schema_numbers import find_multiples_problem
from askback.domain.schema_rules import write_rules
from askback.domain.text_kinds import to_json_value
from askback.errors import CallerError


def write_schema(form: Form) -> dict[str, JsonValue]:
    """Return a schema for the answers to a form. Raises `CallerError` if a schema cannot say what a question asks.

    A text has at most 1,000 characters by default, so the schema does not name that limit. `read_form` with `titled`
    reads all of it.
    """
    properties: dict[str, JsonValue] = {}
    required: list[JsonValue] = []
    for question in form.questions:
        if question.show_if is not None:
            raise CallerError(
                f"The question {question.id!r} is asked only after certain answers, which a flat schema cannot say: "
                "leave out show_if."
            )
        if question.picks is not None:
            raise CallerError(
                f"The question {question.id!r} asks for {question.picks} of the chat, which a schema cannot say: "
                "leave it out, or give options."
            )
        if question.files is not None:
            raise CallerError(
                f"The question {question.id!r} asks for files, which a schema cannot say: leave it out, or ask it with "
                "`questions`."
            )
        problem = find_multiples_problem(question.rules)
        if problem is not None:
            raise CallerError(
                f"The question {question.id!r} asks for {problem}, which a schema cannot say: its steps count from 0."
            )
        properties[question.id] = _write_property(question)
        if all(option.value != NO_ANSWER for option in question.options):
            required.append(question.id)
    headed: dict[str, JsonValue] = {} if form.title is None else {"title": form.title}
    schema: dict[str, JsonValue] = {"type": "object", **headed, "properties": properties}
    return {**schema, "required": required} if required else schema


def _write_property(question: Question) -> dict[str, JsonValue]:
    texts: dict[str, JsonValue] = {} if question.header is None else {"title": question.header}
    texts["description"] = question.whole_prompt
    found = _write_type(question)
    if any(option.value == NULL for option in question.options):
        return {**texts, **_permit_null(found)}
    return {**texts, **found}


def _permit_null(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    default = {key: schema[key] for key in ("default",) if key in schema}
    return {"anyOf": [{key: one for key, one in schema.items() if key != "default"}, {"type": "null"}], **default}


def _write_type(question: Question) -> dict[str, JsonValue]:
    kind = question.rules.kind
    defaults = [_write_default(question, value) for value in question.default]
    one: dict[str, JsonValue] = {"default": defaults[0]} if defaults else {}
    if question.multi_select:
        return {**_write_array(question), **({"default": defaults} if defaults else {})}
    if kind == "boolean" and {YES.value, NO.value} <= {option.value for option in question.options}:
        return {"type": "boolean", **one}
    if question.options and not question.allow_custom:
        return {**write_choices(kind, question.options), **one}
    return {**write_rules(question.rules), **one}


def _write_default(question: Question, value: str) -> JsonValue:
    if question.multi_select or not question.allow_custom:
        return to_json_value(question.rules.kind, value)
    return [] if value == NONE_OF_THESE else question.rules.to_json_value(value)


def _write_array(question: Question) -> dict[str, JsonValue]:
    extra = {option.value for option in question.options} & {*NO_ANSWERS, NONE_OF_THESE}
    limits: dict[str, JsonValue] = {}
    if not extra:
        limits["minItems"] = question.min_choices
    if question.max_choices is not None:
        limits["maxItems"] = question.max_choices
    items = write_choices(question.rules.kind, question.options, several=True)
    return {"type": "array", "items": items, **limits}
