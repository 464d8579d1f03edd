"""A changed call keeps to the rules of its tool about several arguments."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from askback.domain.actions import FieldAnswer
from askback.domain.apply_edit import EditRefused
from askback.domain.edit_rules import build_edit_rules, build_parameter_rules
from askback.domain.edit_schema import find_schema_problem, get_joint_schema
from askback.domain.json_schema import UnsupportedSchema
from support.edited_calls import asked, edit, removal, untouched

JOINT: dict[str, Any] = {
    "properties": {"low": {"type": "integer"}, "high": {"type": "integer"}, "deep": {"type": "object"}},
    "dependentRequired": {"low": ["high"]},
}


def test_a_change_that_breaks_a_rule_about_several_arguments_is_refused_at_its_field() -> None:
    parameters = build_parameter_rules(JOINT, ["low", "high"])
    ask = asked({"low": 1, "high": 2})
    assert ask.policy.approval is not None
    rules = build_edit_rules({"low": 1, "high": 2}, parameters).evolve(alone=True)
    ask = ask.evolve(policy=ask.policy.evolve(approval=ask.policy.approval.evolve(edits=rules)))
    with pytest.raises(EditRefused) as refused:
        removal(ask, "high")
    (problem,) = refused.value.problems
    assert problem.header == "high"
    assert problem.message == 'The tool does not accept these arguments together: "high" is a required property.'
    assert [change.name for change in removal(ask, "low").interview.changes] == ["low"]


def test_a_rule_that_several_changes_break_is_named_at_the_first_of_them() -> None:
    schema: dict[str, Any] = {"properties": {name: {"type": "integer"} for name in ("a", "b", "c")}, "maxProperties": 1}
    ask = asked({"a": 1}, schema)
    with pytest.raises(EditRefused) as refused:
        edit(ask, [FieldAnswer(index=index, text=text) for index, text in enumerate(("1", "2", "3"))])
    assert [(one.index, one.header) for one in refused.value.problems] == [(1, "b")]


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ({"low": 1}, {"low": 10}, "low"),
        ({"deep": {"x": "a"}}, {"deep": {"x": "ab"}}, "deep"),
        ({"list": [1, 2]}, {"list": [1, "a"]}, "list"),
        ({"low": 1}, {"low": 1, "high": 1, "list": []}, None),
    ],
)
def test_what_breaks_the_whole_schema_is_named_by_its_argument(
    before: dict[str, Any], after: dict[str, Any], name: str | None
) -> None:
    schema: dict[str, Any] = {
        "properties": {
            "low": {"maximum": 9},
            "deep": {"properties": {"x": {"maxLength": 1}}},
            "list": {"items": {"type": "integer"}},
        },
        "maxProperties": 2,
    }
    problem = find_schema_problem(schema, before, after)
    assert problem is not None
    assert problem.name == name
    assert find_schema_problem(schema, after, after) is None
    assert find_schema_problem(schema, before, before) is None


def test_only_rules_about_several_arguments_are_kept_with_the_call() -> None:
    described: dict[str, Any] = {"type": "object", "title": "T", "description": "D", "properties": {}, "required": []}
    assert get_joint_schema(described) is None
    assert get_joint_schema({"properties": {}}) is None
    every: dict[str, Any] = {
        **described, "additionalProperties": False, "$defs": {}, "definitions": {}, "$schema": "s", "$id": "i",
        "$comment": "c", "default": {}, "examples": [], "deprecated": True,
    }  # fmt: skip
    assert get_joint_schema(every) is None
    assert get_joint_schema({**described, "maxProperties": 2}) == {**described, "maxProperties": 2}
    frame = len(json.dumps({"maxProperties": 2, "title": ""}))
    for letters, fits in ((50_000 - frame, True), (50_001 - frame, False)):
        schema: dict[str, Any] = {"maxProperties": 2, "title": "x" * letters}
        if fits:
            assert get_joint_schema(schema) == schema
            continue
        with pytest.raises(UnsupportedSchema, match="more than 50,000 characters"):
            get_joint_schema(schema)


def test_a_long_problem_is_one_line_of_200_characters() -> None:
    schema: dict[str, Any] = {"dependentRequired": {"low": ["x" * 300]}}
    problem = find_schema_problem(schema, {}, {"low": 1})
    assert problem is not None
    assert len(problem.message) == 200


def test_a_call_that_broke_the_rule_before_can_be_changed() -> None:
    call = {"low": 1, "deep": {}}
    ask = asked(call, {**JOINT, "properties": {name: JOINT["properties"][name] for name in ("low", "high")}})
    sent = untouched(ask)
    sent[0] = FieldAnswer(index=0, text="7")
    assert [change.after for change in edit(ask, sent).interview.changes] == [7]


@pytest.mark.parametrize(
    "part",
    [
        {"allOf": [{"$ref": "http://127.0.0.1:9/schema"}]},
        {"not": {"type": "strange"}},
        {"anyOf": [{"title": "x" * 60_000}]},
    ],
)
def test_a_schema_that_cannot_be_checked_lets_nobody_change_anything(part: Any) -> None:
    with pytest.raises(UnsupportedSchema, match="rules about several parameters"):
        build_parameter_rules({**JOINT, **part}, ["low"])


def test_a_pattern_that_takes_for_ever_ends() -> None:
    schema = {"properties": {"low": {"type": "integer"}, "code": {"pattern": r"^(a|a)*$(?!b)"}}, "minProperties": 1}
    rules = build_parameter_rules(schema, ["low"])
    assert rules.joint is not None
    call = {"low": 1, "code": "a" * 5_000 + "!"}
    begun = time.monotonic()
    find_schema_problem(rules.joint, call, {**call, "low": 2})
    assert time.monotonic() - begun < 1
