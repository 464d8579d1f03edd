"""The text of a turn in the store alone: who posts it, and where it stands."""

from __future__ import annotations

from datetime import timedelta

import pytest

from askback.domain.identity import MessageRef
from askback.domain.outgoing_message import OutgoingMessage
from askback.internal.clock import utc_now
from askback.store.errors import TurnTakenOver
from askback.store.queries.outbox_leases import LEASE_SECONDS
from contract.engine.stored_thread import ANN, HERE, Thread, say

PART = MessageRef(channel="C1", id="7")


async def test_the_text_of_a_turn_is_left_to_whoever_took_it(thread: Thread) -> None:
    now = utc_now()
    await thread.ends(await thread.begun(), outgoing=say("text"))
    assert await thread.due() == []
    wait = await thread.store.get_time_until_due()
    assert wait is not None
    taken_again = utc_now() + wait - now
    assert timedelta(0) < taken_again <= timedelta(seconds=LEASE_SECONDS + 1), "unless its process dies"


async def test_a_text_behind_another_one_waits_and_is_looked_for_before_it_is_said(thread: Thread) -> None:
    await thread.store.enqueue_message(say("earlier"), thread.id)
    await thread.ends(await thread.begun(), outgoing=say("text"), notice=say("notice"))
    assert await thread.due() == ["earlier"]
    await thread.store.delete_text("earlier")
    (item,) = await thread.store.lease(10)
    assert item.target == "text"
    assert item.attempts > 1, "part of it may stand there"


async def test_a_text_that_people_see_part_of_is_left_to_whoever_took_it_also_behind_another_one(
    thread: Thread,
) -> None:
    await thread.store.enqueue_message(say("earlier"), thread.id)
    await thread.ends(await thread.begun(), outgoing=say("text", messages=(PART,)))
    assert await thread.due() == ["earlier"]
    await thread.store.delete_text("earlier")
    assert await thread.due() == []


async def test_a_restarted_turn_knows_where_its_text_stands_until_the_turn_ends(thread: Thread) -> None:
    turn = await thread.begun()
    await thread.store.set_text_messages(turn, (PART,))
    again = await thread.begun()
    assert again.conversation.text_messages == (PART,)
    await thread.ends(again)
    assert await thread.text_messages() == ()


async def test_only_the_first_of_two_processes_writes_the_text_of_a_turn(thread: Thread) -> None:
    turn, other = await thread.begun(), MessageRef(channel="C1", id="other")
    again = await thread.begun()
    await thread.store.set_text_messages(turn, ())
    await thread.store.set_text_messages(turn, (PART,))
    await thread.store.set_text_messages(turn, (PART, other))  # the text may grow
    for messages in ((other,), ()):
        with pytest.raises(TurnTakenOver):
            await thread.store.set_text_messages(again, messages)
    text = OutgoingMessage(target="text", text="Mine.", markdown=True, messages=(other,))
    assert await thread.ends(again, outgoing=text) is None
    assert await thread.ends(turn, outgoing=text.evolve(messages=(PART,))) is not None
    with pytest.raises(TurnTakenOver):
        await thread.store.set_text_messages(again, (PART,))


async def test_a_text_that_a_slower_process_wrote_over_is_posted_again(thread: Thread) -> None:
    turn = await thread.begun()
    await thread.store.set_text_messages(turn, (PART,))
    text = OutgoingMessage(target="text", text="Half", markdown=True, messages=(PART,))
    content = ({"type": "text", "text": "The whole."}, {"type": "text", "text": "Of it."})
    assert await thread.ends(turn, content=content, outgoing=text.evolve(text="The whole.\n\nOf it.")) is not None
    await thread.store.delete_text("text")
    assert await thread.ends(turn, outgoing=text) is None
    (item,) = await thread.store.lease(10, HERE.platform)
    assert item.outgoing == text.evolve(text="The whole.\n\nOf it.")
    assert item.attempts > 1, "part of it may stand there"


async def test_a_part_that_a_slower_process_wrote_over_the_whole_is_replaced(thread: Thread) -> None:
    turn = await thread.begun()
    await thread.store.restore_text(turn, (PART,))
    assert await thread.due() == [], "the other process has not ended the turn, and writes the whole itself"
    text = OutgoingMessage(target=turn.text_target, text="The whole.", markdown=True, messages=(PART,))
    content = ({"type": "text", "text": "The whole."},)
    assert await thread.ends(turn, content=content, outgoing=text) is not None
    await thread.store.delete_text(text.target)
    await thread.store.restore_text(turn, (PART,))
    (item,) = await thread.store.lease(10, HERE.platform)
    assert item.outgoing == text
    assert item.attempts > 1, "part of it may stand there"


@pytest.mark.parametrize("by", ["the process of the turn", "a worker"])
async def test_a_part_that_a_slower_process_writes_while_the_whole_is_posted_is_replaced(
    thread: Thread, by: str
) -> None:
    turn = await thread.begun()
    text = OutgoingMessage(target=turn.text_target, text="The whole.", markdown=True, messages=(PART,))
    assert await thread.ends(turn, content=({"type": "text", "text": "The whole."},), outgoing=text) is not None
    if by == "a worker":
        await thread.store.release_lease(text.target)
        (item,) = await thread.store.lease(10, HERE.platform)
        await thread.store.restore_text(turn, (PART,))
        await thread.store.delete_item(item, (PART,))
    else:
        await thread.store.restore_text(turn, (PART,))
        await thread.store.delete_text(text.target)
    (item,) = await thread.store.lease(10, HERE.platform)
    assert item.outgoing == text
    assert item.attempts > 1, "part of it may stand there"
    await thread.store.delete_item(item)
    assert await thread.due() == []
    assert await thread.store.get_time_until_due() is None


async def test_what_a_person_wrote_is_not_posted_as_the_text_of_a_slower_process(thread: Thread) -> None:
    turn = await thread.begun()
    assert await thread.ends(await thread.begun(), "") == ()
    await thread.hears("Delete it all.")
    await thread.begun()
    assert await thread.ends(turn, outgoing=say("text", messages=(PART,))) is None
    assert await thread.due() == []


async def test_where_the_text_of_a_later_turn_stands_is_stored_too(thread: Thread) -> None:
    await thread.ends(await thread.begun())
    await thread.hears("again")
    await thread.store.set_text_messages(await thread.begun(), (PART,))
    assert await thread.text_messages() == (PART,)


async def test_the_text_of_a_turn_that_somebody_stopped_is_no_text_of_the_next_one(thread: Thread) -> None:
    turn = await thread.begun()
    assert await thread.store.stop(thread.id, ANN) is not None
    await thread.store.set_text_messages(turn, (PART,))
    assert await thread.text_messages() == ()


async def test_where_a_text_stands_is_nothing_to_a_conversation_that_was_deleted(thread: Thread) -> None:
    turn = await thread.begun()
    await thread.ends(turn)
    await thread.store.prune(utc_now() + timedelta(seconds=1), 10)
    with pytest.raises(TurnTakenOver):
        await thread.store.set_text_messages(turn, (PART,))
    assert await thread.store.find_conversation(HERE) is None
