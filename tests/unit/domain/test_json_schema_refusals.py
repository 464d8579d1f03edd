"""A schema that cannot be a form is refused with what to do, and costs little to refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askback.domain.form_limits import MAX_QUESTIONS
from askback.domain.json_schema import UnsupportedSchema, read_form
from askback.domain.plain_schema import MAX_NODES, inline_references
from askback.domain.reserved_options import NO_ANSWER

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["#/$defs/a", "#/$defs/b", "string"]),
    lambda inner: (
        st.lists(inner, max_size=40)
        | st.dictionaries(st.sampled_from(["$ref", "anyOf", "properties", "type", "items", "a", "b"]), inner)
    ),
    max_leaves=60,
)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"type": "object", "properties": {}}, "is an object, and a form is flat"),
        ({"type": "string", "pattern": "(a"}, "has a `pattern` that is no regular expression"),
        ({"type": "string", "pattern": r"(?:\p{L}{1,50}){1,50}"}, "or a too large one: correct it"),
        ({"type": "string", "pattern": "a" * 1001}, "is longer than 1,000 characters"),
        ({"type": "string", "pattern": 1}, "`pattern` that is not a text"),
        ({"$ref": "#/$defs/x"}, "only follows references within the schema, and none from a part to itself"),
        ({"type": "string", "$ref": "#/$defs/x"}, "only follows references within the schema"),
        ({"$ref": "#/properties/x"}, "none from a part to itself"),
        ({"type": ["string", "integer"]}, "has several types, and an answer has one"),
        ({"type": "null"}, "has the type “null”: give string"),
        ({"type": "array"}, "is an array whose items people can neither choose nor write"),
        ({"type": "array", "items": {"type": "boolean"}}, "whose items people can neither choose nor write"),
        ({"type": "array", "items": {"type": "array"}}, "whose items people can neither choose nor write"),
        ({"type": "array", "items": {"type": "object"}}, "whose items people can neither choose nor write"),
        ({"type": "array", "items": {"type": "string", "not": {}}}, "has items with the keyword `not`"),
        ({"type": "array", "items": {"type": "string", "format": "password"}}, "never ask people for secrets"),
        ({"type": "array", "items": {"type": "string"}, "contains": {}}, "the keyword “contains”"),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 0}, "permits no item"),
        ({"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 2}, "smaller than its `minItems`"),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1_501}, "needs 1,501 items, and people write at"),
        ({"type": "array", "items": {"type": "string", "minLength": 99}, "minItems": 31}, "lower `minItems`"),
        ({"type": "array", "items": {"type": "integer"}, "default": ["1"]}, "a default that is not a list as people"),
        ({"type": "array", "items": {"type": "string"}, "default": ["a\nb"]}, "a default that is not a list as people"),
        ({"type": "array", "items": {"type": "string"}, "default": [""]}, "a default that is not a list as people"),
        ({"type": "array", "items": {"type": "string"}, "default": "a"}, "a default that is not a list as people"),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1, "default": []}, "a default that is not a list"),
        ({"type": "array", "items": {"enum": ["a"]}, "maxItems": 0}, "permits no item"),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2}, "needs several items or nothing"),
        ({"type": "string", "format": "password"}, "has the format “password”: never ask people for secrets"),
        ({"type": "string", "format": "x" * 31}, "has a `format` that is not a short name"),
        ({"type": "string", "minLength": 5000}, "people write 1 to 4,000 characters"),
        ({"type": "string", "minLength": 9, "maxLength": 3}, "`maxLength` is smaller than minLength (9): swap the two"),
        ({"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 1}, "permits no number at all: correct"),
        ({"type": "number", "minimum": "0"}, "`minimum` that is not a number"),
        ({"type": "integer", "multipleOf": 0}, "`multipleOf` that is not a number above 0"),
        ({"type": "integer", "multipleOf": "5"}, "`multipleOf` that is not a number above 0"),
        ({"type": "integer", "multipleOf": 5, "minimum": 1, "maximum": 4}, "permits no number at all"),
        ({"type": "number", "multipleOf": 1.4e308, "minimum": 1.5e308}, "permits no number that a program can read"),
        ({"type": "integer", "x-unit": "a\nb"}, "is not one readable line"),
        ({"type": "integer", "x-unit": 5}, "`x-unit` that is not a text"),
        ({"enum": []}, "permits no value at all"),
        ({"enum": ["a", 1]}, "not all texts or all numbers"),
        ({"enum": ["a", "a"]}, "`enum` the value 'a' is used more than once"),
        ({"enum": [" "]}, "which is not a text that people can see"),
        ({"enum": [NO_ANSWER]}, "which askback uses itself"),
        ({"enum": ["a"], "default": "b"}, "a default that is none of its values"),
        ({"enum": ["a"], "default": ["a"]}, "a default that is none of its values"),
        ({"type": "boolean", "default": 1}, "a default that is none of its values"),
        ({"enum": [10**400]}, "lists values that are not all texts or all numbers"),
        ({"type": "number", "enum": [10**400]}, "which is not a number that every program can read"),
        ({"type": "boolean", "enum": ["true"]}, "lists values that are not all texts"),
        ({"type": "string", "enum": ["a", "B"], "pattern": "^[a-z]$"}, "values that break its own rule `pattern`"),
        ({"type": "integer", "enum": [1, 300], "format": "uint8"}, "values that break its own rule `format`"),
        ({"type": "array", "items": {"enum": ["a"], "minLength": 2}}, "values that break its own rule `minLength`"),
        ({"type": "array", "items": {"enum": ["a"], "contains": {}}}, "the keyword “contains”"),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1, "default": ["a", "b"]}, "or too many values"),
        ({"oneOf": [{"const": "a", "enum": ["b"]}, {"const": "c"}]}, "people choose only between fixed ones"),
        ({"oneOf": [{"enum": "a"}, {"const": "c"}]}, "people choose only between fixed ones"),
        ({"type": "integer", "minimum": 1.2, "maximum": 1.8}, "permits no number at all"),
        ({"type": "number", "minimum": 1, "exclusiveMaximum": 1}, "permits no number at all"),
        ({"type": "number", "exclusiveMinimum": 1, "maximum": 1}, "permits no number at all"),
        ({"type": "number", "minimum": 1, "exclusiveMaximum": 0}, "permits no number at all"),
        ({"type": "integer", "minimum": 2**53}, "no number that every program can read: correct its `minimum`"),
        ({"type": "number", "exclusiveMaximum": -(10**400)}, "correct its `exclusiveMaximum`"),
        ({"type": "number", "maximum": float("nan")}, "`maximum` that is not a number"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "people choose only between fixed ones"),
        ({"type": "string", "enum": ["a"], "not": {}}, "the keyword “not”, but a form cannot keep to it"),
        ({"type": "integer", "default": 1.5}, "a default that breaks its own rules"),
        ({"type": "string", "title": 1}, "a `title` that is not a text"),
        ("string", "is not a schema"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_what_to_do(given: object, words: str) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        read_form({"type": "object", "properties": {"x": given}})
    assert words in str(caught.value)
    assert str(caught.value).startswith("The property “x” ")


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("nothing", "is not an object with properties"),
        ({"type": "object"}, "is not an object with properties"),
        ({"type": "object", "properties": {}}, "has 0 properties"),
        ({"properties": {str(i): {"type": "string"} for i in range(MAX_QUESTIONS + 1)}}, "ask for fewer at a time"),
        (
            {"properties": {"a": {"type": "string"}}, "required": ["b"]},
            "but no property has that name",
        ),
        ({"properties": {"a": {"type": "string"}}, "allOf": []}, "has the keyword “allOf”"),
    ],
)
def test_a_schema_that_is_no_form_is_refused(schema: object, words: str) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        read_form(schema)
    assert words in str(caught.value)


def build_bomb(width: int, depth: int, keyword: str) -> dict[str, Any]:
    """Return a small schema whose references multiply."""
    defs: dict[str, Any] = {f"x{i}": {keyword: [{"$ref": f"#/$defs/x{i + 1}"}] * width} for i in range(depth)} | {
        f"x{depth}": {"type": "string"}
    }
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/x0"}}, "$defs": defs}


@given(
    st.builds(build_bomb, st.integers(1, 60), st.integers(0, 25), st.sampled_from(["anyOf", "allOf", "oneOf"]))
    | st.fixed_dictionaries({"properties": st.dictionaries(st.sampled_from("ab"), JSON)}, optional={
        "$defs": st.fixed_dictionaries({"a": JSON, "b": JSON})
    })
)  # fmt: skip
def test_no_small_schema_takes_more_than_the_budget(schema: dict[str, Any]) -> None:
    if len(json.dumps(schema)) > 32_000:
        return
    try:
        plain = inline_references(schema)
    except UnsupportedSchema:
        return
    assert count_values(plain) <= MAX_NODES


def count_values(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(count_values, inner))


def test_references_that_multiply_are_refused() -> None:
    with pytest.raises(UnsupportedSchema, match="more than 10,000 values"):
        read_form(build_bomb(30, 5, "anyOf"))


def test_every_wrong_property_is_named_at_once() -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        read_form({"properties": {"a": {"type": "x"}, "b": {"type": "string"}, "c": 1}})
    assert [line.split("”")[0] for line in str(caught.value).splitlines()] == ["The property “a", "The property “c"]


@pytest.mark.parametrize(("title", "words"), [("x" * 151, "shorten the title"), (7, "`title` that is not a text")])
def test_a_title_that_is_no_heading_is_refused(title: object, words: str) -> None:
    with pytest.raises(UnsupportedSchema, match=words):
        read_form({"title": title, "properties": {"where": {"type": "string"}}}, titled=True)
