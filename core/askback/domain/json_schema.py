"""Reads a JSON Schema as a form, and writes a form as a JSON Schema. Pure.

A schema is an object of flat properties: texts, numbers, booleans, one of several values, or several of them. A
property that is not required gets the option “(no answer)”. A default is chosen at the start.

`pattern` is rejected. Python's regular expressions can take exponential time, and a schema may come from a model. An
engine with linear time reads other patterns than JSON Schema does, so an answer could pass here and fail there.
"""

from __future__ import annotations

__all__ = ["UnsupportedSchema", "read_form", "write_schema"]

import math
from collections.abc import Mapping
from typing import Final, cast

from pydantic import JsonValue

from askback.domain.form import Form, Option, Question
from askback.domain.form_limits import DEFAULT_ANSWER, MAX_ANSWER, MAX_QUESTIONS
from askback.domain.reserved_options import NO_ANSWER, NONE_OF_THESE, build_no_answer_option, build_none_option
from askback.domain.schema_choices import (
    UnsupportedSchema,
    as_object,
    format_number,
    is_number,
    read_choices,
    write_choices,
)
from askback.domain.text_kinds import TIME_PATTERN, TextKind, is_numeric, to_json_value
from askback.domain.text_rules import TextRules
from askback.errors import CallerError, InvalidValue
from askback.text.literal import quote_line
from askback.translations.catalogue import N_, _

_NOTES: Final = frozenset(
    {"$schema", "$id", "$comment", "title", "description", "examples", "deprecated", "readOnly", "writeOnly", "default"}
)
"""Keywords that limit nothing."""
_ALTERNATIVES: Final = frozenset({"enum", "enumNames", "oneOf", "anyOf"})
_TYPES: Final[Mapping[str, frozenset[str]]] = {
    "string": frozenset({"minLength", "maxLength", "format"}),
    "integer": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}),
    "number": frozenset({"minimum", "maximum"}),
    "boolean": frozenset(),
    "array": frozenset({"items", "minItems", "maxItems", "uniqueItems"}),
}
"""The types of a property, each with the keywords that limit it."""
_FORMATS: Final[Mapping[str, TextKind]] = {"email": "email", "uri": "uri", "date": "date", "date-time": "date-time"}
_HINTS: Final[Mapping[TextKind, str]] = {
    "integer": N_("A whole number"),
    "number": N_("A number"),
    "email": "name@example.com",
    "uri": "https://…",
    "date": "2026-11-24",
    "date-time": "2026-11-24T16:30:00Z",
}
_YES: Final = Option(value="true", label="Yes")
_NO: Final = Option(value="false", label="No")
_ADVICE: Final[Mapping[str, str]] = {
    "pattern": "askback does not run patterns from outside, since one could block it: describe the form of the text in "
    "`description`, and check the answer yourself",
    "$ref": "askback follows no references: write the schema out here",
    "const": "there is nothing to choose: leave the property out, or give several values with `enum`",
    "multipleOf": "people are not told of it: say it in `description`, and check the answer yourself",
}
PROBLEMS: Final = 10
"""Most problems that one error lists."""


