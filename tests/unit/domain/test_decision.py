"""The effects of an action on an ask: permissions, changes, and the response to the actor."""

from __future__ import annotations

from typing import Any

import pytest

from askback.domain import decision, late_answers
from askback.domain.actions import (
    Action,
    Cancel,
    Choose,
    Decline,
    Next,
    OpenDecline,
    OpenTextField,
    Operation,
    Select,
    ShowDetails,
    SubmitText,
)
from askback.domain.apply_action import apply_action
from askback.domain.approval import build_form
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval, Policy
from askback.domain.click_response import AskText, Details, FieldErrors, Notice, Redraw, Response
from askback.domain.decision import NOT_TO_CANCEL, UNKNOWN
from askback.domain.form import TextRules
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.interview import settle, start_interview
from askback.domain.outcome import Answer, Choice, Outcome, Vote
from askback.domain.text_field import build_reason_field, build_text_field, build_vote_field
from askback.domain.who import Who
from askback.translations.catalogue import use_language
from support.cases import ANN, BEN, NOON, ended, form, question

CID = Actor(platform="local", tenant="T1", id="U3", name="Cid")
CARD, BELOW, OTHER = (MessageRef(channel="C1", id=number) for number in "123")
APPROVAL = Approval(quorum=2, refusing=("no",), reasons="no", requesters=(CID,))
PICK = question("fruit", "Apple", "Pear")
NOT_ASKED = "not asked"
"""A placeholder for the notice that this person is not asked."""
VOTE = question("deploy", "Yes", "No", allow_custom=False)


def asked(*questions: Any, who: tuple[Actor, ...] = (ANN,), approval: Approval | None = None, **fields: Any) -> Ask:
    """Return an open ask, whose card is in the channel."""
    return Ask(
        **{
            "id": "ask",
            "place": Place(platform="local", channel="C1"),
            "policy": Policy(who=Who.from_people(*who), approval=approval),
            "interview": start_interview(form(*(questions or (PICK,)))),
            "created_at": NOON,
            "post_after": NOON,
            "messages": (CARD, BELOW),
            "drawn_revision": 0,
            **fields,
        }
    )


def voted_on(**fields: Any) -> Ask:
    return asked(VOTE, who=(ANN, BEN), approval=APPROVAL, **fields)


def done(operation: Operation, by: Actor = ANN, *, step: int = 0, message: MessageRef | None = None) -> Action:
    return Action(ask_id="ask", actor=by, at=NOON, step=step, operation=operation, message=message)


def decided(ask: Ask | None, action: Action, *, ends_any: bool = False) -> tuple[Ask | None, Response | str]:
    """Decide with access rules that admit no one."""
    after, response = decision.decide(ask, action, is_admitted=lambda *_: False, ends_any=ends_any)
    if ask is not None and response == Notice(text=ask.policy.format_denial("not_asked"), denied="not_asked"):
        return after, NOT_ASKED
    return after, response


# Who may


def test_what_is_not_known_changes_nothing() -> None:
    assert decided(None, done(Choose(index=0))) == (None, Notice(text=UNKNOWN, denied="unknown"))


@pytest.mark.parametrize(
    "operation", [Choose(index=0), SubmitText(text="Plum"), OpenTextField(), ShowDetails(), Cancel(), Decline()]
)
def test_somebody_who_is_not_asked_may_do_nothing(operation: Operation) -> None:
    after, response = decided(asked(), done(operation, BEN, message=OTHER))
    assert after is None
    assert response == NOT_ASKED


@pytest.mark.parametrize("ends_any", [True, False])
def test_an_administrator_may_cancel_and_nothing_else(ends_any: bool) -> None:
    after, _ = decided(asked(), done(Cancel(), BEN), ends_any=ends_any)
    assert (after is not None and after.status == "cancelled") is ends_any
    assert decided(asked(), done(Choose(index=0), BEN), ends_any=ends_any) == (None, NOT_ASKED)


def test_nobody_who_is_not_asked_cancels_unless_it_is_said_that_they_may() -> None:
    ask = asked()
    refused = Notice(text=ask.policy.format_denial("not_asked"), denied="not_asked")
    assert decision.decide(ask, done(Cancel(), BEN), is_admitted=lambda *_: False) == (None, refused)


