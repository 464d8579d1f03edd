"""Edits of messages that were read as history, in the store alone."""

from __future__ import annotations

from datetime import timedelta

from askback.domain.identity import Actor
from askback.domain.incoming_message import DeletedMessages, EditedMessage, EditResult, HistoryMessage
from askback.internal.clock import utc_now
from askback.store.store import Store
from contract.engine.stored_thread import ANN, BEN, Thread, heard


def edited(key: str, text: str, by: Actor = BEN, after: float = 0.0) -> EditedMessage:
    return EditedMessage(message=heard(text, key, by), at=utc_now() + timedelta(seconds=after))


EARLIER = HistoryMessage(key="0", author=BEN, text="to stagin")


async def test_an_edit_of_history_is_heard_and_its_row_changes_nothing_else(store: Store) -> None:
    thread = await Thread.begin(store, midway=True)
    own, program = EARLIER.evolve(key="00", ours=True), EARLIER.evolve(key="000", author=BEN.evolve(is_program=True))
    assert await thread.turn(None, own, program, EARLIER) is not None
    assert [await store.is_stored(key) for key in ("00", "000", "0")] == [False, False, True]
    late = heard("to stagin", "0", BEN).evolve(at=utc_now() - timedelta(hours=1))
    again = await store.receive(late, begin=False)
    assert again is not None
    assert again.duplicate, "the model has read it as history"
    (recent,) = await store.list_recent("board", utc_now() - timedelta(hours=1))
    assert recent.newest_key == "1"
    assert await store.edit(edited("0", "to PRODUCTION", ANN)) == EditResult(), "it is not hers"
    assert (await store.edit(edited("0", "to PRODUCTION", after=1))).how == "heard"
    assert (await store.edit(edited("0", "to nowhere", after=2))).how == "replaced"
    assert await store.withdraw_messages(thread.id, ("0",)) == 1, "the unread version is deleted with its message"
    assert (await store.find_deletion_targets(DeletedMessages(messages=(), keys=("0",)))).conversations == (thread.id,)


async def test_a_mention_that_was_read_as_history_is_heard_when_it_arrives_late(store: Store) -> None:
    thread = await Thread.begin(store, midway=True)
    assert await thread.turn(None, EARLIER) is not None
    received = await store.receive(heard("to stagin", "0", BEN), begin=True)
    assert received is not None
    assert not received.duplicate


async def test_an_edit_of_history_that_arrives_while_it_is_read_is_not_lost(store: Store) -> None:
    assert not await store.is_history_due()
    thread = await Thread.begin(store, midway=True)
    assert await store.is_history_due()
    assert (await store.edit(edited("0", "to PRODUCTION", after=2))).how == "replaced"
    assert (await store.edit(edited("0", "to testing", after=1))).how == "replaced"
    assert (await store.edit(edited("5", "of a stranger", ANN))).how == "replaced"
    other = EARLIER.evolve(key="5", text="as it was")
    assert await thread.turn(None, EARLIER, other) is not None
    assert [one.text for one in thread.composed[0].history] == ["to PRODUCTION", "as it was"]
    assert not await store.is_history_due()
    assert (await store.edit(edited("0", "to PRODUCTION", after=2))).how == "ignored"
    assert (await store.edit(edited("0", "to nowhere", after=3))).how == "heard"
