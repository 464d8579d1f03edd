"""Changed arguments always satisfy the schema, and the digest is always that of what the newest card shows."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import JsonValue

from askback.domain import approval
from askback.domain.actions import Action, Choose, EditArguments, FieldAnswer
from askback.domain.apply_edit import EditRefused, apply_edit, build_edit_fields
from askback.domain.approval import get_approved_arguments
from askback.domain.argument_change import ArgumentChange, apply_changes, merge_changes
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval, Policy
from askback.domain.change_line import LONGEST, build_change_lines
from askback.domain.edit_rules import build_edit_form, build_edit_rules, infer_schema
from askback.domain.identity import Actor, Place
from askback.domain.interview import start_interview
from askback.domain.json_schema import UnsupportedSchema
from askback.domain.voting import apply_vote
from askback.domain.who import Who
from askback.errors import PersonError
from support.tool_arguments import ARGUMENTS, HOSTILE_TEXT

AT = datetime(2026, 11, 27, 9, tzinfo=UTC)
ANN, BEN = (Actor(platform="chat", id=name, name=name) for name in ("ann", "ben"))
TOOL = "deploy"
SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "version": {"type": "string", "minLength": 2, "maxLength": 20},
        "count": {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 9}, {"type": "null"}], "default": None},
        "share": {"type": "number", "maximum": 5},
        "force": {"type": "boolean", "default": False},
        "where": {"$ref": "#/$defs/Where"},
        "regions": {"type": "array", "items": {"enum": ["eu", "us", "ap"]}, "maxItems": 2},
        "size": {"enum": [1, 2.5, 10]},
    },
    "required": ["version", "where"],
    "$defs": {"Where": {"enum": ["staging", "production"], "type": "string"}},
}
NAMES = [*SCHEMA["properties"]]  # pyright: ignore[reportGeneralTypeIssues, reportArgumentType] - it is an object
ENTRIES = st.one_of(HOSTILE_TEXT, st.sampled_from(["", "1", "7", "0.5", "-3", "1e3", "v2", "1.0", "ab", "x" * 21]))


def asked(data: dict[str, Any], schema: dict[str, JsonValue] = SCHEMA, **more: Any) -> Ask:
    rules = build_edit_rules(data, build_edit_form(schema))
    decides = Approval(
        refusing=("deny",),
        approving=("approve",),
        subject=approval.compute_digest(TOOL, data),
        edits=rules.evolve(alone=True),
        **more,
    )
    return Ask(
        id="q" * 22,
        place=Place(platform="chat", channel="C1"),
        policy=Policy(who=Who.from_people(ANN, BEN), approval=decides),
        interview=start_interview(approval.build_form(TOOL, data)),
        created_at=AT,
        post_after=AT,
    )


def act(ask: Ask, operation: Any, by: Actor = ANN) -> Action:
    return Action(ask_id=ask.id, actor=by, at=AT, step=ask.interview.step, operation=operation)


def edit(ask: Ask, sent: list[FieldAnswer], by: Actor = ANN) -> Ask:
    operation = EditArguments(answers=tuple(sent))
    return apply_edit(ask, operation, act(ask, operation, by))


def untouched(ask: Ask) -> list[FieldAnswer]:
    """Return what the modal sends if a person changes nothing."""
    return [
        FieldAnswer(index=field.index, chosen=field.chosen, text=field.value if field.question.asks_for_text else None)
        for field in build_edit_fields(ask, ANN).fields
    ]


def approve(ask: Ask, by: Actor = BEN) -> Ask:
    assert ask.policy.approval is not None
    voted = apply_vote(ask.interview, ask.policy.approval, act(ask, Choose(index=0), by))
    return ask.evolve(interview=voted)


def keeps(value: JsonValue, schema: dict[str, Any]) -> bool:
    """Return True if a value satisfies the part of JSON Schema that these tests use."""
    if "anyOf" in schema:
        return any(keeps(value, one) for one in schema["anyOf"])
    if "$ref" in schema:
        return value in ("staging", "production")
    if "enum" in schema:
        return value in schema["enum"]
    match schema["type"]:
        case "null":
            return value is None
        case "string":
            return isinstance(value, str) and schema["minLength"] <= len(value) <= schema["maxLength"]
        case "integer":
            return type(value) is int and schema["minimum"] <= value <= schema["maximum"]
        case "number":
            return type(value) in (int, float) and math.isfinite(value) and value <= schema["maximum"]  # type: ignore[arg-type, operator] - a number
        case "boolean":
            return isinstance(value, bool)
        case _:
            return isinstance(value, list) and len(value) <= 2 and all(one in ("eu", "us", "ap") for one in value)


CALLS = st.fixed_dictionaries(
    {"version": st.sampled_from(["1.4.2", "v\n2", " x ", "2.0"]), "where": st.sampled_from(["staging", "production"])},
    optional={
        "count": st.none() | st.integers(1, 9),
        "share": st.sampled_from([0, 1.0, 0.25, -2]),
        "force": st.booleans(),
        "regions": st.sampled_from([[], ["eu"], ["eu", "ap"]]),
        "size": st.sampled_from([1, 2.5, 10]),
    },
)


@given(CALLS, st.lists(st.tuples(st.integers(0, 6), ENTRIES, st.sets(st.integers(-1, 4)), st.booleans()), max_size=5))
def test_what_people_changed_satisfies_the_schema_and_is_what_the_card_shows_and_the_digest_names(
    data: dict[str, Any], edits: list[tuple[int, str, set[int], bool]]
) -> None:
    ask = asked(data)
    for index, text, chosen, by_ben in edits:
        sent = untouched(ask)
        sent[index] = FieldAnswer(index=index, text=text, chosen=tuple(chosen))
        try:
            ask = edit(ask, sent, BEN if by_ben else ANN)
        except PersonError:
            continue
        assert ask.interview.votes == ()
        assert build_edit_fields(ask, ANN).step == ask.interview.step
    settled = approve(ask)
    shown = json.loads(settled.interview.question.details or "{}")
    assert settled.policy.approval is not None
    assert settled.policy.approval.subject == approval.compute_digest(TOOL, shown)
    assert get_approved_arguments(settled, TOOL, data) == shown
    properties: Any = SCHEMA["properties"]
    changed = {change.name for change in settled.interview.changes}
    assert all(keeps(shown[name], properties[name]) for name in changed)
    assert {name: value for name, value in shown.items() if name not in changed} == {
        name: value for name, value in data.items() if name not in changed
    }


@given(CALLS)
def test_fields_that_nobody_touches_change_nothing(data: dict[str, Any]) -> None:
    ask = asked(data)
    with pytest.raises(PersonError, match="nothing changed"):
        edit(ask, untouched(ask))


@given(ARGUMENTS)
def test_a_call_without_a_schema_shows_its_values_whole_or_lets_nobody_change_them(data: dict[str, Any]) -> None:
    try:
        form = build_edit_form(infer_schema(data))
    except UnsupportedSchema:
        return  # it has no text, number or boolean, or a name that no question can have
    rules = build_edit_rules(data, form)
    assert (rules.form is None) == (rules.problem is not None)
    assume(rules.form is not None)
    ask = asked(data, infer_schema(data))
    with pytest.raises(PersonError, match="nothing changed"):
        edit(ask, untouched(ask))


@given(ARGUMENTS, HOSTILE_TEXT)
def test_an_approval_of_changed_arguments_is_one_of_no_other_call(data: dict[str, Any], text: str) -> None:
    name = next(iter(data))
    change = ArgumentChange(name=name, before=data[name], after=f"{text}!", by=ANN, at=AT)
    edited = apply_changes(data, (change,))
    assert edited is not None
    ask = asked({"version": "1.4.2", "where": "staging"})
    sent = [*untouched(ask)]
    sent[0] = FieldAnswer(index=0, text="1.4.3")
    settled = approve(edit(ask, sent))
    assert get_approved_arguments(settled, TOOL, {"version": "1.4.2", "where": "staging"}) is not None
    for other in (data, edited, {"version": "1.4.3", "where": "staging"}, {"version": "1.4.2", "where": "production"}):
        assert get_approved_arguments(settled, TOOL, other) is None
    assert get_approved_arguments(settled, "wipe", {"version": "1.4.2", "where": "staging"}) is None


def test_changes_of_one_argument_are_one_change_by_the_last_person() -> None:
    first = ArgumentChange(name="n", before=1, after=2, by=ANN, at=AT)
    second = ArgumentChange(name="n", before=2, after=3, by=BEN, at=AT)
    (merged,) = merge_changes((first,), (second,))
    assert (merged.before, merged.after, merged.by) == (1, 3, BEN)
    assert merge_changes((first,), (second.evolve(after=1),)) == ()
    assert merge_changes((first,), (second.evolve(after=True),)) != (), "true is not 1"
    new = first.evolve(before=None, is_new=True)
    assert merge_changes((new,), (second.evolve(after=None),)) != (), "null is not a missing value"


def test_a_long_text_is_cut_around_the_first_difference() -> None:
    before, after = f"{'a' * 300}old{'b' * 300}", f"{'a' * 300}new{'b' * 300}"
    (line,) = build_change_lines((ArgumentChange(name="text", before=before, after=after, by=ANN, at=AT),))
    assert line.before is not None
    assert "old" in line.before
    assert "new" in line.after
    assert max(len(line.before), len(line.after)) <= LONGEST + 2


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"properties": {"deep": {"type": "object", "properties": {}}}}, "is an object"),
        ({"properties": {"code": {"type": "string", "pattern": "^x+$"}}}, "does not run patterns"),
        ({"properties": {}}, "has 0 properties"),
        ({"properties": {"a": {"enum": ["x\ny", "z"]}}}, "do not fit into a menu"),
        ({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"items": {"$ref": "#/$defs/A"}}}}, "refers to"),
    ],
)
def test_what_does_not_fit_into_a_form_is_refused_with_the_reason(schema: Any, problem: str) -> None:
    with pytest.raises(UnsupportedSchema, match=problem):
        build_edit_form(schema)


def test_a_name_that_is_no_parameter_is_refused() -> None:
    with pytest.raises(UnsupportedSchema, match="There is no parameter “speed”"):
        build_edit_form(SCHEMA, ["speed"])


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
