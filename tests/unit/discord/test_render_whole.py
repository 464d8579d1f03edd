"""Any form as Discord messages: nothing is cut, and every limit is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from askback.domain.actions import Cancel
from askback.domain.ask_policy import Approval
from askback.domain.form import Form, Option, Question
from askback.domain.interview import Interview, start_interview
from askback.errors import ModelError
from askback.text.literal import replace_controls, to_literal
from askback.text.unseen import find_lookalikes, has_visible_text
from askback.tools import TOOLS
from askback_discord import limits, render
from askback_discord.layout import CONTINUED, GOES_ON
from support.discord_cards import (
    ADA,
    HOSTILE,
    Body,
    card,
    displays,
    do,
    interview,
    labels,
    options,
    question,
    said,
    squeezed,
    walk,
)
from support.discord_markdown import read, seen
from support.forms import is_described_whole
from unit.discord.drawn_cards import FORM, WHO, shown

CORPUS = Path(__file__).parents[4] / "shared/corpus/askuserquestion.jsonl"


def whole(at: Interview, messages: tuple[Body, ...]) -> None:
    """Check that the messages contain every text of the step, unbroken if one message can hold it."""
    text = said(messages).replace(seen(read(GOES_ON)), "").replace(seen(read(CONTINUED)), "")
    text = "\n".join([text, *labels(messages)])
    everything = squeezed(text)
    drawn = card(at)
    texts: list[str | None] = [answer for line in drawn.lines for answer in line.answer]
    if drawn.is_compact and labels(messages) == [drawn.show_label]:
        assert is_described_whole(at)
        drawn = drawn.evolve(prompt="", items=(), lines=())
    texts += [drawn.prompt, drawn.written, *(line.prompt for line in drawn.lines)]
    for item in drawn.items:
        texts += [item.label, item.description]
        if item.preview is not None:
            assert squeezed(replace_controls(item.preview)) in everything
    for text_ in filter(None, texts):
        if limits.count_utf16_units(text_) <= 400:
            assert to_literal(text_) in text, text_
        assert squeezed(replace_controls(text_)) in everything, text_


def corpus() -> list[Any]:
    if not CORPUS.exists():
        return [pytest.param(None, marks=pytest.mark.skip("the corpus of real inputs is not on this machine"))]
    lines = [json.loads(line) for line in CORPUS.read_text().splitlines()]
    return [pytest.param(line["input"], id=line["key"]) for line in lines]


@pytest.mark.parametrize("data", corpus())
def test_real_inputs_are_whole_at_every_step(data: Any) -> None:
    if len(data["questions"]) > 4:
        with pytest.raises(ModelError, match="6 questions"):
            TOOLS["AskUserQuestion"].parse(data)
        return
    form = TOOLS["AskUserQuestion"].parse(data)
    for at in walk(start_interview(form)):
        made = shown(at)
        whole(at, made)


TEXT = st.one_of(
    HOSTILE,
    st.sampled_from(
        ["@everyone <@1> <#1> :smile:", "a" * 5000, "wörter " * 300, "x\n" * 2000, "`*_~` " * 9, "**" * 900]
    ),
    st.sampled_from(["漢字" * 2000, "- a\n# b\n> c\n-# d\n1. e\n" * 40, "x" + "\n" * 4500 + "y", "\u202e" * 700 + "z"]),
    st.just("\U0001f469\u200d\U0001f469\u200d\U0001f467" * 400),
).filter(has_visible_text)


@st.composite
def forms(draw: st.DrawFn) -> Form:
    def one(name: int) -> Question:
        picks = draw(st.sampled_from([None, None, "people", "channels"]))
        count = 0 if picks else draw(st.sampled_from([0, 1, 2, 4, 5, 11, 30, 101]))
        texts = draw(st.lists(st.tuples(TEXT, TEXT, st.booleans()), min_size=min(count, 4), max_size=min(count, 4)))
        made = [
            Option(
                value=str(n),
                label=texts[n % 4][0][:1990] + ("" if n < 4 else str(n)),
                description=texts[n % 4][1][:4000] if texts[n % 4][2] and texts[n % 4][1][:4000].strip() else None,
                preview=texts[n % 4][1] if n == 1 else None,
                image="https://example.com/a.png" if n == 2 else None,
            )
            if has_visible_text(texts[n % 4][0][:1990])
            else Option(value=str(n), label="x")
            for n in range(count)
        ]
        assume(find_lookalikes([option.label for option in made]) is None)
        header = draw(st.one_of(st.none(), HOSTILE.filter(has_visible_text)))
        several, custom = draw(st.booleans()), draw(st.booleans()) or not (count or picks)
        return Question(
            id=str(name),
            prompt=draw(TEXT),
            header=header,
            picks=picks,
            options=tuple(made),
            multi_select=several and (count > 0 or picks is not None),
            allow_custom=custom,
        )

    return Form(questions=tuple(one(n) for n in range(draw(st.integers(1, 4)))))


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(forms(), st.none() | st.integers(0, 50))
def test_any_form_is_whole_at_every_step(form: Form, page: int | None) -> None:
    for at in walk(start_interview(form)):
        made = shown(at, page)
        assert made == render.render_messages(card(at), page)
        whole(at, made)


def test_a_form_of_everything_too_much() -> None:
    enormous = question(
        prompt="word " * 2000,
        options=options(1000, "L{} and more of it", description="d " * 60),
        multi_select=True,
    )
    at = interview(enormous, *FORM)
    made = shown(at)
    whole(at, made)
    assert len(made) > 5
    assert all(displays([one])[-1] == GOES_ON for one in made[:-1])
    assert GOES_ON not in displays(made[-1:])
    assert all(displays([one])[0].startswith(CONTINUED) for one in made[1:])


def test_a_long_question_begins_in_the_first_message() -> None:
    made = shown(interview(question(prompt="word " * 2000, options=options(2))))
    assert len(made) == 3
    assert all(limits.count_characters(body["components"]) > 3500 for body in made[:2])


def test_a_short_option_is_kept_together() -> None:
    made = shown(interview(question(options=options(40, "Label {}", description="d" * 200))))
    assert len(made) > 1
    starts = [seen(read(displays([one])[0])).split("\n")[1] for one in made[1:]]
    assert all("Label" in line for line in starts)


@pytest.mark.parametrize("approval", [None, Approval(quorum=1, requesters=(ADA,))], ids=["question", "decision"])
def test_a_card_of_several_messages_shrinks_to_one_at_its_end(approval: Approval | None) -> None:
    at = interview(question(prompt="word " * 1500, options=options(40, "Label {}", description="d" * 150)))
    policy = WHO.evolve(approval=approval)
    assert len(shown(at, policy=policy)) > 1
    assert len(shown(do(at, Cancel()), policy=policy)) == 1