def test_whoever_asked_may_cancel_and_look_and_not_answer() -> None:
    ask = asked(asked_by=BEN)
    after, response = decided(ask, done(Cancel(), BEN))
    assert after is not None
    assert (after.status, response) == ("cancelled", Redraw())
    assert decided(ask, done(ShowDetails(), BEN)) == (ask, Notice(text="The card already shows everything."))
    assert decided(ask, done(Choose(index=0), BEN)) == (None, NOT_ASKED)


def test_of_those_who_decide_nobody_cancels_and_whoever_requested_it_does() -> None:
    assert decided(voted_on(), done(Cancel(), ANN)) == (None, Notice(text=NOT_TO_CANCEL, denied="not_to_cancel"))
    after, _ = decided(voted_on(), done(Cancel(), CID))
    assert after is not None
    assert after.status == "cancelled"
    stranger = Actor(platform="local", tenant="T1", id="U9", name="Eve")
    assert decided(voted_on(), done(Cancel(), stranger)) == (None, NOT_ASKED)
    after, _ = decided(voted_on(), done(Cancel(), ANN), ends_any=True)
    assert after is not None
    assert after.status == "cancelled"


def test_whoever_requested_it_may_look_at_it() -> None:
    ask = voted_on()
    assert decided(ask, done(ShowDetails(), CID)) == (ask, Notice(text="The card already shows everything."))


# The effects


def test_an_answer_settles_and_draws() -> None:
    after, response = decided(asked(), done(Choose(index=1)))
    assert after is not None
    assert after.outcome is not None
    assert (after.outcome.answers[0].labels, response) == (("Pear",), Redraw())


def test_the_whole_is_shown_under_its_header_and_changes_nothing() -> None:
    detailed = PICK.evolve(details="rm -rf /")
    ask = asked(detailed.evolve(header="Command"))
    assert decided(ask, done(ShowDetails())) == (
        ask,
        Details(ask_id="ask", title="Command", text="rm -rf /", is_document=True),
    )
    ask = asked(detailed)
    assert decided(ask, done(ShowDetails())) == (
        ask,
        Details(ask_id="ask", title="Details", text="rm -rf /", is_document=True),
    )


def test_of_several_questions_the_whole_of_the_one_on_the_card_is_shown() -> None:
    ask = asked(PICK.evolve(details="rm -rf /"), PICK.evolve(id="second", details="mkfs"), PICK.evolve(id="third"))
    for whole in ("rm -rf /", "mkfs"):
        assert ask.to_card().details == whole
        assert decided(ask, done(ShowDetails())) == (
            ask,
            Details(ask_id="ask", title="Details", text=whole, is_document=True),
        )
        ask = ask.evolve(interview=apply_action(ask.interview, done(Next(), step=ask.interview.step)))
    assert ask.to_card().details is None
    assert decided(ask, done(ShowDetails())) == (ask, Notice(text="The card already shows everything."))


def test_fields_are_opened_and_change_nothing() -> None:
    ask = asked()
    assert decided(ask, done(OpenTextField())) == (ask, AskText(field=build_text_field("ask", ask.interview)))
    assert decided(ask, done(OpenDecline())) == (ask, AskText(field=build_reason_field(ask, may_answer=True)))


def test_what_is_over_says_how_it_ended() -> None:
    ask = asked(interview=settle(start_interview(form(PICK)), ended("timed_out")))
    card = ask.to_card()
    assert decided(ask, done(Choose(index=0))) == (ask, Notice(text=late_answers.get_closed_notice(ask), card=card))
    assert decided(ask, done(SubmitText(text="Plum"))) == (
        ask,
        Notice(text=late_answers.get_late_text_notice(ask), card=card),
    )


def test_a_step_that_has_passed_is_said_with_the_card_as_it_stands() -> None:
    ask = asked(PICK, PICK.evolve(id="second"))
    moved, _ = decided(ask, done(Choose(index=0)))
    assert moved is not None
    after, response = decided(moved, done(Choose(index=1)))
    assert after == moved
    assert isinstance(response, Notice)
    assert "moved on to another step" in response.text
    assert response.card == moved.to_card()


