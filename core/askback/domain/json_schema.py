"""Reads a JSON Schema as a form. Pure.

A schema is an object of flat properties: texts, numbers, booleans, one of several values, several of them, or lists of
texts or numbers. A property that is not required, or that may be null, gets the option “(no answer)”. A default is
chosen at the start.
"""

from __future__ import annotations

__all__ = ["NO", "YES", "UnsupportedSchema", "read_form"]

import re
from collections.abc import Mapping, Sequence
from typing import Final, cast

from pydantic import JsonValue

from askback.domain.form import Form, Option, Question
from askback.domain.form_limits import MAX_QUESTIONS, MAX_TITLE, MAX_VALUE
from askback.domain.plain_schema import accepts_null, inline_references, simplify_property
from askback.domain.reserved_options import (
    build_empty_list_option,
    build_no_answer_option,
    build_none_option,
    build_null_option,
)
from askback.domain.schema_choices import (
    Choices,
    UnsupportedSchema,
    as_object,
    format_number,
    is_number,
    read_choices,
    read_words,
    to_option_value,
)
from askback.domain.schema_keywords import KEYWORDS
from askback.domain.schema_numbers import NUMBER_KEYWORDS, UNIT
from askback.domain.schema_rules import read_item_limits, read_list_default, read_list_rules, read_rules
from askback.domain.schema_texts import TEXT_KEYWORDS
from askback.domain.text_kinds import TextKind
from askback.domain.text_rules import TextRules
from askback.errors import InvalidValue
from askback.text.literal import count_utf16_units, is_readable_line, quote_line, to_literal, to_single_line
from askback.translations.catalogue import N_, _

_ALTERNATIVES: Final = frozenset({"enum", "enumNames", "oneOf", "anyOf"})
_TYPES: Final[Mapping[str, frozenset[str]]] = {
    "string": TEXT_KEYWORDS,
    "integer": NUMBER_KEYWORDS,
    "number": NUMBER_KEYWORDS,
    "boolean": frozenset(),
    "array": frozenset({"items", "minItems", "maxItems", "uniqueItems"}),
}
"""The types of a property, each with the keywords that limit it."""
_HINTS: Final[Mapping[TextKind, str]] = {
    "integer": N_("A whole number"),
    "number": N_("A number"),
    "email": "name@example.com",
    "uri": "https://…",
    "date": "2026-11-24",
    "date-time": "2026-11-24T16:30:00Z",
}
YES: Final = Option(value="true", label="Yes")
NO: Final = Option(value="false", label="No")
_ADVICE: Final[Mapping[str, str]] = {
    "$ref": "askback only follows references within the schema, and none from a part to itself: write it out here",
}
_KEYWORDS_OF: Final[Mapping[str, str]] = {
    "id": "properties",
    "prompt": "description",
    "header": "title",
    "options": "enum",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_choices": "minItems",
    "max_choices": "maxItems",
    "exclusive_minimum": "exclusiveMinimum",
    "exclusive_maximum": "exclusiveMaximum",
    "step": "multipleOf",
    "unit": UNIT,
}
"""The keywords of a schema by the fields of a question that they become."""
PROBLEMS: Final = 10
"""Most problems that one error lists."""


def read_form(schema: object, *, message: str | None = None, details: str | None = None, titled: bool = False) -> Form:
    """Return the form that asks for an instance of a schema.

    `message` appears above all questions if it is one short line, and otherwise before the first one. `details` can be
    opened there. `titled` also shows the title and the description of the whole schema, which are names of the code in
    a schema that a program wrote. Raises `UnsupportedSchema`.
    """
    given = as_object(schema)
    whole = None if given is None else as_object(inline_references(cast("Mapping[str, JsonValue]", given)))
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
    strange = (whole.keys() & KEYWORDS) - {"type", "properties", "required", "additionalProperties"}
    if strange:
        raise UnsupportedSchema(f"The schema has {_explain_keyword(min(strange))}.")
    required = _read_required(whole.get("required"), properties)
    title, text = (_read_heading(whole, key) if titled else None for key in ("title", "description"))
    message = "\n".join(filter(None, (message, text))) or None
    if title is None and message is not None and len(properties) > 1 and _is_heading(message):
        # Before the first question, it would be the name of that question's answer.
        title, message = message, None
    questions: list[Question] = []
    problems: list[str] = []
    written = as_object((given or {}).get("properties")) or {}
    for name, given in _name_types(properties, written).items():
        first = not questions and not problems
        try:
            questions.append(
                _read_property(
                    name,
                    given,
                    _build_empty_option(properties[name], required=name in required),
                    message if first else None,
                    details if first else None,
                    is_only=len(properties) == 1,
                )
            )
        except UnsupportedSchema as error:
            problems.append(f"The property {quote_line(name)} {error}.")
        except InvalidValue as error:
            problems.append(f"The property {quote_line(name)} does not fit into a form: {_describe(error)}.")
    if problems:
        raise UnsupportedSchema("\n".join(problems[:PROBLEMS]))
    try:
        return Form(questions=tuple(questions), title=None if title is None else to_single_line(title))
    except InvalidValue as error:
        raise UnsupportedSchema(f"The schema does not fit into a form: {_describe(error)}.") from None


