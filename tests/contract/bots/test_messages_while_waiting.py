"""Messages that people write while a question is open, and the agent's text during streaming."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import Connection, text

from askback_sandbox.model.script import Fault, turn

from .driver import ADA, BEN, Desk, Talk, asks, card, line, one, settled, told, turn_of, until
from .driver.conversations import PROSE, fruit


def messages(connection: Connection) -> int:
    """Return the number of received messages, including the first."""
    return connection.execute(text("SELECT count(*) FROM inbox")).scalar_one()


async def test_what_is_written_meanwhile_is_kept_and_said_once_and_comes_after_the_result(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askback.inbound.card_recovery.LOOK_SECONDS", 30.0)
    talk, shown = await fruit(desk)
    await desk.say(BEN, "by the way, hurry", talk)
    said = await line(desk, talk, "once somebody answers")
    assert [link.partition(":")[0] for link in said.links] == ["https"]
    await desk.say(BEN, "yes, do", talk)
    await desk.say(ADA, "one more thing", talk)
    while await desk.host.store._database.read(messages) < 4:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    await desk.press(ADA, shown, "Pear")
    newest = await turn_of(desk, "fruit", 2)
    assert [block["type"] for block in newest.news] == ["tool_result", "text", "text", "text"]
    assert newest.texts == ["ben: by the way, hurry", "ben: yes, do", "ada: one more thing"]
    await line(desk, talk, "So be it, then.")
    assert len([one for one in desk.lines(talk) if "I will continue once" in one.text]) == 1


@pytest.mark.usefixtures("only_starter")
async def test_others_are_told_for_whom_the_bot_waits(desk: Desk) -> None:
    talk, _ = await fruit(desk)
    await desk.say(BEN, "what is going on?", talk)
    said = await line(desk, talk, "once ada answers")
    assert [link.partition(":")[0] for link in said.links] == ["https"]
    assert len(desk.pings()) == 1, "only the card mentions somebody"


async def test_it_is_said_once_for_each_time_that_the_bot_waits(desk: Desk) -> None:
    desk.model.script(
        turn(asks(one("First?", "A", "B"))), turn(asks(one("Second?", "C", "D"))), turn("So be it, then."), when="two"
    )
    talk = await desk.mention(ADA, "two, please")
    shown = await card(desk, talk, "First?")
    await desk.say(BEN, "hm", talk)
    await line(desk, talk, "I will continue once")
    await desk.press(ADA, shown, "A")
    shown = await card(desk, talk, "Second?")
    await desk.say(BEN, "hm again", talk)
    await until(
        lambda: len([one for one in desk.lines(talk) if "I will continue once" in one.text]) == 2, "it is said again"
    )
    await desk.press(ADA, shown, "D")
    assert (await turn_of(desk, "two", 3)).texts == ["ben: hm again"]


async def test_an_open_question_does_not_keep_other_conversations(desk: Desk) -> None:
    await fruit(desk)
    desk.model.script(turn("Over here, at once."), when="meanwhile")
    await line(desk, await desk.mention(BEN, "meanwhile"), "Over here, at once.")


async def test_the_text_arrives_as_it_is_written(desk: Desk) -> None:
    desk.model.script(turn(PROSE), when="story")
    desk.model.delay = 0.05
    talk = await desk.mention(ADA, "story")
    partial = await line(desk, talk, "It begins here.")
    assert "Here it ends." not in partial.text
    await line(desk, talk, "Here it ends.")
    (whole,) = (one for one in desk.lines(talk) if one.bot)
    assert whole.text.strip() == PROSE


async def test_text_and_question_of_one_turn_stand_in_their_order(desk: Desk) -> None:
    desk.model.script(
        turn("I have thought about it, and must ask.", asks(one("Which fruit?", "A", "B"))),
        turn("So be it, then."),
        when="think",
    )
    talk = await desk.mention(ADA, "think")
    shown = await card(desk, talk, "Which fruit?")
    texts = [one.text for one in desk.lines(talk) if one.bot]
    assert texts[0].startswith("I have thought about it")
    assert "Which fruit?" in texts[1]
    await desk.press(ADA, shown, "A")
    await line(desk, talk, "So be it, then.")


async def test_what_is_written_while_the_agent_writes_is_answered_next(desk: Desk) -> None:
    desk.model.script(turn(PROSE), turn("And to that, I say yes."), when="story")
    desk.model.delay = 0.02
    talk = await desk.mention(ADA, "story")
    await line(desk, talk, "It begins here.")
    await desk.say(ADA, "is it true?", talk)
    await line(desk, talk, "And to that, I say yes.")
    assert [one.texts for one in told(desk, "story")] == [["ada: story"], ["ada: is it true?"]]


async def test_a_very_long_text_goes_on_in_further_messages(desk: Desk) -> None:
    long = "\n\n".join(f"Paragraph {index}. " + "word " * 60 for index in range(80))
    desk.model.script(turn(long), when="epic")
    desk.model.chunk = 2000
    talk = await desk.mention(ADA, "epic")
    await line(desk, talk, "Paragraph 79.")
    texts = [one.text for one in desk.lines(talk) if one.bot]
    assert len(texts) > 1
    joined = "\n".join(texts)
    assert all(f"Paragraph {index}." in joined for index in range(80))


async def test_an_overloaded_model_ends_in_a_sentence_and_the_conversation_goes_on(desk: Desk) -> None:
    desk.journal.announce("model_failed")
    desk.model.script(turn(Fault(kind="overloaded", times=3)), turn("Now I can speak again."), when="busy")
    talk = await desk.mention(ADA, "busy")
    await line(desk, talk, "The model is overloaded")
    await desk.say(ADA, "go on", talk)
    await line(desk, talk, "Now I can speak again.")


async def test_an_overload_in_the_middle_keeps_what_was_written(desk: Desk) -> None:
    desk.journal.announce("model_failed")
    fault = Fault(kind="overloaded", mid_stream=True, after=80)
    desk.model.script(turn(PROSE, fault), turn("Where was I? Here."), when="busy")
    talk = await desk.mention(ADA, "busy")
    await line(desk, talk, "The model is overloaded")
    assert any("It begins here." in one.text for one in desk.lines(talk))
    await desk.say(ADA, "go on", talk)
    await settled_text(desk, talk, "Where was I? Here.")


async def settled_text(desk: Desk, talk: Talk, text: str) -> None:
    await line(desk, talk, text)
    assert not desk.cards(talk)


async def test_a_question_survives_the_text_beside_it(desk: Desk) -> None:
    """A message right after an answer begins its own turn, after the result."""
    talk, shown = await fruit(desk)
    await desk.press(ADA, shown, "Pear")
    await desk.say(ADA, "and thanks", talk)
    await settled(desk, talk, "Pear")
    await line(desk, talk, "So be it, then.")
    await until(lambda: any("and thanks" in text for one in told(desk, "fruit") for text in one.texts), "it is heard")
    assert sum(len(one.results) for one in told(desk, "fruit")) == 1
