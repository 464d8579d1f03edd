"""Faults between a bot and its platform are handled and logged by name, and nothing is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from askback.domain.form import Form, Option, Question
from askback.store.errors import StoreUnavailable
from askback_sandbox.discord.values import Permission
from askback_sandbox.model.script import Fault, turn

from .discord import DiscordDesk
from .driver import (
    ADA,
    BEN,
    GENERAL,
    Desk,
    PlatformTests,
    Talk,
    asks,
    card,
    form_of,
    line,
    notice,
    one,
    program_asks,
    settled,
    told,
    turn_of,
    until,
)
from .driver.conversations import answer_fruit, fruit
from .slack import SlackDesk

STORY = "It begins here. " + "And then it goes on for a while. " * 14 + "Here it ends."


async def test_a_place_where_the_bot_may_not_post_fails_the_tool_call_with_the_reason(desk: Desk) -> None:
    desk.journal.announce("delivery_rejected")
    why = desk.refuse("post", times=1)
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it, then."), when="fruit")
    talk = await desk.mention(ADA, "fruit, please")
    result = await turn_of(desk, "fruit", 2)
    assert why in result.result
    assert "delivery_rejected" in desk.journal.actions()
    await line(desk, talk, "So be it, then.")
    assert desk.cards(talk) == ()


async def test_the_model_learns_that_its_text_was_refused(desk: Desk) -> None:
    desk.journal.announce("delivery_rejected")
    desk.model.script(turn("Hello."), turn("All is well."), turn("Again: all is well."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Hello.")
    why = desk.refuse("everything", times=None)
    await desk.say(ADA, "how is it?", talk)
    await until(lambda: "delivery_rejected" in desk.journal.actions(), "the text is refused")
    desk.end_faults()
    await desk.say(ADA, "well?", talk)
    await line(desk, talk, "Again: all is well.")
    heard = str((await turn_of(desk, "hello", 3)).texts)
    assert "could not see your text “All is well.”" in heard
    assert why in heard


def forbid_writing(desk: Desk, talk: Talk) -> None:
    """Forbid the bot to write in the channel of a conversation and in its threads. Direct messages stay open."""
    if isinstance(desk, SlackDesk):
        desk.workspace.put_channel(replace(desk.workspace.channels[talk.channel], bot_in=False))
        return
    assert isinstance(desk, DiscordDesk)
    general = desk.guild.place(GENERAL)
    assert general is not None
    no = Permission.SEND_MESSAGES | Permission.SEND_MESSAGES_IN_THREADS
    desk.guild.put_place(replace(general, denied=int(no)))


def direct_messages(desk: Desk, person: str) -> list[str]:
    """Return what the bot wrote to a person in direct messages."""
    assert isinstance(desk, SlackDesk | DiscordDesk)
    who = desk.actor(person).id
    room = desk.workspace.dm(who) if isinstance(desk, SlackDesk) else desk.guild.dm(who)
    assert room is not None
    return [one.text for one in desk.lines(Talk(room.id, None)) if one.bot]


async def test_the_reason_why_nothing_can_be_written_is_in_the_language_of_the_conversation(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tests_of.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.speaks(ADA, "de-DE" if desk.platform == "slack" else "de")
        desk.server_speaks("de")
        async with desk.bot():
            desk.journal.announce("delivery_rejected")
            desk.model.script(turn("Hello."), turn("All is well."), when="hello")
            talk = await desk.mention(ADA, "hello")
            await line(desk, talk, "Hello.")
            await desk.say(BEN, "how is it?", talk)
            forbid_writing(desk, talk)
            (said,) = await until(lambda: direct_messages(desk, BEN), "ben hears it")
    assert "Ich kann dort nicht schreiben, deshalb siehst du meine Antwort nicht" in said
    reason = {"slack": "Ich bin nicht in diesem Channel.", "discord": "Mir fehlt dort eine dieser Berechtigungen"}
    assert reason[desk.platform] in said


async def test_who_wrote_where_the_bot_may_not_write_hears_so_once_in_a_direct_message(desk: Desk) -> None:
    desk.journal.announce("delivery_rejected")
    desk.model.script(turn("Hello."), turn("All is well."), turn("Again: all is well."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Hello.")
    await desk.say(BEN, "how is it?", talk)
    forbid_writing(desk, talk)
    (said,) = await until(lambda: direct_messages(desk, BEN), "ben hears it")
    assert "I cannot write there, so you do not see my answer" in said
    assert talk.channel in said or (talk.thread or "") in said
    assert {"slack": "I am not in that channel.", "discord": "I lack one of these permissions"}[desk.platform] in said
    assert "All is well" not in said
    before = desk.journal.actions().count("delivery_rejected")
    if desk.platform == "discord":  # Slack sends a bot nothing from a channel that it is not in
        await desk.say(ADA, "well?", talk)
        await until(lambda: desk.journal.actions().count("delivery_rejected") >= before + 2, "it is refused again")
    assert len(direct_messages(desk, BEN)) == 1
    assert direct_messages(desk, ADA) == []


async def test_a_program_hears_that_nobody_can_be_reached(desk: Desk) -> None:
    desk.journal.announce("delivery_rejected")
    talk = await desk.mention(ADA, "hello")
    why = desk.refuse("post", times=1)
    async with program_asks(desk, talk, form_of("Go?", ["Yes", "No"])) as asking:
        outcome = await asking.outcome()
        assert outcome.status == "undeliverable"
        assert why in str(outcome.reason)


async def test_a_token_revoked_while_running_is_named_and_fails_the_tool_call(desk: Desk) -> None:
    desk.journal.announce("delivery_rejected")
    talk = await desk.mention(ADA, "hello")
    why = desk.refuse("everything", times=None)
    async with program_asks(desk, talk, form_of("Go?", ["Yes", "No"])) as asking:
        outcome = await asking.outcome()
        assert outcome.status == "undeliverable"
        assert why in str(outcome.reason)
    assert any(why in record.getMessage() for record in desk.journal.records if record.levelname == "ERROR")


async def test_a_deleted_card_of_an_open_form_is_posted_anew(desk: Desk) -> None:
    talk = await desk.mention(ADA, "hello")
    options = (Option(value="a", label="Rome"), Option(value="b", label="Oslo"))
    form = Form(
        questions=(
            Question(id="where", prompt="Where to?", options=options),
            Question(id="then", prompt="And then?", options=options),
        )
    )
    async with program_asks(desk, talk, form) as asking:
        first = await card(desk, talk, "Where to?")
        await desk.open_field(ADA, first)
        await desk.delete(first)
        assert await desk.submit(ADA, "Lima") == ()
        second = await card(desk, talk, "And then?")
        assert second.id != first.id
        assert "card_gone" in desk.journal.actions()
        await desk.press(ADA, second, "Rome")
        await desk.press(ADA, await card(desk, talk, "Review your answers"), "Submit")
        assert (await asking.outcome())["where"].text == "Lima"
    await settled(desk, talk, "Answered")
    assert len(desk.cards(talk)) == 1


async def test_a_card_that_was_deleted_is_still_answered_by_the_open_field(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    desk.journal.announce("delivery_rejected")
    await desk.open_field(ADA, shown)
    await desk.delete(shown)
    assert await desk.submit(ADA, "Quince") == ()
    assert '"Quince"' in (await turn_of(desk, "fruit", 2)).result
    await line(desk, talk, "So be it, then.")


async def test_too_many_posts_delay_the_card_and_lose_nothing(desk: Desk) -> None:
    desk.slow_down("post", seconds=1)
    talk, _ = await fruit(desk)
    assert "delivery_later" in desk.journal.actions()
    await answer_fruit(desk, talk)


@pytest.mark.only("slack", reason="a text of Discord's is answered by the card itself, not by a change")
async def test_too_many_changes_delay_the_settling_and_lose_nothing(desk: Desk) -> None:
    talk, _ = await fruit(desk)
    desk.slow_down("change", seconds=1)
    # It is cancelled instead of clicked, because a click would be drawn by its own address.
    (ask,) = await desk.host.manager.list_open_asks()
    assert await desk.host.manager.cancel(ask.id, reason="It is too late.")
    assert "cancelled" in (await turn_of(desk, "fruit", 2)).result
    await settled(desk, talk, "Cancelled")
    assert "delivery_later" in desk.journal.actions()


@pytest.mark.only("slack", reason="on Discord the answer is the ack: test_discord_clicks.py")
@pytest.mark.parametrize("how", ["slow", "expired"])
async def test_an_answer_to_a_click_that_is_not_taken_goes_another_way(desk: Desk, how: str) -> None:
    talk, shown = await fruit(desk)
    if how == "slow":
        desk.slow_down("answer", seconds=1, times=1)
    else:
        desk.refuse("answer", times=1)
    await desk.press(ADA, shown, "Pear")
    await settled(desk, talk, "Pear")
    await line(desk, talk, "So be it, then.")
    assert "card_left" in desk.journal.actions()


@pytest.mark.only("slack", reason="Discord has no other way to tell one person alone")
async def test_a_notice_whose_way_is_closed_goes_another_way(desk: Desk) -> None:
    _, shown = await fruit(desk)
    desk.refuse("answer", times=1)
    await desk.press("ben", shown, "Pear")
    await notice(desk, "ben", "can answer")


@pytest.mark.only("slack", reason="on Discord the field is the answer to the click: without one, its client says so")
@pytest.mark.parametrize("how", ["slow", "expired"])
async def test_a_field_that_does_not_open_is_said_and_opens_on_the_next_click(desk: Desk, how: str) -> None:
    talk, shown = await fruit(desk)
    if how == "slow":
        desk.slow_down("field", seconds=5)
    else:
        desk.refuse("field", times=1)
    await desk.press(ADA, shown, "Something else…")
    await notice(desk, ADA, "click again")
    assert "no_field" in desk.journal.actions()
    await desk.open_field(ADA, shown)
    assert await desk.submit(ADA, "Quince") == ()
    await settled(desk, talk, "Quince")


@pytest.mark.only("slack", reason="on Discord the field is the answer to the click")
async def test_a_field_that_slack_puts_off_for_a_second_opens_by_the_same_click(desk: Desk) -> None:
    _, shown = await fruit(desk)
    desk.slow_down("field", seconds=1)
    await desk.open_field(ADA, shown)
    assert "no_field" not in desk.journal.actions()
    assert desk.notices(ADA) == ()


async def test_a_lost_answer_leaves_one_card(desk: Desk) -> None:
    desk.lose_answer("post")
    talk, _ = await fruit(desk)
    await until(lambda: "delivery_later" in desk.journal.actions(), "it is tried again")
    await answer_fruit(desk, talk)


async def test_a_text_whose_answer_got_lost_stands_there_once(desk: Desk) -> None:
    desk.model.script(turn("Short."), turn("And again."), when="short")
    desk.lose_answer("post")
    talk = await desk.mention(ADA, "short")
    await line(desk, talk, "Short.")
    await until(lambda: "text_left" in desk.journal.actions(), "it is left to the outbox")
    await desk.say(ADA, "again", talk)
    await line(desk, talk, "And again.")
    assert [one.text for one in desk.lines(talk) if one.bot] == ["Short.", "And again."]


async def test_a_text_whose_recording_is_in_doubt_stands_there_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit was not applied, and somebody writes before the turn is taken again."""
    desk.journal.announce("askback.worker")
    desk.model.delay = 0.02
    desk.model.script(turn(STORY), turn(STORY), when="story")

    async def set_text_messages(*_: object) -> None:
        raise StoreUnavailable("The connection was lost.", in_doubt=True)

    async def end_turn(*_: object) -> None:
        raise StoreUnavailable("There is no connection.")

    with monkeypatch.context() as away:
        away.setattr(desk.host.store, "set_text_messages", set_text_messages)
        away.setattr(desk.host.store, "end_turn", end_turn)
        talk = await desk.mention(ADA, "story")
        await line(desk, talk, "It begins")
        await until(lambda: "store_failed" in desk.journal.actions(), "the turn cannot be committed")
        await desk.say(ADA, "please", talk)
    await line(desk, talk, "Here it ends.")
    said = [one.text for one in desk.lines(talk) if one.bot]
    assert len(said) == 1, said


