"""Any form as Slack messages: nothing is cut, and every limit is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from askback.domain.actions import Decline
from askback.domain.form import Form, Option, Question
from askback.domain.interview import Interview, start_interview
from askback.errors import ModelError
from askback.text.unseen import find_lookalikes, has_visible_text
from askback.tools import TOOLS
from askback_slack import limits, render
from askback_slack.escaping import to_literal
from support.forms import is_described_whole
from support.slack_cards import card, do, interview, labels, options, question, said, strings, walk
from unit.slack.drawn_cards import FORM, shown

CORPUS = Path(__file__).parents[4] / "shared/corpus/askuserquestion.jsonl"


def walk_elements(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object at every depth."""
    if isinstance(value, list):
        for one in value:
            yield from walk_elements(one)
    elif isinstance(value, dict):
        yield value
        yield from walk_elements([*value.values()])


def whole(at: Interview, messages: tuple[render.SlackMessage, ...]) -> None:
    """Check that the messages contain every text of the step, unbroken if one run can hold it."""
    runs = said(messages)
    rich = [block for message in messages for block in message.blocks if block["type"] == "rich_text"]
    everything = "".join(strings(rich))
    drawn = card(at)
    texts: list[str | None] = [answer for line in drawn.lines for answer in line.written]
    mentioned = {one.get(name) for one in walk_elements(rich) for name in ("user_id", "channel_id")}
    assert {one.id for line in drawn.lines for one in line.picked} <= mentioned
    if drawn.is_compact and labels(messages) == [drawn.show_label]:
        assert is_described_whole(at)
        drawn = drawn.evolve(prompt="", items=(), lines=())
    texts += [drawn.prompt, drawn.written, *(line.prompt for line in drawn.lines)]
    for item in drawn.items:
        texts += [item.label, item.description, item.preview]
    for text in filter(None, texts):
        if limits.count_utf16_units(text) <= 2900:
            assert any(to_literal(text) in run for run in runs), text
        elif to_literal(text).isprintable():
            assert text in everything


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


HOSTILE = st.text(
    st.one_of(
        st.characters(codec="utf-8"),
        st.sampled_from("\0\x1b\r\n\t<>&@*_~`\u202e\u2066\u2069\u200d\u0301\U0001f469"),
    ),
    min_size=1,
    max_size=60,
)
TEXT = st.one_of(
    HOSTILE,
    st.sampled_from(["<!channel> <@U1> @everyone", "a" * 5000, "wörter " * 300, "x\n" * 2000, "`*_~` " * 9]),
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
                description=texts[n % 4][1][:4000] if texts[n % 4][2] else None,
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
@given(forms())
def test_any_form_is_whole_at_every_step(form: Form) -> None:
    for at in walk(start_interview(form)):
        whole(at, shown(at))


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
    kinds = [block["type"] for block in made[0].blocks]
    assert kinds.index("context") < kinds.index("section"), "the remark stands where the text breaks off"
    assert all(render.GOES_ON in said([one]) for one in made[:-1])
    assert render.GOES_ON not in said(made[-1:])


@pytest.mark.parametrize("size", range(3300, 3345, 3))
def test_a_message_in_the_middle_leaves_room_for_the_remark_that_it_goes_on(size: int) -> None:
    at = interview(question(prompt="p", options=options(20, "L{}", description="d" * size)))
    made = shown(at)
    whole(at, made)
    assert all(render.GOES_ON in said([one]) for one in made[:-1])


def test_the_end_moves_no_text_about() -> None:
    at = interview(question(prompt="word " * 1500, options=options(40, "Label {}", description="d" * 150)))
    before, after = shown(at), shown(do(at, Decline(reason="no")))
    assert len(before) > 1
    for one, other in pairwise([before[1:-1], after[1:-1]]):
        assert [said([part]) for part in one] == [said([part]) for part in other]


def test_without_images_their_addresses_are_told() -> None:
    pictured = (Option(value="a", label="A", image="https://example.com/a.png"), Option(value="b", label="B"))
    drawn = card(interview(question(options=pictured)))
    assert any(block["type"] == "image" for block in render.render_messages(drawn)[0].blocks)
    plain = render.render_messages(drawn, images=False)
    assert not any(block["type"] == "image" for block in plain[0].blocks)
    assert "https://example.com/a.png" in said(plain)