def test_a_text_against_the_rules_is_kept_and_said_in_its_field() -> None:
    ask = asked(PICK.evolve(rules=TextRules(min_length=5)))
    after, response = decided(ask, done(SubmitText(text="Fig")))
    assert after is not None
    assert after.interview.draft.unsent == "Fig"
    field = build_text_field("ask", after.interview)
    assert response == FieldErrors(message="Please write at least 5 characters; it has 3.", field=field)
    assert field.value == "Fig"


def test_a_text_that_is_right_is_no_error() -> None:
    several = PICK.evolve(multi_select=True)
    ask = asked(several, PICK.evolve(id="second"))
    after, response = decided(ask, done(SubmitText(text="Fig")))
    assert after is not None
    assert (after.interview.draft.text or after.interview.drafts[0].text, response) == ("Fig", Redraw())
    ticked, response = decided(ask, done(Select(chosen=(0,), base=())))
    assert ticked is not None
    assert (ticked.interview.draft.chosen, response) == ((0,), Redraw())


def test_a_text_that_is_wrong_before_is_no_error_of_another_click() -> None:
    ask = asked(PICK.evolve(multi_select=True, rules=TextRules(min_length=5)), PICK.evolve(id="second"))
    wrong, _ = decided(ask, done(SubmitText(text="Fig")))
    assert wrong is not None
    ticked, response = decided(wrong, done(Select(chosen=(0,), base=()), step=wrong.interview.step))
    assert ticked is not None
    assert response == Redraw()
    _, response = decided(wrong, done(Next(), step=wrong.interview.step))
    assert not isinstance(response, FieldErrors)


# Votes


def test_a_vote_that_needs_a_reason_opens_the_field_and_then_says_what_is_wrong_with_it() -> None:
    ask = voted_on()
    field = build_vote_field("ask", ask.interview, 1)
    assert decided(ask, done(Choose(index=1))) == (ask, AskText(field=field))
    after, response = decided(ask, done(Choose(index=1, reason=" ")))
    assert after == ask
    assert response == FieldErrors(message="Please say why: this decision needs a reason.", field=field)
    after, response = decided(ask, done(Choose(index=1, reason="x" * 1001)))
    assert after == ask
    assert isinstance(response, FieldErrors)
    assert response.field.value == "x" * 1001, "nobody has to write it again"


def test_votes_are_counted_and_no_interview_is_stepped() -> None:
    once, response = decided(voted_on(), done(Choose(index=0)))
    assert once is not None
    assert (once.status, response) == ("open", Redraw())
    twice, _ = decided(once, done(Choose(index=0), BEN))
    assert twice is not None
    assert twice.status == "answered"


# The card that was clicked


@pytest.mark.parametrize("admitted", [True, False])
def test_a_settled_question_is_shown_to_people_who_may_talk_to_the_bot_and_to_nobody_else(admitted: bool) -> None:
    ask = asked(question("deploy", "Yes", "No").evolve(details="The plan."))
    ask = ask.evolve(interview=settle(ask.interview, ended("cancelled", by=ANN)))
    _, response = decision.decide(ask, done(ShowDetails(), BEN), is_admitted=lambda actor, place: admitted)
    if admitted:
        assert isinstance(response, Details)
        assert "1. Yes" in response.text
        assert "The plan." not in response.text
    else:
        assert isinstance(response, Notice)
        assert response.denied is not None


@pytest.mark.parametrize("admitted", [True, False])
def test_a_settled_decision_is_shown_without_its_details_to_people_who_had_no_vote(admitted: bool) -> None:
    ask = asked(VOTE.evolve(details="The plan."), who=(ANN,), approval=APPROVAL)
    ask = ask.evolve(interview=settle(ask.interview, ended("cancelled", by=CID)))
    _, response = decision.decide(ask, done(ShowDetails(), BEN), is_admitted=lambda actor, place: admitted)
    if admitted:
        assert isinstance(response, Details)
        assert "1. Yes" in response.text
        assert "The plan." not in response.text
    else:
        assert isinstance(response, Notice)
        assert response.denied is not None


