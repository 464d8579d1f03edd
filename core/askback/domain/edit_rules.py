"""The arguments of a tool call that people may change before they approve it, as a form. No I/O."""

from __future__ import annotations

__all__ = [
    "EditRules",
    "FixedParameter",
    "build_edit_rules",
    "build_parameter_rules",
    "build_partial_rules",
    "infer_schema",
]

from collections.abc import Collection, Mapping
from typing import Final, cast

from pydantic import Field, JsonValue

from askback.domain.approval_title import MISSING
from askback.domain.edit_schema import get_joint_schema
from askback.domain.edit_values import to_draft
from askback.domain.form import Form, Option, Question
from askback.domain.form_fields import WhenEmpty, fits_field
from askback.domain.form_limits import FIELD_ANSWER, MAX_QUESTIONS
from askback.domain.json_schema import read_form
from askback.domain.plain_schema import accepts_null, inline_references, simplify_property
from askback.domain.reserved_options import NO_ANSWER
from askback.domain.schema_choices import UnsupportedSchema, as_object, is_number
from askback.internal.values import PersonText, Value
from askback.text.literal import quote_line
from askback.translations.catalogue import N_, _

NO_FORM: Final = N_("Nobody can change the arguments here, because they do not fit into a form.")
FIXED: Final = N_("Nobody can change {names} here.")
NO_FIELD: Final = N_("Nobody can change the arguments here, because {name} does not fit into a field.")

NAMED: Final = 5
"""Most arguments that the sentence about fixed ones names."""
MAX_OPTIONS_WITH_EMPTY: Final = 25
"""Number of options up to which one more is added. More would not fit into the shortest menu of a platform."""
_DROPPED: Final = frozenset({"default", "title", "examples", "nullable"})
"""Keywords of a property that its field does not show. It shows the value of the call, and the argument's name. An
empty field is null."""


class FixedParameter(Value):
    """A parameter that people cannot change, because it does not fit into a form."""

    name: str
    why: str
    """The reason, in sentences for the developer."""


class EditRules(Value):
    """The arguments of a tool call that people may change before they approve it, and the question afterwards.

    `build_parameter_rules` reads the fields up to `joint` from a tool's schema. `build_edit_rules` checks that a call
    fits them, and adds the rest.
    """

    form: Form | None = None
    """One question for each argument that they may change; its id is the argument's name. None means none."""
    optional: tuple[str, ...] = Field(default=(), exclude_if=lambda value: not value)
    """The names of the arguments that an empty field removes."""
    nullable: tuple[str, ...] = Field(default=(), exclude_if=lambda value: not value)
    """The names of the arguments that an empty field sets to null."""
    joint: dict[str, JsonValue] | None = Field(default=None, exclude_if=lambda value: value is None)
    """The whole schema, if it has rules about several arguments together. None if each field checks all."""
    problem: PersonText | None = None
    """The reason why they can change none, or not all, in words for them, although the tool allows it."""
    alone: bool = False
    """True if a person who changed the call may be the only one who approves it."""
    title: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """The template of the question; see `approval_title`."""
    description: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """The developer's own text below the question."""

    def get_when_empty(self, name: str) -> WhenEmpty | None:
        """Return the effect of an empty field. None if an argument must have a value."""
        if name in self.optional or name in self.nullable:
            return "removed" if name in self.optional else "null"
        questions = () if self.form is None else self.form.questions
        lines = next((question.rules.lines for question in questions if question.id == name), None)
        return "list" if lines is not None and lines.min == 0 else None


def build_edit_rules(
    data: Mapping[str, JsonValue],
    parameters: EditRules | None,
    *,
    title: str | None = None,
    description: str | None = None,
) -> EditRules:
    """Return the rules for a call with these arguments, from those for every call of the tool.

    None means that the tool's parameters fit into no form.

    If a value of the call does not fit into its field, people can change nothing, because they would see a part of it.
    """
    if parameters is None or parameters.form is None:
        problem = _(NO_FORM)
    else:
        problem = _find_value_problem(parameters.form, data)
    rules = EditRules(problem=problem) if parameters is None or problem is not None else parameters
    return rules.evolve(title=title, description=description)


def build_parameter_rules(schema: Mapping[str, JsonValue], names: Collection[str] | None = None) -> EditRules:
    """Return the rules for every call of a tool: a question for each parameter in its schema, or for each name.

    Raises `UnsupportedSchema`, whose text is for the developer.
    """
    whole = inline_references(schema)
    properties = as_object(whole.get("properties")) or {}
    unknown = [name for name in names or () if name not in properties]
    if unknown:
        known = ", ".join(properties) or "none"
        raise UnsupportedSchema(f"There is no parameter {quote_line(unknown[0])}. The parameters are: {known}.")
    wanted = [name for name in properties if names is None or name in names]
    return _build_rules(whole, wanted).evolve(joint=get_joint_schema(whole))


