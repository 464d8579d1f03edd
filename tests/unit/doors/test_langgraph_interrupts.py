"""Interrupts become questions, and each way in which a question ends has its own result."""

from __future__ import annotations

import json
from typing import Any

import pytest

from askback.domain.edit_rules import EditRules
from askback.domain.outcome import Answer, Choice, Outcome, OutcomeStatus
from askback.doors.call_question import Unanswered
from askback.doors.langgraph_interrupts import PendingInterrupt, read_interrupt
from askback.errors import CallerError
from support.settled_asks import ADA, APPROVE, AT, DENY, UNANSWERED, ask_for, voted, written

ALL = ["approve", "edit", "reject", "respond"]
CALL = {"name": "deploy", "args": {"where": "eu"}}


def batch(allowed: list[str] = ALL, *requests: dict[str, Any]) -> PendingInterrupt:
    listed = list(requests) or [CALL]
    config = {"action_name": "deploy", "allowed_decisions": allowed}
    return read_interrupt("i", {"action_requests": listed, "review_configs": [config]}, None)


def decide(found: PendingInterrupt, outcome: Outcome, digest: str | None = None) -> Any:
    (question,) = found.questions
    value: Any = found.read([ask_for(question, outcome, digest)])
    (decision,) = value["decisions"]
    return decision


def test_a_denial_and_each_lack_of_a_decision_are_told_apart() -> None:
    found = batch()
    (question,) = found.questions
    denied = decide(found, voted(question, DENY, "It is Friday"))
    assert denied == {"type": "reject", "message": "deploy was denied by Ada (U1): It is Friday. It was not run."}
    others = [decide(found, Outcome(status=status, at=AT)) for status in UNANSWERED]
    assert all(one["type"] == "reject" and one["message"].endswith("Nobody denied it.") for one in others)
    beginnings = {one["message"].partition(" Nobody denied it.")[0] for one in others}
    assert len(beginnings) == len(UNANSWERED) == 4
    assert not any("was denied" in beginning for beginning in beginnings)


def test_only_what_people_saw_is_approved() -> None:
    found = batch()
    (question,) = found.questions
    assert decide(found, voted(question, APPROVE)) == {"type": "approve"}
    assert decide(found, voted(question, APPROVE), "another digest")["type"] == "reject"
    other = batch(ALL, {"name": "deploy", "args": {"where": "us"}})
    assert other.questions[0].digest != question.digest


@pytest.mark.parametrize("status", UNANSWERED)
def test_without_an_answer_a_plain_interrupt_has_no_value(status: OutcomeStatus) -> None:
    found = read_interrupt("i", "Which version?", None)
    with pytest.raises(Unanswered) as caught:
        found.read([ask_for(found.questions[0], Outcome(status=status, at=AT))])
    assert caught.value.outcome.status == status


def test_the_four_ways_without_an_answer_read_differently() -> None:
    (question,) = read_interrupt("i", "Which version?", None).questions
    found = [
        Unanswered(ask_for(question, outcome), outcome) for outcome in (Outcome(status=s, at=AT) for s in UNANSWERED)
    ]
    assert len({str(error) for error in found}) == len(UNANSWERED) == 4


def test_each_call_of_a_batch_has_a_question_and_its_decision_at_the_same_position() -> None:
    other = {"name": "deploy", "args": {"where": "us"}}
    found = batch(ALL, CALL, other)
    asks = [
        ask_for(question, voted(question, choice))
        for question, choice in zip(found.questions, (DENY, APPROVE), strict=True)
    ]
    value: Any = found.read(asks)
    assert [one["type"] for one in value["decisions"]] == ["reject", "approve"]


def test_a_person_answers_for_a_tool() -> None:
    found = batch(["respond", "reject"])
    (question,) = found.questions
    assert question.form.questions[0].prompt.startswith("Answer for deploy:")
    assert decide(found, written(question, "Done by hand")) == {"type": "respond", "message": "Done by hand"}
    assert decide(found, Outcome(status="timed_out", at=AT))["type"] == "reject"


@pytest.mark.parametrize("allowed", [[], ["edit"], ["approve"], ["approve", "edit"], ["edit", "reject"]])
def test_decisions_that_people_could_not_refuse_are_not_asked(allowed: list[str]) -> None:
    with pytest.raises(CallerError, match="allow “approve” and “reject”"):
        batch(allowed)


