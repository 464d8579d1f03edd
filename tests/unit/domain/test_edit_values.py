"""An argument changes to exactly what a person gave, or the field says why not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import JsonValue

from askback.domain.actions import FieldAnswer
from askback.domain.apply_action import NotPossible
from askback.domain.apply_edit import EditRefused, build_edit_fields
from askback.domain.argument_change import apply_changes
from askback.errors import PersonError
from support.edited_calls import ANN, asked, edit, get_shown, untouched


@pytest.mark.parametrize(
    ("property_of", "before", "sent", "after"),
    [
        ({"type": "number"}, 2.0, {"text": "2.0"}, None),
        ({"type": "number"}, 1.5, {"text": " 1,5 "}, None),
        ({"type": "number"}, 1.5, {"text": "1,25"}, 1.25),
        ({"type": "number"}, 0, {"text": "0.0"}, None),
        ({"type": "integer"}, 3, {"text": "+3"}, None),
        ({"type": "integer"}, 3, {"text": "0"}, 0),
        ({"type": "string"}, "3", {"text": "3.0"}, "3.0"),
        ({"type": "string"}, "one\ntwo", {"text": "one\r\ntwo"}, None),
        ({"enum": ["a", "b"]}, "a", {"chosen": (1,)}, "b"),
        ({"enum": ["a", "b"]}, "b", {"chosen": (0,)}, "a"),
        ({"enum": ["a", "b"]}, "a", {"chosen": (0, 0)}, None),
        ({"enum": [1, 2.5]}, 1, {"chosen": (1,)}, 2.5),
        ({"type": "boolean"}, True, {"chosen": (1,)}, False),
        ({"type": "array", "items": {"enum": ["a", "b", "c"]}}, ["a"], {"chosen": (2, 0, 2)}, ["a", "c"]),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, ["b"], {"chosen": (1, 1)}, None),
        ({"type": "string", "format": "date"}, "2026-11-27", {"text": "\n2026-11-28 "}, "2026-11-28"),
    ],
)
def test_an_argument_changes_to_the_value_that_a_person_gave_and_only_then(
    property_of: dict[str, Any], before: JsonValue, sent: dict[str, Any], after: JsonValue
) -> None:
    schema: dict[str, Any] = {"properties": {"it": property_of}, "required": ["it"]}
    ask = asked({"it": before}, schema)
    if after is None:
        with pytest.raises(PersonError, match="nothing changed"):
            edit(ask, [FieldAnswer(index=0, **sent)])
        return
    (change,) = edit(ask, [FieldAnswer(index=0, **sent)]).interview.changes
    assert json.dumps(change.after) == json.dumps(after), "true, 1 and 1.0 differ"
    assert not change.is_removed


@pytest.mark.parametrize(
    ("property_of", "before", "sent", "why"),
    [
        ({"type": "string"}, "x", {"text": " "}, "it is empty"),
        ({"type": "string"}, "x", {"text": None}, "it is empty"),
        ({"type": "string"}, "x", {"text": "N\u200bo"}, "characters that nobody can see"),
        ({"type": "string"}, "x\ny", {"text": "x" * 2_999 + "\n\n"}, "shorten it to 3,000 characters"),
        ({"type": "integer"}, 3, {"text": "1.5"}, "a whole number"),
        ({"type": "string", "minLength": 3}, "abc", {"text": "ab"}, "at least 3 characters"),
        ({"enum": ["a", "b"]}, "a", {"chosen": ()}, "answer this question"),
        ({"enum": ["a", "b"]}, "a", {"chosen": (2,)}, "no such option"),
        ({"enum": ["a", "b"]}, "a", {"chosen": (7,)}, "no such option"),
        ({"enum": ["a", "b"]}, "a", {"chosen": (-1,)}, "no such option"),
        ({"enum": ["a", "b"]}, "a", {"chosen": (0, 1)}, "no such option"),
        (
            {"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 1, "maxItems": 2},
            ["a"],
            {"chosen": (0, 1, 2)},
            "choose 1 to 2 options",
        ),
    ],
)
def test_a_value_that_the_tool_does_not_accept_is_refused_with_the_reason(
    property_of: dict[str, Any], before: JsonValue, sent: dict[str, Any], why: str
) -> None:
    schema: dict[str, Any] = {"properties": {"it": property_of}, "required": ["it"]}
    with pytest.raises(EditRefused, match=why):
        edit(asked({"it": before}, schema), [FieldAnswer(index=0, **sent)])


def test_a_list_that_may_be_empty_is_emptied_and_filled_again_and_not_removed() -> None:
    several: dict[str, Any] = {"type": "array", "items": {"enum": ["a", "b"]}}
    ask = asked({"it": ["a"]}, {"properties": {"it": several}, "required": ["it"]})
    options = build_edit_fields(ask, ANN).fields[0].question.options
    none = [index for index, option in enumerate(options) if option.value not in ("a", "b")]
    emptied = edit(ask, [FieldAnswer(index=0, chosen=tuple(none))])
    (change,) = emptied.interview.changes
    assert (change.after, change.is_removed) == ([], False)
    assert build_edit_fields(emptied, ANN).fields[0].chosen == tuple(none)
    assert edit(emptied, [FieldAnswer(index=0, chosen=(1,))]).interview.changes[0].after == ["b"]


def test_fields_of_another_release_are_refused() -> None:
    ask = asked({"version": "1.4.2", "where": "staging"})
    with pytest.raises(PersonError, match="cannot be changed"):
        edit(ask, [FieldAnswer(index=0, text="x")])


def test_a_wrong_value_is_named_at_its_field() -> None:
    ask = asked({"version": "1.4.2", "where": "staging", "count": 3})
    sent = untouched(ask)
    sent[1] = FieldAnswer(index=1, text="12")
    sent[4] = FieldAnswer(index=4, chosen=(0, 1))
    with pytest.raises(EditRefused) as refused:
        edit(ask, sent)
    assert [(one.header, one.in_text) for one in refused.value.problems] == [("count", True), ("where", False)]


@pytest.mark.parametrize(
    ("before", "sent", "after"),
    [
        ("    first\n    second\n\n", "    first\r\n    changed\n\n", "    first\n    changed\n\n"),
        ("first\n", "  first\nsecond\n", "  first\nsecond\n"),
        ("one\ntwo", "  one\nthree\n", "  one\nthree\n"),
        (" one", " two", " two"),
        ("1.4.2", " 1.4.3 \n", "1.4.3"),
    ],
)
def test_a_changed_program_is_what_was_written_with_its_indentation_and_its_last_line_break(
    before: str, sent: str, after: str
) -> None:
    schema: dict[str, JsonValue] = {"type": "object", "properties": {"content": {"type": "string"}}}
    ask = asked({"content": before}, schema)
    edited = edit(ask, [FieldAnswer(index=0, text=sent)])
    assert apply_changes({"content": before}, edited.interview.changes) == {"content": after}


def test_the_white_space_around_a_changed_program_counts_for_the_length_that_the_tool_accepts() -> None:
    schema: dict[str, JsonValue] = {"type": "object", "properties": {"content": {"type": "string", "maxLength": 10}}}
    ask = asked({"content": "first\n"}, schema)
    assert edit(ask, [FieldAnswer(index=0, text="second\n\n\n\n")]).interview.changes[0].after == "second\n\n\n\n"
    with pytest.raises(EditRefused, match="shorten it to 10 characters; it has 11"):
        edit(ask, [FieldAnswer(index=0, text="second\n\n\n\n\n")])


def test_a_field_that_lost_only_its_outer_white_space_changes_nothing() -> None:
    schema: dict[str, JsonValue] = {"type": "object", "properties": {"content": {"type": "string"}}}
    ask = asked({"content": "    first\n"}, schema)
    with pytest.raises(PersonError):
        edit(ask, [FieldAnswer(index=0, text="first")])


@pytest.mark.parametrize(
    ("given", "before", "sent", "after"),
    [
        ({"type": "string"}, "one", FieldAnswer(index=0, text="two"), "two"),
        ({"type": "string"}, "one", FieldAnswer(index=0, text=""), None),
        ({"type": "string", "enum": ["a", "b", None]}, "a", FieldAnswer(index=0, chosen=(1,)), "b"),
        ({"type": "string", "enum": ["a", "b", None]}, "a", FieldAnswer(index=0, chosen=(2,)), None),
        ({"type": "boolean"}, True, FieldAnswer(index=0, chosen=(2,)), None),
    ],
)
def test_an_argument_that_openapi_calls_nullable_has_one_empty_field_that_sets_it_to_null(
    given: dict[str, JsonValue], before: JsonValue, sent: FieldAnswer, after: JsonValue
) -> None:
    ask = asked({"a": before}, {"properties": {"a": {**given, "nullable": True}}, "required": ["a"]})
    assert get_shown(edit(ask, [sent])) == {"a": after}


@pytest.mark.parametrize(
    ("values", "before"), [([0.5, 1.0, 2.0], 1.0), ([0.5, 1, 2], 1.0), ([0.5, 1.0], 1), ([1, 2], 2.0)]
)
def test_an_option_of_a_number_shows_each_way_to_write_it(values: list[JsonValue], before: float) -> None:
    ask = asked({"a": before, "b": 1.0}, {"properties": {"a": {"type": "number", "enum": values}}})
    (sent,) = untouched(ask)
    with pytest.raises(NotPossible):
        edit(ask, [sent])
    assert '"b": 1.0' in json.dumps(get_shown(edit(ask, [FieldAnswer(index=0, chosen=(0,))])))


def test_a_program_with_outer_white_space_keeps_the_pattern_as_a_whole() -> None:
    """The tool gets the white space, so it counts for the pattern, too."""
    schema: dict[str, JsonValue] = {"properties": {"code": {"type": "string", "pattern": "^[a-z]+\\n[a-z]+$"}}}
    ask = asked({"code": "a\nb"}, schema)
    with pytest.raises(EditRefused, match="does not have the requested format"):
        edit(ask, [FieldAnswer(index=0, text="a\nc ")])
    assert get_shown(edit(ask, [FieldAnswer(index=0, text="a\nc")])) == {"code": "a\nc"}
