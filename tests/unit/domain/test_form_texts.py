"""Texts in forms and answers: kept literally, refused or repaired where half a character is missing, and measured."""

from __future__ import annotations

import re

import pytest

from askback.domain.actions import Action, Decline, SubmitText
from askback.domain.form import Condition, Form, Option, Question, TextRules
from askback.domain.identity import Actor, Place
from askback.domain.outcome import Answer, Choice, Outcome
from askback.errors import InvalidValue
from support.cases import ANN, HOSTILE, NOON
from unit.domain.plain_values import PLAIN


def test_texts_are_kept_literally_and_not_even_trimmed():
    option = Option(value=" v ", label="  two  spaces \n", description="\tx ")
    assert (option.value, option.label, option.description) == (" v ", "  two  spaces \n", "\tx ")


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_survives_a_round_trip_through_json(text: str):
    asked = Form(
        questions=(
            Question(
                id=text,
                prompt=text,
                header=text,
                placeholder=text,
                options=(Option(value=text, label=text, description=text, preview=text),),
                default=(text,),
                rules=TextRules(hint=text, pattern=re.escape(text)),
            ),
            Question(id="b", prompt="?", show_if=Condition(question=text, any_of=(text,))),
        )
    )
    choice = Choice(index=0, value=text, label=text)
    outcome = Outcome(
        status="answered",
        at=NOON,
        by=ANN.evolve(name=text),
        answers=(Answer(question_id=text, choices=(choice,), text=text),),
    )
    action = Action(ask_id="x", actor=ANN, at=NOON, step=1, operation=SubmitText(text=text))
    for value in (asked, outcome, action, action.evolve(operation=Decline(reason=text))):
        stored = value.model_dump_json()
        stored.encode()
        assert type(value).model_validate_json(stored) == value
    assert outcome.get(text) == outcome[text] == outcome.answers[0]
    assert outcome.answers[0].labels == (text, text)


HALVES = {"high": "\ud83d", "low": "\ude00", "turned round": "a\ude00\ud83d"}


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES)
def test_half_a_character_is_refused_where_a_program_gives_it(half: str):
    for kind, field in ((Option, "label"), (Question, "prompt"), (Place, "channel"), (Actor, "id"), (Choice, "label")):
        with pytest.raises(InvalidValue, match=f"{field}: contains an unpaired surrogate"):
            kind.parse(PLAIN[kind] | {field: half})
    with pytest.raises(InvalidValue, match=r"any_of\[0\]: contains an unpaired surrogate"):
        Condition(question="a", any_of=(half,))


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES)
def test_half_a_character_is_mended_where_a_person_wrote_it(half: str):
    written = [
        SubmitText(text=f"a{half}b").text,
        Decline(reason=f"a{half}b").reason,
        Actor(platform="p", id="U", name=f"a{half}b").name,
        Outcome(status="declined", at=NOON, reason=f"a{half}b").reason,
        Answer(question_id="q", text=f"a{half}b").text,
    ]
    for text in written:
        assert text is not None
        assert text.startswith("a")
        assert text.endswith("b")
        assert "\ufffd" in text
        text.encode()


def test_two_halves_that_belong_together_become_one_character():
    assert SubmitText(text="a\ud83d\ude00b").text == "a😀b"


RULES = [
    (TextRules(), "", "it is empty"),
    (TextRules(), " \n\u3000", "it is empty"),
    *((TextRules(), unseen, "it is empty") for unseen in ("\u200b", "\ufeff", "\u2800", "\u3164", "\u00ad", "\x00")),
    (TextRules(min_length=2), "\u200b\u200b", "it has 0"),
    (TextRules(), "x", None),
    (TextRules(), "x" * 1000, None),
    (TextRules(), f"  {'x' * 1000}\n", None),
    (TextRules(), "x" * 1001, "shorten it to 1,000 characters; it has 1,001"),
    (TextRules(), "👩" * 1000, None),
    (TextRules(max_length=4000), "x" * 4000, None),
    (TextRules(max_length=4000), "x" * 4001, "shorten it to 4,000 characters; it has 4,001"),
    (TextRules(min_length=2000), "x" * 4000, None),
    (TextRules(min_length=3), "ab ", "write at least 3 characters; it has 2"),
    (TextRules(min_length=3), "abc", None),
    (TextRules(max_length=3), "abcd", "shorten it to 3 characters; it has 4"),
    (TextRules(pattern=r"\d+"), "12", None),
    (TextRules(pattern=r"\d+"), " 12 ", None),
    (TextRules(pattern=r"\d+"), "12a", "does not have the requested format"),
    (TextRules(pattern=r"\d+"), "12\n13", "does not have the requested format"),
    (TextRules(pattern=r"\d+", hint="Digits only."), "a", "Digits only."),
]


@pytest.mark.parametrize(("rules", "text", "expected"), RULES)
def test_a_written_answer_is_measured_after_trimming(rules: TextRules, text: str, expected: str | None):
    problem = rules.find_problem(text)
    assert (problem is None) == (expected is None)
    assert expected is None or expected in (problem or "")
