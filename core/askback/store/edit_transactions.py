"""Transactions for messages that people edit or delete after they wrote them."""

from __future__ import annotations

__all__ = ["DeletionTargets", "EditTransactions"]

from dataclasses import dataclass

from sqlalchemy import Connection

from askback.domain.ask import Ask
from askback.domain.conversation import Conversation
from askback.domain.identity import MessageRef
from askback.domain.incoming_message import DeletedMessages, EditedMessage, EditResult, TextReading
from askback.internal.clock import from_micros, to_micros
from askback.store.conversation_transactions import AnswerMatcher
from askback.store.database_clock import read_now
from askback.store.queries import (
    asks,
    card_messages,
    conversations,
    decisions,
    edits,
    files,
    history,
    inbox,
    locks,
    offers,
    outbox,
    transcript,
)
from askback.store.queries.edits import StoredMessage
from askback.store.queries.turns import request_turn
from askback.store.transactions import Transactions


@dataclass(frozen=True, slots=True)
class DeletionTargets:
    """The asks and conversations that a deletion may affect."""

    asks: tuple[str, ...] = ()
    """Ids of the asks whose cards used the deleted messages."""
    posting: tuple[str, ...] = ()
    """Ids of the asks in these channels whose cards are being posted, so that their messages are not recorded yet."""
    conversations: tuple[str, ...] = ()
    """Ids of the conversations in which the deleted messages were kept."""


class EditTransactions(Transactions):
    """Transactions for messages that people edit or delete after they wrote them."""

    async def is_stored(self, key: str) -> bool:
        """Return True if a message with that `IncomingMessage.dedupe_key` was kept."""
        return await self._database.read(lambda connection: edits.is_stored(connection, key))

    async def is_history_due(self) -> bool:
        """Return True if an agent is about to read what was written in some thread before."""
        return await self._database.read(history.is_due)

    async def edit(self, edited: EditedMessage, read: AnswerMatcher | None = None) -> EditResult:
        """Replace a message that the agent has not read by its new version, or give the agent both versions.

        `read` is the same as for `receive`. It is called if the message was offered as an answer. An edit changes
        nothing if its text is the same, or if a newer edit of the message came in earlier.
        """

        def work(connection: Connection) -> EditResult:
            incoming = edited.message
            # Take the same lock as the start of a turn, so that the agent reads one version or the other.
            locks.lock_place(connection, incoming.place)
            conversation = conversations.find(connection, incoming.place)
            if conversation is None:
                return EditResult()
            kept = edits.find(connection, conversation.id, incoming.dedupe_key)
            if (kept is None or kept.is_pending) and _needs_history(connection, conversation):
                history.expect_edit(connection, conversation.id, edited)
                return EditResult(how="replaced")
            if kept is None or not kept.author.is_same_person(incoming.author):
                return EditResult()
            newest = edits.get_newest_version(connection, conversation.id, kept)
            late = kept.edited_at is not None and to_micros(edited.at) <= kept.edited_at
            if late or _has_same_words(newest.text, incoming.text):
                return EditResult()
            edits.set_edited_at(connection, kept, edited.at)
            if kept.is_unread:
                edits.replace_text(connection, kept, incoming.text)
                return _read_again(connection, conversation, kept, edited, read)
            if not kept.is_read:
                ask = None if kept.ask_id is None else asks.get(connection, kept.ask_id)
                return EditResult() if ask is None else EditResult(how="too late", ask=ask)
            if newest.is_unread:
                # The agent gets only the newest edit, and none if that equals the version it has read.
                if _has_same_words(edits.get_last_read_text(connection, kept.id), incoming.text):
                    edits.mark_skipped(connection, newest)
                else:
                    edits.replace_text(connection, newest, incoming.text)
                return EditResult(how="replaced")
            version = incoming.evolve(
                author=kept.author,
                dedupe_key=f"edit:{to_micros(edited.at)}:{incoming.dedupe_key}",
                at=edited.at,
                files=(),
            )
            inbox.add(connection, conversation.id, version, edit_of=kept.id)
            request_turn(connection, conversation.id, conversation.place)
            return EditResult(how="heard")

        return await self._run(work)

    async def find_deletion_targets(self, deleted: DeletedMessages) -> DeletionTargets:
        """Return the asks and conversations that a deletion may affect, by one read."""

        channels = {message.channel for message in deleted.messages}

        def work(connection: Connection) -> DeletionTargets:
            known = card_messages.find_asks_by_messages(connection, deleted.messages)
            candidates = () if known else outbox.list_asks_being_posted(connection)
            posting = (ask for ask_id in candidates if (ask := asks.get(connection, ask_id)) is not None)
            return DeletionTargets(
                asks=known,
                posting=tuple(ask.id for ask in posting if channels & {ask.place.channel, ask.place.thread}),
                conversations=edits.find_conversations(connection, deleted.keys),
            )

        return await self._database.read(work)

    async def record_deletion(self, ask_id: str, messages: tuple[MessageRef, ...]) -> None:
        """Record the deletion of messages that may belong to a card which is being posted.

        The process that posts the card finds this when it records the card's messages. If these are already recorded,
        nothing changes.
        """

        def work(connection: Connection) -> None:
            locks.lock_ask(connection, ask_id)
            ask = asks.get(connection, ask_id)
            if ask is not None and set(messages).isdisjoint(ask.messages):
                card_messages.add_deleted(connection, ask_id, messages, from_micros(read_now(connection)))

        await self._run(work)

    async def withdraw_messages(self, conversation_id: str, keys: tuple[str, ...]) -> int:
        """Withdraw these messages from a conversation, as far as the agent has not read them.

        Return the number of versions.
        """

        def work(connection: Connection) -> int:
            locks.lock_conversation(connection, conversation_id)
            rows = edits.withdraw_unread(connection, conversation_id, keys)
            for row in rows:
                _withdraw(connection, conversation_id, row)
            files.delete_of_messages(connection, rows)
            return len(rows)

        return await self._run(work)


def _needs_history(connection: Connection, conversation: Conversation) -> bool:
    """Return True if the agent will read what was written before this conversation, and has not committed that yet."""
    return conversation.midway and transcript.get_last(connection, conversation.id) is None


def _read_again(
    connection: Connection,
    conversation: Conversation,
    kept: StoredMessage,
    edited: EditedMessage,
    read: AnswerMatcher | None,
) -> EditResult:
    """Apply the new version as an answer if it is one. Otherwise offer it as one, if the old version was offered."""
    if not _withdraw(connection, conversation.id, kept.id):
        return EditResult(how="replaced")
    place = edited.message.place
    reading = TextReading() if read is None else read(asks.list_open(connection, place))
    if reading.steps:
        ask: Ask = reading.steps[-1].after
        offers.mark_answered(connection, kept.id, ask.id)
        decisions.save_steps(connection, reading.steps)
        return EditResult(how="answered", ask=ask)
    if reading.outgoing is not None:
        if reading.outgoing.offer is not None:
            offers.insert_offer(connection, reading.outgoing.offer, conversation.id, kept.id)
        outbox.enqueue_message(connection, reading.outgoing, conversation.id)
    return EditResult(how="replaced")


def _withdraw(connection: Connection, conversation_id: str, inbox_id: int) -> bool:
    """Close the open offers about a message. Return False if there were none."""
    made = offers.list_open_about(connection, conversation_id, inbox_id)
    for offered in made:
        offers.close(connection, offered, "message")
    return bool(made)


def _has_same_words(one: str, other: str) -> bool:
    return one.split() == other.split()
