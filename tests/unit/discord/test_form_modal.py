"""The modal with all questions of a form: complete, within Discord's limits, and submissions are read tolerantly."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from askback.domain.actions import FieldAnswer, SubmitForm
from askback.domain.form import Condition, Form, Option, Question, TextRules
from askback.domain.form_fields import FieldQuestions, FormFields, build_form_fields, find_field_questions
from askback.domain.interview import Interview, start_interview
from askback.domain.outcome import Picked
from askback.translations.catalogue import LANGUAGES, Language, use_language
from askback_discord import control_ids, form_modal, limits
from support.discord_cards import ASK, accepted_modal, do, interview, options, question
from support.discord_cards import said as read
from support.forms import modal_forms

WHERE = question("a", "Where to?", options=options(3), header="Place")


def asked_of(form: Form) -> FieldQuestions:
    asked = find_field_questions(form)
    assert asked is not None
    return asked


def fields_of(at: Interview) -> FormFields:
    return build_form_fields(ASK, at, asked_of(at.form))


def shown(at: Interview) -> Any:
    made: Any = form_modal.build_modal(fields_of(at))
    accepted_modal(made)
    return made


def fields(modal: Any) -> list[Any]:
    return [one for one in modal["components"] if one["type"] == limits.LABELLED]


def sent_of(modal: Any) -> dict[str, Any]:
    """Return the data of a submission as Discord sends it if nobody changed anything."""
    labels: list[Any] = []
    for one in fields(modal):
        part = one["component"]
        chosen = [entry["value"] for entry in part.get("options", ()) if entry.get("default")]
        chosen += [entry["id"] for entry in part.get("default_values", ())]
        told: dict[str, Any] = {"type": part["type"], "custom_id": part["custom_id"]}
        if part["type"] == limits.INPUT:
            told["value"] = part.get("value", "")
        elif part["type"] == limits.RADIO:
            told["value"] = chosen[0] if chosen else None
        else:
            told["values"] = chosen
        labels.append({"type": limits.LABELLED, "component": told})
    return {"custom_id": modal["custom_id"], "components": labels}


@given(asked=modal_forms())
def test_a_form_that_fits_is_shown_whole_and_read_back(asked: Form) -> None:
    at = start_interview(asked)
    assume(form_modal.fits(asked_of(asked)))
    modal = shown(at)
    words = [text for one in fields(modal) for text in (one["label"], one.get("description", ""))]
    said = "\n".join([*words, read(modal["components"])])
    offered = {entry["label"] for one in fields(modal) for entry in one["component"].get("options", ())}
    for one in asked.questions:
        assert one.prompt.strip() in said
        assert {option.label.strip() for option in one.options} <= offered
    sent = form_modal.read_answers(sent_of(modal))
    assert [answer.index for answer in sent] == [*range(len(asked.questions))]
    assert [answer.chosen for answer in sent] == [draft.chosen for draft in at.drafts]
    assert not any(answer.text for answer in sent)


def test_choices_are_groups_or_menus() -> None:
    form = interview(
        WHERE.evolve(allow_custom=False),
        question("b", "Which ones?", options=options(9), multi_select=True, allow_custom=False),
        question("c", "Which one?", options=options(11), allow_custom=False),
        question("d", "Which?", options=options(25), multi_select=True, allow_custom=False),
        question("e", "Only one?", options=options(1), allow_custom=False),
    )
    kinds = [one["component"]["type"] for one in fields(shown(form))]
    assert kinds == [limits.RADIO, limits.BOXES, limits.MENU, limits.MENU, limits.MENU]


@pytest.mark.parametrize(
    ("prompt", "label", "description", "above"),
    [
        ("Where to?", "Where to?", None, []),
        ("Which of the towns is the one you like best?", "Which of the towns is the one you like best?", None, []),
        ("Which of the many towns is the one you like best?", "Place", "the prompt", []),
        ("Where? " * 20, "Place", None, ["the prompt"]),
        ("Two\nlines?", "Place", None, ["the prompt"]),
    ],
)
def test_a_question_is_a_label_a_description_or_a_text_of_its_own(
    prompt: str, label: str, description: str | None, above: list[str]
) -> None:
    one = WHERE.evolve(prompt=prompt, allow_custom=False)
    modal = shown(interview(one, question("b", "Why?")))
    first = fields(modal)[0]
    assert first["label"] == label
    assert first.get("description") == (prompt if description else None)
    assert read(modal["components"]).strip() == (prompt.strip() if above else "")


def test_other_answers_are_written_in_the_modal_if_it_has_room() -> None:
    two = shown(interview(WHERE, question("b", "Which?", options=options(2), header="Thing")))
    assert [one["label"] for one in fields(two)] == [
        "Where to?", "Something else… (Place)", "Which?", "Something else… (Thing)",
    ]  # fmt: skip
    assert fields(two)[1]["component"]["required"] is False
    three = shown(interview(WHERE, WHERE.evolve(id="b"), WHERE.evolve(id="c")))
    assert [one["label"] for one in fields(three)] == ["Where to?"] * 3
    assert read(three["components"]).endswith("close this window and use the card.")


def test_it_begins_with_the_answers_so_far_and_a_rejected_text() -> None:
    answers = (FieldAnswer(index=0, text="Lima"), FieldAnswer(index=1, text="x" * 1001))
    at = do(interview(WHERE, question("b", "Why?")), SubmitForm(answers=answers))
    first, text, second = (one["component"] for one in fields(shown(at)))
    assert [entry["label"] for entry in first["options"] if entry.get("default")] == ["Something else…"]
    assert text["value"] == "Lima"
    assert second["value"] == "x" * 1001


def test_a_text_without_a_field_is_kept_with_several_options() -> None:
    one = question("a", "Which?", options=options(3), multi_select=True)
    at = do(interview(one, one.evolve(id="b"), one.evolve(id="c")), SubmitForm(answers=_texts("Lima", "x", "y")))
    modal = form_modal.build_modal(fields_of(at.evolve(phase="asking", outcome=None)))
    sent: Any = sent_of(modal)
    for label in sent["components"]:
        label["component"]["values"] = ["1"]
    after = do(
        at.evolve(phase="asking", outcome=None), SubmitForm(answers=form_modal.read_answers(sent), revision=at.revision)
    )
    assert [draft.text for draft in after.drafts] == ["Lima", "x", "y"]
    assert [draft.chosen for draft in after.drafts] == [(1,)] * 3


def _texts(*texts: str) -> tuple[FieldAnswer, ...]:
    return tuple(FieldAnswer(index=index, text=text) for index, text in enumerate(texts))


@pytest.mark.parametrize(
    "odd",
    [
        question("b", options=(Option(value="x", label="x" * 101), *options(1))),
        question("b", options=(Option(value="x", label="x", description="y" * 101), *options(1))),
        question("b", options=options(26), allow_custom=False),
        question("b", options=options(25)),
    ],
)
def test_a_question_that_a_modal_would_cut_does_not_fit(odd: Question) -> None:
    assert form_modal.fits(asked_of(Form(questions=(WHERE, question("b", options=options(24))))))
    assert not form_modal.fits(asked_of(Form(questions=(WHERE, odd))))


@pytest.mark.parametrize(
    ("count", "long", "custom", "fits"),
    [(5, 0, False, True), (6, 0, False, False), (4, 1, False, True), (4, 2, False, False), (4, 0, True, True)],
)
def test_five_parts_are_the_limit(count: int, long: int, custom: bool, fits: bool) -> None:
    made = [WHERE.evolve(id=f"q{number}", allow_custom=custom) for number in range(count)]
    made[:long] = [one.evolve(prompt="Where? " * 20) for one in made[:long]]
    form = Form(questions=tuple(made))
    assert form_modal.fits(asked_of(form)) is fits
    if fits:
        shown(interview(*form.questions))


def test_a_hint_that_people_need_is_not_lost_to_a_long_question() -> None:
    number = question("b", "How many of the many seats do you need this time?", rules=TextRules(kind="integer"))
    modal = shown(interview(WHERE, number))
    assert "whole number" in fields(modal)[-1]["description"]
    assert number.prompt in read(modal["components"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_number_of_its_parts_is_the_same_in_each_language(language: Language) -> None:
    number = question("b", "How many seats?", rules=TextRules(kind="integer", minimum=1, maximum=9))
    long = question("c", "How many of the many seats do you need this time?", rules=TextRules(kind="integer"))
    form = Form(questions=(WHERE, number, long))
    assert form_modal.fits(asked_of(form))
    with use_language(language):
        modal = shown(interview(*form.questions))
    assert len(modal["components"]) == 5


def test_the_modal_names_its_ask_and_what_it_showed() -> None:
    control = control_ids.parse(shown(interview(WHERE, question("b", "Why?")))["custom_id"])
    assert control == control_ids.Control(kind="fields", ask_id=ASK, step=0, revision=0)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    )
)
def test_odd_payloads_are_read_without_an_error(odd: Any) -> None:
    for data in (
        {"components": odd},
        {"components": [{"component": odd}]},
        {"components": [{"component": {"custom_id": "askback:choice:0", "value": odd, "values": odd}}]},
    ):
        assert isinstance(form_modal.read_answers(data), tuple)


ADA, BOT = "100000000000000001", "100000000000000002"


def test_people_and_channels_have_discords_own_pickers() -> None:
    who = Question(id="a", prompt="Who?", picks="people", multi_select=True, max_choices=2)
    where = Question(id="b", prompt="Where?", picks="channels", allow_custom=True)
    sent = SubmitForm(
        answers=(FieldAnswer(index=0, picked=(Picked(id=ADA, name="Ada"),)), FieldAnswer(index=1, rejected=True))
    )
    first, second, text = (one["component"] for one in fields(shown(do(interview(who, where), sent))))
    assert (first["type"], first["min_values"], first["max_values"]) == (limits.USERS, 1, 2)
    assert first["default_values"] == [{"id": ADA, "type": "user"}]
    assert (second["type"], second["required"], second["min_values"]) == (limits.CHANNELS, False, 0)
    assert second["channel_types"] == [0, 5, 15]
    assert text["type"] == limits.INPUT


def test_a_bot_that_was_picked_is_left_out_and_reported() -> None:
    picker = {"type": limits.USERS, "custom_id": "askback:people:0", "values": [ADA, BOT]}
    data = {
        "components": [{"type": limits.LABELLED, "component": picker}],
        "resolved": {"users": {ADA: {"global_name": "Ada"}, BOT: {"username": "askback", "bot": True}}},
    }
    (answer,) = form_modal.read_answers(data)
    assert answer == FieldAnswer(index=0, picked=(Picked(id=ADA, name="Ada"),), rejected=True)


def test_something_else_without_a_text_is_read() -> None:
    radio = {"type": limits.RADIO, "custom_id": "askback:choice:0", "value": "other"}
    (answer,) = form_modal.read_answers({"components": [{"type": limits.LABELLED, "component": radio}]})
    assert (answer.chosen, answer.writes) == ((), True)


def test_if_questions_may_follow_a_sentence_says_so() -> None:
    day = question("z", "Which day?", show_if=Condition(question="a", any_of=("v1",)))
    modal = shown(interview(WHERE, question("b", "Why?"), day))
    assert read(modal["components"]).endswith("More questions may follow: they depend on these answers.")
    three = [WHERE.evolve(id=name) for name in ("a", "b", "c")]
    modal = shown(interview(*three, day))
    assert read(modal["components"]).count("\n") >= 1, "both sentences share a part"
    assert len(modal["components"]) == 4
    full = Form(questions=(*(WHERE.evolve(id=name, allow_custom=False) for name in "abcde"), day))
    assert not form_modal.fits(asked_of(full)), "there is no room for the sentence"


def test_a_text_of_one_line_by_its_format_has_a_field_of_one_line() -> None:
    form = interview(*(question(name, name, rules=TextRules(schema_format=name)) for name in ("time", "markdown")))
    made = [one["component"] for one in fields(shown(form))]
    assert [one["style"] for one in made] == [1, 2]
