"""The arguments of a tool call that people may change before they approve it, as a form. No I/O."""

from __future__ import annotations

__all__ = ["EditRules", "build_edit_form", "build_edit_rules", "infer_schema"]

from collections.abc import Collection, Mapping
from typing import Final, cast

from pydantic import Field, JsonValue

from askback.domain.edit_values import to_draft
from askback.domain.form import Form
from askback.domain.form_fields import fits_field
from askback.domain.form_limits import FIELD_ANSWER, MAX_QUESTIONS
from askback.domain.json_schema import read_form
from askback.domain.schema_choices import UnsupportedSchema, as_object, is_number
from askback.domain.schema_references import inline_references
from askback.errors import CallerError
from askback.internal.values import PersonText, Value
from askback.text.literal import quote_line
from askback.translations.catalogue import N_, _

NO_FORM: Final = N_("Nobody can change the arguments here, because they do not fit into a form.")
NO_FIELD: Final = N_("Nobody can change the arguments here, because {name} does not fit into a field.")

_DROPPED: Final = frozenset({"default", "title", "examples"})
"""Keywords of a property that its field does not show. It shows the value of the call, and the argument's name."""


class EditRules(Value):
    """The arguments of a tool call that people may change before they approve it, and the question afterwards."""

    form: Form | None = None
    """One question for each argument that they may change; its id is the argument's name. None means none."""
    problem: PersonText | None = None
    """The reason why they can change none, in words for them, although the tool allows it."""
    alone: bool = False
    """True if a person who changed the call may be the only one who approves it."""
    title: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """The template of the question; see `approval_title`."""
    description: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """The developer's own text above the question."""


def build_edit_rules(
    data: Mapping[str, JsonValue], form: Form | None, *, title: str | None = None, description: str | None = None
) -> EditRules:
    """Return the rules for a call with these arguments. None means that the tool's parameters fit into no form.

    If a value of the call does not fit into its field, people can change nothing, because they would see a part of it.
    """
    problem = _(NO_FORM) if form is None else _find_value_problem(form, data)
    return EditRules(form=None if problem else form, problem=problem, title=title, description=description)


def build_edit_form(schema: Mapping[str, JsonValue], names: Collection[str] | None = None) -> Form:
    """Return a question for each parameter in the schema of a tool, or for each of these names.

    Raises `UnsupportedSchema`, whose text is for the developer.
    """
    try:
        properties = as_object(inline_references(schema).get("properties")) or {}
    except CallerError as error:
        raise UnsupportedSchema(str(error)) from None
    unknown = [name for name in names or () if name not in properties]
    if unknown:
        known = ", ".join(properties) or "none"
        raise UnsupportedSchema(f"There is no parameter {quote_line(unknown[0])}. The parameters are: {known}.")
    found = {name: _simplify(name, given) for name, given in properties.items() if names is None or name in names}
    form = read_form({"type": "object", "properties": found, "required": list(found)})
    for question in form.questions:
        if not fits_field(question):
            raise UnsupportedSchema(
                f"The property {quote_line(question.id)} has values that do not fit into a menu: give at most 100, "
                "each on one line."
            )
    return form


def infer_schema(data: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a schema for the texts, numbers and booleans of a call whose tool has published none.

    Other arguments are not in it, so people cannot change them.
    """
    found = {name: kind for name, value in data.items() if (kind := _infer_type(value)) is not None}
    kept = dict(list(found.items())[:MAX_QUESTIONS])
    return {"type": "object", "properties": {name: {"type": kind} for name, kind in kept.items()}}


def _infer_type(value: JsonValue) -> str | None:
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "boolean"
    if not is_number(value):
        return None
    return "integer" if isinstance(value, int) else "number"


def _find_value_problem(form: Form, data: Mapping[str, JsonValue]) -> str | None:
    for question in form.questions:
        if to_draft(question, data) is None:
            return _(NO_FIELD).format(name=quote_line(question.id))
    return None


def _simplify(name: str, given: object) -> object:
    """Return the schema of a property for its field: without what the field does not show, and without null.

    Null means an argument that is left out, as most tools declare it.
    """
    schema = as_object(given)
    if schema is None:
        return given
    kept = _drop_null({key: part for key, part in schema.items() if key not in _DROPPED})
    about = kept.get("description")
    described = f"{name}: {about}" if isinstance(about, str) and about.strip() else name
    found = {**kept, "title": name, "description": described}
    if found.get("type") == "string" and "enum" not in found:
        longest = found.get("maxLength")
        found["maxLength"] = min(longest, FIELD_ANSWER) if isinstance(longest, int) and longest else FIELD_ANSWER
    return found


def _drop_null(schema: dict[str, object]) -> dict[str, object]:
    branches = cast("list[object]", schema["anyOf"]) if isinstance(schema.get("anyOf"), list) else []
    others = [one for branch in branches if (one := as_object(branch)) is not None and one.get("type") != "null"]
    if len(branches) == 2 and len(others) == 1 and "const" not in others[0]:
        rest = {key: part for key, part in schema.items() if key != "anyOf"}
        return {**{key: part for key, part in others[0].items() if key not in _DROPPED}, **rest}
    named = schema.get("type")
    if isinstance(named, list):
        types = [one for one in cast("list[object]", named) if one != "null"]
        return {**schema, "type": types[0]} if len(types) == 1 else schema
    return schema
