"""Settled cards as Discord messages: the answer, the question, who and when."""

from __future__ import annotations

import pytest

from askback.domain.actions import Cancel, Choose, Select, Submit, SubmitText
from askback.domain.form import Option, Question
from askback.domain.interview import settle
from askback.domain.outcome import Outcome
from support.discord_cards import ADA, NOW, do, elements, interview, labels, options, question, said
from unit.discord.drawn_cards import FORM, MENTION, shown


def test_an_answered_card_has_no_controls_and_says_who_and_when() -> None:
    made = shown(do(interview(question(options=options(3))), Choose(index=1)))
    assert elements(made) == []
    text = said(made)
    assert "Which one?" in text
    at = f"<t:{int(NOW.timestamp())}:d> <t:{int(NOW.timestamp())}:t>"
    assert text == f"✓ Option 2\nWhich one?  ·  Answered by {MENTION}  ·  {at}\nNot chosen: Option 1  ·  Option 3"


def test_a_settled_card_offers_the_question_if_it_leaves_out_a_part_of_it() -> None:
    described = (Option(value="a", label="A", description="About A."), Option(value="b", label="B"))
    made = shown(do(interview(question(prompt="Which one?\nThink first.", options=described)), Choose(index=0)))
    assert labels(made) == ["Show question"]
    text = said(made)
    assert text.startswith(f"✓ A\nWhich one?  ·  Answered by {MENTION}  ·  ")
    assert "Think first." not in text
    assert "About A." not in text


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Outcome(status="cancelled", at=NOW, by=ADA), "Cancelled"),
        (Outcome(status="declined", at=NOW, by=ADA, reason="ask me *tomorrow*"), "Not now"),
        (Outcome(status="timed_out", at=NOW), "Nobody answered in time"),
        (Outcome(status="undeliverable", at=NOW, reason="No such channel."), "Could not be delivered"),
    ],
)
@pytest.mark.parametrize("form", [FORM[:1], FORM], ids=["one", "several"])
def test_every_end_is_told_in_plain_words(form: tuple[Question, ...], outcome: Outcome, words: str) -> None:
    made = shown(settle(interview(*form), outcome))
    text = said(made)
    assert labels(made) == ([] if len(form) == 1 else ["Show questions"])
    assert text.startswith(words)
    assert "✓" not in text
    assert (outcome.reason or "") in text
    assert "Which database?" in text


def test_what_was_chosen_before_a_cancel_is_no_answer() -> None:
    at = do(interview(question(options=options(3), multi_select=True)), Select(chosen=(1,)), Cancel())
    made = shown(at)
    assert "✓" not in said(made)
    assert "not submitted" in said(made)


def test_a_submitted_form_of_one_shows_written_and_chosen() -> None:
    at = interview(question(options=options(3), multi_select=True))
    at = do(at, Select(chosen=(0,)), SubmitText(text="and mine"), Submit())
    assert ":t>\nOption 1\nand mine" in said(shown(at))
