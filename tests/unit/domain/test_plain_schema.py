"""A schema without references and without null says the same, so that a field shows what the tool accepts."""

from __future__ import annotations

from typing import Any

import pytest

from askback.domain.json_schema import read_form
from askback.domain.plain_schema import MAX_NODES, accepts_null, inline_references, simplify_property
from askback.domain.schema_choices import UnsupportedSchema

TEXT = {"type": "string", "maxLength": 5}
NULL = {"type": "null"}
DECIMAL = {"type": "string", "pattern": r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$"}
"""A decimal of Pydantic as a text. It also permits a number."""


@pytest.mark.parametrize("place", ["$defs", "definitions"])
def test_a_reference_is_written_out_with_its_own_keywords_and_without_the_name_of_its_type(place: str) -> None:
    schema: dict[str, Any] = {
        "title": "Release",
        "properties": {
            "name": {"$ref": f"#/{place}/Name", "description": "Its name"},
            "names": {"type": "array", "items": {"$ref": f"#/{place}/Name"}},
            "same": {"anyOf": [{"$ref": f"#/{place}/Also"}, NULL]},
        },
        place: {
            "Name": {"title": "Name", "description": "A name", **TEXT},
            "Also": {"$ref": f"#/{place}/Name", "title": "Also"},
        },
    }
    assert inline_references(schema) == {
        "title": "Release",
        "properties": {
            "name": {"description": "Its name", **TEXT},
            "names": {"type": "array", "items": {"description": "A name", **TEXT}},
            "same": {"anyOf": [{"description": "A name", **TEXT}, NULL]},
        },
    }


@pytest.mark.parametrize("reference", ["#/$defs/Gone", "Name", "#/definitions/Name", "http://a/#/$defs/Name", 7, None])
def test_a_reference_to_nothing_that_the_schema_defines_stays(reference: Any) -> None:
    properties = {"a": {"$ref": reference}}
    assert inline_references({"properties": properties, "$defs": {"Name": TEXT, "Odd": 7}}) == {
        "properties": properties
    }
    assert inline_references({"properties": {"a": {"$ref": "#/$defs/Odd"}}, "$defs": {"Odd": 7}}) == {
        "properties": {"a": {"$ref": "#/$defs/Odd"}}
    }


def test_an_argument_may_have_the_name_of_a_keyword() -> None:
    properties = {"title": TEXT, "definitions": TEXT, "$ref": TEXT}
    assert inline_references({"properties": properties}) == {"properties": properties}


def test_references_are_followed_as_deep_as_100_levels_and_no_deeper() -> None:
    def chain(length: int) -> dict[str, Any]:
        names = {f"x{number}": {"$ref": f"#/$defs/x{number + 1}"} for number in range(length)}
        return {"properties": {"a": {"$ref": "#/$defs/x0"}}, "$defs": {**names, f"x{length}": {"type": "string"}}}

    def nest(depth: int) -> Any:
        value: Any = 1
        for number in range(depth):
            value = [value] if number % 2 else {"items": value}
        return {"properties": value}

    # Two levels lead to the argument, one reference to the first definition, and one level to its type.
    assert inline_references(chain(96)) == {"properties": {"a": {"type": "string"}}}
    assert inline_references(nest(99)) == nest(99)
    for deeper in (chain(97), nest(100)):
        with pytest.raises(UnsupportedSchema, match="more than 100 levels"):
            inline_references(deeper)


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("#/properties/name", TEXT),
        ("#/properties/names/items", TEXT),
        ("#/properties/names/anyOf/1", NULL),
        ("#/$defs/a~1b", TEXT),
        ("#/$defs/a~01", TEXT),
        ("#/$defs/a%20b", TEXT),
        ("#/$defs/inner/$defs/Name", TEXT),
        *((gone, None) for gone in ("#", "#/properties/names/anyOf/2", "#/properties/names/anyOf/٠", "#name", "#/a")),
        *((f"#/properties/names/anyOf/{index}", None) for index in ("3", "01", "-1")),
        pytest.param(f"#/properties/names/anyOf/{'9' * 5_000}", None, id="endless"),
    ],
)
def test_a_reference_points_to_any_part_of_the_schema(reference: str, found: Any) -> None:
    names = {"items": TEXT, "anyOf": [TEXT, NULL]}
    kinds = {"a/b": TEXT, "a~1": TEXT, "a b": TEXT, "inner": {"$defs": {"Name": TEXT}}}
    properties = {"name": TEXT, "names": names, "other": {"$ref": reference}}
    whole = inline_references({"properties": properties, "$defs": kinds})
    assert whole == {"properties": properties | {"other": found or {"$ref": reference}}}


