"""Written answers of more than 1,000 characters: in a text field, as a message, on the card, and for the agent."""

from __future__ import annotations

import json

import pytest

from askback.domain.form import Form, Question, TextRules
from askback_sandbox.model.script import call, turn
from askback_sandbox.person_error import PersonError

from .driver import ADA, BEN, Card, Desk, Talk, card, line, program_asks, settled, told, turn_of, until
from .offers import USE, offer

WHAT = "What happened?"
WRITE = "Write an answer…"
BY_MESSAGE = "You can write a longer answer as a message in the thread."
LONG = " ".join(f"word{number}" for number in range(420))
"""A text of between 3,000 and 4,000 characters."""
SHORTER = LONG[:2900]


def story(**more: object) -> dict[str, object]:
    return {"id": "story", "question": WHAT, "maxLength": 4000, **more}


async def ask(desk: Desk, *questions: dict[str, object]) -> tuple[Talk, Card]:
    desk.model.script(turn(call("ask", questions=[*questions])), turn("Thanks."), when="report")
    talk = await desk.mention(ADA, "report")
    return talk, await card(desk, talk, WHAT)


async def greeting(desk: Desk) -> Talk:
    desk.model.script(turn("Hello."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Hello.")
    return talk


def long_form() -> Form:
    return Form(questions=(Question(id="story", prompt=WHAT, rules=TextRules(max_length=4000)),))


def sees_all(desk: Desk, text: str) -> bool:
    """Return True if ada, and she alone, sees every word of a text."""
    return {*text.split()} <= {*desk.alone(ADA).split()}


async def test_the_field_takes_a_long_answer_and_the_settled_card_shows_its_beginning_and_all_on_request(
    desk: Desk,
) -> None:
    talk, shown = await ask(desk, story())
    text = LONG if desk.platform == "discord" else SHORTER
    field = await desk.open_field(ADA, shown, WRITE)
    assert "Up to 4,000 characters." in field.text
    assert (BY_MESSAGE in field.text) == (desk.platform == "slack"), "Discord's field holds all of it"
    assert await desk.submit(ADA, text) == ()
    over = await settled(desk, talk, "Answered")
    assert "word10 word11" in over.text
    assert "word200" not in over.text
    assert over.buttons == ("Show everything",)
    found = json.loads((await turn_of(desk, "report", 2)).result)
    assert found == {"status": "answered", "answers": {"story": text.strip()}}
    await desk.press(ADA, over, "Show everything")
    await until(lambda: sees_all(desk, text), "the whole text is shown")


async def test_a_longer_answer_is_written_as_a_message_and_offered_to_its_author(desk: Desk) -> None:
    talk, _ = await ask(desk, story())
    if desk.platform == "discord":
        with pytest.raises(PersonError, match="at most 2000"):  # its field holds more than its messages
            await desk.say(ADA, LONG, talk)
        return
    await desk.say(ADA, LONG, talk)
    await desk.press(ADA, await offer(desk, talk), USE)
    await settled(desk, talk, "Answered")
    found = json.loads((await turn_of(desk, "report", 2)).result)
    assert found["answers"] == {"story": LONG}


async def test_a_longer_message_answers_the_question_of_a_program_at_once(desk: Desk) -> None:
    talk = await greeting(desk)
    async with program_asks(desk, talk, long_form()) as asked:
        shown = await card(desk, talk, WHAT)
        if desk.platform == "discord":  # its field holds more than its messages
            await desk.open_field(ADA, shown, WRITE)
            assert await desk.submit(ADA, LONG) == ()
            assert (await asked.outcome()).answers[0].text == LONG
            return
        await desk.say(BEN, LONG, talk)  # ben is not asked
        await desk.say(ADA, LONG, talk)
        outcome = await asked.outcome()
        await settled(desk, talk, "Answered")
    assert [answer.text for answer in outcome.answers] == [LONG]
    assert outcome.by is not None
    assert outcome.by.id == desk.actor(ADA).id


async def test_the_review_shows_the_beginning_of_a_long_text_and_all_on_request(desk: Desk) -> None:
    talk, shown = await ask(desk, story(header="Story"), {"id": "who", "question": "Who saw it?"})
    await desk.open_field(ADA, shown, WRITE)
    assert await desk.submit(ADA, SHORTER) == ()
    await desk.open_field(ADA, await card(desk, talk, "Who saw it?"), WRITE)
    assert await desk.submit(ADA, "Everybody") == ()
    review = await card(desk, talk, "Review your answers")
    assert "word10 word11" in review.text
    assert "word200" not in review.text
    await desk.press(ADA, review, "Show everything")
    await until(lambda: sees_all(desk, SHORTER), "the whole text is shown")
    assert len(told(desk, "report")) == 1
    if desk.platform == "slack":
        await desk.close_field(ADA)
    await desk.press(ADA, review, "Edit Story")
    again = await card(desk, talk, "1 of 2")
    assert "word200" not in again.text
    assert "Show everything" in again.buttons
    assert (await desk.open_field(ADA, again, "Edit your text…")).value == SHORTER.strip()
