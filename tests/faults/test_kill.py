"""SIGKILL at named points: after the restart the person can answer, or has answered once, and the agent continues."""

from __future__ import annotations

import asyncio
import json

import pytest

from askback_sandbox.attached import Attached
from askback_sandbox.discord.faults import DiscordFault
from askback_sandbox.model.script import Fault as ModelFault
from askback_sandbox.model.script import turn
from askback_sandbox.slack.faults import Fault

from .on_discord import DiscordRig
from .on_slack import SlackRig
from .rig import USE, Rig
from .ship import ASKING, COLOUR, GOING_ON, ONE, SIZE, TWO, all_well, answer_all, script

BOTH = pytest.mark.parametrize("cards", [ONE, TWO], ids=["one ask", "two asks"])


@BOTH
async def test_with_a_question_open_it_can_still_be_answered(rig: Rig, cards: dict[str, str]) -> None:
    script(rig, cards)
    await rig.start(script=True)
    rig.write()
    for prompt in cards:
        await rig.card(prompt)
    await rig.kill()
    lost = await rig.press(await rig.card(COLOUR), "Green")
    assert lost.acked is False
    assert lost.error is not None
    await rig.start(script=True)
    await answer_all(rig, cards)
    await all_well(rig, cards)


@BOTH
@pytest.mark.parametrize("point", ["after:end_turn", "call:card", "called:card"])
async def test_between_the_asks_commit_and_the_record_of_its_post_there_is_one_card(
    rig: Rig, point: str, cards: dict[str, str]
) -> None:
    script(rig, cards)
    await rig.start(point)
    rig.write()
    await rig.killed()
    await rig.start()
    await answer_all(rig, cards)
    await all_well(rig, cards)


async def test_a_second_post_that_was_not_recorded_is_found_again(rig: Rig) -> None:
    script(rig, TWO)
    await rig.start("called:card", 2)
    rig.write()
    await rig.killed()
    await rig.start()
    await answer_all(rig, TWO)
    await all_well(rig, TWO)


@pytest.mark.parametrize("point", ["before:decide", "commit:decide"])
async def test_before_the_commit_of_a_click_nothing_counts_and_the_person_sees_that(rig: Rig, point: str) -> None:
    script(rig, ONE)
    await rig.start(point)
    rig.write()
    refused = await rig.press(await rig.card(COLOUR), "Blue")
    await rig.killed()
    assert refused.acked is False
    await rig.start()
    await rig.answer(COLOUR, "Green")
    await all_well(rig, ONE)


@BOTH
@pytest.mark.parametrize("point", ["after:decide", "ack"])
async def test_between_a_clicks_commit_and_its_ack_the_answer_counts(
    rig: Rig, point: str, cards: dict[str, str]
) -> None:
    script(rig, cards)
    await rig.start(point)
    rig.write()
    last = list(cards)[-1]
    seen = await rig.card(last)
    unacked = await rig.press(seen, cards[last])
    await rig.killed()
    assert unacked.acked is False
    await rig.start()
    await rig.until(lambda: rig.settled(last, cards[last]))
    again = await rig.press(seen, cards[last])
    assert again.acked is True  # an ephemeral message says that it is settled
    for prompt in list(cards)[:-1]:
        await rig.answer(prompt, cards[prompt])
    await all_well(rig, cards)


@pytest.mark.only("slack", reason="on Discord the ack is the redraw")
async def test_between_a_clicks_ack_and_its_redraw_the_card_is_settled_after_the_restart(rig: Rig) -> None:
    script(rig, TWO)
    await rig.start()
    rig.write()
    card = await rig.card(SIZE)
    rig.hold_drawings()
    assert (await rig.press(card, "Small")).acked is True
    await rig.kill()
    assert rig.usable(SIZE)
    rig.release_drawings()
    await rig.start()
    await rig.until(lambda: rig.settled(SIZE, "Small"))
    await rig.answer(COLOUR, "Green")
    await all_well(rig, TWO)


@BOTH
@pytest.mark.parametrize("point", ["before:begin_turn", "commit:begin_turn", "after:begin_turn"])
async def test_between_the_answers_commit_and_the_resumed_turn_the_agent_goes_on(
    rig: Rig, point: str, cards: dict[str, str]
) -> None:
    script(rig, cards)
    await rig.start()
    rig.write()
    for prompt in cards:
        await rig.card(prompt)
    await rig.stop()
    # Each answer is checked; the agent waits for the last one.
    await rig.start(point, len(cards))
    for prompt, label in cards.items():
        await rig.press(await rig.card(prompt), label)  # acked or not, it is committed
    await rig.killed()
    await rig.start()
    await all_well(rig, cards)