def test_of_a_settled_call_those_who_decided_see_all_arguments_and_others_the_table() -> None:
    plan = "".join(f"step {number}\n" for number in range(400))
    call = build_form("deploy", {"version": "1.4.2", "plan": plan}, always=True)
    ask = asked(*call.questions, who=(ANN,), approval=Approval(refusing=("deny",), subject="d" * 64))
    choice = Choice(index=0, value="approve", label="Approve")
    vote = Vote(by=ANN, choice=choice, reason=None, at=NOON)
    answer = Answer(question_id="deploy", choices=(choice,))
    over = Outcome(status="answered", at=NOON, by=ANN, answers=(answer,), votes=(vote,))
    ask = ask.evolve(interview=settle(ask.interview, over))
    for who, whole in ((ANN, True), (BEN, False)):
        _, response = decision.decide(ask, done(ShowDetails(), who), is_admitted=lambda actor, place: True)
        assert isinstance(response, Details)
        assert response.is_document, "it is in monospace"
        assert response.text.startswith("Approval\nRun deploy?\n")
        assert response.text.endswith("1. Approve\n\n2. Deny\n\n3. Always in this conversation")
        assert ("step 399" in response.text) == whole
        assert ("… and " in response.text) == (not whole)
        assert response.text.count("1.4.2") == 1


@pytest.mark.parametrize(
    ("before", "clicked", "messages", "drawn"),
    [
        ((CARD, BELOW), None, (CARD, BELOW), 0),
        ((CARD, BELOW), CARD, (CARD, BELOW), 0),
        ((CARD, BELOW), BELOW, (BELOW, CARD), -1),
        ((CARD, BELOW), OTHER, (OTHER, CARD, BELOW), -1),
        ((), OTHER, (OTHER,), 0),
    ],
)
@pytest.mark.parametrize("operation", [Choose(index=0), ShowDetails(), Choose(index=9)])
def test_a_card_that_was_clicked_stands_there(
    operation: Operation,
    before: tuple[MessageRef, ...],
    clicked: MessageRef | None,
    messages: tuple[MessageRef, ...],
    drawn: int,
) -> None:
    after, _ = decided(asked(messages=before), done(operation, message=clicked))
    assert after is not None
    assert (after.messages, after.drawn_revision) == (messages, drawn)


def test_a_card_that_was_clicked_when_a_reason_is_asked_for_stands_there() -> None:
    after, _ = decided(voted_on(), done(Choose(index=1), message=OTHER))
    assert after is not None
    assert after.messages == (OTHER, CARD, BELOW)


def test_a_response_is_in_the_language_of_its_reader_or_else_of_the_card() -> None:
    german = asked(policy=Policy(who=Who.from_people(ANN), language="de"))
    for person, language, only in (
        (BEN, "de", "Nur Ann kann das beantworten."),
        (BEN.evolve(language="fr"), "fr", "Seule la personne suivante peut répondre : Ann."),
        (BEN.evolve(language="en"), "en", "Only Ann can answer this."),
    ):
        _, response = decision.decide(german, done(Choose(index=0), by=person), is_admitted=lambda *_: False)
        assert isinstance(response, Notice)
        assert (response.language, response.text) == (language, only)
    _, response = decision.decide(
        german, done(OpenTextField(), by=ANN.evolve(language="es")), is_admitted=lambda *_: False
    )
    assert isinstance(response, AskText)
    assert (response.field.language, response.field.hint) == ("es", "Up to 1,000 characters.")
    with use_language(response.field.language):
        assert response.field.hint == "Hasta 1.000 caracteres."


def test_a_card_keeps_its_language_and_no_person_is_stored_with_theirs() -> None:
    german = asked(policy=Policy(who=Who.from_people(ANN.evolve(language="fr")), language="de"))
    again = Ask.model_validate_json(german.model_dump_json())
    assert again.to_card().language == again.policy.language == "de"
    assert again.policy.who.people[0].language is None
    with use_language("ja"):
        assert again.to_card() == german.evolve(policy=again.policy).to_card()
    # An older process rejects a field that it does not know.
    assert "language" not in asked().policy.model_dump_json()