def test_a_value_is_shown_as_it_is_and_nothing_of_it_is_lost() -> None:
    (question,) = read_interrupt("i", {"question": "Go?", "of": {"release": "1.4"}}, None).questions[0].form.questions
    assert (question.prompt, json.loads(question.details or "")) == ("Go?", {"of": {"release": "1.4"}})
    (plain,) = read_interrupt("i", ["a", 1], None).questions[0].form.questions
    assert json.loads(plain.prompt) == ["a", 1]
    text = "word " * 1000
    (long,) = read_interrupt("i", text, None).questions[0].form.questions
    assert "more characters" in long.prompt
    assert long.details == text


def chosen(found: PendingInterrupt, index: int) -> Any:
    (question,) = found.questions
    (asked,) = question.form.questions
    option = asked.options[index]
    choice = Choice(index=index, value=option.value, label=option.label)
    answer = Answer(question_id=asked.id, choices=(choice,))
    return found.read([ask_for(question, Outcome(status="answered", at=AT, by=ADA, answers=(answer,)))])


@pytest.mark.parametrize(
    ("options", "labels", "values"),
    [
        (["eu", "us"], ["eu", "us"], ["eu", "us"]),
        ([1, 2.5, True], ["1", "2.5", "true"], [1, 2.5, True]),
        ([{"label": "Europe", "value": {"id": 7}}, {"value": "us"}], ["Europe", "us"], [{"id": 7}, "us"]),
        ([{"label": "Europe"}, "us"], ["Europe", "us"], ["Europe", "us"]),
    ],
)
def test_the_graph_gets_exactly_its_own_option(options: list[Any], labels: list[str], values: list[Any]) -> None:
    found = read_interrupt("i", {"question": "Which?", "options": options}, None)
    (asked,) = found.questions[0].form.questions
    assert [one.label for one in asked.options] == labels
    assert not asked.allow_custom
    assert [chosen(found, index) for index in range(len(options))] == values


def test_people_can_read_all_of_a_value_with_options_and_nothing_twice() -> None:
    described = [{"label": "eu", "description": "Frankfurt"}, "us"]
    value = {"question": "Which?", "options": described, "of": "1.4"}
    (asked,) = read_interrupt("i", value, None).questions[0].form.questions
    assert (asked.prompt, json.loads(asked.details or ""), asked.options[0].description) == (
        "Which?", {"of": "1.4"}, "Frankfurt",
    )  # fmt: skip
    hidden = [{"label": "Yes", "value": "delete everything"}, {"label": "No", "value": None}]
    (asked,) = read_interrupt("i", {"question": "Which?", "choices": hidden}, None).questions[0].form.questions
    assert json.loads(asked.details or "") == {"choices": hidden}


def test_only_options_of_which_one_is_a_no_are_a_vote() -> None:
    def find_vote(*options: str) -> Any:
        return read_interrupt("i", {"question": "Which?", "options": list(options)}, None).questions[0].vote

    vote = find_vote("Deploy", "Nein")
    assert (vote.approving, vote.refusing) == (("Deploy",), ("Nein",))
    assert find_vote("eu", "us") is None


@pytest.mark.parametrize("options", [[], "Yes, No", {"eu": "Frankfurt"}, ["eu", None], ["eu", " "], [{"id": 1}]])
def test_what_is_no_list_of_options_stays_with_the_details_of_a_written_answer(options: Any) -> None:
    found = read_interrupt("i", {"question": "Which?", "options": options}, None)
    (asked,) = found.questions[0].form.questions
    assert (asked.options, json.loads(asked.details or "")) == ((), {"options": options})


def test_a_schema_goes_before_the_options_of_a_value() -> None:
    value = {"question": "Which?", "options": ["eu", "us"]}
    (asked,) = read_interrupt("i", value, {"type": "boolean"}).questions[0].form.questions
    assert [one.label for one in asked.options] == ["Yes", "No"]


def test_an_interrupt_with_options_says_which_of_them_cannot_be_asked() -> None:
    with pytest.raises(CallerError, match="Option 2 of an interrupt cannot be asked: label: has 2,001 characters"):
        read_interrupt("i", {"question": "Which?", "options": ["eu", "u" * 2001]}, None)