@pytest.mark.parametrize("point", ["called:text", None])
async def test_while_the_model_streams_the_same_message_is_completed(rig: Rig, point: str | None) -> None:
    script(rig, ONE)
    rig.model.fail(ModelFault(kind="stall", after=24))
    await rig.start(point)
    rig.write()
    await rig.until(lambda: rig.says(ASKING[:12]))
    assert not rig.says(ASKING)
    await (rig.killed() if point else rig.kill())
    await rig.start()
    await rig.answer(COLOUR, "Green")
    await all_well(rig, ONE)


@pytest.mark.only("slack", reason="Discord has no streams")
async def test_a_stream_that_was_found_and_ended_is_found_again(rig: SlackRig) -> None:
    script(rig, ONE)
    rig.model.delay = 0.1  # a text that is complete at once has no stream
    rig.workspace.faults.add(Fault(kind="lost_answer", method="chat.startStream"))
    await rig.start("call:draw")
    rig.write()
    await rig.killed()
    assert rig.says(ASKING[:12])
    await rig.start()
    await rig.answer(COLOUR, "Green")
    await all_well(rig, ONE)


@BOTH
@pytest.mark.parametrize("point", ["before:end_turn", "commit:end_turn"])
async def test_between_the_models_answer_and_its_commit_the_call_is_repeated_once(
    rig: Rig, point: str, cards: dict[str, str]
) -> None:
    script(rig, cards)
    await rig.start(point)
    rig.write()
    await rig.killed()
    await rig.start()
    await answer_all(rig, cards)
    await all_well(rig, cards)
    assert len(rig.model.log) == 3


@pytest.mark.only("slack", reason="Discord's gateway delivers nothing a second time to a new session")
@pytest.mark.parametrize("point", ["before:receive", "commit:receive"])
async def test_a_message_that_is_being_handled_is_delivered_again(rig: Rig, point: str) -> None:
    await a_message_that_is_being_handled(rig, point)


async def test_a_message_that_was_stored_is_kept_once(rig: Rig) -> None:
    await a_message_that_is_being_handled(rig, "after:receive")


async def a_message_that_is_being_handled(rig: Rig, point: str) -> None:
    script(rig, ONE)
    await rig.start(point)
    rig.write()
    await rig.killed()
    await rig.start()
    await rig.answer(COLOUR, "Green")
    await all_well(rig, ONE)


async def test_a_message_while_a_question_is_open_is_kept_once_over_a_kill(rig: Rig) -> None:
    script(rig, ONE)
    await rig.start("after:receive", rig.receives + 1)
    root = rig.write()
    await rig.card(COLOUR)
    rig.write("and hurry, please", root)
    await rig.killed()
    await rig.start()
    await rig.answer(COLOUR, "Green")
    await all_well(rig, ONE)


async def test_between_a_typed_answers_commit_and_its_card_the_answer_counts_once(rig: Rig) -> None:
    script(rig, ONE)
    await rig.start("after:receive", rig.receives + 1)
    root = rig.write()
    await rig.card(COLOUR)
    rig.write("#1 Green", root)
    await rig.killed()
    await rig.start()
    await rig.ended(GOING_ON, cards=ONE, texts=(ASKING,), turns=2, typed=("#1 Green",))


async def test_an_offer_and_what_was_chosen_on_it_outlive_kills(rig: Rig) -> None:
    script(rig, ONE)
    await rig.start("after:receive", rig.receives + 1)
    root = rig.write()
    await rig.card(COLOUR)
    rig.write("Mauve", root)
    await rig.killed()
    await rig.start("after:choose")
    await rig.press(await rig.offer(), USE)
    await rig.killed()
    await rig.start()
    await rig.ended(GOING_ON, cards={COLOUR: "Mauve"}, texts=(ASKING,), turns=2, typed=("Mauve",))


@pytest.mark.only("discord", reason="on Slack nobody but its reader sees an offer, or can take it away")
async def test_an_offer_whose_post_was_not_recorded_goes_when_its_question_is_over(rig: Rig) -> None:
    script(rig, ONE)
    rig.settings = {"ASKBACK_TIMEOUT": "4"}
    await rig.start("before:mark_offer_posted")
    root = rig.write()
    await rig.card(COLOUR)
    rig.write("Mauve", root)
    await rig.killed()
    assert rig.offers()
    await asyncio.sleep(4)  # until the question has timed out
    await rig.start("after:run_due")
    await rig.killed()
    await rig.start()
    await rig.until(lambda: not rig.offers())
    await rig.until(lambda: rig.whole(GOING_ON))
    await rig.stop()