def build_partial_rules(
    schema: Mapping[str, JsonValue], data: Mapping[str, JsonValue]
) -> tuple[EditRules, tuple[FixedParameter, ...]]:
    """Return the same for each parameter that fits into a form with its value in this call, and the other parameters.

    Raises `UnsupportedSchema` if none fits.
    """
    whole = inline_references(schema)
    kept: list[str] = []
    fixed: list[FixedParameter] = []
    for name in as_object(whole.get("properties")) or {}:
        try:
            form = _build_rules(whole, [name]).form
            why = None if form is None else _find_value_problem(form, data)
            if why is None and len(kept) == MAX_QUESTIONS:
                why = f"A form has at most {MAX_QUESTIONS} questions."
        except UnsupportedSchema as error:
            why = str(error)
        if why is None:
            kept.append(name)
        else:
            fixed.append(FixedParameter(name=name, why=why))
    if fixed and not kept:
        raise UnsupportedSchema(fixed[0].why)
    named = [quote_line(one.name) for one in fixed if one.name in data][:NAMED]
    problem = _(FIXED).format(names=", ".join(named)) if named else None
    return _build_rules(whole, kept).evolve(joint=get_joint_schema(whole), problem=problem), tuple(fixed)


def _build_rules(schema: Mapping[str, JsonValue], names: Collection[str]) -> EditRules:
    """Return a question for each of these parameters. Raises `UnsupportedSchema`."""
    properties = as_object(schema.get("properties")) or {}
    found = {name: _simplify(name, properties[name]) for name in names}
    required = schema.get("required")
    demanded = [name for name in found if isinstance(required, list) and name in required]
    optional = tuple(name for name in found if name not in demanded)
    nullable = tuple(name for name in demanded if accepts_null(properties[name]))
    form = _add_empty_options(
        read_form({"type": "object", "properties": found, "required": list(found)}), {*optional, *nullable}
    )
    for question in form.questions:
        if not fits_field(question):
            raise UnsupportedSchema(
                f"The property {quote_line(question.id)} has values that do not fit into a menu: give at most 100, "
                "each on one line."
            )
    return EditRules(form=form, optional=optional, nullable=nullable)


def infer_schema(data: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a schema for the texts, numbers, booleans and lists of a call whose tool has published none.

    Other arguments are not in it, so people cannot change them. Nobody knows which ones the tool needs, so all of them
    are required.
    """
    found = {name: schema for name, value in data.items() if (schema := _infer_property(value)) is not None}
    properties: dict[str, JsonValue] = dict(list(found.items())[:MAX_QUESTIONS])
    return {"type": "object", "properties": properties, "required": [*properties]}


def _infer_property(value: JsonValue) -> dict[str, JsonValue] | None:
    if not isinstance(value, list):
        kind = _infer_type(value)
        return None if kind is None else {"type": kind}
    kinds = {_infer_type(one) for one in value}
    if kinds == {"integer", "number"}:
        kinds = {"number"}
    kind = kinds.pop() if len(kinds) == 1 else None
    return None if kind in (None, "boolean") else {"type": "array", "items": {"type": kind}, "minItems": 1}


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
    kept = {key: part for key, part in simplify_property(schema).items() if key not in _DROPPED}
    about = kept.get("description")
    described = f"{name}: {about}" if isinstance(about, str) and about.strip() else name
    found = {**kept, "title": name, "description": described}
    items = as_object(found.get("items"))
    return _limit_length(found if items is None else {**found, "items": _limit_length(simplify_property(items))})


def _limit_length(schema: Mapping[str, object]) -> Mapping[str, object]:
    """Return the schema of a text with the maximum length of a field, and any other schema as it is."""
    if schema.get("type") != "string" or "enum" in schema:
        return schema
    longest = schema.get("maxLength", FIELD_ANSWER)
    return {**schema, "maxLength": min(cast("float", longest), FIELD_ANSWER) if is_number(longest) else longest}


def _add_empty_options(form: Form, names: Collection[str]) -> Form:
    """Return the form with an option for "no value" in each of these questions of which people choose one option.

    A text field and boxes can be empty by themselves. A question without room for the option stays as it is.
    """

    def add(question: Question) -> Question:
        if question.rules.lines is not None:
            return question.evolve(options=())  # the empty field is the empty list
        is_full = len(question.options) >= MAX_OPTIONS_WITH_EMPTY
        is_named = any(option.label == _(MISSING) for option in question.options)
        if question.id not in names or not question.options or question.multi_select or is_full or is_named:
            return question
        return question.evolve(options=(*question.options, Option(value=NO_ANSWER, label=_(MISSING))))

    return form.evolve(questions=tuple(map(add, form.questions)))
