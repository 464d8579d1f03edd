"""Changed arguments always satisfy the schema, and the digest is always that of what the newest card shows."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import JsonValue

from askback.domain import approval
from askback.domain.actions import FieldAnswer
from askback.domain.apply_action import NotPossible
from askback.domain.apply_edit import build_edit_fields
from askback.domain.approval import get_approved_arguments
from askback.domain.argument_change import ArgumentChange, apply_changes, merge_changes
from askback.domain.ask_policy import Approval
from askback.domain.change_line import LONGEST, build_change_lines
from askback.domain.edit_rules import EditRules, build_edit_rules, build_parameter_rules, infer_schema
from askback.domain.interview import start_interview
from askback.domain.json_schema import UnsupportedSchema
from askback.domain.who import Who
from askback.errors import PersonError
from support.edited_calls import ANN, AT, BEN, SCHEMA, TOOL, approve, asked, edit, untouched
from support.tool_arguments import ARGUMENTS, HOSTILE_TEXT

ENTRIES = st.one_of(HOSTILE_TEXT, st.sampled_from(["", "1", "7", "0.5", "-3", "1e3", "v2", "1.0", "ab", "x" * 21]))


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
        assert ask.interview.revision == ask.interview.step, "each change is a newer card"
        assert build_edit_fields(ask, ANN).step == ask.interview.step
    settled = approve(ask)
    shown = json.loads(settled.interview.question.details or "{}")
    assert settled.policy.approval is not None
    assert settled.policy.approval.subject == approval.compute_digest(TOOL, shown)
    assert get_approved_arguments(settled, TOOL, data) == shown
    properties: Any = SCHEMA["properties"]
    removed = {change.name for change in settled.interview.changes if change.is_removed}
    assert removed.isdisjoint({*shown, *SCHEMA["required"]})  # type: ignore[misc] - a list
    changed = {change.name for change in settled.interview.changes} - removed
    assert all(keeps(shown[name], properties[name]) for name in changed)
    assert {name: value for name, value in shown.items() if name not in changed} == {
        name: value for name, value in data.items() if name not in changed | removed
    }


@given(CALLS)
def test_fields_that_nobody_touches_change_nothing(data: dict[str, Any]) -> None:
    ask = asked(data)
    with pytest.raises(PersonError, match="nothing changed"):
        edit(ask, untouched(ask))


@given(ARGUMENTS)
def test_a_call_without_a_schema_shows_its_values_whole_or_lets_nobody_change_them(data: dict[str, Any]) -> None:
    try:
        parameters = build_parameter_rules(infer_schema(data))
    except UnsupportedSchema:
        return  # it has no text, number or boolean, or a name that no question can have
    rules = build_edit_rules(data, parameters)
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


@pytest.mark.parametrize("edits", [None, EditRules(problem="They do not fit.")])
def test_a_call_that_nobody_may_change_has_no_fields_and_a_change_of_it_is_refused(edits: EditRules | None) -> None:
    ask = asked({"version": "1.4.2", "where": "staging"})
    sent = untouched(ask)
    assert ask.policy.approval is not None
    fixed = ask.evolve(policy=ask.policy.evolve(approval=ask.policy.approval.evolve(edits=edits)))
    for attempt in (lambda: build_edit_fields(fixed, ANN), lambda: edit(fixed, sent)):
        with pytest.raises(NotPossible, match="cannot be changed"):
            attempt()


@pytest.mark.parametrize("schema", [SCHEMA, {"properties": {"version": {"type": "string"}}, "maxProperties": 3}])
def test_the_rules_that_a_call_is_changed_by_survive_the_store(schema: Any) -> None:
    call = {"version": "1.4.2", "where": "staging"}
    for title, description in ((None, None), ("Deploy {version}?", "It takes a minute.")):
        rules = build_edit_rules(call, build_parameter_rules(schema), title=title, description=description)
        assert EditRules.model_validate_json(rules.model_dump_json()) == rules
    assert set(json.loads(EditRules().model_dump_json())) == {"form", "problem", "alone"}, (
        "an older process reads these"
    )


def test_whoever_changes_a_call_is_never_its_only_approver_unless_the_rules_say_so() -> None:
    call: dict[str, Any] = {"version": "1.4.2", "where": "staging"}
    ask = asked(call)
    assert ask.policy.approval is not None
    for rules, is_possible in (
        (build_edit_rules(call, build_parameter_rules(SCHEMA)), False),
        (ask.policy.approval.edits, True),
    ):
        decides = ask.policy.approval.evolve(edits=rules)
        alone = ask.evolve(policy=ask.policy.evolve(who=Who.from_people(ANN), approval=decides))
        if is_possible:
            assert build_edit_fields(alone, ANN).fields
            continue
        with pytest.raises(NotPossible, match="Nobody else is left"):
            build_edit_fields(alone, ANN)


def test_a_question_that_offered_always_offers_it_for_the_changed_call_and_no_other_does() -> None:
    ask = asked({"version": "1.4.2", "where": "staging"})
    wider = start_interview(approval.build_form(TOOL, {"version": "1.4.2", "where": "staging"}, always=True))
    for interview, offered in ((ask.interview, ["approve", "deny"]), (wider, ["approve", "deny", "always"])):
        before = ask.evolve(interview=interview)
        sent = untouched(before)
        sent[0] = FieldAnswer(index=0, text="1.4.3")
        assert [one.value for one in edit(before, sent).interview.question.options] == offered


def test_a_change_that_makes_the_call_too_long_to_be_seen_whole_is_refused() -> None:
    ask = asked({"version": "1.4.2", "where": "staging", "log": "x" * 999_930})
    sent = untouched(ask)
    sent[0] = FieldAnswer(index=0, text="1.4.3")
    assert edit(ask, sent).interview.changes
    sent[0] = FieldAnswer(index=0, text="y" * 20)
    with pytest.raises(NotPossible, match="too long for a card"):
        edit(ask, sent)


def test_a_card_for_one_approver_offers_no_change_that_nobody_could_approve() -> None:
    ask = asked({"version": "1.4.2", "where": "staging"})
    decides = ask.policy.approval
    assert decides is not None
    assert decides.edits is not None
    together = decides.evolve(edits=decides.edits.evolve(alone=False))

    def is_editable(who: Who, rules: Approval) -> bool:
        return ask.evolve(policy=ask.policy.evolve(who=who, approval=rules)).to_card().edited is not None

    assert not is_editable(Who.from_people(ANN), together)
    assert is_editable(Who.from_people(ANN), decides), "who edits may approve it alone"
    for wider in (Who.from_people(ANN, BEN), Who(anyone=True), Who(people=(ANN,), groups=("leads",))):
        assert is_editable(wider, together)