@pytest.mark.only("discord", reason="on Slack nobody but its reader sees an offer, or can take it away")
async def test_an_offer_that_is_posted_again_while_its_question_is_answered_goes(rig: Rig) -> None:
    assert isinstance(rig, DiscordRig)
    script(rig, ONE)
    await rig.start("after:mark_offer_posted")
    root = rig.write()
    await rig.card(COLOUR)
    rig.write("Mauve", root)
    await rig.killed()
    # The next process looks for the offer. Meanwhile it is used and deleted, so the search does not find it.
    slow = DiscordFault(kind="delay", operation="list_messages", seconds=2.0, times=100)
    searches, faults = rig.guild.faults.add(slow), rig.guild.faults
    await rig.start("before:mark_offer_posted")
    await rig.until(lambda: faults.active[searches] != slow)  # the search has begun
    assert (await rig.press(await rig.offer(), USE)).acked
    await rig.killed()
    assert rig.offers()
    rig.guild.faults.clear()
    await rig.start()
    await rig.until(lambda: not rig.offers())
    await rig.until(lambda: rig.whole(GOING_ON))
    await rig.stop()


async def test_with_a_modal_open_it_can_still_be_sent(rig: Rig) -> None:
    script(rig, ONE)
    await rig.start()
    rig.write()
    await rig.open_field(await rig.card(COLOUR), "Something else…")
    await rig.kill()
    assert not await rig.send_field("Mauve")
    await rig.start()
    assert await rig.send_field("Mauve")
    await all_well(rig, {COLOUR: "Mauve"})


@BOTH
async def test_a_settled_card_that_waits_in_the_outbox_is_settled_after_the_restart(
    rig: Rig, cards: dict[str, str]
) -> None:
    script(rig, cards)
    await rig.start()
    rig.write()
    for prompt in cards:
        await rig.card(prompt)
    rig.hold_drawings()
    for prompt, label in cards.items():
        await rig.press(await rig.card(prompt), label)
    await rig.until(rig.drawings)
    await rig.kill()
    rig.release_drawings()
    await rig.start()
    await all_well(rig, cards)


async def test_many_kills_in_one_conversation_change_nothing(rig: Rig) -> None:
    script(rig, TWO)
    points = ["after:receive", "before:end_turn", "called:card", "after:mark_rendered"]
    await rig.start(points[0])
    rig.write()
    for point in points[1:]:
        await rig.killed()
        await rig.start(point)
    await rig.killed()
    await rig.start("after:decide")
    await rig.press(await rig.card(COLOUR), "Green")
    await rig.killed()
    await rig.start("after:decide")
    await rig.press(await rig.card(SIZE), "Small")
    await rig.killed()
    await rig.start("before:end_turn")
    await rig.killed()
    await rig.start()
    await all_well(rig, TWO)


async def test_a_bot_that_is_told_to_end_ends_cleanly_in_the_middle_of_a_text(rig: Rig) -> None:
    script(rig, ONE)
    rig.model.fail(ModelFault(kind="stall", after=24))
    await rig.start(script=True)
    rig.write()
    await rig.until(lambda: rig.says(ASKING[:12]))
    await rig.stop()
    await rig.start()
    await rig.answer(COLOUR, "Green")
    await rig.ended(GOING_ON, cards=ONE, texts=(ASKING,), turns=3)


@pytest.mark.only("slack", reason="the core reads the files of every platform")
async def test_a_file_is_read_after_a_kill_between_its_message_and_the_download(rig: SlackRig) -> None:
    rig.model.script(turn(GOING_ON), name="ship")
    faults = rig.services.workspace.faults
    delay = faults.add(Fault(kind="delay", method="files-pri", seconds=60.0))
    await rig.start()
    notes = Attached("notes.txt", 5, b"words")
    rig.services.people.write("ada", "general", "@askback look", files=(notes,))
    await rig.until(lambda: delay not in faults.active)
    await rig.kill()
    assert not rig.model.log, "the turn waits for the file"
    await rig.start()
    await rig.until(lambda: any('"data": "words"' in json.dumps(one.request) for one in rig.model.log))
