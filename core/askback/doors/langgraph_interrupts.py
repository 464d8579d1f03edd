"""Reads an interrupt of LangGraph as questions for people, and writes their answers as its value. Pure.

An interrupt may ask about tool calls (LangChain's `HumanInTheLoopMiddleware`, or its older Agent Inbox), publish the
schema of its answer, or name options. People answer any other value in writing.
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
from askback.domain.ask import Ask
from askback.domain.form import Form, Question
from askback.domain.json_answers import build_instance
from askback.domain.json_schema import read_form
from askback.domain.plain_schema import inline_references
from askback.doors.agent_inbox import InboxRequest, read_requests
from askback.doors.call_question import CallQuestion, get_answered
from askback.doors.interrupt_options import InterruptOption, build_options_question, find_options
from askback.doors.tool_decisions import build_call_question, read_decision
from askback.errors import CallerError
from askback.text.literal import find_break
from askback.text.unseen import escape_unseen, has_visible_text
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
    is_text: bool = False
    """True if the value is the text that people wrote, whatever the graph expects."""


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
    requests = read_requests(plain) if schema is None else None
    if requests is not None:
        return _read_inbox(interrupt_id, requests)
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


def _read_inbox(interrupt_id: str, requests: Sequence[InboxRequest]) -> PendingInterrupt:
    def read(asks: Sequence[Ask]) -> JsonValue:
        return [request.read(ask) for request, ask in zip(requests, asks, strict=True)]

    return PendingInterrupt(interrupt_id, tuple(request.question for request in requests), read)


def _find_description(request: _Object, tool: str) -> str | None:
    """Return the developer's own text about a call. None for the text that the middleware writes itself."""
    text = request.get("description")
    if not isinstance(text, str) or not has_visible_text(text) or f"\n\nTool: {tool}\nArgs: " in text:
        return None
    return text


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
    """Return the question about any other value. People choose an option, fill in a form, or answer in writing.

    Raises `CallerError` if the options or the schema do not fit into a form.
    """
    if schema is not None:
        return _read_with_schema(interrupt_id, value, schema)
    found = find_options(value) if isinstance(value, dict) else None
    if isinstance(value, dict) and found is not None:
        return _read_with_options(interrupt_id, value, *found)
    message, details = _split(value)
    question = CallQuestion(
        "ask",
        Form(questions=(Question(id=ANSWER, prompt=message, details=details),)),
        compute_digest("interrupt", [value, None]),
    )

    def read(asks: Sequence[Ask]) -> JsonValue:
        (ask,) = asks
        return build_instance(ask.interview.form, get_answered(ask).answers)[ANSWER]

    return PendingInterrupt(interrupt_id, (question,), read, is_text=True)


def _read_with_schema(interrupt_id: str, value: JsonValue, schema: _Object) -> PendingInterrupt:
    message, details = _split(value)
    plain = inline_references(schema)
    is_object = "properties" in plain
    wrapped = {"type": "object", "properties": {ANSWER: plain}, "required": [ANSWER]}
    form = read_form(plain if is_object else wrapped, message=message, details=details)
    digest = compute_digest("interrupt", [value, dict(schema)])

    def read(asks: Sequence[Ask]) -> JsonValue:
        (ask,) = asks
        instance = build_instance(ask.interview.form, get_answered(ask).answers)
        return instance if is_object else instance[ANSWER]

    return PendingInterrupt(interrupt_id, (CallQuestion("ask", form, digest),), read)


def _read_with_options(
    interrupt_id: str, value: _Object, field: str, options: Sequence[InterruptOption]
) -> PendingInterrupt:
    rest = {name: part for name, part in value.items() if name != field}
    # The options have buttons, so the rest does not repeat what these show.
    message, details = _split(rest if rest and all(option.is_shown_whole for option in options) else dict(value))
    form, vote = build_options_question(ANSWER, message, details, options)
    # Another digest than that of a written question: its answer to the same value is no choice.
    question = CallQuestion("ask", form, compute_digest("interrupt options", [dict(value)]), vote=vote)

    def read(asks: Sequence[Ask]) -> JsonValue:
        (ask,) = asks
        (answer,) = get_answered(ask).answers
        return options[answer.choices[0].index].value

    return PendingInterrupt(interrupt_id, (question,), read)


def _split(value: JsonValue) -> tuple[str, str | None]:
    """Return the question in a value, and its details. A field `question` or `message` is the question."""
    rest: JsonValue = None
    if isinstance(value, dict):
        name = next((one for one in ("question", "message") if _is_text(value.get(one))), None)
        if name is not None:
            rest = {key: part for key, part in value.items() if key != name} or None
            value = value[name]
    text = value if isinstance(value, str) and has_visible_text(value) else escape_unseen(_dump(value))
    if len(text) <= SHOWN:
        return text, None if rest is None else escape_unseen(_dump(rest))
    at = find_break(text, SHOWN)
    whole = text if rest is None else f"{text}\n\n{escape_unseen(_dump(rest))}"
    left = len(text) - at
    more = ngettext("… and {count} more character.", "… and {count} more characters.", left)
    return f"{text[:at].rstrip()}\n{more.format(count=group_digits(left))}", whole


def _is_text(value: JsonValue) -> bool:
    return isinstance(value, str) and has_visible_text(value)


def _dump(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
