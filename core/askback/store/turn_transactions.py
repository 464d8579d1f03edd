"""Transactions that begin and end the turns of the model, and count their tokens."""

from __future__ import annotations

__all__ = ["MessageBuilder", "TokenReservation", "TurnTransactions"]

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from askback.domain.ask import Ask
from askback.domain.conversation import Conversation
from askback.domain.identity import Actor, MessageRef, deduplicate_accounts
from askback.domain.incoming_message import HistoryMessage, InboxMessage
from askback.domain.open_ask_limits import Limits
from askback.domain.outgoing_message import OutgoingMessage
from askback.domain.turn import Call, EarlierAnswers, Message, TokenUsage, Turn, TurnEnd, TurnInput, get_text
from askback.internal.clock import from_micros
from askback.store.database_clock import read_now
from askback.store.errors import FilesPending, TurnTakenOver
from askback.store.queries import (
    answer_files,
    approvals,
    conversations,
    earlier_answers,
    files,
    history,
    inbox,
    locks,
    outbox,
    outbox_leases,
    tool_calls,
    transcript,
    usage,
)
from askback.store.queries.new_asks import store_asks
from askback.store.transactions import Transactions
from askback.store.unreadable_rows import UnreadableRow

MessageBuilder = Callable[[TurnInput], Message]
"""Builds the next message to the model, including the authors of its words."""


@dataclass(frozen=True, slots=True)
class TokenReservation:
    """The tokens that are counted in advance for the call of a turn."""

    id: str
    """A new id, for `UsageTransactions.settle`."""
    amount: Callable[[Turn, TokenUsage], int]
    """Returns the number of tokens to reserve, from the usage before that. 0 means that the call must not run."""