def read_form(schema: object, *, message: str | None = None, details: str | None = None) -> Form:
    """Return the form that asks for an instance of a schema.

    `message` appears before the first question, and `details` can be opened there. Raises `UnsupportedSchema`.
    """
    whole = as_object(schema)
    properties = None if whole is None else as_object(whole.get("properties"))
    if whole is None or properties is None or whole.get("type", "object") != "object":
        raise UnsupportedSchema(
            'The schema is not an object with properties, which a form needs: write {"type": "object", "properties": '
            "{…}}."
        )
    if not 1 <= len(properties) <= MAX_QUESTIONS:
        raise UnsupportedSchema(
            f"The schema has {len(properties)} properties, and a form asks 1 to {MAX_QUESTIONS} questions: "
            f"{'add one' if not properties else 'ask for fewer at a time'}."
        )
    strange = whole.keys() - _NOTES - {"type", "properties", "required", "additionalProperties"}
    if strange:
        raise UnsupportedSchema(f"The schema has {_explain_keyword(min(strange))}.")
    required = _read_required(whole.get("required"), properties)
    questions: list[Question] = []
    problems: list[str] = []
    for name, given in properties.items():
        first = not questions and not problems
        try:
            questions.append(
                _read_property(name, given, name in required, message if first else None, details if first else None)
            )
        except UnsupportedSchema as error:
            problems.append(f"The property {quote_line(name)} {error}.")
        except InvalidValue as error:
            problems.append(f"The property {quote_line(name)} does not fit into a form: {error}.")
    if problems:
        raise UnsupportedSchema("\n".join(problems[:PROBLEMS]))
    return Form(questions=tuple(questions))


def _read_required(given: object, properties: Mapping[str, object]) -> frozenset[str]:
    names = cast("list[object]", given) if isinstance(given, list) else [] if given is None else [given]
    unknown = [name for name in names if not isinstance(name, str) or name not in properties]
    if unknown:
        raise UnsupportedSchema(
            f"`required` names {quote_line(str(unknown[0]))}, but no property has that name: remove it, or add the "
            "property."
        )
    return frozenset(cast("list[str]", names))


def _explain_keyword(name: str) -> str:
    advice = _ADVICE.get(name, "a form cannot keep to it: leave it out, and say it in `description`")
    return f"the keyword {quote_line(name)}, but {advice}"


def _read_property(name: str, given: object, required: bool, message: str | None, details: str | None) -> Question:
    schema = as_object(given)
    if schema is None:
        raise UnsupportedSchema('is not a schema: write an object, such as {"type": "string"}')
    choices = None if schema.get("type") == "array" else read_choices(schema)
    kind = choices.kind if choices is not None else "text"
    named = schema.get("type", {"text": "string"}.get(kind, kind) if choices is not None else None)
    if not isinstance(named, str) or named not in _TYPES:
        raise UnsupportedSchema(_explain_type(named))
    allowed = _ALTERNATIVES if choices is not None else _TYPES[named]
    strange = {key for key in schema if not key.startswith("x-")} - _NOTES - allowed - {"type"}
    if strange:
        raise UnsupportedSchema(f"has {_explain_keyword(min(strange))}")
    title, text = (_read_text(schema, key) for key in ("title", "description"))
    prompt = text or title or name
    common: dict[str, object] = {
        "id": name,
        "header": title,
        "prompt": message
        if message and text is None and title is None
        else f"{message}\n\n{prompt}"
        if message
        else prompt,
        "details": details,
    }
    default = schema.get("default")
    if choices is not None:
        return _build_choice(common, choices.kind, choices.options, default, required)
    match named:
        case "boolean":
            return _build_choice(common, "boolean", (_YES, _NO), default, required)
        case "array":
            return _read_array(common, schema, required)
        case _:
            return _read_written(common, named, schema, required)


def _explain_type(named: object) -> str:
    if named == "object":
        return (
            "is an object, and a form is flat, since people answer one question at a time: put its properties directly "
            "into the schema"
        )
    if named is None:
        return "has no type: give string, integer, number, boolean, or array"
    if isinstance(named, list):
        return "has several types, and an answer has one: give one type, and leave it out of `required` if it may miss"
    return f"has the type {quote_line(str(named))}: give string, integer, number, boolean, or array"


def _read_text(schema: Mapping[str, object], key: str) -> str | None:
    value = schema.get(key)
    if value is not None and not isinstance(value, str):
        raise UnsupportedSchema(f"has a `{key}` that is not a text: write a text")
    return value if value and value.strip() else None


