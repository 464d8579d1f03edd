"""A deleted card is posted again: once, completely, and as long as its question is open."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from sqlalchemy import Connection

from askback.domain.form import Form, Option, Question
from askback.store.schema import metadata
from askback_sandbox.model.script import turn
from askback_sandbox.slack.payloads import tombstone_of
from askback_sandbox.slack.values import Message
from support.outage import End, of_discord, of_slack

from .driver import (
    ADA,
    BEN,
    Card,
    Desk,
    Talk,
    card,
    form_of,
    kept,
    line,
    program_asks,
    settled,
    turn_of,
    until,
)
from .driver.conversations import answer_fruit, fruit
from .offers import known
from .slack import SlackDesk

STORY = "A long story. " * 60
OPTIONS = tuple(Option(value=f"v{n}", label=f"Way {n}", description=STORY) for n in range(20))
LONG = Form(questions=(Question(id="q", prompt="Which way?", options=OPTIONS),))


def everything(connection: Connection) -> dict[str, list[Any]]:
    """Return all rows of all tables."""
    return {name: [tuple(row) for row in connection.execute(table.select())] for name, table in metadata.tables.items()}


async def another(desk: Desk, talk: Talk, gone: Card) -> Card:
    """Return the live card that replaced the deleted one; check that it is the only one."""

    def there() -> Card | None:
        live = [one for one in desk.cards(talk) if one.is_live]
        return live[0] if len(live) == 1 and live[0].id != gone.id else None

    found = await until(there, "another live card")
    await known(desk)
    return found


async def test_a_deleted_card_comes_back_at_once_and_is_answered(desk: Desk) -> None:
    talk, first = await fruit(desk)
    await known(desk)
    await desk.delete(first)
    second = await another(desk, talk, first)
    assert second.text == first.text
    await answer_fruit(desk, talk)


async def test_a_card_of_a_program_comes_back_where_no_agent_talks(desk: Desk) -> None:
    talk = await desk.mention(ADA, "hello")
    async with program_asks(desk, talk, form_of("Go?", ["Yes", "No"])) as asking:
        first = await card(desk, talk, "Go?")
        await known(desk)
        await desk.delete(first)
        await desk.press(ADA, await another(desk, talk, first), "Yes")
        assert (await asking.outcome())["q"].labels == ("Yes",)
    await settled(desk, talk, "Yes")
    assert len(desk.cards(talk)) == 1


async def test_a_card_that_is_deleted_again_comes_back_after_a_pause(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askback.store.queries.card_messages.PAUSES", (0.0, 1.5))
    talk, first = await fruit(desk)
    await known(desk)
    await desk.delete(first)
    second = await another(desk, talk, first)
    began = asyncio.get_running_loop().time()
    await desk.delete(second)
    await another(desk, talk, second)
    assert asyncio.get_running_loop().time() - began >= 1.4
    await answer_fruit(desk, talk)


async def test_a_deletion_that_is_heard_twice_brings_one_card(desk: Desk) -> None:
    talk, first = await fruit(desk)
    await known(desk)
    await desk.delete_twice(first)
    await another(desk, talk, first)
    await answer_fruit(desk, talk)


async def test_a_settled_card_that_is_deleted_stays_away(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    await desk.press(ADA, shown, "Pear")
    over = await settled(desk, talk, "Pear")
    await line(desk, talk, "So be it, then.")
    await known(desk)
    await desk.delete(over)
    # Once another card is posted, the bot has received the deletion.
    async with program_asks(desk, talk, form_of("Go?", ["Yes", "No"])):
        await card(desk, talk, "Go?")
        assert len(desk.cards(talk)) == 1


@pytest.mark.parametrize("number", [0, 1])
async def test_a_long_card_of_which_a_part_is_deleted_is_whole_again(desk: Desk, number: int) -> None:
    talk = await desk.mention(ADA, "hello")
    async with program_asks(desk, talk, LONG) as asking:
        await card(desk, talk, "Which way?")
        await until(lambda: len(desk.parts(talk)) > 1, "the card goes on in further messages")
        await known(desk)
        whole, parts = "".join(one.text for one in desk.cards(talk)), desk.parts(talk)
        await desk.delete_part(desk.cards(talk)[0], number)

        def mended() -> bool:
            there = desk.parts(talk)
            return (
                parts[number] not in there
                and len(there) == len(parts)
                and "".join(one.text for one in desk.cards(talk)) == whole
            )

        await until(mended, "the card is whole again, in its order")
        live = [one for one in desk.cards(talk) if one.is_live]
        assert len(live) == 1
        await desk.pick(ADA, live[0], "Way 7")
        assert (await asking.outcome())["q"].labels == ("Way 7",)
    await until(lambda: len(desk.parts(talk)) >= 1 and not any(one.is_live for one in desk.cards(talk)), "it is over")


async def test_a_card_that_went_while_the_bot_was_not_told_comes_back_when_somebody_asks_for_it(desk: Desk) -> None:
    talk, first = await fruit(desk)
    await known(desk)
    await desk.lose(first)
    await desk.mention_in(BEN, "Show the question", talk)
    await another(desk, talk, first)
    await answer_fruit(desk, talk)
    assert not any("Show the question" in text for text in (await turn_of(desk, "fruit", 2)).texts)


async def test_a_card_that_stands_is_shown_by_its_address(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askback.inbound.card_recovery.LOOK_SECONDS", 30.0)
    talk, first = await fruit(desk)
    await known(desk)
    await desk.say(BEN, "question?", talk)
    said = await line(desk, talk, "The question is here")
    assert [link.partition(":")[0] for link in said.links] == ["https"]
    assert [one.id for one in desk.cards(talk)] == [first.id]


async def test_the_word_is_a_message_where_no_question_is_open(desk: Desk) -> None:
    desk.model.script(turn("Hello to you."), turn("Which question do you mean?"), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Hello to you.")
    await desk.say(ADA, "question", talk)
    await line(desk, talk, "Which question do you mean?")
    assert (await turn_of(desk, "hello", 2)).texts == ["ada: question"]


async def test_whoever_is_told_that_the_bot_waits_gets_a_card_that_is_gone_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askback.inbound.card_recovery.LOOK_SECONDS", 30.0)
    talk, first = await fruit(desk)
    await known(desk)
    await desk.lose(first)
    await desk.say(BEN, "by the way, hurry", talk)
    await another(desk, talk, first)
    said = await line(desk, talk, "Got it.")
    assert "post it again" in said.text
    assert said.links == ()
    await desk.press(ADA, await card(desk, talk), "Pear")
    assert (await turn_of(desk, "fruit", 2)).texts == ["ben: by the way, hurry"]


async def test_a_room_that_is_gone_ends_its_questions_with_the_reason(desk: Desk) -> None:
    talk = await desk.mention(ADA, "hello")
    async with program_asks(desk, talk, form_of("Go?", ["Yes", "No"])) as asking:
        await card(desk, talk, "Go?")
        await known(desk)
        desk.journal.announce("delivery_rejected")
        await desk.close_room(talk)
        outcome = await asking.outcome()
        assert outcome.status == "undeliverable"
        assert "deleted" in str(outcome.reason) or "archived" in str(outcome.reason)


async def test_a_message_that_is_deleted_before_the_agent_read_it_is_not_told(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "askback.reception")
    talk, shown = await fruit(desk)
    await desk.say(BEN, "by the way, hurry", talk)
    await line(desk, talk, "I will continue once")
    await desk.say(BEN, "and tell nobody", talk)
    await kept(desk, "and tell nobody")
    await desk.take_back(BEN, talk)
    await until(lambda: "message_taken_back" in desk.journal.actions(), "it is taken back")
    await desk.press(ADA, shown, "Pear")
    assert (await turn_of(desk, "fruit", 2)).texts == ["ben: by the way, hurry"]


@pytest.mark.only("slack", reason="Discord delivers nothing again, and so nothing in another order")
async def test_a_deletion_that_overtakes_its_message_is_taken_after_it(
    desk: SlackDesk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(desk.services.socket, "_event_retries", (0.1,) * 100)
    talk, shown = await fruit(desk)
    tell, held = desk.services.socket.tell, []
    with monkeypatch.context() as context:
        context.setattr(desk.services.socket, "tell", lambda *event: held.append(event))
        await desk.say(BEN, "and tell nobody", talk)
    await desk.take_back(BEN, talk)
    await until(lambda: "edit_rejected" in desk.journal.actions(), "the deletion came first")
    for event in held:
        tell(*event)
    await until(lambda: "message_taken_back" in desk.journal.actions(), "it is taken back")
    await desk.say(BEN, "hurry", talk)
    await kept(desk, "hurry")
    await desk.press(ADA, shown, "Pear")
    assert (await turn_of(desk, "fruit", 2)).texts == ["ben: hurry"]


async def test_the_deletion_of_what_is_no_card_is_looked_up_once_and_writes_nothing(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "askback.reception")
    desk.model.script(turn("Hello to you."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Hello to you.")
    stray = await desk.thread(BEN, "just talking")
    while (before := await desk.host.store._database.read(everything))["outbox"]:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    await desk.take_back(BEN, stray)
    await desk.take_back(ADA, talk)
    await until(lambda: desk.journal.actions().count("deletion_ignored") == 2, "both are heard")
    assert await desk.host.store._database.read(everything) == before


async def test_after_a_time_without_a_connection_cards_that_are_gone_come_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askback.runtime.deleted_cards.AGAIN_SECONDS", 0.0)
    talk, first = await fruit(desk)
    other, second = await fruit(desk)
    await known(desk)
    await desk.lose(first)
    await desk.lose_session()
    await desk.reconnected()
    await another(desk, talk, first)
    assert [seen.id for seen in desk.cards(other)] == [second.id]
    await desk.press(ADA, second, "Apple")
    await answered_with_the_first(desk, talk)


async def test_a_card_that_cannot_be_looked_at_for_a_moment_is_looked_at_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "askback.cards")
    monkeypatch.setattr("askback.runtime.deleted_cards.AGAIN_SECONDS", 0.0)
    monkeypatch.setattr("askback_discord.api_calls.CALL_SECONDS", 0.4)
    talk, first = await fruit(desk)
    await known(desk)
    await desk.lose(first)
    end = blind(desk)
    await desk.lose_session()
    await desk.reconnected()
    await until(lambda: "look_later" in desk.journal.actions(), "it could not be looked at")
    end()
    await another(desk, talk, first)
    await answer_fruit(desk, talk)


def blind(desk: Any) -> End:
    """Make all lookups of messages fail until the returned function is called."""
    if desk.platform == "slack":
        return of_slack(desk.workspace.faults, "500", methods=("chat.getPermalink",))
    return of_discord(desk.guild.faults, "500", operations=("get_message",))


async def answered_with_the_first(desk: Desk, talk: Talk) -> None:
    await desk.press(ADA, await card(desk, talk), "Pear")
    await settled(desk, talk, "Pear")
    assert len(desk.cards(talk)) == 1


@pytest.mark.only("discord", reason="on Slack, messages are deleted one by one")
async def test_a_long_card_of_which_all_is_deleted_at_once_is_whole_again(desk: Desk) -> None:
    talk = await desk.mention(ADA, "hello")
    async with program_asks(desk, talk, LONG) as asking:
        first = await card(desk, talk, "Which way?")
        await until(lambda: len(desk.parts(talk)) > 1, "the card goes on in further messages")
        await known(desk)
        whole, parts = desk.cards(talk)[0].text, desk.parts(talk)
        services: Any = desk
        services.services.discord.people.moderate("cy", str(talk.thread), *parts)
        await until(lambda: [seen.text for seen in desk.cards(talk)] == [whole], "the card is whole again")
        assert not set(parts) & set(desk.parts(talk))
        await desk.pick(ADA, await another(desk, talk, first), "Way 7")
        assert (await asking.outcome())["q"].labels == ("Way 7",)


@pytest.mark.only("slack", reason="Discord leaves nothing in the place of what was deleted")
@pytest.mark.parametrize("heard", [True, False])
async def test_a_card_above_answers_that_became_a_tombstone_comes_back(desk: Desk, heard: bool) -> None:
    """The card is in the channel itself, like those of programs, and has replies."""
    talk = Talk((await desk.thread(BEN, "just talking")).channel, None)
    async with program_asks(desk, talk, form_of("Go?", ["Yes", "No"])) as asking:
        first = await card(desk, talk, "Go?")
        await known(desk)
        await desk.say(BEN, "what is that?", Talk(talk.channel, first.id))
        if heard:
            await desk.delete(first)
        else:
            services: Any = desk
            services.workspace.remove_message(services.workspace.messages[talk.channel, first.id])
            services.workspace.put_message(tombstone_of(first_message(talk.channel, first.id)))
            await desk.mention(BEN, "question")
        second = await another(desk, talk, first)
        await desk.press(ADA, second, "Yes")
        assert (await asking.outcome())["q"].labels == ("Yes",)


def first_message(channel: str, ts: str) -> Message:
    return Message(channel=channel, ts=ts, user="", text="")