class TurnTransactions(Transactions):
    """Transactions that begin and end the turns of the model, and count their tokens."""

    async def list_runnable(self, now: datetime) -> tuple[str, ...]:
        """Return the ids of conversations that have something to do now."""
        return await self._database.read(lambda connection: conversations.list_runnable(connection, now, self._served))

    async def get_next_turn_at(self, now: datetime) -> datetime | None:
        """Return the earliest time after `now` until which a turn is postponed. None if there is none."""
        return await self._database.read(
            lambda connection: conversations.get_next_turn_at(connection, now, self._served)
        )

    async def get_starter(self, conversation_id: str) -> Actor | None:
        """Return the person who began a conversation. None if the conversation does not exist."""

        def work(connection: Connection) -> Actor | None:
            conversation = conversations.get(connection, conversation_id)
            return None if conversation is None else conversation.starter

        return await self._database.read(work)

    async def postpone(self, conversation_id: str, pause: timedelta) -> None:
        """Postpone a failed turn until the pause ends, or until a new message or result arrives."""

        def work(connection: Connection) -> None:
            locks.lock_conversation(connection, conversation_id)
            conversations.postpone_turn(connection, conversation_id, pause)

        await self._run(work)

    def leave_turn(self, conversation_id: str, error: UnreadableRow) -> None:
        """Leave a turn that this release cannot read to a newer process. Only the first such turn is logged."""
        self._left.add("turn", conversation_id, error)

    async def begin_turn(
        self,
        conversation_id: str,
        compose: MessageBuilder,
        notice: OutgoingMessage | None = None,
        *,
        earlier: tuple[HistoryMessage, ...] = (),
        reservation: TokenReservation | None = None,
        earlier_answers_each: int = 0,
        waits_for_files: bool = False,
    ) -> Turn | None:
        """Return the next turn after its message to the model is committed. None if there is nothing to do yet.

        That is so if the conversation has no work, still waits for people, or has approved calls to run first. A turn
        that a crash interrupted begins again with the same messages. `notice` is a text for people about a message to
        the model, which is committed with it. `earlier` is what was written in the thread before. It is committed as
        read, unless it also arrived as a message. `reservation` is committed with the turn, too.
        `earlier_answers_each` is the maximum number of a person's earlier answers to each question that they answered.

        Raises `FilesPending` if `waits_for_files` is True and files of the messages are still to be read.
        """

        def work(connection: Connection) -> Turn | None:
            locks.lock_conversation(connection, conversation_id)
            state = conversations.get_state(connection, conversation_id)
            if state is None:
                return None
            last = transcript.get_last(connection, conversation_id)
            seq = 0 if last is None else last.seq + 1
            resumed = last is not None and not last.forgotten and (last.role == "user" or last.unfinished)
            asked = () if last is None else approvals.list_calls_with_asks(connection, conversation_id, last.seq)
            if any(call.is_to_run for call, _ in asked):
                # People approved the call after the other tools ran. The caller, or a process that takes over, runs it.
                return None
            if any(ask is not None and not ask.is_complete for _, ask in asked):
                conversations.set_wants_turn(connection, conversation_id, False)
                return None
            if not state.wants_turn:
                # The conversation is stopped or finished. Messages from before a stop wait for the next message.
                return None
            if waits_for_files and files.has_pending(connection, conversation_id):
                raise FilesPending("Files of the messages are still to be read.")
            written = inbox.take_unread(connection, conversation_id, seq)
            if written or asked:
                before = _read_history(connection, conversation_id, earlier, written, seq)
                news = TurnInput(
                    calls=asked,
                    earlier_answers=_list_earlier_answers(connection, asked, earlier_answers_each),
                    answering=deduplicate_accounts(approvals.list_answer_authors(connection, asked)),
                    answer_files=answer_files.list_stored(connection, [ask.id for _, ask in asked if ask is not None]),
                    written=written,
                    history=before,
                    halt=state.stop,
                    known=transcript.list_authors(connection, conversation_id),
                    unshown=state.unshown,
                )
                conversations.mark_reported(connection, state, stop=bool(written))
                _add_message(connection, conversation_id, compose(news).evolve(seq=seq), notice)
            elif last is None or not resumed:
                conversations.set_wants_turn(connection, conversation_id, False)
                return None
            elif last.role == "user":
                # An earlier process may have stored the results, and ended before it took the turn.
                asked = approvals.list_calls_with_asks(connection, conversation_id, last.seq - 1)
            conversations.set_wants_turn(connection, conversation_id, True)
            turn = Turn(
                conversation=state.conversation,
                history=transcript.list_visible(connection, conversation_id),
                files=files.list_read(connection, conversation_id),
                resumed=resumed,
                has_earlier_text=outbox.has_earlier_text(connection, conversation_id, ""),
                halted=any(ask is not None and ask.outcome is not None and ask.outcome.halted for _, ask in asked),
            )
            if reservation is not None:
                amount = reservation.amount
                usage.reserve_call(connection, conversation_id, reservation.id, lambda spent: amount(turn, spent))
            return turn

        return await self._run(work)

    async def end_turn(self, end: TurnEnd, limits: Limits) -> tuple[Ask, ...] | None:
        """Commit the model's message, its calls, their asks and the texts to post. Return the stored asks.

        Return None if somebody stopped the conversation, or if another process took this one for dead and has ended the
        turn. Then only the tokens were committed.
        """

        def work(connection: Connection) -> tuple[Ask, ...] | None:
            locks.lock_conversation(connection, end.conversation_id)
            if end.reservation is not None:
                usage.settle(connection, end.reservation, end.tokens)
            else:
                day = usage.get_day(from_micros(read_now(connection)))
                usage.add_tokens(connection, end.conversation_id, day, end.tokens)
            conversation = conversations.get(connection, end.conversation_id)
            last = transcript.get_last(connection, end.conversation_id)
            if conversation is None or conversation.stops != end.stops:
                return None
            if last is None or last.seq != end.after:
                if end.outgoing is not None:
                    _restore_text(connection, end.conversation_id, end.after, end.outgoing)
                return None
            if end.outgoing is not None and _is_elsewhere(conversation, end.outgoing.messages):
                return None
            seq = last.seq + 1
            _forget(connection, end, last)
            if end.content:
                message = Message(seq=seq, role="assistant", content=end.content, unfinished=end.again)
                transcript.add(connection, end.conversation_id, message)
            if end.outgoing is not None:
                # The caller posts it, unless an earlier text still waits. Then it waits behind that one.
                waits = not end.outgoing.messages and outbox.has_earlier_text(
                    connection, end.conversation_id, end.outgoing.target
                )
                lease = None if waits else timedelta(seconds=outbox_leases.LEASE_SECONDS)
                outbox.enqueue_message(connection, end.outgoing, end.conversation_id, lease=lease, tried=True)
            if end.notice is not None:
                outbox.enqueue_message(connection, end.notice, end.conversation_id)
            stored = store_asks(connection, tuple(call.ask for call in end.calls if call.ask is not None), limits)
            for position, call in enumerate(end.calls):
                made = Call(
                    tool_use_id=call.tool_use_id,
                    tool=call.tool,
                    input=call.input,
                    ask_id=call.approved if call.ask is None else call.ask.id,
                    result=call.result,
                    is_error=call.is_error,
                )
                tool_calls.add(connection, end.conversation_id, seq, position, made)
            conversations.set_text_messages(connection, end.conversation_id, ())
            waits = bool(stored)
            unheard = inbox.has_unread(connection, end.conversation_id)
            goes_on = any(call.ask is None for call in end.calls) and not end.waits_for_person
            conversations.set_wants_turn(
                connection, end.conversation_id, end.again or goes_on or (unheard and not waits)
            )
            return stored

        return await self._run(work)

    async def set_text_messages(self, turn: Turn, messages: tuple[MessageRef, ...]) -> None:
        """Store the messages in which the text of the running turn is posted, unless somebody stopped the turn.

        Raises `TurnTakenOver` if another process has ended this turn, or writes its text into other messages.
        """
        conversation_id = turn.conversation.id

        def work(connection: Connection) -> None:
            locks.lock_conversation(connection, conversation_id)
            now = conversations.get(connection, conversation_id)
            if now is not None and now.stops != turn.conversation.stops:
                return
            last = transcript.get_last(connection, conversation_id)
            if now is None or last is None or last.seq != turn.history[-1].seq or _is_elsewhere(now, messages):
                raise TurnTakenOver("Another process works on this turn.")
            if messages and now.text_messages != messages:
                conversations.set_text_messages(connection, conversation_id, messages)

        await self._run(work)

    async def restore_text(self, turn: Turn, messages: tuple[MessageRef, ...]) -> None:
        """Queue the whole text of a turn that another process has ended, if this one wrote a part of it later.

        `messages` hold the text. While the other process still writes it, nothing needs to be restored.
        """
        part = OutgoingMessage(target=turn.text_target, text="", markdown=True, messages=messages)
        conversation_id, after = turn.conversation.id, turn.history[-1].seq

        def work(connection: Connection) -> None:
            locks.lock_conversation(connection, conversation_id)
            _restore_text(connection, conversation_id, after, part)

        await self._run(work)