def _read_count(schema: Mapping[str, object], key: str, default: int) -> int:
    value = schema.get(key, default)
    if not is_number(value) or cast("float", value) < 0 or not float(cast("float", value)).is_integer():
        raise UnsupportedSchema(f"has a `{key}` that is not a whole number from 0: correct it")
    return int(cast("float", value))


def _build_choice(
    common: Mapping[str, object], kind: TextKind, options: tuple[Option, ...], default: object, required: bool
) -> Question:
    chosen: tuple[str, ...] = ()
    if default is not None:
        text = str(default).lower() if isinstance(default, bool) else default
        text = format_number(cast("float", text)) if is_numeric(kind) and is_number(text) else text
        if text not in {option.value for option in options}:
            raise UnsupportedSchema("has a default that is none of its values: give one of them, or leave it out")
        chosen = (cast("str", text),)
    return Question.parse(
        {
            **common,
            "options": options if required else (*options, build_no_answer_option()),
            "allow_custom": False,
            "default": chosen,
            "rules": TextRules(kind=kind),
        }
    )


def _read_array(common: Mapping[str, object], schema: Mapping[str, object], required: bool) -> Question:
    items = as_object(schema.get("items"))
    choices = None if items is None else read_choices(items)
    if items is None or choices is None or items.keys() - _ALTERNATIVES - _NOTES - {"type"}:
        raise UnsupportedSchema(
            "is an array without a fixed list of values, and people can only choose several of a list: give its items "
            "an `enum`, or an `anyOf` of `const` and `title`"
        )
    least, most = _read_count(schema, "minItems", 0), schema.get("maxItems")
    if most is not None and _read_count(schema, "maxItems", 0) == 0:
        raise UnsupportedSchema("permits no item, so there is nothing to ask: leave it out, or raise `maxItems`")
    if least > 1 and not required:
        raise UnsupportedSchema(
            "needs several items, but is not required, and a form cannot say “several or nothing”: add it to "
            "`required`, or leave out `minItems`"
        )
    default = schema.get("default")
    values = [choices.find_value(value) for value in cast("list[object]", default)] if isinstance(default, list) else []
    if default is not None and (not isinstance(default, list) or None in values):
        raise UnsupportedSchema("has a default that is not a list of its values: correct it, or leave it out")
    extra = (build_no_answer_option(),) if not required else (build_none_option(),) if least == 0 else ()
    return Question.parse(
        {
            **common,
            "options": (*choices.options, *extra),
            "multi_select": True,
            "allow_custom": False,
            "default": tuple(dict.fromkeys(values)),
            "min_choices": max(least, 1),
            "max_choices": None if most is None else _read_count(schema, "maxItems", 0),
            "rules": TextRules(kind=choices.kind),
        }
    )


def _read_written(common: Mapping[str, object], named: str, schema: Mapping[str, object], required: bool) -> Question:
    rules = _read_text_rules(schema) if named == "string" else _read_number_rules(cast("TextKind", named), schema)
    options: list[Option] = []
    default = schema.get("default")
    if default is not None and default != "":
        text = format_number(cast("float", default)) if is_number(default) and named != "string" else default
        if not isinstance(text, str) or rules.find_problem(text) is not None:
            raise UnsupportedSchema("has a default that breaks its own rules: correct it, or leave it out")
        options.append(Option(value=text.strip(), label=text.strip(), description=_("The default.")))
    if not required:
        options.append(build_no_answer_option())
    return Question.parse(
        {
            **common,
            "options": tuple(options),
            "rules": rules,
            "default": tuple(option.value for option in options if option.value != NO_ANSWER),
            **({"placeholder": _(_HINTS[rules.kind])} if rules.kind in _HINTS else {}),
        }
    )


