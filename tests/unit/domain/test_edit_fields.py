"""Fields show the arguments of a call as they are, and say what an empty field does."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import JsonValue

from askback.domain.actions import FieldAnswer
from askback.domain.apply_edit import build_edit_fields
from askback.domain.edit_rules import build_edit_rules, build_parameter_rules, infer_schema
from askback.domain.json_schema import UnsupportedSchema
from askback.domain.reserved_options import NO_ANSWER
from askback.errors import PersonError
from support.edited_calls import ANN, asked, edit, form_for, untouched

NOT_LINES: list[JsonValue] = ["", " ", " b", "b ", "b\nc", "b\rc", "b\u2028c", "b\u200bc", 1, None, ["b"]]
"""Items of a list that no line of a text field is."""


@pytest.mark.parametrize(
    ("property_of", "value", "shown"),
    [
        ({"type": "string"}, "x" * 3_000, "x" * 3_000),
        ({"type": "string"}, "\U0001f469" * 1_500, "\U0001f469" * 1_500),
        ({"type": "string"}, "one\r\ntwo", "one\r\ntwo"),
        ({"type": "string"}, "1", "1"),
        ({"type": "number"}, 2.0, "2"),
        ({"type": "number"}, 0, "0"),
        ({"type": "integer"}, -3, "-3"),
        ({"enum": ["a", "b"]}, "b", (1,)),
        ({"enum": [1, 2.5]}, 1, (0,)),
        ({"type": "boolean"}, False, (1,)),
        ({"type": "array", "items": {"enum": ["a", "b", "c"]}}, ["a", "c"], (0, 2)),
        ({"type": "array", "items": {"type": "string"}}, ["b", "a", "b"], "b\na\nb"),
        ({"type": "array", "items": {"type": "string"}}, ["1", "[x]", "a, b"], "1\n[x]\na, b"),
        ({"type": "array", "items": {"type": ["string", "null"]}}, ["a"], "a"),
        ({"type": "array", "items": {"type": "integer"}, "maxItems": 1}, [2, -1], "2\n-1"),
        ({"type": "array", "items": {"type": "number"}}, [2.0, 0.5], "2\n0.5"),
        # A field would show something else, or a part.
        ({"type": "string"}, "x" * 3_001, None),
        ({"type": "string"}, "\U0001f469" * 1_501, None),
        ({"type": "string"}, "one\rtwo", None),
        ({"type": "string"}, "N\u200bo", None),
        ({"type": "string"}, 1, None),
        ({"type": "string"}, ["a"], None),
        ({"type": "number"}, "2", "2"),
        ({"type": "integer"}, True, None),
        ({"type": "integer"}, 2**60, None),
        ({"enum": ["a", "b"]}, "c", None),
        ({"enum": [1, 2.5]}, True, None),
        ({"enum": ["1", "2"]}, 1, None),
        ({"type": "boolean"}, 0, None),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "a", None),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, ["b", "a"], None),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, ["a", "a"], None),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, ["a", "c"], None),
        ({"type": "array", "items": {"type": "string"}}, ["x" * 1_500, "x" * 1_500], None),
        *(({"type": "array", "items": {"type": "string"}}, ["a", one], None) for one in NOT_LINES),
        *(({"type": "array", "items": {"type": "integer"}}, [1, one], None) for one in ("2", True, 2**60, None)),
        ({"type": "array", "items": {"type": "string"}}, "a", None),
    ],
)
def test_a_field_shows_the_whole_value_of_its_argument_or_nobody_can_change_the_call(
    property_of: dict[str, Any], value: JsonValue, shown: str | tuple[int, ...] | None
) -> None:
    schema: dict[str, Any] = {"properties": {"it": property_of}, "required": ["it"]}
    rules = build_edit_rules({"it": value}, build_parameter_rules(schema))
    if shown is None:
        assert rules.form is None
        assert rules.problem == "Nobody can change the arguments here, because “it” does not fit into a field."
        return
    (field,) = build_edit_fields(asked({"it": value}, schema), ANN).fields
    assert (field.chosen or field.value) == shown
    with pytest.raises(PersonError, match="nothing changed"):
        edit(asked({"it": value}, schema), untouched(asked({"it": value}, schema)))


@pytest.mark.parametrize(
    ("property_of", "value", "empty"),
    [
        ({"type": "string"}, None, ("", ())),
        ({"type": "string"}, " \n", ("", ())),
        ({"type": "integer"}, None, ("", ())),
        ({"enum": ["a", "b"]}, None, ("", (2,))),
        ({"type": "boolean"}, None, ("", (2,))),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, None, ("", ())),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1}, [], ("", ())),
        ({"type": "array", "items": {"type": "string"}}, None, ("", ())),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, [], ("", ())),
    ],
)
def test_a_field_without_a_value_is_empty_and_may_stay_so(
    property_of: dict[str, Any], value: JsonValue, empty: tuple[str, tuple[int, ...]]
) -> None:
    schema: dict[str, Any] = {"properties": {"it": property_of, "other": {"type": "string"}}}
    ask = asked({"it": value, "other": "x"}, schema)
    field = build_edit_fields(ask, ANN).fields[0]
    assert (field.value, field.chosen) == empty
    sent = untouched(ask)
    sent[1] = FieldAnswer(index=1, text="y")
    assert [change.name for change in edit(ask, sent).interview.changes] == ["other"]


@pytest.mark.parametrize("longest", ["5", 20.5, 0, -1, True, None])
def test_a_limit_that_is_no_length_is_refused_and_not_ignored(longest: Any) -> None:
    with pytest.raises(UnsupportedSchema, match="“it” "):
        build_parameter_rules({"properties": {"it": {"type": "string", "maxLength": longest}}})


@pytest.mark.parametrize(
    ("given", "most"), [({"maxLength": 20}, 20), ({"maxLength": 20.0}, 20), ({"maxLength": 5_000}, 3_000), ({}, 3_000)]
)
def test_a_field_takes_as_much_text_as_the_tool_and_every_platform_do(given: dict[str, Any], most: int) -> None:
    (question,) = form_for({"properties": {"it": {"type": "string", **given}}}).questions
    assert question.rules.max_length == most


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"properties": {"deep": {"type": "object", "properties": {}}}}, "is an object"),
        ({"properties": {"code": {"type": "string", "pattern": "^(x"}}}, "is no regular expression"),
        ({"properties": {}}, "has 0 properties"),
        ({"properties": {"a": {"enum": ["x\ny", "z"]}}}, "do not fit into a menu"),
        ({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"items": {"$ref": "#/$defs/A"}}}}, "has no type"),
        ({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}}, "only follows"),
    ],
)
def test_what_does_not_fit_into_a_form_is_refused_with_the_reason(schema: Any, problem: str) -> None:
    with pytest.raises(UnsupportedSchema, match=problem):
        build_parameter_rules(schema)


def test_a_name_that_is_no_parameter_is_refused_with_the_names_that_there_are() -> None:
    with pytest.raises(UnsupportedSchema) as refused:
        build_parameter_rules(
            {"properties": {"where": {"type": "string"}, "count": {"type": "integer"}}}, ["speed", "size"]
        )
    assert str(refused.value) == "There is no parameter “speed”. The parameters are: where, count."
    with pytest.raises(UnsupportedSchema, match="The parameters are: none"):
        build_parameter_rules({"type": "object"}, ["speed"])


def test_a_tool_without_a_schema_keeps_the_type_of_each_argument() -> None:
    values: dict[str, JsonValue] = {"a": "x", "b": True, "c": 0, "d": 0.5, "e": None, "f": {}, "g": 2**60}
    lists: dict[str, JsonValue] = {"h": ["x"], "i": [1], "j": [1, 0.5], "k": [], "l": [True], "m": ["x", 1], "n": [[]]}
    assert infer_schema(values | lists) == {
        "type": "object",
        "properties": {
            "a": {"type": "string"}, "b": {"type": "boolean"}, "c": {"type": "integer"}, "d": {"type": "number"},
            "h": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "i": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
            "j": {"type": "array", "items": {"type": "number"}, "minItems": 1},
        },
        "required": ["a", "b", "c", "d", "h", "i", "j"],
    }  # fmt: skip
    assert len(form_for(infer_schema({f"a{number}": "x" for number in range(50)})).questions) == 20


def test_a_menu_gets_the_option_for_no_value_only_if_every_platform_has_room_for_it() -> None:
    for values, has_room in ((24, True), (25, False), (26, False)):
        schema: dict[str, Any] = {"properties": {"size": {"enum": [*range(values)]}}}
        (question,) = form_for(schema).questions
        assert [one.value for one in question.options].count(NO_ANSWER) == has_room


def test_no_option_for_no_value_is_added_to_one_of_that_name_or_to_boxes() -> None:
    several = {"type": "array", "items": {"enum": ["a", "b"]}}
    form = form_for({"properties": {"one": {"enum": ["a", "(not given)"]}, "several": several}})
    assert not any(option.value == NO_ANSWER for question in form.questions for option in question.options)


def test_only_an_argument_whose_schema_says_so_becomes_null() -> None:
    schema: dict[str, Any] = {
        "properties": {
            "fixed": {"anyOf": [{"const": "a"}, {"const": "b", "title": "B"}]},
            "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "listed": {"type": ["null", "integer"]},
            "plain": {"type": "string"},
            "free": {"anyOf": [{"type": "null"}, {"type": "integer"}]},
        },
        "required": ["fixed", "either", "listed", "plain"],
    }
    parameters = build_parameter_rules(schema)
    assert (parameters.nullable, parameters.optional) == (("either", "listed"), ("free",))
    rules = build_edit_rules({"fixed": "a", "either": "x", "listed": 1, "plain": "x"}, parameters)
    effects = {question.id: rules.get_when_empty(question.id) for question in form_for(schema).questions}
    assert effects == {"fixed": None, "either": "null", "listed": "null", "plain": None, "free": "removed"}


def test_a_field_says_whether_it_may_be_empty_and_what_that_does_to_the_call() -> None:
    ask = asked({"version": "1.4.2", "where": "staging", "share": 0.5, "regions": ["eu"]})
    made = build_edit_fields(ask, ANN)
    assert made.is_edit
    assert all(field.is_exact for field in made.fields)
    assert {field.question.id: (field.is_optional, field.when_empty) for field in made.fields} == {
        "version": (False, None),
        "where": (False, None),
        "share": (True, "removed"),
        "regions": (True, "removed"),
        # Nothing is taken away from the call if these stay empty.
        "count": (True, None),
        "force": (True, None),
        "size": (True, None),
    }
    # An argument that the tool needs, and that the agent gave without a value, may stay without one.
    needed: dict[str, Any] = {
        "note": {"type": "string"},
        "regions": {"type": "array", "items": {"enum": ["eu", "us"]}, "minItems": 1},
    }
    ask = asked({"note": "", "regions": []}, {"properties": needed, "required": ["note", "regions"]})
    assert [(field.is_optional, field.when_empty) for field in build_edit_fields(ask, ANN).fields] == [(True, None)] * 2
