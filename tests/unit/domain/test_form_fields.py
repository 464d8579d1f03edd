"""All questions of a form answered together: complete answers end it, and no answer is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askback.domain.actions import Action, Back, Choose, FieldAnswer, GoTo, Next, OpenForm, Select, SubmitForm
from askback.domain.apply_action import Closed, apply_action
from askback.domain.apply_form import NoFields
from askback.domain.ask import Ask
from askback.domain.card import build_card
from askback.domain.click_response import AskForm, FormErrors, Notice
from askback.domain.decision import decide
from askback.domain.form import Condition, Form, Option, TextRules
from askback.domain.form_fields import build_form_fields, find_field_problems, has_field_for_each
from askback.domain.identity import Place
from askback.domain.interview import Interview, start_interview
from support.cases import ANN, BEN, EVERYBODY, NOON, Story, form, question
from support.forms import modal_forms

texts = st.sampled_from(["", "  ", "7", "2", "words", "x" * 1001, "@everyone <!channel>"])
TWO = (question("a", "Red", "Blue"), question("b", "Today", "Monday", multi_select=True))


def send(at: Interview, *answers: FieldAnswer, revision: int | None = None) -> Interview:
    operation = SubmitForm(answers=answers, revision=at.revision if revision is None else revision)
    return apply_action(at, Action(ask_id="ask", actor=ANN, at=NOON, step=0, operation=operation))


def said(index: int, *chosen: int, text: str | None = None) -> FieldAnswer:
    return FieldAnswer(index=index, chosen=chosen, text=text)


@given(asked_form=modal_forms(), data=st.data())
def test_each_form_can_be_answered_together_and_what_comes_back_keeps_its_rules(
    asked_form: Form, data: st.DataObject
) -> None:
    assert has_field_for_each(asked_form)
    answers = [
        said(
            index,
            *data.draw(
                st.lists(st.integers(0, len(one.options) - 1), unique=True, max_size=3 if one.multi_select else 1)
                if one.options
                else st.just([])
            ),
            text=data.draw(texts) if one.allow_custom or one.allow_note else None,
        )
        for index, one in enumerate(asked_form.questions)
    ]
    after = send(start_interview(asked_form), *answers)
    problems = {problem.index for problem in find_field_problems(after)}
    assert (after.outcome is None) == bool(problems)
    for index, (sent, draft) in enumerate(zip(answers, after.drafts, strict=True)):
        one, text = asked_form.questions[index], (sent.text or "").strip()
        kept = draft.text or draft.note or (draft.unsent or "").strip()
        assert kept == text, "no text is lost"
        assert set(draft.chosen) == set(sent.chosen), "no choice is lost"
        if index not in problems:
            assert one.find_count_problem(len(draft.chosen)) is None or draft.text is not None
            assert draft.text is None or one.rules.find_problem(draft.text) is None
    if after.outcome is not None:
        assert [answer.question_id for answer in after.outcome.answers] == [one.id for one in asked_form.questions]


def test_a_new_choice_replaces_the_text_that_was_in_the_field() -> None:
    story = Story(*TWO)
    at = send(story.now, said(0, text="Green"), said(1))
    assert build_form_fields("ask", at).fields[0].value == "Green"
    after = send(at, said(0, 1, text="Green"), said(1, 0))
    assert after.outcome is not None
    assert [answer.labels for answer in after.outcome.answers] == [("Blue",), ("Today",)]


def test_a_choice_and_a_new_text_are_not_guessed_between() -> None:
    after = send(Story(*TWO).now, said(0, 1, text="Green"), said(1, 0))
    (problem,) = find_field_problems(after)
    assert problem.in_text
    assert "keep one of them" in problem.message
    assert (after.drafts[0].chosen, after.drafts[0].unsent) == ((1,), "Green")


@pytest.mark.parametrize(
    ("fields", "sent", "message"),
    [
        ({}, said(0), "choose an option or write an answer"),
        ({"allow_custom": False}, said(0), "answer this question"),
        ({"multi_select": True, "min_choices": 2}, said(0, 1), "choose at least 2 options"),
        ({"rules": TextRules(kind="integer")}, said(0, text="seven"), "whole number"),
    ],
)
def test_each_problem_is_said_in_a_sentence(fields: dict[str, object], sent: FieldAnswer, message: str) -> None:
    after = send(Story(question("a", "Red", "Blue", **fields), TWO[1]).now, sent, said(1, 0))
    (problem,) = find_field_problems(after)
    assert message in problem.message
    assert after.outcome is None
    assert after.drafts[1].chosen == (0,), "the right answer is kept"


def test_an_answer_that_somebody_gave_meanwhile_is_not_replaced_unseen() -> None:
    story = Story(*TWO)
    opened = story.now.revision
    story.does(Choose(index=0), by=BEN)
    after = send(story.now, said(0, 1), said(1, 0), revision=opened)
    assert (after.phase, after.outcome) == ("reviewing", None)
    same = send(story.now, said(0, 0), said(1, 0), revision=opened)
    assert same.outcome is not None, "the same answer replaces nothing"


def test_a_person_corrects_their_own_answers_from_the_same_modal_without_a_review() -> None:
    story = Story(*TWO)
    opened = story.now.revision
    story.now = send(story.now, said(0), said(1, 0))
    assert story.now.outcome is None
    assert send(story.now, said(0, 1), said(1, 1), revision=opened).outcome is not None
    story.does(GoTo(index=1))
    story.does(Select(chosen=(1,), base=(0,)), by=BEN)
    after = send(story.now, said(0, 1), said(1, 0), revision=opened)
    assert (after.phase, after.outcome) == ("reviewing", None), "ben has changed it since"


def test_it_counts_from_every_position_and_not_after_the_end() -> None:
    story = Story(*TWO)
    for operation in (Next(), Back(), GoTo(index=1), Next()):
        story.does(operation)
        closed = send(story.now, said(0, 0), said(1, 1))
        assert closed.outcome is not None
        with pytest.raises(Closed):
            send(closed, said(0, 0), said(1, 1))


@pytest.mark.parametrize(
    "answers",
    [
        (),
        (said(0, 0),),
        (said(1, 0), said(0, 0)),
        (said(0, 0), said(1, 0), said(2, 0)),
        (said(0, 2), said(1, 0)),
        (said(0, 0, 1), said(1, 0)),
    ],
)
def test_answers_to_other_questions_change_nothing(answers: tuple[FieldAnswer, ...]) -> None:
    with pytest.raises(NoFields):
        send(Story(*TWO).now, *answers)


def test_a_text_where_none_is_allowed_changes_nothing() -> None:
    with pytest.raises(NoFields):
        send(Story(question("a", "Red", allow_custom=False), TWO[1]).now, said(0, text="Green"), said(1, 0))


@pytest.mark.parametrize(
    "second",
    [
        question("b", "Today", show_if=Condition(question="a")),
        question("b", "Today", details="All of it."),
        question("b").evolve(options=(Option(value="x", label="X", preview="A preview"),)),
        question("b").evolve(options=(Option(value="x", label="X", image="https://example.com/x.png"),)),
        question("b").evolve(options=(Option(value="x", label="X"), Option(value="y", label="X"))),
        question("b").evolve(options=(Option(value="x", label="Two\nlines"),)),
        question("b").evolve(options=(Option(value="x", label="\u200b"),)),
        question("b").evolve(options=(Option(value="x", label="X", description="Two\nlines"),)),
    ],
)
def test_a_question_that_a_field_would_show_in_part_is_asked_by_itself(second: object) -> None:
    assert isinstance(second, type(TWO[0]))
    story = Story(TWO[0], second)
    assert not has_field_for_each(story.now.form)
    assert story.card.form is None
    with pytest.raises(NoFields):
        send(story.now, said(0, 0), said(1, 0))


def test_a_single_question_has_no_fields_and_only_the_first_card_of_a_form_offers_them() -> None:
    assert Story(TWO[0]).card.form is None
    story = Story(*TWO)
    assert story.card.form is not None
    assert build_card("ask", story.does(Next()), EVERYBODY).form is None


def test_the_responses_are_the_fields_and_the_problems() -> None:
    ask = ask_of(Form(questions=TWO))
    opened = decide(ask, act(OpenForm()), is_admitted=lambda _, __: True)
    assert isinstance(opened[1], AskForm)
    assert [field.question.id for field in opened[1].fields.fields] == ["a", "b"]
    assert opened[0] == ask, "nothing changes"
    wrong = decide(ask, act(SubmitForm(answers=(said(0), said(1, 0)))), is_admitted=lambda _, __: True)
    assert isinstance(wrong[1], FormErrors)
    assert [problem.index for problem in wrong[1].problems] == [0]
    single = ask_of(form(TWO[0]))
    refused = decide(single, act(OpenForm()), is_admitted=lambda _, __: True)
    assert isinstance(refused[1], Notice)


def ask_of(asked: Form) -> Ask:
    place = Place(platform="local", channel="C1")
    interview = start_interview(asked)
    return Ask(id="ask", place=place, policy=EVERYBODY, interview=interview, created_at=NOON, post_after=NOON)


def act(operation: OpenForm | SubmitForm) -> Action:
    return Action(ask_id="ask", actor=ANN, at=NOON, step=0, operation=operation)
