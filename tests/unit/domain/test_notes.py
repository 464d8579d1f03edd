"""Notes to choices: what counts as one, what a card says of it, and what older processes see."""

from __future__ import annotations

import pytest

from askback.domain.actions import Choose, ClearText, SubmitText
from askback.domain.answer_values import list_answer_values, list_notes
from askback.domain.apply_action import NotPossible
from askback.domain.ask_policy import Approval, Policy
from askback.domain.form import Form, TextRules
from askback.domain.interview import Interview
from askback.domain.who import Who
from askback.errors import CallerError
from askback.inbound.answer_parser import parse_answer, parse_noted_choice
from support.cases import Story, form, question

NOTED = question("where", "Staging", "Production", allow_note=True)
OTHER = question("name")
NOTE = "but after six"


def test_a_note_is_no_answer_and_the_rules_of_written_answers_do_not_apply_to_it() -> None:
    story = Story(NOTED.evolve(rules=TextRules(min_length=100)))
    outcome = story.does(Choose(index=1, note=f"  {NOTE} ")).outcome
    assert outcome is not None
    assert outcome.answers[0].labels == ("Production",)
    assert list_answer_values(story.now.form, outcome) == {"where": "production"}
    assert list_notes(outcome) == {"where": NOTE}
    assert story.card.result == "Production"
    assert story.card.result_note == NOTE


def test_the_button_of_the_same_option_keeps_its_note_and_another_option_drops_it() -> None:
    story = Story(NOTED, OTHER)
    story.does(Choose(index=1, note=NOTE))
    for index, kept in ((1, NOTE), (0, None)):
        story.now = story.now.evolve(current=0, phase="asking")
        story.does(Choose(index=index))
        assert story.now.drafts[0].note == kept


@pytest.mark.parametrize("operation", [ClearText(), SubmitText(text="Nowhere"), Choose(index=1, note=" ")])
def test_a_note_can_be_removed(operation: ClearText | SubmitText | Choose) -> None:
    story = Story(NOTED, OTHER)
    story.does(Choose(index=1, note=NOTE))
    story.now = story.now.evolve(current=0)
    assert story.does(operation).drafts[0].note is None


def test_a_question_without_notes_refuses_one() -> None:
    with pytest.raises(NotPossible, match="takes no note"):
        Story(question("where", "Staging")).does(Choose(index=0, note=NOTE))


def test_without_written_answers_a_text_waits_for_its_option() -> None:
    story = Story(NOTED.evolve(allow_custom=False))
    story.does(SubmitText(text=NOTE))
    assert story.now.outcome is None
    assert story.now.draft.unsent == NOTE
    assert story.card.write_label == "Edit your text…"


def test_a_vote_takes_no_notes() -> None:
    policy = Policy(who=Who(anyone=True), approval=Approval(quorum=1))
    with pytest.raises(CallerError, match="give reasons, and no notes"):
        policy.check(form(NOTED.evolve(allow_custom=False)))


def test_without_notes_nothing_new_is_stored() -> None:
    story = Story(question("where", "Staging"), OTHER)
    story.does(Choose(index=0))
    stored = story.now.model_dump_json()
    assert "note" not in stored
    assert "note" not in Choose(index=0).model_dump_json()
    assert Interview.model_validate_json(stored) == story.now
    assert Form.model_validate_json(form(NOTED).model_dump_json()) == form(NOTED)


def test_a_long_note_is_quoted_below_the_result() -> None:
    story = Story(NOTED)
    story.does(Choose(index=0, note="two\nlines"))
    assert story.card.result_note is None
    assert story.card.quotations == ("Note: two\nlines",)


@pytest.mark.parametrize(
    ("text", "index", "note"),
    [
        ("Production, but after six", 1, NOTE),
        ("production – but after six", 1, NOTE),
        ("2: but after six", 1, NOTE),
        ("Production, no hurry, thanks", 1, "no hurry, thanks"),
    ],
)
def test_an_option_and_more_words_may_be_a_choice_with_a_note(text: str, index: int, note: str) -> None:
    story = Story(NOTED)
    assert parse_answer(story.now, text) == (), "it is no answer without its author's word"
    assert parse_noted_choice(story.now, text) == (Choose(index=index, note=note),)


@pytest.mark.parametrize(
    "text",
    [
        "Production", "Production,", "Production but after six", "Staging, Production", "Staging, not production",
        "Not production, please", "9, please", f"Production, {'x' * 1001}", "Maybe, later",
    ],
)  # fmt: skip
def test_what_is_not_clearly_one_option_with_a_note_is_not_taken_for_one(text: str) -> None:
    assert parse_noted_choice(Story(NOTED).now, text) == ()
    assert parse_noted_choice(Story(question("where", "Staging", "Production")).now, "Production, but later") == ()