def _describe(error: InvalidValue) -> str:
    """Return the problems of a question in the words of its schema."""
    found: list[str] = []
    for one in error.problems:
        message = re.sub(r"[a-z]+_[a-z]+", lambda name: _KEYWORDS_OF.get(name[0], name[0]), one.message)
        found.append(f"`{_KEYWORDS_OF.get(one.field, one.field)}` {message}")
    return "; ".join(found)


def _is_heading(text: str) -> bool:
    return is_readable_line(text) and count_utf16_units(to_literal(text)) <= MAX_TITLE


def _read_heading(schema: Mapping[str, object], key: str) -> str | None:
    try:
        return read_words(schema, key)
    except UnsupportedSchema as error:
        raise UnsupportedSchema(f"The schema {error}.") from None


def _name_types(properties: Mapping[str, object], written: Mapping[str, object]) -> dict[str, object]:
    """Return the properties, titled with their names where only their type is described: several may have that type."""
    found: dict[str, object] = {}
    for name, given in properties.items():
        schema, own = as_object(given), as_object(written.get(name))
        plain = None if schema is None else simplify_property(schema)
        if plain is not None and own is not None and "description" in plain.keys() - own.keys():
            plain = {"title": name, **plain}
        found[name] = given if plain is None else plain
    return found


def _build_empty_option(schema: object, *, required: bool) -> Option | None:
    """Return the option that gives no answer to a property. None if people have to give one."""
    if not required:
        return build_no_answer_option()
    return build_null_option() if accepts_null(schema) else None


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


def _read_property(
    name: str, given: object, empty: Option | None, message: str | None, details: str | None, *, is_only: bool
) -> Question:
    """Return the question of a property. The message of a form with one question is that question.

    `empty` is the option that gives no answer. None means that people have to give one.
    """
    schema = as_object(given)
    if schema is None:
        raise UnsupportedSchema('is not a schema: write an object, such as {"type": "string"}')
    for keyword in ("$ref", "allOf"):  # they may be all there is to the type
        if keyword in schema:
            raise UnsupportedSchema(f"has {_explain_keyword(keyword)}")
    choices = None if schema.get("type") == "array" else read_choices(schema)
    kind = choices.kind if choices is not None else "text"
    named = schema.get("type", {"text": "string"}.get(kind, kind) if choices is not None else None)
    if not isinstance(named, str) or named not in _TYPES:
        raise UnsupportedSchema(_explain_type(named))
    if choices is not None:
        _check_choices(choices, named, schema)
    elif strange := (schema.keys() & KEYWORDS) - _TYPES[named] - {"type"}:
        raise UnsupportedSchema(f"has {_explain_keyword(min(strange))}")
    title, text = (read_words(schema, key) for key in ("title", "description"))
    prompt = text or title or name
    common: dict[str, object] = {
        "id": name,
        "header": title,
        "prompt": message if message and text is None and is_only else "\n\n".join(filter(None, (message, prompt))),
        "details": details,
    }
    default = schema.get("default")
    if choices is not None:
        return _build_choice(common, choices.kind, choices.options, default, empty)
    match named:
        case "boolean":
            return _build_choice(common, "boolean", (YES, NO), default, empty)
        case "array":
            return _read_array(common, schema, empty)
        case _:
            return _read_written(common, named, schema, empty)


def _check_choices(choices: Choices, named: str, schema: Mapping[str, object]) -> None:
    """Raise `UnsupportedSchema` for keywords next to a list of values that say more than the list."""
    own = schema.keys() & KEYWORDS - _ALTERNATIVES - {"type"}
    if strange := own - _TYPES[named]:
        raise UnsupportedSchema(f"has {_explain_keyword(min(strange))}")
    if own:
        rules = read_rules(named, {"maxLength": MAX_VALUE, **schema})
        if any(rules.find_problem(option.value) is not None for option in choices.options):
            raise UnsupportedSchema(f"lists values that break its own rule `{min(own)}`: leave out one of the two")