def _is_elsewhere(conversation: Conversation, messages: tuple[MessageRef, ...]) -> bool:
    """Return True if another process has recorded other messages for the text of the running turn."""
    return bool(conversation.text_messages) and conversation.text_messages[:1] != messages[:1]


def _restore_text(connection: Connection, conversation_id: str, after: int, outgoing: OutgoingMessage) -> None:
    """Queue the text that another process posted for the turn after row `after`. This process may have overwritten it.

    `outgoing` is this process's own text of the turn, with the messages that hold it.
    """
    ended = transcript.get(connection, conversation_id, after + 1)
    if not outgoing.messages or ended is None or ended.role != "assistant":
        return
    text = get_text(ended.content)
    if text:
        outbox.enqueue_message_again(connection, outgoing.evolve(text=text), conversation_id)


def _find_last_exchange(connection: Connection, end: TurnEnd, last: Message) -> int:
    """Return the first row of the last exchange.

    So tool results are always kept or dropped together with their calls.
    """
    if not any(block.get("type") == "tool_result" for block in last.content):
        return last.seq
    return transcript.get_last_assistant_seq(connection, end.conversation_id) or last.seq


def _read_history(
    connection: Connection,
    conversation_id: str,
    earlier: tuple[HistoryMessage, ...],
    written: tuple[InboxMessage, ...],
    seq: int,
) -> tuple[HistoryMessage, ...]:
    """Note that a turn reads what was written in the thread before it. Return that without the messages received."""
    received = {one.key for one in written}
    unheard = tuple(one for one in earlier if one.key not in received)
    before = history.merge_edits(connection, conversation_id, unheard)
    history.add_read(connection, conversation_id, before, seq)
    return before


def _add_message(
    connection: Connection, conversation_id: str, message: Message, notice: OutgoingMessage | None
) -> None:
    """Add a message to the model with its files, and a text about it for people."""
    transcript.add(connection, conversation_id, message)
    files.place(connection, message.seq, message.files)
    if notice is not None:
        outbox.enqueue_message(connection, notice, conversation_id)


def _forget(connection: Connection, end: TurnEnd, last: Message) -> None:
    """Hide from the model what the end of a turn tells it to forget."""
    if end.forget == "all":
        transcript.hide(connection, end.conversation_id)
    elif end.forget == "last":
        transcript.hide(connection, end.conversation_id, from_seq=_find_last_exchange(connection, end, last))


def _list_earlier_answers(
    connection: Connection, asked: Sequence[tuple[Call, Ask | None]], most: int
) -> tuple[EarlierAnswers, ...]:
    if not most:
        return ()
    found = (earlier_answers.list_earlier_answers(connection, ask, most) for _, ask in asked if ask is not None)
    return tuple(one for one in found if one is not None)