def _read_text_rules(schema: Mapping[str, object]) -> TextRules:
    named = schema.get("format")
    if named is not None and (not isinstance(named, str) or named not in _FORMATS):
        raise UnsupportedSchema(
            f"has the format {quote_line(str(named))}, which askback does not check: use {', '.join(_FORMATS)}, or "
            "leave it out. Never ask people for secrets"
        )
    least = _read_count(schema, "minLength", 0)
    most = _read_count(schema, "maxLength", DEFAULT_ANSWER if least <= DEFAULT_ANSWER else MAX_ANSWER)
    if least > MAX_ANSWER or most == 0:
        raise UnsupportedSchema(f"fits no answer: people write 1 to {MAX_ANSWER:,} characters, so change its length")
    kind = "text" if named is None else _FORMATS[named]
    return TextRules(min_length=max(least, 1), max_length=min(most, MAX_ANSWER), kind=kind)


def _read_number_rules(kind: TextKind, schema: Mapping[str, object]) -> TextRules:
    for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        if key in schema and not is_number(schema[key]):
            raise UnsupportedSchema(f"has a `{key}` that is not a number: correct it")
    lowest = [cast("float", schema["minimum"])] if "minimum" in schema else []
    highest = [cast("float", schema["maximum"])] if "maximum" in schema else []
    if "exclusiveMinimum" in schema:
        lowest.append(math.floor(cast("float", schema["exclusiveMinimum"])) + 1)
    if "exclusiveMaximum" in schema:
        highest.append(math.ceil(cast("float", schema["exclusiveMaximum"])) - 1)
    return TextRules(kind=kind, minimum=max(lowest, default=None), maximum=min(highest, default=None))


def write_schema(form: Form) -> dict[str, JsonValue]:
    """Return a schema for the answers to a form. Raises `CallerError` if a question depends on another.

    A text has at most 1,000 characters by default, so the schema does not name that limit.
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
        properties[question.id] = _write_property(question)
        if not any(option.value == NO_ANSWER for option in question.options):
            required.append(question.id)
    schema: dict[str, JsonValue] = {"type": "object", "properties": properties}
    return {**schema, "required": required} if required else schema


def _write_property(question: Question) -> dict[str, JsonValue]:
    texts: dict[str, JsonValue] = {} if question.header is None else {"title": question.header}
    texts["description"] = question.prompt
    kind = question.rules.kind
    defaults: list[JsonValue] = [to_json_value(kind, value) for value in question.default]
    one: dict[str, JsonValue] = {"default": defaults[0]} if defaults else {}
    if question.multi_select:
        return {**texts, **_write_array(question), **({"default": defaults} if defaults else {})}
    if kind == "boolean":
        return {**texts, "type": "boolean", **one}
    if question.options and not question.allow_custom:
        return {**texts, **write_choices(kind, question.options), **one}
    return {**texts, **_write_rules(question.rules), **one}


def _write_array(question: Question) -> dict[str, JsonValue]:
    extra = {option.value for option in question.options} & {NO_ANSWER, NONE_OF_THESE}
    limits: dict[str, JsonValue] = {}
    if not extra:
        limits["minItems"] = question.min_choices
    if question.max_choices is not None:
        limits["maxItems"] = question.max_choices
    items = write_choices(question.rules.kind, question.options, several=True)
    return {"type": "array", "items": items, **limits}


def _write_rules(rules: TextRules) -> dict[str, JsonValue]:
    if is_numeric(rules.kind):
        bounds = {"minimum": rules.minimum, "maximum": rules.maximum}
        return {"type": rules.kind, **{key: bound for key, bound in bounds.items() if bound is not None}}
    found: dict[str, JsonValue] = {"type": "string"}
    if rules.kind == "time":
        return {**found, "pattern": f"^{TIME_PATTERN}$"}  # a schema's format `time` needs seconds and a time zone
    if rules.kind != "text":
        found["format"] = rules.kind
    if rules.min_length > 1:
        found["minLength"] = rules.min_length
    if rules.max_length != DEFAULT_ANSWER:
        found["maxLength"] = rules.max_length
    if rules.pattern is not None:
        found["pattern"] = f"^(?:{rules.pattern})$"
    return found
