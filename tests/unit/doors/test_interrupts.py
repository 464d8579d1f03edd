"""Interrupts become questions, and each way in which a question ends has its own result."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from askback.domain.outcome import Answer, Choice, Outcome, OutcomeStatus, Vote
from askback.doors.call_question import CallQuestion, Unanswered
from askback.doors.interrupts import PendingInterrupt, read_interrupt
from askback.errors import CallerError
from support.settled_asks import ADA, AT, ask_for

APPROVE, DENY = Choice(index=0, value="approve", label="Approve"), Choice(index=1, value="deny", label="Deny")
UNANSWERED = [status for status in get_args(OutcomeStatus) if status != "answered"]
ALL = ["approve", "edit", "reject", "respond"]
CALL = {"name": "deploy", "args": {"where": "eu"}}


def batch(allowed: list[str] = ALL, *requests: dict[str, Any]) -> PendingInterrupt:
    listed = list(requests) or [CALL]
    config = {"action_name": "deploy", "allowed_decisions": allowed}
    return read_interrupt("i", {"action_requests": listed, "review_configs": [config]}, None)


def voted(question: CallQuestion, choice: Choice, reason: str | None = None) -> Outcome:
    answer = Answer(question_id=question.form.questions[0].id, choices=(choice,))
    vote = Vote(by=ADA, choice=choice, reason=reason, at=AT)
    return Outcome(status="answered", at=AT, by=ADA, answers=(answer,), votes=(vote,), refused=choice is DENY)


def written(question: CallQuestion, text: str) -> Outcome:
    answer = Answer(question_id=question.form.questions[0].id, text=text)
    return Outcome(status="answered", at=AT, by=ADA, answers=(answer,))


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


def test_references_within_a_schema_are_followed_unless_they_never_end() -> None:
    colour = {"type": "string", "enum": ["red", "blue"]}
    schema = {"$defs": {"Colour": colour}, "type": "object", "properties": {"one": {"$ref": "#/$defs/Colour"}}}
    (question,) = read_interrupt("i", "Which?", schema).questions[0].form.questions
    assert {"red", "blue"} <= {option.value for option in question.options}
    endless = {"$defs": {"A": {"items": {"$ref": "#/$defs/A"}}}, "properties": {"one": {"$ref": "#/$defs/A"}}}
    with pytest.raises(CallerError, match="refers to itself"):
        read_interrupt("i", "Which?", endless)


def test_a_value_that_is_not_json_is_refused() -> None:
    with pytest.raises(CallerError, match="is not JSON"):
        read_interrupt("i", object(), None)


def test_the_digest_covers_the_value_and_the_schema() -> None:
    schemas: list[Any] = [None, {"type": "string"}, {"type": "boolean"}]
    found = [read_interrupt("i", value, schema).questions[0].digest for value in ("A?", "B?") for schema in schemas]
    assert len(set(found)) == 6


def test_without_a_schema_people_change_the_texts_numbers_and_booleans_of_a_call() -> None:
    given = {"where": "eu", "count": 2, "share": 0.5, "force": True, "tags": ["a"], "note": None}
    (question,) = batch(ALL, {"name": "deploy", "args": given}).questions
    assert question.edits is not None
    assert question.edits.form is not None
    kinds = {one.id: one.rules.kind for one in question.edits.form.questions}
    assert kinds == {"where": "text", "count": "integer", "share": "number", "force": "boolean"}


def test_nobody_changes_anything_where_the_agent_does_not_allow_it() -> None:
    (question,) = batch(["approve", "reject"]).questions
    assert question.edits is None


def test_a_schema_that_fits_into_no_form_lets_nobody_change_anything_and_the_card_says_why() -> None:
    args = {"type": "object", "properties": {"deep": {"type": "object", "properties": {"a": {"type": "string"}}}}}
    action = {"type": "object", "properties": {"name": {"const": "deploy"}, "args": args}}
    branches = [
        {"type": "object", "properties": {"type": {"const": "approve"}}},
        {"type": "object", "properties": {"type": {"const": "reject"}}},
        {"type": "object", "properties": {"type": {"const": "edit"}, "edited_action": action}},
    ]
    value = {"type": "tool_approval", "tool_call_id": "t", "name": "deploy", "args": {"deep": {"a": "b"}}}
    (question,) = read_interrupt("i", value, {"oneOf": branches}).questions
    assert question.edits is not None
    assert (question.edits.form, question.edits.problem) == (
        None, "Nobody can change the arguments here, because they do not fit into a form.",
    )  # fmt: skip
