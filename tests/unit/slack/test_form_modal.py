"""The modal with all questions of a form: complete, within Slack's limits, and submissions are read tolerantly."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from askback.domain.actions import FieldAnswer, SubmitForm
from askback.domain.form import Condition, Form, Option, Question, TextRules
from askback.domain.form_fields import FieldQuestions, build_form_fields, find_field_problems, find_field_questions
from askback.domain.interview import Interview, start_interview
from askback.domain.outcome import Picked
from askback_sandbox.slack.pickers import PICKERS, initial_ids, picker_state
from askback_slack import form_modal
from askback_slack.text_modal import FieldRef, parse_ref
from support.forms import modal_forms
from support.slack_cards import ASK, accepted_view, do, interview, options, question, strings

REF = FieldRef(ask_id=ASK, step=0, channel="C1", message_ts="1700000000.000100", is_form=True, revision=4)
WHERE = question("a", "Where to?", options=options(3), header="Place")


def asked_of(form: Form) -> FieldQuestions:
    asked = find_field_questions(form)
    assert asked is not None
    return asked


def shown(at: Interview) -> Any:
    made: Any = form_modal.build_view(build_form_fields(ASK, at, asked_of(at.form)), REF)
    accepted_view(made)
    return made


def inputs(view: Any) -> list[Any]:
    return [block for block in view["blocks"] if block["type"] == "input"]


def state_of(view: Any) -> dict[str, Any]:
    """Return the state of the modal as Slack sends it if nobody changed anything."""
    values: dict[str, Any] = {}
    for block in inputs(view):
        element = block["element"]
        state: dict[str, Any] = {"type": element["type"]}
        if element["type"] in PICKERS:
            state |= picker_state(element["type"], initial_ids(element))
        elif "initial_options" in element or element["type"] in ("checkboxes", "multi_static_select"):
            state["selected_options"] = element.get("initial_options", [])
        elif "options" in element:
            state["selected_option"] = element.get("initial_option")
        else:
            state["value"] = element.get("initial_value")
        values[block["block_id"]] = {element["action_id"]: state}
    return {"state": {"values": values}, "blocks": view["blocks"]}


@given(asked=modal_forms())
def test_a_form_that_fits_is_shown_whole_and_read_back(asked: Form) -> None:
    at = start_interview(asked)
    assume(form_modal.fits(asked_of(asked)))
    view = shown(at)
    said = "".join(strings(view["blocks"]))
    for one in asked.questions:
        assert one.prompt in said
        for option in one.options:
            assert option.label.strip() in said
    sent = form_modal.read_answers(state_of(view))
    assert [answer.index for answer in sent] == [*range(len(asked.questions))]
    assert [answer.chosen for answer in sent] == [draft.chosen for draft in at.drafts]
    assert not any(answer.text for answer in sent)


def test_choices_are_radio_buttons_boxes_or_menus() -> None:
    form = interview(
        WHERE,
        question("b", "Which ones?", options=options(9), multi_select=True),
        question("c", "Which one?", options=options(10), allow_custom=True),
        question("d", "Which?", options=options(60), multi_select=True, allow_custom=False),
    )
    kinds = [block["element"]["type"] for block in inputs(shown(form))]
    text = "plain_text_input"
    assert kinds == ["radio_buttons", text, "checkboxes", text, "static_select", text, "multi_static_select"]


def test_slack_itself_asks_for_what_is_missing() -> None:
    first, text, second = inputs(shown(interview(WHERE, question("b", "Why?", rules=TextRules(kind="integer")))))
    assert [one["optional"] for one in (first, text, second)] == [False, True, False]
    assert [one["text"]["text"] for one in first["element"]["options"]][-1] == "Something else…"
    assert second["element"]["type"] == "number_input"
    assert "whole number" in second["hint"]["text"]


def test_it_begins_with_the_answers_so_far_and_a_rejected_text() -> None:
    answers = (FieldAnswer(index=0, text="Lima"), FieldAnswer(index=1, text="x" * 1001))
    at = do(interview(WHERE, question("b", "Why?")), SubmitForm(answers=answers))
    first, text, second = inputs(shown(at))
    assert first["element"]["initial_option"]["text"]["text"] == "Something else…"
    assert text["element"]["initial_value"] == "Lima"
    assert second["element"]["initial_value"] == "x" * 1001


def test_each_problem_is_at_its_field() -> None:
    sent = SubmitForm(
        answers=(
            FieldAnswer(index=0, text="x" * 1001),
            FieldAnswer(index=1),
            FieldAnswer(index=2, text="seven"),
            FieldAnswer(index=3, rejected=True),
            FieldAnswer(index=4, text="", writes=True),
        )
    )
    number = question("c", "How many?", rules=TextRules(kind="integer"))
    who = Question(id="d", prompt="Who?", picks="people")
    questions = WHERE, question("b", "Which?", options=options(2)), number, who, WHERE.evolve(id="e")
    at = do(interview(*questions), sent)
    errors = form_modal.build_errors(find_field_problems(at, sent), build_form_fields(ASK, at, asked_of(at.form)))
    assert [*errors] == ["askback:text:0", "askback:choice:1", "askback:text:2", "askback:people:3", "askback:text:4"]
    assert "please write your answer" in errors["askback:text:4"]
    assert {*errors} < {block["block_id"] for block in inputs(shown(at))}


def test_people_and_channels_have_slacks_own_pickers() -> None:
    who = Question(id="a", prompt="Who?", picks="people", multi_select=True, max_choices=2)
    where = Question(id="b", prompt="Where?", picks="channels", allow_custom=True)
    ada = Picked(id="U024BE7LH", name="Ada")
    sent = SubmitForm(answers=(FieldAnswer(index=0, picked=(ada,)), FieldAnswer(index=1, rejected=True)))
    first, second, text = inputs(shown(do(interview(who, where), sent)))
    assert first["element"]["type"] == "multi_users_select"
    assert first["element"]["initial_users"] == [ada.id]
    assert first["element"]["max_selected_items"] == 2
    assert first["hint"]["text"] == "Please choose 1 to 2 people."
    assert second["element"]["type"] == "conversations_select"
    assert second["hint"]["text"] == "Please choose a channel, or write an answer.", "both fields are optional"
    assert second["element"]["filter"] == {"include": ["public", "private"]}
    assert [one["optional"] for one in (first, second, text)] == [False, True, True]


def test_what_is_picked_is_read_by_id_and_anything_else_is_rejected() -> None:
    def element(kind: str, **state: Any) -> dict[str, Any]:
        return {"askback:field": {"type": kind, **state}}

    values = {
        "askback:people:0": element("users_select", selected_user="U024BE7LH"),
        "askback:people:1": element("multi_users_select", selected_users=["U024BE7LH", "no person"]),
        "askback:channels:2": element("conversations_select", selected_conversation="C024BE91L"),
        "askback:channels:3": element("conversations_select", selected_conversation=None),
        "askback:choice:4": element("radio_buttons", selected_option={"value": "other"}),
    }
    first, second, third, fourth, fifth = form_modal.read_answers({"state": {"values": values}})
    assert ([one.id for one in first.picked], first.rejected) == (["U024BE7LH"], False)
    assert second.rejected
    assert [one.id for one in third.picked] == ["C024BE91L"]
    assert (fourth.picked, fourth.rejected) == ((), False)
    assert (fifth.chosen, fifth.writes) == ((), True)


def test_if_questions_may_follow_the_modal_says_so_and_goes_on() -> None:
    day = question("c", "Which day?", show_if=Condition(question="a", any_of=("v1",)))
    view = shown(interview(WHERE, question("b", "Why?"), day))
    assert view["submit"]["text"] == "Next"
    assert "More questions may follow" in "".join(strings(view["blocks"][-1]))
    assert shown(interview(WHERE, question("b", "Why?")))["submit"]["text"] == "Submit"


def test_a_reason_about_no_field_is_at_the_first_one() -> None:
    assert form_modal.find_error_block(shown(interview(WHERE, question("b", "Why?")))) == "askback:choice:0"
    assert form_modal.find_error_block({}) == "askback:answer"


def test_its_reference_survives_the_way_to_slack_and_back() -> None:
    view = shown(interview(WHERE, question("b", "Why?")))
    assert parse_ref(view) == REF
    assert "is_form" not in REF.evolve(is_form=False, revision=None).model_dump_json(exclude_none=True)


@pytest.mark.parametrize(
    "odd",
    [
        question("b", options=(Option(value="x", label="x" * 76),)),
        question("b", options=(Option(value="x", label="x", description="y" * 76),)),
        question("b", options=options(11, description="About it")),
        question("b", options=options(100)),
    ],
)
def test_a_question_that_a_modal_would_cut_does_not_fit(odd: Any) -> None:
    assert form_modal.fits(asked_of(Form(questions=(WHERE, question("b", options=options(99))))))
    assert not form_modal.fits(asked_of(Form(questions=(WHERE, odd))))


def test_more_than_ten_questions_are_asked_one_by_one() -> None:
    many = tuple(question(f"q{number}") for number in range(11))
    assert form_modal.fits(asked_of(Form(questions=many[:10])))
    assert not form_modal.fits(asked_of(Form(questions=many)))


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    )
)
def test_odd_payloads_are_read_without_an_error(odd: Any) -> None:
    for view in ({"state": odd}, {"state": {"values": odd}}, {"state": {"values": {"askback:choice:0": odd}}}):
        assert isinstance(form_modal.read_answers(view), tuple)
        form_modal.find_error_block({"blocks": odd})


def test_a_text_of_one_line_by_its_format_has_a_field_of_one_line() -> None:
    form = interview(*(question(name, name, rules=TextRules(schema_format=name)) for name in ("time", "markdown")))
    made = [one["element"] for one in inputs(shown(form))]
    assert [one["multiline"] for one in made] == [False, True]
