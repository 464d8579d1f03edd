"""Clicks on Discord: one first answer each, in time, with calls that are slow, late, repeated, archived or gone."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from askback.domain.card_labels import SHOW_QUESTION
from askback.domain.form import Form, Option, Question
from askback_discord.clicks import TAKEN
from askback_discord.interaction_response import LATER, MODAL, UPDATE
from askback_sandbox.discord import limits as discord_limits
from askback_sandbox.discord.clicks import Delivery
from askback_sandbox.discord.faults import DiscordFault

from . import discord
from .discord import DiscordDesk
from .discord.clicks import TRY_AGAIN
from .discord.posts import begun, fruit
from .driver import ADA, BEN, card, form_of, line, notice, program_asks, settled, turn_of, until

pytestmark = pytest.mark.only("discord", reason="interactions are Discord's own")
ELSE = "Something else…"


async def heard(desk: DiscordDesk, label: str) -> None:
    assert f'"Which fruit?"="{label}"' in (await turn_of(desk, "fruit", 2)).result


# One request, one answer


async def test_a_click_is_acked_by_the_new_card_in_one_request(desk: DiscordDesk) -> None:
    talk, shown = await fruit(desk)
    before = len(desk.guild.log)
    await desk.press(ADA, shown, "Pear")
    assert (await settled(desk, talk, "Pear")).buttons == (SHOW_QUESTION,)
    await heard(desk, "Pear")
    await line(desk, talk, "So be it, then.")
    # All calls belong to the click, except the agent's texts, its typing indicator, and what a bot reads that has just
    # started: on a busy machine, it still looks for messages that it missed.
    since = [
        call
        for call in list(desk.guild.log)[before:]
        if call.method != "GET" and call.operation != "trigger_typing_indicator"
    ]
    found = [call for call in since if "content" not in call.body]
    assert len(found) == 1, [(call.operation, call.body) for call in found]
    (of_the_click,) = found
    assert of_the_click.operation == "create_interaction_response"
    assert of_the_click.body["type"] == UPDATE


async def test_the_settling_row_is_done_only_when_discord_has_taken_the_card(desk: DiscordDesk) -> None:
    talk, shown = await fruit(desk)
    desk.refuse("answer")
    desk.guild.faults.fail("update_message", 500, times=1)
    before = len(desk.handled)
    pressed = asyncio.create_task(desk.press(ADA, shown, "Pear"))
    await desk.handled_since(before)
    await settled(desk, talk, "Pear")
    assert "card_left" in desk.journal.actions()
    assert "update_message" in desk.operations(), "the outbox has drawn it"
    await pressed
    await heard(desk, "Pear")


async def test_a_rate_limit_on_the_answer_is_waited_for_within_its_time(desk: DiscordDesk) -> None:
    talk, shown = await fruit(desk)
    desk.slow_down("answer", seconds=1)
    began = time.monotonic()
    clicked = await desk.press(ADA, shown, "Pear")
    # The bot's pause is in real time. `ms` leaves out the time in which the machine did not run the process.
    assert time.monotonic() - began >= 1
    assert clicked.ms is not None
    assert clicked.ms < 3_000
    await settled(desk, talk, "Pear")
    assert desk.callbacks() == [UPDATE]


async def test_an_answer_whose_fate_is_unknown_is_given_once(desk: DiscordDesk) -> None:
    talk, shown = await fruit(desk)
    desk.lose_answer("answer")
    await desk.press(ADA, shown, "Pear")
    await settled(desk, talk, "Pear")
    assert desk.callbacks() == [UPDATE]
    assert "card_left" not in desk.journal.actions()


async def test_an_answer_that_did_not_get_through_is_sent_again(desk: DiscordDesk) -> None:
    talk, shown = await fruit(desk)
    desk.guild.faults.add(DiscordFault(kind="drop", operation="create_interaction_response"))
    await desk.press(ADA, shown, "Pear")
    await settled(desk, talk, "Pear")
    assert desk.callbacks() == [UPDATE]


async def test_a_click_is_acked_in_time_while_another_drawing_of_the_ask_is_slow(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    form = form_of("Who brings what?", ["Bread", "Cheese", "Wine"], multi_select=True)
    async with program_asks(desk, talk, form, ADA, BEN) as asking:
        shown = await card(desk, talk, "Who brings what?")
        # Discord delays a change by the outbox, which draws the first click, the one without an answer.
        desk.guild.faults.fail("create_interaction_response", 404, 10062)
        desk.guild.faults.add(DiscordFault(kind="delay", operation="update_message", seconds=4))
        slow = asyncio.create_task(
            desk.services.discord.clicks.raw(desk.payload(ADA, shown, shown.menu, ["0"]), Delivery())
        )
        await until(lambda: "card_left" in desk.journal.actions(), "it is left to the outbox")
        await until(lambda: not _faults(desk, "delay"), "the outbox is at it")
        clicked = await desk.pick(BEN, shown, "Cheese")
        assert clicked.acked
        assert desk.callbacks() == [LATER]
        both = await until(
            lambda: next((c for c in desk.cards(talk) if [x.on for x in c.menu.choices] == [True, True, False]), None),
            "both count",
        )
        await slow
        await desk.press(BEN, both, "Submit")
        assert (await asking.outcome())["q"].labels == ("Bread", "Cheese")
    assert desk.callbacks() == [LATER, UPDATE]


def _faults(desk: DiscordDesk, kind: str) -> list[DiscordFault]:
    return [fault for fault in desk.guild.faults.active.values() if fault.kind == kind]


async def test_the_same_interaction_delivered_twice_at_once_is_one_answer(desk: DiscordDesk) -> None:
    talk, shown = await fruit(desk)
    desk.guild.faults.add(DiscordFault(kind="twice", operation="INTERACTION_CREATE"))
    await desk.press(ADA, shown, "Pear")
    await until(lambda: len(desk.handled) == 2, "both are dealt with")
    await settled(desk, talk, "Pear")
    await heard(desk, "Pear")
    assert desk.notices(ADA) == ()
    assert desk.callbacks() == [UPDATE]


# Too late


@pytest.fixture
def short_patience(monkeypatch: pytest.MonkeyPatch) -> float:
    """Make Discord wait only a moment, so that the test is fast."""
    monkeypatch.setattr(discord_limits, "RESPONSE_SECONDS", 0.4)
    return 0.4


async def test_a_click_that_is_read_too_late_counts_and_the_card_says_so(
    desk: DiscordDesk, short_patience: float
) -> None:
    talk, shown = await fruit(desk)
    payload = desk.payload(ADA, shown, shown.control("Pear"))
    done = await desk.services.discord.clicks.raw(payload, Delivery(late=short_patience + 0.1))
    assert done.acked is False
    assert "failed" in str(done.error)
    over = await settled(desk, talk, "Pear")
    assert "Answered" in over.text
    await heard(desk, "Pear")
    assert desk.callbacks() == []


async def test_a_field_that_is_asked_for_too_late_does_not_open_and_nothing_raises(
    desk: DiscordDesk, short_patience: float
) -> None:
    talk, shown = await fruit(desk)
    payload = desk.payload(ADA, shown, shown.control(ELSE))
    done = await desk.services.discord.clicks.raw(payload, Delivery(late=short_patience + 0.1))
    assert done.acked is False
    await desk.handled_since(0)
    assert desk.field(ADA) is None
    assert "answer_lost" in desk.journal.actions()
    await desk.open_field(ADA, shown)
    assert await desk.submit(ADA, "Quince") == ()
    await settled(desk, talk, "Quince")


async def test_a_field_that_discord_is_slow_to_take_opens(desk: DiscordDesk) -> None:
    talk, shown = await fruit(desk)
    desk.slow_down("field", seconds=1)
    await desk.open_field(ADA, shown)
    assert desk.callbacks() == [MODAL]
    assert await desk.submit(ADA, "Quince") == ()
    await settled(desk, talk, "Quince")


# The text field


@pytest.mark.parametrize(("text", "why", "kept"), [("   ", "empty", ""), ("Quince " * 200, "1,000", "Quince " * 200)])
async def test_a_text_that_is_not_taken_offers_try_again_privately_with_the_text_kept(
    desk: DiscordDesk, text: str, why: str, kept: str
) -> None:
    talk, shown = await fruit(desk)
    await desk.open_field(ADA, shown)
    assert (await desk.submit_once(ADA, text)).acked
    await notice(desk, ADA, why)
    assert desk.notices(BEN) == ()
    assert desk.field(ADA) is None, "Discord has closed it"
    assert (await desk.press_on_notice(ADA, TRY_AGAIN)).acked
    field = desk.field(ADA)
    assert field is not None
    assert field.value == kept
    assert (await desk.submit_once(ADA, "Quince")).acked
    over = await settled(desk, talk, "Quince")
    assert over.id == shown.id
    await notice(desk, ADA, TAKEN)
    await heard(desk, "Quince")


async def test_a_text_that_is_refused_again_and_again_has_one_notice(desk: DiscordDesk) -> None:
    _, shown = await fruit(desk)
    await desk.open_field(ADA, shown)
    for blank in ("", " ", "\n"):
        assert await desk.submit(ADA, blank)
    assert len(desk.notices(ADA)) == 1


async def test_two_people_have_the_same_field_open_and_each_text_is_its_writers(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    form = Form(
        questions=(
            Question(id="where", prompt="Where to?", options=(Option(value="a", label="Rome"),)),
            Question(id="why", prompt="Why?", options=(Option(value="b", label="Fun"),)),
        )
    )
    async with program_asks(desk, talk, form, ADA, BEN) as asking:
        shown = await card(desk, talk, "Where to?")
        await desk.open_field(ADA, shown)
        await desk.open_field(BEN, shown)
        assert desk.guild.modals[desk.actor(ADA).id].custom_id == desk.guild.modals[desk.actor(BEN).id].custom_id
        assert await desk.submit(BEN, "Lima") == ()
        await card(desk, talk, "Why?")
        (late,) = await desk.submit(ADA, "Oslo, and nowhere else")
        assert "The card has moved on to another step" in late
        assert desk.kept(ADA) == "Oslo, and nowhere else"
        await desk.press(ADA, await card(desk, talk, "Why?"), "Fun")
        await desk.press(ADA, await card(desk, talk, "Review your answers"), "Submit")
        assert (await asking.outcome())["where"].text == "Lima"


async def test_a_field_that_was_opened_before_a_restart_is_sent_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with discord.open_desk(tmp_path, monkeypatch, start=False) as desk:
        async with desk.bot():
            talk, shown = await fruit(desk)
            await desk.open_field(ADA, shown)
        async with desk.bot():
            assert (await desk.submit_once(ADA, "  ")).acked
            await notice(desk, ADA, "empty")
        async with desk.bot():
            assert (await desk.press_on_notice(ADA, TRY_AGAIN)).acked
        async with desk.bot():
            assert (await desk.submit_once(ADA, "Quince")).acked
            await settled(desk, talk, "Quince")
            await heard(desk, "Quince")
    assert not desk.journal.unexpected()


async def test_a_long_text_that_comes_too_late_for_a_program_is_given_back_whole(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    async with program_asks(desk, talk, form_of("Go?", ["Yes", "No"])) as asking:
        shown = await card(desk, talk, "Go?")
        await desk.open_field(ADA, shown)
        assert (await desk.press(ADA, shown, "Yes")).acked
        await asking.outcome()
        text = " ".join(f"*word{number}*" for number in range(350))
        assert (await desk.submit_once(ADA, text)).acked
        told = await until(lambda: desk.notices(ADA) if "word349" in "".join(desk.notices(ADA)) else None, "it is back")
        assert "already been answered" in told[0]
        assert "".join(told[1:]) == text


# Archived, and gone


async def test_a_click_in_an_archived_thread_is_acked_and_the_card_settled_once_it_is_open(desk: DiscordDesk) -> None:
    talk = await begun(desk)
    async with program_asks(desk, talk, form_of("Go?", ["Yes", "No"])) as asking:
        shown = await card(desk, talk, "Go?")
        thread = await desk.room(talk)
        # The bot opens archived threads after its start, too.
        closed = desk.guild.faults.fail("update_channel", 503, times=None)
        desk.guild.put_place(discord.archived(thread))  # as if the bot had not received the event
        assert (await desk.press(ADA, shown, "Yes")).acked
        assert desk.callbacks() == [LATER]
        desk.guild.faults.remove(closed)
        assert (await asking.outcome())["q"].labels == ("Yes",)
    await settled(desk, talk, "Yes")
    assert not desk.guild.places[thread.id].archived
    assert "update_channel" in desk.operations()


async def test_an_answer_for_a_card_that_vanished_is_acked_and_counts(desk: DiscordDesk) -> None:
    desk.journal.announce("delivery_rejected")
    _, shown = await fruit(desk)
    payload = desk.payload(ADA, shown, shown.control("Pear"))
    await desk.delete(shown)
    done = await desk.services.discord.clicks.raw(payload, Delivery())
    assert done.acked
    assert desk.callbacks() == [LATER]
    await heard(desk, "Pear")
