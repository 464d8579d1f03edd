"""All questions of a form in one modal: filled in, refused with the reasons, sent, and sent while others answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from askback.domain.form import Condition, Form, Option, Question, TextRules
from askback_sandbox.model.script import turn

from .driver import (
    ADA,
    BEN,
    Card,
    Desk,
    PlatformTests,
    Talk,
    asks,
    card,
    line,
    notice,
    one,
    program_asks,
    settled,
    told,
    turn_of,
)

ANSWER_ALL = "Answer all…"
WHERE, BAG = "Where to?", "What to pack?"


async def trip(desk: Desk) -> tuple[Talk, Card]:
    desk.model.script(
        turn(
            asks(
                one(WHERE, "Rome", "Oslo", header="Place"),
                one(BAG, "Boots", "Hat", "Map", several=True, header="Bag"),
            )
        ),
        turn("Have a good trip."),
        turn("I see."),
        when="trip",
    )
    talk = await desk.mention(ADA, "trip")
    return talk, await card(desk, talk, WHERE)


def text_of(desk: Desk, header: str) -> str:
    """Return the label of the field for a written answer to a question with options."""
    return {"slack": f"{header}: something else", "discord": f"Something else… ({header})"}[desk.platform]


def numbers() -> Form:
    return Form(
        questions=(
            Question(id="name", prompt="Which name?", rules=TextRules(max_length=5)),
            Question(id="seats", prompt="How many seats?", rules=TextRules(kind="integer", minimum=1, maximum=9)),
        )
    )


async def greeting(desk: Desk) -> Talk:
    desk.model.script(turn("Hello."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Hello.")
    return talk


async def test_all_questions_are_answered_in_one_modal_without_a_review(desk: Desk) -> None:
    talk, shown = await trip(desk)
    fields = await desk.open_form(ADA, shown)
    assert [field.label for field in fields] == [WHERE, text_of(desk, "Place"), BAG, text_of(desk, "Bag")]
    assert [choice.label for choice in fields[0].choices] == ["Rome", "Oslo", "Something else…"]
    assert [choice.description for choice in fields[0].choices][:2] == ["About Rome", "About Oslo"]
    assert len(told(desk, "trip")) == 1, "nothing is handed in before it is sent"
    assert await desk.send_form(ADA, {WHERE: ["Oslo"], BAG: ["Boots", "Map"]}) == ()
    over = await settled(desk, talk, "Answered")
    assert "Oslo" in over.text
    assert '"Where to?"="Oslo", "What to pack?"="Boots, Map"' in (await turn_of(desk, "trip", 2)).result
    assert not desk.notices(ADA)


async def test_a_written_answer_in_the_modal_takes_the_place_of_an_option_or_joins_several(desk: Desk) -> None:
    talk, shown = await trip(desk)
    await desk.open_form(ADA, shown)
    entries = {
        WHERE: ["Something else…"],
        text_of(desk, "Place"): "Lima <!here> @everyone",
        BAG: ["Hat", "Something else…"],
        text_of(desk, "Bag"): "a camera",
    }
    assert await desk.send_form(ADA, entries) == ()
    await settled(desk, talk, "Lima <!here> @everyone")
    newest = await turn_of(desk, "trip", 2)
    assert '"Where to?"="Lima <!here> @everyone", "What to pack?"="Hat, a camera"' in newest.result
    assert len(set(desk.pings())) == 1, "nobody but ada, by the card"


async def test_an_option_and_a_text_are_refused_and_both_are_kept(desk: Desk) -> None:
    talk, shown = await trip(desk)
    await desk.open_form(ADA, shown)
    refused = await desk.send_form(ADA, {WHERE: ["Rome"], text_of(desk, "Place"): "but not in May", BAG: ["Hat"]})
    assert "keep one of them" in refused[-1]
    fields = {field.label: field for field in desk.form(ADA)}
    assert [choice.label for choice in fields[WHERE].choices if choice.on] or desk.platform == "slack"
    assert await desk.send_form(ADA, {text_of(desk, "Place"): ""}) == ()
    await settled(desk, talk, "Answered")
    assert '"Where to?"="Rome", "What to pack?"="Hat"' in (await turn_of(desk, "trip", 2)).result


async def test_each_wrong_field_is_named_and_the_right_ones_are_kept(desk: Desk) -> None:
    talk = await greeting(desk)
    async with program_asks(desk, talk, numbers()) as asked:
        await desk.open_form(ADA, await card(desk, talk, "Which name?"))
        refused = await desk.send_form(ADA, {"Which name?": "far too long", "How many seats?": "3"})
        assert "shorten it to 5 characters" in refused[-1]
        kept = {field.label: field.value for field in desk.form(ADA)}
        if desk.platform == "discord":  # Slack's window stays open as it is
            assert kept == {"Which name?": "far too long", "How many seats?": "3"}
        assert await desk.send_form(ADA, {"Which name?": "Ada"}) == ()
        outcome = await asked.outcome()
    assert [answer.text for answer in outcome.answers] == ["Ada", "3"]


async def test_a_form_that_somebody_changed_meanwhile_shows_its_review_instead_of_ending(desk: Desk) -> None:
    talk = await greeting(desk)
    form = Form(
        questions=(
            Question(id="a", prompt="Which fruit?", options=_list("Apple", "Pear"), allow_custom=False),
            Question(id="b", prompt="Which day?", options=_list("Today", "Monday"), allow_custom=False),
        )
    )
    async with program_asks(desk, talk, form, ADA, BEN) as asked:
        shown = await card(desk, talk, "Which fruit?")
        await desk.open_form(ADA, shown)
        await desk.press(BEN, shown, "Pear")
        await card(desk, talk, "Which day?")
        assert await desk.send_form(ADA, {"Which fruit?": ["Apple"], "Which day?": ["Monday"]}) == ()
        review = await card(desk, talk, "Review your answers")
        assert "Apple" in review.text
        assert "Monday" in review.text
        await desk.press(BEN, review, "Submit")
        outcome = await asked.outcome()
    assert [answer.labels for answer in outcome.answers] == [("Apple",), ("Monday",)]


async def test_the_modal_begins_with_the_answers_so_far(desk: Desk) -> None:
    talk, shown = await trip(desk)
    await desk.press(ADA, shown, "Oslo")
    await desk.press(ADA, await card(desk, talk, BAG), "Back")
    fields = await desk.open_form(ADA, await card(desk, talk, WHERE))
    assert [choice.label for choice in fields[0].choices if choice.on] == ["Oslo"]
    assert await desk.send_form(ADA, {BAG: ["Hat"]}) == ()
    assert '"Where to?"="Oslo", "What to pack?"="Hat"' in (await turn_of(desk, "trip", 2)).result


async def test_sent_too_late_the_texts_are_not_lost(desk: Desk) -> None:
    talk, shown = await trip(desk)
    await desk.open_form(ADA, shown)
    await desk.press(ADA, shown, "Rome")
    await desk.pick(ADA, await card(desk, talk, BAG), "Hat")
    await desk.press(ADA, await card(desk, talk, BAG), "Next")
    await desk.press(ADA, await card(desk, talk, "Review your answers"), "Submit")
    await settled(desk, talk, "Answered")
    await line(desk, talk, "Have a good trip.")
    late = await desk.send_form(ADA, {WHERE: ["Something else…"], text_of(desk, "Place"): "Lima", BAG: ["Map"]})
    assert "already been answered" in late[0]
    assert (await turn_of(desk, "trip", 3)).texts == ["ada: (too late to be an answer to your questions) Lima"]


async def test_only_those_who_are_asked_can_open_it(desk: Desk) -> None:
    _, shown = await trip(desk)
    await desk.press(BEN, shown, ANSWER_ALL)
    await notice(desk, BEN, "can answer")
    assert desk.form(BEN) == ()


async def test_the_bot_restarts_while_somebody_fills_it_in(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tests_of.open_desk(tmp_path, monkeypatch, start=False) as desk:
        async with desk.bot():
            talk, shown = await trip(desk)
            await desk.open_form(ADA, shown)
        async with desk.bot():
            assert await desk.send_form(ADA, {WHERE: ["Rome"], BAG: ["Map"]}) == ()
            await settled(desk, talk, "Answered")
            assert '"Where to?"="Rome", "What to pack?"="Map"' in (await turn_of(desk, "trip", 2)).result


async def test_a_form_with_a_condition_is_answered_step_by_step(desk: Desk) -> None:
    talk = await greeting(desk)
    first = Question(id="a", prompt="Which fruit?", options=_list("Apple", "Pear"), allow_custom=False)
    second = Question(id="b", prompt="Which day?", show_if=Condition(question="a", any_of=("Apple",)))
    async with program_asks(desk, talk, Form(questions=(first, second))):
        shown = await card(desk, talk, "Which fruit?")
        assert ANSWER_ALL not in shown.buttons
        assert "Next" in shown.buttons


def _list(*labels: str) -> tuple[Option, ...]:
    return tuple(Option(value=label, label=label) for label in labels)
