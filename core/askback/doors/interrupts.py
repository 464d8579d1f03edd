"""Reads an interrupt of LangGraph as questions for people, and writes their answers as its value. Pure.

An interrupt may ask about tool calls (LangChain's `HumanInTheLoopMiddleware`), publish the schema of its answer, or
have any other value, which people answer in writing.
"""

from __future__ import annotations

__all__ = ["PendingInterrupt", "read_interrupt", "read_value"]

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_jsonable_python

from askback.domain.approval import compute_digest
from askback.domain.approval_title import escape_unseen
from askback.domain.ask import Ask
from askback.domain.form import Form, Question
from askback.domain.json_answers import build_instance
from askback.domain.json_schema import read_form
from askback.domain.schema_references import inline_references
from askback.doors.call_question import CallQuestion, get_answered
from askback.doors.tool_decisions import build_call_question, read_decision
from askback.errors import CallerError
from askback.text.literal import find_break
from askback.translations.catalogue import ngettext
from askback.translations.sentences import group_digits

ANSWER = "answer"
"""The id of the only question, and of the only property if a schema is not an object."""
SHOWN = 1500
"""Maximum number of characters of a value that the question shows. Its details hold all of them."""

_Object = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class PendingInterrupt:
    """An interrupt that waits for people."""

    id: str
    questions: tuple[CallQuestion, ...]
    """One for each tool call; otherwise one."""
    read: Callable[[Sequence[Ask]], JsonValue]
    """Return the value to resume with, from the settled asks in the order of the questions. Raises `Unanswered`."""


def read_interrupt(interrupt_id: str, value: object, response_schema: object) -> PendingInterrupt:
    """Return an interrupt with its questions. Raises `CallerError` if people cannot be asked that."""
    try:
        plain: JsonValue = to_jsonable_python(value)
    except PydanticSerializationError as error:
        raise CallerError(
            f"The value of an interrupt is not JSON ({error}), so people cannot read it: interrupt with texts, "
            "numbers, lists and dictionaries."
        ) from None
    schema = cast("_Object", response_schema) if isinstance(response_schema, Mapping) else None
    if isinstance(plain, dict) and isinstance(plain.get("action_requests"), list):
        return _read_batch(interrupt_id, plain)
    if isinstance(plain, dict) and plain.get("type") == "tool_approval" and "name" in plain and "args" in plain:
        return _read_call(interrupt_id, plain, schema)
    return read_value(interrupt_id, plain, schema)


def _read_batch(interrupt_id: str, value: _Object) -> PendingInterrupt:
    requests = cast("list[_Object]", value["action_requests"])
    configs = cast("list[_Object]", value.get("review_configs") or [])
    allowed = {str(one.get("action_name")): cast("list[str]", one.get("allowed_decisions") or []) for one in configs}
    calls = [(str(one["name"]), cast("_Object", one.get("args") or {})) for one in requests]
    questions = tuple(
        build_call_question(tool, given, allowed.get(tool, []), _find_description(request, tool))
        for (tool, given), request in zip(calls, requests, strict=True)
    )

    def read(asks: Sequence[Ask]) -> JsonValue:
        decisions: list[JsonValue] = [
            read_decision(tool, given, allowed.get(tool, []), ask)
            for (tool, given), ask in zip(calls, asks, strict=True)
        ]
        return {"decisions": decisions}

    return PendingInterrupt(interrupt_id, questions, read)


def _read_call(interrupt_id: str, value: _Object, schema: _Object | None) -> PendingInterrupt:
    branches = _list_branches(schema)
    allowed, parameters = [*branches], _find_parameters(branches.get("edit"))
    tool, given = str(value["name"]), cast("_Object", value["args"] or {})
    question = build_call_question(tool, given, allowed, _find_description(value, tool), parameters=parameters)
    return PendingInterrupt(interrupt_id, (question,), lambda asks: read_decision(tool, given, allowed, asks[0]))


def _find_description(request: _Object, tool: str) -> str | None:
    """Return the developer's own text about a call. None for the text that the middleware writes itself."""
    text = request.get("description")
    return text if isinstance(text, str) and text.strip() and f"\n\nTool: {tool}\nArgs: " not in text else None


def _list_branches(schema: _Object | None) -> dict[str, _Object]:
    """Return the properties of each decision that a schema allows. Each of its alternatives has a constant `type`."""
    whole = inline_references(schema or {})
    branches = cast("list[_Object]", whole.get("oneOf") or whole.get("anyOf") or [whole])
    found = [cast("_Object", one.get("properties") or {}) for one in branches]
    return {str(kind["const"]): one for one in found if "const" in (kind := cast("_Object", one.get("type") or {}))}


def _find_parameters(edit: _Object | None) -> _Object | None:
    """Return the schema of the tool's arguments from the properties of an edit. None if it says nothing about them."""
    action = cast("_Object", (edit or {}).get("edited_action") or {})
    found = cast("_Object", cast("_Object", action.get("properties") or {}).get("args") or {})
    return found if "properties" in found else None


def read_value(interrupt_id: str, value: JsonValue, schema: Mapping[str, JsonValue] | None) -> PendingInterrupt:
    """Return the question about any other value. People answer in writing, or with a form if there is a schema.

    Raises `CallerError` if the schema does not fit into a form.
    """
    message, details = _split(value)
    digest = compute_digest("interrupt", [value, None if schema is None else dict(schema)])
    if schema is None:
        question = Question(id=ANSWER, prompt=message, details=details)
        form, is_object = Form(questions=(question,)), False
    else:
        plain = inline_references(schema)
        is_object = "properties" in plain
        wrapped = {"type": "object", "properties": {ANSWER: plain}, "required": [ANSWER]}
        form = read_form(
            {key: part for key, part in plain.items() if key != "$defs"} if is_object else wrapped,
            message=message,
            details=details,
        )

    def read(asks: Sequence[Ask]) -> JsonValue:
        (ask,) = asks
        instance = build_instance(ask.interview.form, get_answered(ask).answers)
        return instance if is_object else instance[ANSWER]

    return PendingInterrupt(interrupt_id, (CallQuestion("ask", form, digest),), read)


def _split(value: JsonValue) -> tuple[str, str | None]:
    """Return the question in a value, and its details. A field `question` or `message` is the question."""
    rest: JsonValue = None
    if isinstance(value, dict):
        name = next((one for one in ("question", "message") if _is_text(value.get(one))), None)
        if name is not None:
            rest = {key: part for key, part in value.items() if key != name} or None
            value = value[name]
    text = value if isinstance(value, str) and value.strip() else escape_unseen(_dump(value))
    if len(text) <= SHOWN:
        return text, None if rest is None else escape_unseen(_dump(rest))
    at = find_break(text, SHOWN)
    whole = text if rest is None else f"{text}\n\n{escape_unseen(_dump(rest))}"
    left = len(text) - at
    more = ngettext("… and {count} more character.", "… and {count} more characters.", left)
    return f"{text[:at].rstrip()}\n{more.format(count=group_digits(left))}", whole


def _is_text(value: JsonValue) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _dump(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