def _explain_type(named: object) -> str:
    if named == "object":
        return (
            "is an object, and a form is flat, since people answer one question at a time: put its properties directly "
            "into the schema"
        )
    if named is None:
        return "has no type: give string, integer, number, boolean, or array"
    if isinstance(named, list):
        return "has several types, and an answer has one: give one type"
    return f"has the type {quote_line(str(named))}: give string, integer, number, boolean, or array"


def _build_choice(
    common: Mapping[str, object], kind: TextKind, options: tuple[Option, ...], default: object, empty: Option | None
) -> Question:
    chosen: tuple[str, ...] = ()
    if default is not None:
        text = default if isinstance(default, str) else to_option_value(kind, default)
        if text is None or text not in {option.value for option in options}:
            raise UnsupportedSchema("has a default that is none of its values: give one of them, or leave it out")
        chosen = (text,)
    return Question.parse(
        {
            **common,
            "options": options if empty is None else (*options, empty),
            "allow_custom": False,
            "default": chosen,
            "rules": TextRules(kind=kind),
        }
    )


def _read_array(common: Mapping[str, object], schema: Mapping[str, object], empty: Option | None) -> Question:
    items = simplify_property(as_object(schema.get("items")) or {})
    choices = read_choices(items)
    if choices is None:
        return _read_list(common, schema, items, empty)
    _check_choices(choices, {"text": "string"}.get(choices.kind, choices.kind), items)
    least, largest = read_item_limits(schema)
    if least > 1 and empty is not None:
        raise UnsupportedSchema(
            "needs several items or nothing, which a form cannot say: leave out `minItems`, or require it without null"
        )
    default = schema.get("default")
    values = [choices.find_value(value) for value in cast("list[object]", default)] if isinstance(default, list) else []
    if default is not None and (not isinstance(default, list) or None in values):
        raise UnsupportedSchema("has a default that is not a list of its values: correct it, or leave it out")
    if values and not least <= len(set(values)) <= (largest or len(values)):
        raise UnsupportedSchema("has a default with too few or too many values: correct it, or leave it out")
    extra = (empty,) if empty is not None else (build_none_option(),) if least == 0 else ()
    return Question.parse(
        {
            **common,
            "options": (*choices.options, *extra),
            "multi_select": True,
            "allow_custom": False,
            "default": tuple(dict.fromkeys(values)),
            "min_choices": max(least, 1),
            "max_choices": largest,
            "rules": TextRules(kind=choices.kind),
        }
    )


def _read_written(
    common: Mapping[str, object], named: str, schema: Mapping[str, object], empty: Option | None
) -> Question:
    rules = read_rules(named, schema)
    options: list[Option] = []
    default = schema.get("default")
    if default is not None and default != "":
        text = format_number(cast("float", default)) if is_number(default) and named != "string" else default
        if not isinstance(text, str) or rules.find_problem(text) is not None:
            raise UnsupportedSchema("has a default that breaks its own rules: correct it, or leave it out")
        # The program gets its own default, also with white space around it, such as that of a separator.
        exact = text if rules.kind == "text" and len(text) <= rules.max_length else text.strip()
        options.append(Option(value=exact, label=text.strip(), description=_("The default.")))
    hint = _HINTS.get(rules.kind)
    return _build_written(common, rules, options, empty, None if hint is None else _(hint))


def _read_list(
    common: Mapping[str, object], schema: Mapping[str, object], items: Mapping[str, object], empty: Option | None
) -> Question:
    rules = read_list_rules(schema, items)
    if rules is None:
        raise UnsupportedSchema(
            "is an array whose items people can neither choose nor write: give its items an `enum`, an `anyOf` of "
            "`const` and `title`, or the type string, integer or number"
        )
    default = schema.get("default")
    text = None if default is None else read_list_default(rules, default)
    if text is None and default is not None:
        raise UnsupportedSchema("has a default that is not a list as people can write it: correct it, or leave it out")
    options = [Option(value=text, label=text, description=_("The default."))] if text else []
    if empty is None and rules.lines is not None and rules.lines.min == 0:
        nothing = build_empty_list_option()
        if text == "":
            options = [nothing]
        else:
            empty = nothing
    return _build_written(common, rules, options, empty, None)


def _build_written(
    common: Mapping[str, object], rules: TextRules, options: Sequence[Option], empty: Option | None, hint: str | None
) -> Question:
    """Return the question for a written answer. The first of the options is chosen at the start."""
    return Question.parse(
        {
            **common,
            "options": (*options, *(() if empty is None else (empty,))),
            "rules": rules,
            "default": tuple(option.value for option in options),
            **({} if hint is None else {"placeholder": hint}),
        }
    )