@pytest.mark.parametrize(("name", "words"), [("x" * 201, "The name of the tool has 201"), ("\u200b", "has no name")])
def test_a_call_whose_name_people_cannot_read_is_refused_in_plain_words(name: str, words: str) -> None:
    with pytest.raises(CallerError, match=words):
        batch(ALL, {"name": name, "args": {}})


def test_references_within_a_schema_are_followed_unless_they_never_end() -> None:
    colour = {"type": "string", "enum": ["red", "blue"]}
    schema = {"$defs": {"Colour": colour}, "type": "object", "properties": {"one": {"$ref": "#/$defs/Colour"}}}
    (question,) = read_interrupt("i", "Which?", schema).questions[0].form.questions
    assert {"red", "blue"} <= {option.value for option in question.options}
    endless = {"$defs": {"A": {"$ref": "#/$defs/A"}}, "properties": {"one": {"$ref": "#/$defs/A"}}}
    with pytest.raises(CallerError, match="none from a part to itself"):
        read_interrupt("i", "Which?", endless)


def test_a_value_that_is_not_json_is_refused() -> None:
    with pytest.raises(CallerError, match="is not JSON"):
        read_interrupt("i", object(), None)


def test_the_digest_covers_the_value_and_the_schema() -> None:
    schemas: list[Any] = [None, {"type": "string"}, {"type": "boolean"}]
    found = [read_interrupt("i", value, schema).questions[0].digest for value in ("A?", "B?") for schema in schemas]
    assert len(set(found)) == 6


def test_without_a_schema_people_change_the_texts_numbers_booleans_and_lists_of_a_call() -> None:
    given = {"where": "eu", "count": 2, "share": 0.5, "force": True, "tags": ["a"], "on": {}, "note": None}
    (question,) = batch(ALL, {"name": "deploy", "args": given}).questions
    assert question.edits is not None
    assert question.edits.form is not None
    kinds = {one.id: one.rules.kind for one in question.edits.form.questions}
    assert kinds == {"where": "text", "count": "integer", "share": "number", "force": "boolean", "tags": "text"}


def test_nobody_changes_anything_where_the_agent_does_not_allow_it() -> None:
    (question,) = batch(["approve", "reject"]).questions
    assert question.edits is None


def editable(parameters: dict[str, Any], given: dict[str, Any]) -> tuple[EditRules, tuple[str, ...]]:
    """Return the rules of a call whose schema the middleware publishes, and the notes for the operator."""
    args = {"type": "object", "properties": parameters, "required": [*parameters]}
    action = {"type": "object", "properties": {"name": {"const": "deploy"}, "args": args}}
    branches = [
        {"type": "object", "properties": {"type": {"const": "approve"}}},
        {"type": "object", "properties": {"type": {"const": "reject"}}},
        {"type": "object", "properties": {"type": {"const": "edit"}, "edited_action": action}},
    ]
    value = {"type": "tool_approval", "tool_call_id": "t", "name": "deploy", "args": given}
    (question,) = read_interrupt("i", value, {"oneOf": branches}).questions
    assert question.edits is not None
    return question.edits, question.notes


def test_what_fits_into_no_field_stays_as_it_is_and_the_rest_can_be_changed() -> None:
    text = {"type": "string"}
    rules, notes = editable(
        {
            "to": {"type": "array", "items": text},
            "cc": {"type": "array", "items": text},
            "subject": text,
            "body": text,
            "params": {"type": "object"},
        },
        {"to": ["ada@example.com"], "cc": ["Ada\nLovelace"], "subject": "Hi", "body": "word " * 2000},
    )
    assert rules.form is not None
    assert [question.id for question in rules.form.questions] == ["to", "subject"]
    assert rules.problem == "Nobody can change “cc”, “body” here."
    assert notes[0].startswith("Nobody can change “cc” of deploy: ")
    assert len(notes) == 3


def test_a_schema_that_fits_into_no_form_lets_nobody_change_anything_and_the_card_says_why() -> None:
    deep = {"type": "object", "properties": {"a": {"type": "string"}}}
    rules, (note,) = editable({"deep": deep}, {"deep": {"a": "b"}})
    assert note.startswith("Nobody can change the arguments of deploy: The property “deep” is an object")
    assert (rules.form, rules.problem) == (
        None, "Nobody can change the arguments here, because they do not fit into a form.",
    )  # fmt: skip
