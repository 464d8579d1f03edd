"""All questions of a form answered together: complete answers end it, and no answer is lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askback.domain.actions import (
    Action,
    Back,
    Choose,
    FieldAnswer,
    GoTo,
    Next,
    OpenForm,
    Review,
    Select,
    SubmitForm,
    SubmitText,
)
from askback.domain.apply_action import Closed, apply_action
from askback.domain.apply_form import NoFields
from askback.domain.ask import Ask
from askback.domain.card import build_card
from askback.domain.click_response import AskForm, FormErrors, Notice
from askback.domain.decision import decide
from askback.domain.form import DEFAULT_PLACEHOLDER, Condition, Form, Option, Question, TextRules
from askback.domain.form_fields import (
    FieldProblem,
    FormField,
    FormFields,
    build_form_fields,
    find_field_problems,
    find_field_questions,
)
from askback.domain.identity import Place
from askback.domain.interview import Interview, start_interview
from askback.domain.outcome import Picked
from askback.translations.catalogue import use_language
from support.cases import ANN, BEN, EVERYBODY, NOON, Story, form, question
from support.forms import modal_forms

texts = st.sampled_from(["", "  ", "7", "2", "words", "x" * 1001, "@everyone <!channel>"])
TWO = (question("a", "Red", "Blue"), question("b", "Today", "Monday", multi_select=True))


def send(at: Interview, *answers: FieldAnswer, revision: int | None = None) -> Interview:
    operation = SubmitForm(answers=answers, revision=at.revision if revision is None else revision)
    return apply_action(at, Action(ask_id="ask", actor=ANN, at=NOON, step=0, operation=operation))


def said(index: int, *chosen: int, text: str | None = None, **more: Any) -> FieldAnswer:
    return FieldAnswer(index=index, chosen=chosen, text=text, **more)


def problems_of(after: Interview, *answers: FieldAnswer) -> tuple[FieldProblem, ...]:
    return find_field_problems(after, SubmitForm(answers=answers))


def fields_of(at: Interview) -> FormFields:
    asked = find_field_questions(at.form)
    assert asked is not None
    return build_form_fields("ask", at, asked)


def person(number: int) -> Picked:
    return Picked(id=f"U{number}", name=f"Person {number}")


def picked_people(most: int) -> st.SearchStrategy[tuple[Picked, ...]]:
    return st.lists(st.integers(0, 5).map(person), unique=True, max_size=most).map(tuple)


@given(asked_form=modal_forms(), data=st.data())
def test_each_form_can_be_answered_together_and_what_comes_back_keeps_its_rules(
    asked_form: Form, data: st.DataObject
) -> None:
    assert find_field_questions(asked_form) is not None
    answers = [
        said(
            index,
            *data.draw(
                st.lists(st.integers(0, len(one.options) - 1), unique=True, max_size=3 if one.multi_select else 1)
                if one.options
                else st.just([])
            ),
            picked=data.draw(picked_people(3 if one.multi_select else 1)) if one.picks else (),
            text=data.draw(texts) if one.allow_custom or one.allow_note else None,
        )
        for index, one in enumerate(asked_form.questions)
    ]
    after = send(start_interview(asked_form), *answers)
    problems = {problem.index for problem in problems_of(after, *answers)}
    assert (after.outcome is None) == bool(problems)
    for index, (sent, draft) in enumerate(zip(answers, after.drafts, strict=True)):
        one, text = asked_form.questions[index], (sent.text or "").strip()
        kept = draft.text or draft.note or (draft.unsent or "").strip()
        assert kept == text, "no text is lost"
        assert set(draft.chosen) == set(sent.chosen), "no choice is lost"
        assert set(draft.picked) == set(sent.picked), "nobody who was picked is lost"
        if index not in problems:
            assert one.find_count_problem(len(draft.chosen) + len(draft.picked)) is None or draft.text is not None
            assert draft.text is None or one.rules.find_problem(draft.text) is None
    if after.outcome is not None:
        assert [answer.question_id for answer in after.outcome.answers] == [one.id for one in asked_form.questions]


def test_a_new_choice_replaces_the_text_that_was_in_the_field() -> None:
    story = Story(*TWO)
    at = send(story.now, said(0, text="Green"), said(1))
    assert fields_of(at).fields[0].value == "Green"
    after = send(at, said(0, 1, text="Green"), said(1, 0))
    assert after.outcome is not None
    assert [answer.labels for answer in after.outcome.answers] == [("Blue",), ("Today",)]


def test_a_choice_and_a_new_text_are_not_guessed_between() -> None:
    sent = said(0, 1, text="Green"), said(1, 0)
    after = send(Story(*TWO).now, *sent)
    (problem,) = problems_of(after, *sent)
    assert problem.in_text
    assert "keep one of them" in problem.message
    assert (after.drafts[0].chosen, after.drafts[0].unsent) == ((1,), "Green")


@pytest.mark.parametrize(
    ("fields", "sent", "message", "in_text"),
    [
        ({}, said(0), "choose an option or write an answer", False),
        ({"allow_custom": False}, said(0), "answer this question", False),
        ({"options": ()}, said(0), "answer this question", True),
        ({"multi_select": True, "min_choices": 2}, said(0, 1), "choose at least 2 options", False),
        ({"rules": TextRules(kind="integer")}, said(0, text="seven"), "whole number", True),
    ],
)
def test_each_problem_is_said_in_a_sentence(
    fields: dict[str, Any], sent: FieldAnswer, message: str, in_text: bool
) -> None:
    after = send(Story(question("a", "Red", "Blue").evolve(**fields), TWO[1]).now, sent, said(1, 0))
    (problem,) = problems_of(after, sent, said(1, 0))
    assert message in problem.message
    assert problem.in_text == in_text
    assert after.outcome is None
    assert after.drafts[1].chosen == (0,), "the right answer is kept"


def test_an_answer_that_somebody_gave_meanwhile_is_not_replaced_unseen() -> None:
    story = Story(*TWO)
    opened = story.now.revision
    story.does(Choose(index=0), by=BEN)
    after = send(story.now, said(0, 1), said(1, 0), revision=opened)
    assert (after.phase, after.outcome) == ("reviewing", None)
    assert (after.step, after.revision) == (story.now.step + 1, story.now.revision + 1)
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


def test_after_the_modal_every_question_counts_as_shown() -> None:
    """The wrong answer corrected on the card leads to the review, and not to a question that was shown already."""
    wrong = question("a", "Red", "Blue", rules=TextRules(kind="integer"))
    for sent in (said(0), said(0, text="seven"), said(0, 1, text="7")):
        story = Story(wrong, question("b", "X", "Y", multi_select=True), question("c", "Up", "Down"))
        story.now = send(story.now, sent, said(1, 0), said(2, 0))
        assert story.now.outcome is None
        assert all(draft.seen for draft in story.now.drafts)
        story.does(Choose(index=0))
        assert story.now.phase == "reviewing"


def test_a_click_from_before_the_modal_that_is_delivered_again_changes_nothing() -> None:
    story = Story(question("z", "Red", "Blue", multi_select=True, allow_custom=False), TWO[0])
    click = Select(chosen=(0,), base=(), revision=0, order=1.0)
    story.does(click)
    story.does(Select(chosen=(), base=(), revision=0, order=2.0))
    story.now = send(story.now, said(0), said(1, 1))
    before = story.now
    assert story.does(click) == before


def test_a_blank_text_beside_a_choice_is_no_text() -> None:
    at = start_interview(form(question("a", "Red", "Blue"), question("b", "X", "Y")))
    blank, none = (send(at, said(0, 1, text=text), said(1)) for text in ("  ", None))
    assert blank.drafts == none.drafts
    blank, none = (send(none, said(0, 1, text=text), said(1)) for text in ("  ", None))
    assert blank.drafts == none.drafts, "also if the choice is not new"


def test_the_same_answers_from_another_person_are_no_new_revision() -> None:
    """A new revision makes a card that people look at stale, and they would click again for nothing."""
    at = send(Story(*TWO).now, said(0, 1), said(1))
    operation = SubmitForm(answers=(said(0, 1), said(1)), revision=at.revision)
    again = apply_action(at, Action(ask_id="ask", actor=BEN, at=NOON, step=at.step, operation=operation))
    assert again.revision == at.revision
    assert send(at, said(0, 0), said(1)).revision == at.revision + 1


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
        (said(0, 3), said(1, 0)),
        (said(0, -1), said(1, 0)),
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
        question("b", "Today", details="All of it."),
        question("b").evolve(options=(Option(value="x", label="X", preview="A preview"),)),
        question("b").evolve(options=(Option(value="x", label="X", image="https://example.com/x.png"),)),
        question("b").evolve(options=(Option(value="x", label="X"), Option(value="y", label="X"))),
        question("b").evolve(options=(Option(value="x", label="Two\nlines"),)),
        question("b").evolve(options=(Option(value="x", label="X", description="Two\nlines"),)),
    ],
)
def test_a_question_that_a_field_would_show_in_part_is_asked_by_itself(second: object) -> None:
    assert isinstance(second, type(TWO[0]))
    story = Story(TWO[0], second)
    assert find_field_questions(story.now.form) is None
    assert story.card.together is None
    with pytest.raises(NoFields):
        send(story.now, said(0, 0), said(1, 0))


def test_a_field_has_as_many_options_as_the_longest_menu_and_no_more() -> None:
    for count, fits in ((99, True), (100, True), (101, False)):
        assert (find_field_questions(form(TWO[0], question("b", *map(str, range(count))))) is not None) == fits


def test_only_the_hint_of_askback_itself_is_translated() -> None:
    own = question("b", "X", placeholder="Version")
    hints = [one.placeholder for one in fields_of(start_interview(form(TWO[0], own))).fields]
    with use_language("de"):
        translated = [one.placeholder for one in fields_of(start_interview(form(TWO[0], own))).fields]
    assert hints[1] == translated[1] == "Version"
    assert hints[0] == DEFAULT_PLACEHOLDER != translated[0]


def test_a_single_question_has_no_fields() -> None:
    assert Story(TWO[0]).card.together is None


def test_each_card_offers_the_fields_while_at_least_two_questions_are_left() -> None:
    story = Story(*TWO, question("c", "Yes", "No", default=("yes",)), question("d"))
    offered = [story.card.together is not None]
    for operation in (Choose(index=0), Next(), Choose(index=0)):
        story.does(operation)
        offered.append(story.card.together is not None)
    assert offered == [True, True, True, True], "the second one is still without an answer"
    story.does(GoTo(index=1))
    story.does(Select(chosen=(0,), base=()))
    story.does(GoTo(index=3))
    assert story.card.together is None, "only this one is left"
    story.does(GoTo(index=0))
    assert story.card.together is not None, "this one, and the last"
    story.does(Review())
    assert story.card.together is None


def test_a_default_that_nobody_has_seen_counts_as_left() -> None:
    story = Story(TWO[0], question("b", "Yes", "No", default=("yes",)))
    assert story.card.together is not None
    story.does(Choose(index=0))
    assert story.card.together is None
    story.does(Back())
    assert story.card.together is None


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


WHO = Question(id="who", prompt="Who?", picks="people")
TEAM = WHO.evolve(id="team", multi_select=True, min_choices=2, max_choices=3)


def test_people_are_picked_in_fields_and_keep_the_names_that_are_known() -> None:
    known = send(Story(WHO, TEAM).now, said(0, picked=(person(1),)), said(1, picked=(person(2),)))
    assert known.outcome is None
    nameless = tuple(Picked(id=f"U{number}") for number in (1, 2))
    after = send(known, said(0, picked=nameless[:1]), said(1, picked=(*nameless, person(3))))
    assert after.outcome is not None
    assert after.outcome["who"].picked == (person(1),)
    assert [one.label for one in after.outcome["team"].picked] == ["Person 2", "Person 3", "U1"]


@pytest.mark.parametrize(
    ("asked", "sent", "message", "in_text"),
    [
        (WHO, said(0), "choose a person", False),
        (WHO, said(0, rejected=True), "not a person who can be chosen", False),
        (WHO.evolve(allow_custom=True), said(0, text=" "), "choose a person, or write an answer", False),
        (WHO.evolve(allow_custom=True), said(0, picked=(person(1),), text="or Ben"), "You chose from the list", True),
        (TWO[0], said(0, 0, text="or blue"), "You chose an option and wrote an answer", True),
        (TEAM, said(0, picked=(person(1),)), "choose 2 to 3 people", False),
        (TEAM, said(0, picked=tuple(map(person, range(26)))), "at most 25 people", False),
        (WHO.evolve(picks="channels"), said(0, rejected=True), "not a channel that can be chosen", False),
        (TWO[0], said(0, writes=True, text=""), "You chose “Something else…”: please write", True),
        (TWO[1].evolve(id="c"), said(0, 1, writes=True, text=""), "You chose “Something else…”: please write", True),
    ],
)
def test_each_problem_is_at_the_choice_or_at_the_text(
    asked: Question, sent: FieldAnswer, message: str, in_text: bool
) -> None:
    after = send(Story(asked, TWO[0].evolve(id="z")).now, sent, said(1, 0))
    (problem,) = problems_of(after, sent, said(1, 0))
    assert message in problem.message
    assert (problem.index, problem.in_text) == (0, in_text)
    assert after.drafts[1].chosen == (0,), "the right answer is kept"


def test_what_was_picked_beside_a_bot_is_kept() -> None:
    sent = said(0, picked=(person(1), person(2)), rejected=True), said(1, picked=(person(3),))
    after = send(Story(TEAM, WHO).now, *sent)
    assert [problem.index for problem in problems_of(after, *sent)] == [0]
    assert [field.picked for field in fields_of(after).fields] == [(person(1), person(2)), (person(3),)]


def test_as_many_people_as_every_platform_takes_are_an_answer() -> None:
    sent = said(0, picked=tuple(map(person, range(25)))), said(1, 0)
    after = send(Story(TEAM.evolve(max_choices=None), TWO[0]).now, *sent)
    assert (problems_of(after, *sent), after.phase) == ((), "closed")


@pytest.mark.parametrize("odd", [{"picked": (person(1),)}, {"rejected": True}])
def test_people_where_options_are_asked_for_change_nothing(odd: dict[str, Any]) -> None:
    with pytest.raises(NoFields):
        send(Story(*TWO).now, said(0, 0, **odd), said(1, 0))


@pytest.mark.parametrize(
    ("fields", "title", "label"),
    [
        ({}, "Your answers", "Submit"),
        ({"is_whole": False}, "Your answers", "Next"),
        ({"is_edit": True}, "Change the arguments", "Change"),
        ({"is_edit": True, "is_whole": False}, "Change the arguments", "Change"),
    ],
)
def test_the_window_says_what_it_is_for_and_what_its_button_does(
    fields: dict[str, Any], title: str, label: str
) -> None:
    one = FormField(index=3, header="Place", question=TWO[0], chosen=(), value="")
    assert (one.is_optional, one.is_exact) == (False, False)
    made = FormFields(ask_id="ask", step=0, revision=0, fields=(one.evolve(index=1, header="Day"), one), **fields)
    assert (made.title, made.submit_label) == (title, label)
    assert [made.get_header(index) for index in (1, 3, 2)] == ["Day", "Place", ""]


@pytest.mark.parametrize("odd", [said(0, picked=(person(1), person(2))), said(0, 0)])
def test_more_than_one_person_or_an_option_where_one_person_is_asked_for_changes_nothing(odd: FieldAnswer) -> None:
    with pytest.raises(NoFields):
        send(Story(WHO, TWO[0]).now, odd, said(1, 0))


DAY = question("day", show_if=Condition(question="a", any_of=("red",)))


def test_questions_that_depend_on_others_follow_one_at_a_time() -> None:
    story = Story(TWO[0], DAY, TWO[1])
    assert story.card.together is not None
    assert story.card.together.label == "Answer 2 together…"
    fields = fields_of(story.now)
    assert ([field.index for field in fields.fields], fields.is_whole) == ([0, 2], False)
    after = send(story.now, said(0, 0), said(2, 1))
    assert (after.phase, after.current) == ("asking", 1)
    assert build_card("ask", after, EVERYBODY).prompt == DAY.prompt


def test_if_nothing_depends_on_the_answers_they_end_the_form() -> None:
    after = send(Story(TWO[0], DAY, TWO[1]).now, said(0, 1), said(2, 1))
    assert after.outcome is not None
    assert [answer.question_id for answer in after.outcome.answers] == ["a", "b"]


def test_answers_that_hide_the_question_on_the_card_lead_to_one_that_is_asked() -> None:
    story = Story(TWO[0], DAY, TWO[1])
    story.does(Choose(index=0))
    assert story.now.current == 1
    wrong = send(story.now, said(0, 1), said(2))
    assert (wrong.phase, wrong.current) == ("asking", 2)
    assert wrong.step > story.now.step
    closed = send(story.now, said(0, 1), said(2, 0))
    assert closed.outcome is not None
    assert closed.current == 0


def test_of_several_problems_the_first_is_shown_in_place_of_a_hidden_question() -> None:
    story = Story(TWO[0], DAY, TWO[1], question("c", "Now", "Later"))
    story.does(Choose(index=0))
    assert send(story.now, said(0, 1), said(2), said(3)).current == 2


def test_a_dependent_question_is_asked_until_people_saw_it_and_answered_it() -> None:
    red = Condition(question="a", any_of=("red",))
    hour = question("hour", "Noon", "Night", default=("noon",), show_if=red)
    story = Story(TWO[0], DAY, hour, TWO[1])
    after = send(story.now, said(0, 0), said(3, 0))
    assert (after.phase, after.current) == ("asking", 1), "both are left, and this is the first"
    story.does(Choose(index=0))
    story.does(SubmitText(text="Monday"))
    story.does(Back())
    assert story.now.current == 1
    after = send(story.now, said(0, 0), said(3, 0))
    assert (after.phase, after.drafts[2].seen) == ("reviewing", True)
    fresh = Story(TWO[0], hour, TWO[1])
    after = send(fresh.now, said(0, 0), said(2, 0))
    assert (after.phase, after.current) == ("asking", 1), "nobody has seen its default"
    skipped = Story(TWO[0], DAY, TWO[1])
    skipped.does(Choose(index=0))
    skipped.does(Next())
    assert skipped.now.drafts[1].seen
    after = send(skipped.now, said(0, 0), said(2, 0))
    assert (after.phase, after.current) == ("asking", 1), "nobody has answered it"


def test_dependent_answers_that_exist_already_are_reviewed() -> None:
    story = Story(TWO[0], DAY, TWO[1])
    story.does(Choose(index=0))
    story.does(SubmitText(text="Monday"))
    after = send(story.now, said(0, 0), said(2, 0))
    assert (after.phase, after.outcome) == ("reviewing", None)
    assert not after.missing


def test_a_form_with_one_question_of_its_own_has_no_fields() -> None:
    assert find_field_questions(form(TWO[0], DAY)) is None


@pytest.mark.parametrize(
    ("effect", "words"),
    [
        ("removed", "Up to 9. Empty it to leave the argument out."),
        ("null", "Up to 9. Empty it to send null."),
        (None, "Up to 9."),
    ],
)
def test_a_field_says_what_emptying_it_does(effect: Any, words: str) -> None:
    field = FormField(index=0, header="a", question=question("a"), chosen=(), value="", when_empty=effect)
    assert field.add_empty_hint("Up to 9.") == words
    assert field.add_empty_hint(None) == (words.removeprefix("Up to 9.").strip() or None)