def test_a_part_that_refers_to_itself_keeps_nobody_from_the_others() -> None:
    node = {"type": "object", "properties": {"left": {"$ref": "#/$defs/Node"}, "right": {"$ref": "#/$defs/Node"}}}
    schema = {"properties": {"tree": {"$ref": "#/$defs/Node"}, "name": TEXT}, "$defs": {"Node": node}}
    assert inline_references(schema) == {"properties": {"tree": node, "name": TEXT}}
    loop = {"properties": {"a": {"$ref": "#/properties/b"}, "b": {"$ref": "#/properties/a"}}}
    assert inline_references(loop) == {"properties": {"a": {"$ref": "#/properties/b"}, "b": {"$ref": "#/properties/a"}}}


def test_a_schema_has_up_to_10000_values_once_it_is_written_out() -> None:
    whole = {"properties": {"a": {"enum": [*range(MAX_NODES - 4)]}}}
    assert MAX_NODES == 10_000
    assert inline_references(whole) == whole
    with pytest.raises(UnsupportedSchema, match="more than 10,000 values"):
        inline_references({"properties": {"a": {"enum": [*range(MAX_NODES - 3)]}}})


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        (TEXT, TEXT),
        ({"anyOf": [TEXT, NULL]}, TEXT),
        ({"anyOf": [NULL, TEXT], "description": "Optional"}, {"description": "Optional", **TEXT}),
        ({"oneOf": [{"title": "Name", **TEXT}, NULL], "title": "Its name"}, {"title": "Its name", **TEXT}),
        ({"oneOf": [{"title": "Name", **TEXT}, NULL]}, TEXT),
        ({"allOf": [{"title": "Name", **TEXT}], "default": "a"}, {"default": "a", **TEXT}),
        ({"allOf": [{"anyOf": [TEXT, NULL]}]}, TEXT),
        ({"type": ["string", "null"]}, {"type": "string"}),
        ({"type": ["null", "string"]}, {"type": "string"}),
        ({"type": ["string"]}, {"type": "string"}),
        ({"enum": ["a", None, "b"]}, {"enum": ["a", "b"]}),
        ({"enum": ["a", None]}, {"enum": ["a"]}),
        ({"const": "a"}, {"enum": ["a"]}),
        # Several kinds of values, or none but null: no field shows these, and nothing is left out.
        ({"type": ["string", "integer", "null"]}, {"type": ["string", "integer", "null"]}),
        ({"type": ["null"]}, {"type": ["null"]}),
        ({"enum": [None]}, {"enum": [None]}),
        ({"enum": "a"}, {"enum": "a"}),
        ({"enum": ["a", "b"], "const": "a"}, {"enum": ["a", "b"], "const": "a"}),
        ({"anyOf": [TEXT]}, {"anyOf": [TEXT]}),
        ({"anyOf": [NULL, NULL]}, {"anyOf": [NULL, NULL]}),
        ({"anyOf": [TEXT, {"type": "integer"}]}, {"anyOf": [TEXT, {"type": "integer"}]}),
        ({"anyOf": [TEXT, {"type": "integer"}, NULL]}, {"anyOf": [TEXT, {"type": "integer"}]}),
        ({"oneOf": [{"const": "a"}, {"const": "b"}, {"const": None}]}, {"oneOf": [{"const": "a"}, {"const": "b"}]}),
        ({"anyOf": [TEXT, {"enum": [None]}]}, TEXT),
        ({"enum": [None, "a", "b"], "enumNames": ["-", "A"]}, {"enum": ["a", "b"], "enumNames": ["A"]}),
        ({"type": ["integer", "number"]}, {"type": "number"}),
        ({"type": ["null", "number", "integer"]}, {"type": "number"}),
        ({"anyOf": [{"type": "integer"}, {"type": "number", "maximum": 5}]}, {"type": "number", "maximum": 5}),
        ({"anyOf": [{"type": "number"}, DECIMAL, NULL], "title": "Price"}, {"title": "Price", "type": "number"}),
        ({"anyOf": [DECIMAL, {"type": "integer", "minimum": 0}]}, {"type": "integer", "minimum": 0}),
        *(
            ({"anyOf": [{"type": "number"}, one]}, {"anyOf": [{"type": "number"}, one]})
            for one in (
                TEXT,
                {"type": "string", "pattern": "^(latest|[0-9]+)$"},
                {"type": "string", "pattern": "("},
                {"type": "array"},
                "odd",
            )
        ),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, {"oneOf": [{"type": "integer"}, {"type": "number"}]}),
        ({"anyOf": [TEXT, NULL, NULL]}, {"anyOf": [TEXT, NULL, NULL]}),
        ({"anyOf": ["odd", NULL]}, {"anyOf": ["odd", NULL]}),
        ({"anyOf": TEXT}, {"anyOf": TEXT}),
        ({"allOf": [TEXT, NULL]}, {"allOf": [TEXT, NULL]}),
        ({"allOf": [TEXT, {"minLength": 2}]}, {"allOf": [TEXT, {"minLength": 2}]}),
        ({"allOf": []}, {"allOf": []}),
        ({"anyOf": [TEXT, NULL], "type": "string", "description": "D"}, {"description": "D", **TEXT}),
        ({"allOf": [TEXT], "maxLength": 9}, {"allOf": [TEXT], "maxLength": 9}),
        ({"anyOf": [TEXT, NULL], "maxLength": 2}, {"anyOf": [TEXT, NULL], "maxLength": 2}),
    ],
)
def test_null_is_left_out_next_to_one_kind_of_value_and_nothing_else_is(given: Any, plain: Any) -> None:
    assert simplify_property(given) == plain


