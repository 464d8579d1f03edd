"""Settled cards as Slack messages: the answer, the question, who and when."""

from __future__ import annotations

import json

import pytest

from askback.domain.actions import Cancel, Choose, Select, Submit, SubmitText
from askback.domain.form import Option, Question
from askback.domain.interview import settle
from askback.domain.outcome import Outcome
from support.slack_cards import ADA, NOW, do, elements, interview, labels, options, question, said
from unit.slack.drawn_cards import FORM, shown


def test_an_answered_card_has_no_controls_and_says_who_and_when() -> None:
    at = interview(question(options=options(3)))
    made = shown(do(at, Choose(index=1)))
    assert elements(made) == []
    texts = said(made)
    assert texts[:2] == ["✓ ", "Option 2"]
    assert texts.count("Option 2") == 1
    assert "Which one?" in texts
    assert "  ·  Answered by " in texts
    assert texts[-1] == "Not chosen: Option 1  ·  Option 3"
    assert len(made[0].blocks) == 2


def test_a_settled_card_offers_the_question_if_it_leaves_out_a_part_of_it() -> None:
    described = (Option(value="a", label="A", description="About A."), Option(value="b", label="B"))
    made = shown(do(interview(question(prompt="Which one?\nThink first.", options=described)), Choose(index=0)))
    assert labels(made) == ["Show question"]
    texts = said(made)
    assert texts[:2] == ["✓ ", "A"]
    assert not any("Think first." in text or "About A." in text for text in texts)


def test_options_that_were_not_chosen_are_literal_on_a_settled_card() -> None:
    hostile = (Option(value="x", label="<!channel> *all* \u202babc"), Option(value="y", label="Fine"))
    made = shown(do(interview(question(options=hostile)), Choose(index=1)))
    assert made[0].blocks[-1] == {
        "type": "context",
        "elements": [
            {"type": "plain_text", "text": "Not chosen: \u2068<!channel> *all* \u202babc\u202c\u2069", "emoji": False},
        ],
    }
    blocks = json.dumps(made[0].blocks)
    assert '"user_id": "U0ADA"' in blocks
    assert f'"timestamp": {int(NOW.timestamp())}' in blocks


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Outcome(status="cancelled", at=NOW, by=ADA), "Cancelled"),
        (Outcome(status="declined", at=NOW, by=ADA, reason="ask me tomorrow"), "Not now"),
        (Outcome(status="timed_out", at=NOW), "Nobody answered in time"),
        (Outcome(status="undeliverable", at=NOW, reason="No such channel."), "Could not be delivered"),
    ],
)
@pytest.mark.parametrize("form", [FORM[:1], FORM], ids=["one", "several"])
def test_every_end_is_told_in_plain_words(form: tuple[Question, ...], outcome: Outcome, words: str) -> None:
    at = settle(interview(*form), outcome)
    made = shown(at)
    assert labels(made) == ([] if len(form) == 1 else ["Show questions"])
    assert said(made)[0] == words
    assert words.lower() in made[0].text.lower()
    assert not any("✓" in text for text in said(made))
    if outcome.reason:
        assert outcome.reason in said(made)
        assert outcome.reason in made[0].text
    assert any("Which database?" in text for text in said(made))


def test_what_was_chosen_before_a_cancel_is_no_answer() -> None:
    at = do(interview(question(options=options(3), multi_select=True)), Select(chosen=(1,)), Cancel())
    made = shown(at)
    assert not any("✓" in text for text in said(made))
    assert any("not submitted" in text for text in said(made))


def test_a_submitted_form_of_one_shows_written_and_chosen() -> None:
    at = interview(question(options=options(3), multi_select=True))
    at = do(at, Select(chosen=(0,)), SubmitText(text="and mine"), Submit())
    assert {"Option 1", "and mine"} <= set(said(shown(at)))
