"""The conversations in which the bot listens, and the texts that the model receives."""

from __future__ import annotations

import pytest

from askback_sandbox.model.script import turn

from .driver import ADA, BEN, CY, Desk, asks, card, line, one, settled, told, turn_of, until


async def test_a_mention_begins_a_thread_that_goes_on_without_one(desk: Desk) -> None:
    desk.model.script(turn("Good morning to you."), turn("Still here, of course."), when="hello")
    talk = await desk.mention(ADA, "hello there")
    await line(desk, talk, "Good morning to you.")
    await desk.say(ADA, "are you there?", talk)
    await line(desk, talk, "Still here, of course.")
    first, second = told(desk, "hello")
    assert first.texts == ["ada: hello there"]
    assert second.texts == ["ada: are you there?"]


async def test_a_mention_in_the_thread_is_heard_once_as_well(desk: Desk) -> None:
    desk.model.script(turn("Good morning to you."), turn("Again, I am here."), when="hello")
    talk = await desk.mention(ADA, "hello there")
    await line(desk, talk, "Good morning to you.")
    await desk.mention_in(ADA, "once more", talk)
    await line(desk, talk, "Again, I am here.")
    assert [one.texts for one in told(desk, "hello")] == [["ada: hello there"], ["ada: once more"]]


async def test_a_direct_message_needs_no_mention(desk: Desk) -> None:
    desk.model.script(turn("Just the two of us."), turn("As before, yes."), when="psst")
    talk = await desk.direct(ADA, "psst")
    await line(desk, talk, "Just the two of us.")
    await desk.say(ADA, "and again", talk)
    await line(desk, talk, "As before, yes.")


@pytest.mark.only("slack", reason="Discord has no threads in direct messages")
async def test_a_thread_in_a_direct_message_is_a_conversation_of_its_own(desk: Desk) -> None:
    desk.model.script(turn("Up here, in the open."), when="above")
    desk.model.script(turn("Down here, in the thread."), when="below")
    above = await desk.direct(ADA, "above")
    await line(desk, above, "Up here, in the open.")
    below = await desk.direct(ADA, "below", thread=True)
    await line(desk, below, "Down here, in the thread.")
    (first,) = told(desk, "(earlier)")
    assert first.texts[1:] == ["ada: below"], "what the thread hangs from is told before"
    assert not any("Down here" in one.text for one in desk.lines(above))


async def test_a_question_is_answered_in_a_direct_message(desk: Desk) -> None:
    desk.model.script(
        turn(asks(one("Tea or coffee?", "Tea", "Coffee"))), turn("Coming up, one of them."), when="thirsty"
    )
    talk = await desk.direct(ADA, "thirsty")
    await desk.press(ADA, await card(desk, talk, "Tea or coffee?"), "Coffee")
    await settled(desk, talk, "Coffee")
    assert '"Coffee"' in (await turn_of(desk, "thirsty", 2)).result


async def test_each_thread_is_its_own_conversation(desk: Desk) -> None:
    desk.model.script(turn("This is the first."), turn("Still the first."), when="alpha")
    desk.model.script(turn("This is the second."), when="beta")
    alpha = await desk.mention(ADA, "alpha")
    beta = await desk.mention(ADA, "beta")
    await line(desk, alpha, "This is the first.")
    await line(desk, beta, "This is the second.")
    await desk.say(ADA, "go on", alpha)
    await line(desk, alpha, "Still the first.")
    assert told(desk, "alpha")[-1].all_texts == ["ada: alpha", "ada: go on"]
    assert told(desk, "beta")[-1].all_texts == ["ada: beta"]


async def test_speakers_are_named_to_the_model(desk: Desk) -> None:
    desk.model.script(turn("Welcome to the thread."), turn("Hello to you too, Ben."), when="round table")
    talk = await desk.mention(ADA, "round table")
    await line(desk, talk, "Welcome to the thread.")
    await desk.say(BEN, "ben speaking, @ada", talk)
    await line(desk, talk, "Hello to you too, Ben.")
    assert told(desk, "round table")[-1].all_texts == ["ada: round table", "ben: ben speaking, @ada"]


async def test_what_is_said_elsewhere_is_not_heard(desk: Desk) -> None:
    desk.model.script(turn("I am listening here."), when="listen")
    talk = await desk.mention(ADA, "listen")
    await line(desk, talk, "I am listening here.")
    stray = type(talk)(talk.channel, None)
    await desk.say(BEN, "nobody asked the bot", stray)
    await desk.mention(CY, "listen, a second time")
    await until(lambda: len(told(desk, "listen")) >= 2, "the second conversation")
    assert not any("nobody asked" in text for one in told(desk, "") for text in one.all_texts)


async def test_the_bot_hears_neither_itself_nor_other_bots_nor_joins(desk: Desk) -> None:
    desk.model.script(turn("I heard that one."), turn("And that one, too."), when="first words")
    talk = await desk.mention(ADA, "first words")
    await line(desk, talk, "I heard that one.")
    await desk.joins(CY, talk)
    await desk.other_bot("do something", talk)
    await desk.say(ADA, "second words", talk)
    await line(desk, talk, "And that one, too.")
    assert told(desk, "first words")[-1].all_texts == ["ada: first words", "ada: second words"]
    assert len(told(desk, "")) == 2


async def test_a_mention_that_arrives_as_two_events_each_twice_is_one_message(desk: Desk) -> None:
    desk.model.script(turn("Only once, I hope."), turn("Only once again."), when="echo")
    await desk.deliver_twice(4)
    talk = await desk.mention(ADA, "echo")
    await line(desk, talk, "Only once, I hope.")
    await desk.mention_in(ADA, "echo two", talk)
    await line(desk, talk, "Only once again.")
    assert [one.texts for one in told(desk, "echo")] == [["ada: echo"], ["ada: echo two"]]
    assert len([one for one in desk.lines(talk) if one.bot]) == 2