@pytest.mark.parametrize(
    ("given", "accepted"),
    [
        (None, False), ({}, False), ("odd", False), (TEXT, False), (NULL, False),
        ({"nullable": True, **TEXT}, True), ({"nullable": False, **TEXT}, False), ({"nullable": "yes"}, False),
        ({"type": ["string", "null"]}, True), ({"type": ["string"]}, False),
        ({"type": ["string", "null"], "enum": ["a", None]}, True), ({"type": ["string", "null"], "enum": ["a"]}, False),
        ({"type": "string", "enum": ["a", None]}, False), ({"enum": ["a", None]}, True), ({"enum": ["a"]}, False),
        ({"enum": "odd", "type": ["string", "null"]}, True),
        ({"anyOf": [TEXT, NULL]}, True), ({"oneOf": [TEXT, NULL]}, True), ({"anyOf": [TEXT]}, False),
        ({"anyOf": [{"const": "a"}, {"const": None}]}, True), ({"oneOf": [TEXT, {"enum": [None]}]}, True),
        ({"anyOf": [TEXT], "oneOf": [TEXT, NULL]}, False), ({"anyOf": "odd"}, False), ({"anyOf": ["odd"]}, False),
        ({"allOf": [{"anyOf": [TEXT, NULL]}]}, True), ({"allOf": [TEXT]}, False), ({"allOf": [NULL, NULL]}, False),
    ],
)  # fmt: skip
def test_null_is_accepted_where_the_schema_says_so(given: Any, accepted: bool) -> None:
    assert accepts_null(given) == accepted


@pytest.mark.parametrize("more", [{}, {"allOf": [{"multipleOf": 2}]}])
def test_a_limit_next_to_a_reference_never_replaces_that_of_the_definition(more: dict[str, Any]) -> None:
    small = {"type": "integer", "maximum": 5}
    given = {"$ref": "#/$defs/Small", "maximum": 10, **more}
    assert inline_references({"properties": {"n": given, "same": {"$ref": "#/$defs/Small", "maximum": 5}}, "$defs": {
        "Small": small
    }}) == {
        "properties": {"n": {"maximum": 10, "allOf": [small, *more.get("allOf", [])]}, "same": small}
    }  # fmt: skip
    with pytest.raises(UnsupportedSchema, match="“n” has the keyword “allOf”"):
        read_form({"properties": {"n": given}, "$defs": {"Small": small}})