async def test_a_text_whose_posting_was_not_confirmed_stands_there_once_although_its_turn_failed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.journal.announce("askback.worker", "askback.agent")
    desk.model.delay = 0.02
    desk.model.script(turn(STORY), turn(STORY), when="story")

    async def end_turn(*_: object) -> None:
        raise StoreUnavailable("There is no connection.")

    with monkeypatch.context() as away:
        away.setattr(desk.host.store, "end_turn", end_turn)
        desk.lose_answer("text")
        talk = await desk.mention(ADA, "story")
        await line(desk, talk, "It begins")
        await until(lambda: "store_failed" in desk.journal.actions(), "the turn cannot be committed")
    await line(desk, talk, "Here it ends.")
    said = [one.text for one in desk.lines(talk) if one.bot]
    assert len(said) == 1, said


async def test_a_text_whose_posting_was_not_confirmed_stands_there_once_although_its_bot_was_stopped(
    tests_of: PlatformTests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tests_of.open_desk(tmp_path, monkeypatch, start=False) as desk:
        desk.model.delay = 0.02
        desk.model.script(turn(STORY), turn(STORY), when="story")
        desk.model.fail(Fault(kind="stall", after=12))
        desk.lose_answer("text")
        async with desk.bot():
            talk = await desk.mention(ADA, "story")
            await line(desk, talk, "It begins")
        desk.forget_nonces()
        async with desk.bot():
            await line(desk, talk, "Here it ends.")
        said = [one.text for one in desk.lines(talk) if one.bot]
        assert len(said) == 1, said


async def test_a_lost_connection_comes_back_and_what_was_written_meanwhile_is_heard(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    desk.journal.announce("slack_sdk", "askback.slack.bolt")
    await desk.lose_connection()
    if desk.platform == "slack":  # Discord delivers the click when the bot is back
        assert "not connected" in await desk.press_in_vain(ADA, shown, "Apple")
    await desk.say(BEN, "are you there?", talk)
    await desk.reconnected()
    await line(desk, talk, "once somebody answers")
    await answer_fruit(desk, talk)
    assert told(desk, "fruit")[-1].texts == ["ben: are you there?"]


async def test_a_polite_disconnect_loses_nothing(desk: Desk) -> None:
    talk, _ = await fruit(desk)
    before = desk.connection_count()
    await desk.lose_connection(politely=True)
    await desk.reconnected()
    assert desk.connection_count() > before
    await answer_fruit(desk, talk)


async def test_an_outage_is_survived(desk: Desk) -> None:
    """The platform refuses everything for a moment; the card is posted afterwards."""
    talk = await desk.mention(ADA, "hello")
    desk.slow_down("post", seconds=1, times=2)
    async with program_asks(desk, talk, form_of("Go?", ["Yes", "No"])) as asking:
        await desk.press(ADA, await card(desk, talk, "Go?"), "Yes")
        assert (await asking.outcome()).status == "answered"
