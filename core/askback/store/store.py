"""The store: every method is one whole transaction. No connection and no row leaves it."""

from __future__ import annotations

__all__ = ["Acted", "Spent", "Store"]

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, Literal, TypeVar

from sqlalchemy import Connection

from askback.actions import Action
from askback.asks import Ask
from askback.clock import to_micros, utc_now
from askback.conversations import (
    Blocks,
    Call,
    CallsToRun,
    Conversation,
    Heard,
    Message,
    Reading,
    Received,
    Say,
    StartedOver,
    Step,
    Stopped,
    Turn,
    TurnEnd,
    Written,
)
from askback.errors import CallerError
from askback.identity import Actor, MessageRef, Place
from askback.interview import settle
from askback.policy import Limits
from askback.questions import Outcome
from askback.store import asks, conversations, decisions, offers, outbox, pruning
from askback.store.decisions import DRAW_SECONDS
from askback.store.offers import Offered
from askback.store.outbox import OutboxItem
from askback.store.pruning import Pruned
from askback.store.writer import Writer

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

CLICK_SECONDS = 2.0
"""A click that cannot be committed by then is refused, visibly: the platforms wait 3 s."""
SEND_SECONDS = 90
"""How long one delivery may take; longer than any platform client's own time-outs."""

Results = Callable[[Conversation, tuple[tuple[Call, Ask | None], ...], tuple[Written, ...], str | None], Message]
"""Builds the next message to the model from the settled calls, what people wrote, and who stopped it before that."""

Read = Callable[[tuple[Ask, ...]], Reading]
"""Says what a message is to the open asks of the place in which it was written."""

Choice = Callable[[Offered | None, Ask | None], tuple[T, Literal["answer", "message"] | None, tuple[Step, ...]]]
"""Says what a choice on an offer leads to: an answer for the caller, what the message counts as now, what follows."""

STOPPED = "Somebody stopped this before it was done. If it had begun, its outcome is unknown."
"""The result of a call that a stop ended."""
_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Spent:
    """What the model used up, in tokens, both ways."""

    conversation: int
    today: int


@dataclass(frozen=True, slots=True)
class Acted(Generic[T_co]):
    """What a decision about an ask led to."""

    ask: Ask | None
    """The ask as it is now; None: there is none of that id."""
    answer: T_co
    settled: bool
    """Whether this very change ended it."""


class Store:
    """Everything that outlives the process."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def close(self) -> None:
        await self._writer.close()

    # Asks

    async def ask(self, ask: Ask, limits: Limits) -> Ask:
        """Store an ask, to be posted. If its key was asked before, that ask is returned instead.

        Raises `CallerError` when too many are open in its place.
        """

        def work(connection: Connection) -> Ask:
            if ask.key is not None:
                known = asks.by_key(connection, ask.key)
                if known is not None:
                    return known
            (stored,) = _store_asks(connection, (ask,), limits)
            return stored

        return await self._writer.run(work)

    async def decide(
        self, ask_id: str, decision: Callable[[Ask | None], tuple[Ask | None, T]], *, action: Action | None = None
    ) -> Acted[T]:
        """Change an ask by a pure function of its newest state, in one commit.

        The function returns the changed ask (None: no change) and an answer for the caller. Raises
        `StoreBusy` when the commit does not come within 2 s; then nothing was changed.
        """

        def work(connection: Connection) -> Acted[T]:
            before = asks.get(connection, ask_id)
            after, answer = decision(before)
            if before is None:
                return Acted(None, answer, False)
            if after is None:
                after = before
            return Acted(after, answer, decisions.change(connection, before, after, action))

        return await self._writer.run(work, within=CLICK_SECONDS)

    async def get(self, ask_id: str) -> Ask | None:
        return await self._writer.read(lambda connection: asks.get(connection, ask_id))

    async def newest(self, ask_id: str) -> Ask | None:
        """The same after whatever is being committed at this moment, however long the disk takes."""
        return await self._writer.run(lambda connection: asks.get(connection, ask_id))

    async def by_key(self, key: str) -> Ask | None:
        return await self._writer.read(lambda connection: asks.by_key(connection, key))

    async def pending(self, place: Place | None = None) -> tuple[Ask, ...]:
        """Open asks, oldest first."""
        return await self._writer.read(lambda connection: asks.pending(connection, place))

    async def count_open(self) -> int:
        """How many asks are open in all."""
        return await self._writer.read(asks.count_open)

    async def due(self, now: datetime) -> tuple[str, ...]:
        """Open asks whose deadline has passed, a hundred at most."""
        return await self._writer.read(lambda connection: asks.due(connection, now, 100))

    async def next_deadline(self) -> datetime | None:
        return await self._writer.read(asks.next_deadline)

    # What people are to see

    async def lease(self, at_most: int) -> tuple[OutboxItem, ...]:
        """Take what has to be shown now."""
        now = utc_now()
        until = now + timedelta(seconds=SEND_SECONDS)
        return await self._writer.run(lambda connection: outbox.lease(connection, now, until, at_most))

    async def free_leases(self) -> None:
        """What an ended process had taken is anybody's: called once, by a worker that is alone."""
        await self._writer.run(lambda connection: outbox.free(connection, utc_now()))

    async def next_due(self) -> datetime | None:
        return await self._writer.read(outbox.next_due)

    async def drawn(
        self, ask_id: str, revision: int, messages: tuple[MessageRef, ...], *, before: tuple[MessageRef, ...] = ()
    ) -> None:
        """A platform confirmed that people see this revision. An older one than is known changes nothing.

        `before`: where the ask stood when the drawing began. If somebody has clicked another message of it
        since, that one is the live one and still has to be drawn; ours become parts that its drawing removes.
        """

        def work(connection: Connection) -> None:
            ask = asks.get(connection, ask_id)
            if ask is None or revision < ask.drawn_revision:
                return
            live = ask.messages[:1]
            if live and live not in (before[:1], messages[:1]):
                others = tuple(message for message in messages if message not in ask.messages)
                asks.save(connection, ask.evolve(messages=(*ask.messages, *others)))
                return
            asks.save(connection, ask.evolve(drawn_revision=revision, messages=messages))
            outbox.delete(connection, f"ask:{ask_id}", revision=revision)

        await self._writer.run(work)

    async def lost(self, ask_id: str) -> None:
        """Its messages are gone from the platform: it has to be posted anew."""

        def work(connection: Connection) -> None:
            ask = asks.get(connection, ask_id)
            if ask is not None:
                asks.save(connection, ask.evolve(drawn_revision=-1, messages=()))

        await self._writer.run(work)

    async def said(self, target: str) -> None:
        """A text was delivered, or never can be."""
        await self._writer.run(lambda connection: outbox.delete(connection, target))

    async def drop(self, item: OutboxItem) -> None:
        """It was shown, or never can be. What has changed since it was taken stays to be shown."""
        await self._writer.run(lambda connection: outbox.delete(connection, item.target, revision=item.revision))

    async def release(self, target: str) -> None:
        """Whoever wanted to show it could not: the outbox may, at once."""
        now = utc_now()
        await self._writer.run(lambda connection: outbox.release(connection, target, now))

    async def retry(self, item: OutboxItem, after: timedelta, error: str) -> None:
        """It could not be shown for now."""
        now = utc_now()
        await self._writer.run(lambda connection: outbox.retry(connection, item, now, after, error))

    async def queue(self, say: Say, conversation_id: str | None = None) -> None:
        """A text to be said, once."""
        await self._writer.run(lambda connection: outbox.put_say(connection, say, conversation_id, utc_now(), None))

    # Conversations

    async def receive(self, heard: Heard, *, begin: bool, read: Read | None = None) -> Received | None:
        """Keep what a person wrote. None: there is no conversation in this place, and `begin` does not start one.

        `read`: a pure function that says what it is to the open asks of its place, oldest first.
        """

        def work(connection: Connection) -> Received | None:
            conversation = conversations.find(connection, heard.place)
            if conversation is None:
                if not begin:
                    return None
                conversation = conversations.start(
                    connection, heard.place, heard.author, midway=heard.midway, trace=heard.trace
                )
            if conversations.was_heard(connection, heard.place, heard.dedupe_key):
                return Received(conversation=conversation, duplicate=True)
            reading = Reading() if read is None else read(asks.pending(connection, heard.place))
            if reading.steps:
                conversations.hear(connection, conversation.id, heard, taken=True)
                settled = decisions.follow(connection, reading.steps)
                return Received(conversation=conversation, answered=reading.steps[-1].after, settled=settled)
            inbox_id = conversations.hear(connection, conversation.id, heard)
            if heard.trace is not None and not _goes_on(connection, conversation):
                conversations.set_trace(connection, conversation.id, heard.trace)
                conversation = conversation.evolve(trace=heard.trace)
            conversations.want_turn(connection, conversation.id, True)
            waiting_for, told = _waiting_for(connection, conversation)
            if reading.say is not None:
                told = True
                if reading.say.offer is not None:
                    offers.keep(connection, reading.say.offer, conversation.id, inbox_id)
                outbox.put_say(connection, reading.say, conversation.id, utc_now(), None)
            return Received(conversation=conversation, inbox_id=inbox_id, waiting_for=waiting_for, told=told)

        return await self._writer.run(work)

    async def choose(self, offer_id: str, decision: Choice[T]) -> tuple[T, Ask | None, bool]:
        """Choose on an offer, by a pure function of it and its ask. Returns also the ask, and whether this ended it.

        Raises `StoreBusy` like every click.
        """

        def work(connection: Connection) -> tuple[T, Ask | None, bool]:
            offered = offers.find(connection, offer_id)
            ask = None if offered is None else asks.get(connection, offered.ask_id)
            answer, state, steps = decision(offered, ask)
            if offered is not None and state is not None and offered.state == "open":
                offers.close(connection, offered, state)
                if state == "answer":
                    offers.take_out(connection, offered.inbox_id)
            return answer, steps[-1].after if steps else ask, decisions.follow(connection, steps)

        return await self._writer.run(work, within=CLICK_SECONDS)

    async def offered(self, offer_id: str, messages: tuple[MessageRef, ...]) -> None:
        """An offer was shown: here, or where it cannot be taken away."""

        def work(connection: Connection) -> None:
            offered = offers.find(connection, offer_id)
            ask = None if offered is None else asks.get(connection, offered.ask_id)
            offers.told(connection, offer_id, next(iter(messages), None), ask)

        await self._writer.run(work)

    async def tell_waiting(self, conversation_id: str, say: Say) -> None:
        """Say what the conversation waits for, once for each time that it waits."""

        def work(connection: Connection) -> None:
            last = conversations.last_message(connection, conversation_id)
            if last is not None and conversations.told(connection, conversation_id) != last.seq:
                conversations.set_told(connection, conversation_id, last.seq)
                outbox.put_say(connection, say, conversation_id, utc_now(), None)

        await self._writer.run(work)

    async def start_over(self, heard: Heard, welcome: str, *, begin: bool) -> StartedOver | None:
        """Begin another conversation in the place of the present one, which is stopped and set aside.

        None: there is none, and `begin` does not start one.
        """

        def work(connection: Connection) -> StartedOver | None:
            before = conversations.find(connection, heard.place)
            if before is None and not begin:
                return None
            if before is not None and conversations.was_heard(connection, heard.place, heard.dedupe_key):
                return StartedOver(conversation=before, duplicate=True)
            asks_ended: tuple[Ask, ...] = ()
            if before is not None:
                asks_ended = _stop(connection, before, heard.author, utc_now())
                conversations.close(connection, before)
            conversation = conversations.start(connection, heard.place, heard.author, trace=heard.trace)
            conversations.hear(connection, conversation.id, heard, taken=True)
            say = Say(target=f"new:{conversation.id}", text=welcome, markdown=False)
            outbox.put_say(connection, say, conversation.id, utc_now(), None)
            return StartedOver(conversation=conversation, ended=before, asks=asks_ended)

        return await self._writer.run(work)

    async def stops(self, conversation_id: str) -> int:
        """How often a conversation was stopped."""

        def work(connection: Connection) -> int:
            conversation = conversations.get(connection, conversation_id)
            return -1 if conversation is None else conversation.stops

        return await self._writer.read(work)

    async def stop(
        self, conversation_id: str, by: Actor | None, reason: str | None = None, *, heard: Heard | None = None
    ) -> Stopped | None:
        """End what goes on in a conversation: the turn, its calls, its open asks. None: nothing goes on.

        `heard`: the message that orders it, which counts once. `by` None: whoever runs askback. Raises
        `StoreBusy` like every click.
        """

        def work(connection: Connection) -> Stopped | None:
            conversation = conversations.get(connection, conversation_id)
            if conversation is None:
                return None
            if heard is not None:
                if conversations.was_heard(connection, heard.place, heard.dedupe_key):
                    return Stopped(conversation=conversation, duplicate=True)
                conversations.hear(connection, conversation_id, heard, taken=True)
            goes_on = conversations.wants_turn(connection, conversation_id)
            if not goes_on and not asks.open_of(connection, conversation_id):
                return None
            now = utc_now()
            ended = _stop(connection, conversation, by, now, reason)
            name = "whoever runs me" if by is None else by.name or by.id
            why = f": {reason}" if reason else "."
            say = Say(
                target=f"stop:{conversation_id}:{conversation.stops}", text=f"Stopped by {name}{why}", markdown=False
            )
            outbox.put_say(connection, say, conversation_id, now, None)
            return Stopped(conversation=conversation, asks=ended)

        return await self._writer.run(work, within=CLICK_SECONDS)

    async def conversation_by_id(self, conversation_id: str) -> Conversation | None:
        return await self._writer.read(lambda connection: conversations.get(connection, conversation_id))

    async def begins_midway(self, conversation_id: str) -> Place | None:
        """Where to look for what was said before, if this conversation has not begun yet and there may be such."""

        def work(connection: Connection) -> Place | None:
            conversation = conversations.get(connection, conversation_id)
            if conversation is None or not conversation.midway:
                return None
            return conversation.place if conversations.last_message(connection, conversation_id) is None else None

        return await self._writer.read(work)

    async def prune(self, before: datetime, at_most: int) -> Pruned:
        """Delete some of what has rested since then. Nothing deleted: there is no more of it."""
        return await self._writer.run(lambda connection: pruning.prune(connection, before, at_most))

    async def spent(self, conversation_id: str) -> Spent:
        """What the model used up."""
        today = _day(utc_now())

        def work(connection: Connection) -> Spent:
            return Spent(
                conversation=conversations.spent(connection, conversation_id, None),
                today=conversations.spent(connection, None, today),
            )

        return await self._writer.read(work)

    async def conversation(self, place: Place) -> Conversation | None:
        return await self._writer.read(lambda connection: conversations.find(connection, place))

    async def place(self, conversation_id: str) -> Place | None:
        """Where a conversation happens."""

        def work(connection: Connection) -> Place | None:
            conversation = conversations.get(connection, conversation_id)
            return None if conversation is None else conversation.place

        return await self._writer.read(work)

    async def runnable(self) -> tuple[str, ...]:
        """Conversations that have something to do."""
        return await self._writer.read(conversations.runnable)

    async def begin_turn(self, conversation_id: str, compose: Results) -> Turn | None:
        """The next turn, its message to the model committed. None: nothing to do, or still waiting for people.

        A turn that a crash broke off is begun again with the same messages.
        """

        def work(connection: Connection) -> Turn | None:
            conversation = conversations.get(connection, conversation_id)
            if conversation is None:
                return None
            wanted = conversations.wants_turn(connection, conversation_id)
            last = conversations.last_message(connection, conversation_id)
            seq = 0 if last is None else last.seq + 1
            resumed = last is not None and (last.role == "user" or last.unfinished)
            calls = () if last is None else conversations.calls_of(connection, conversation_id, last.seq)
            asked = tuple((call, asks.get(connection, call.ask_id) if call.ask_id else None) for call in calls)
            if any(call.is_to_run or (ask is not None and ask.outcome is None) for call, ask in asked):
                conversations.want_turn(connection, conversation_id, False)
                return None
            if not wanted:
                # Stopped, or done: what people wrote before a stop waits for what they write next.
                return None
            written = conversations.take_inbox(connection, conversation_id, seq)
            if written or asked:
                stopped_by = conversations.stopped_by(connection, conversation_id, clear=bool(written))
                message = compose(conversation, asked, written, stopped_by).evolve(seq=seq)
                conversations.add_message(connection, conversation_id, message)
            elif last is None or not (last.role == "user" or last.unfinished):
                conversations.want_turn(connection, conversation_id, False)
                return None
            conversations.want_turn(connection, conversation_id, True)
            history = conversations.history(connection, conversation_id)
            return Turn(conversation=conversation, history=history, resumed=resumed)

        return await self._writer.run(work)

    async def end_turn(self, end: TurnEnd, limits: Limits) -> tuple[Ask, ...] | None:
        """Commit what the model said, its calls, their asks and what is to be posted, all together.

        None: somebody stopped the conversation meanwhile, and of all this nothing was committed but the tokens.
        """

        def work(connection: Connection) -> tuple[Ask, ...] | None:
            if end.tokens:
                conversations.spend(connection, end.conversation_id, _day(utc_now()), end.tokens)
            conversation = conversations.get(connection, end.conversation_id)
            if conversation is None or conversation.stops != end.stops:
                return None
            last = conversations.last_message(connection, end.conversation_id)
            seq = 0 if last is None else last.seq + 1
            if end.forget == "all":
                conversations.forget(connection, end.conversation_id)
            elif end.forget == "last" and last is not None:
                conversations.forget(connection, end.conversation_id, from_seq=_exchange(connection, end, last))
            if end.content:
                message = Message(seq=seq, role="assistant", content=end.content, unfinished=end.again)
                conversations.add_message(connection, end.conversation_id, message)
            now = utc_now()
            leased = now + timedelta(seconds=DRAW_SECONDS)
            if end.say is not None:
                outbox.put_say(connection, end.say, end.conversation_id, now, leased)
            if end.notice is not None:
                outbox.put_say(connection, end.notice, end.conversation_id, now, None)
            stored = _store_asks(connection, tuple(call.ask for call in end.calls if call.ask is not None), limits)
            by_id = {ask.id: ask for ask in stored}
            for position, call in enumerate(end.calls):
                conversations.add_call(
                    connection,
                    end.conversation_id,
                    seq,
                    position,
                    Call(
                        tool_use_id=call.tool_use_id,
                        tool=call.tool,
                        input=call.input,
                        ask_id=None if call.ask is None else by_id[call.ask.id].id,
                        result=call.result,
                        is_error=call.is_error,
                    ),
                )
            conversations.set_prose(connection, end.conversation_id, ())
            waits = bool(stored)
            unheard = conversations.untaken(connection, end.conversation_id)
            goes_on = any(call.ask is None for call in end.calls) and not end.rest
            conversations.want_turn(connection, end.conversation_id, end.again or goes_on or (unheard and not waits))
            return stored

        return await self._writer.run(work)

    # Calls of the operator's own tools

    async def calls_to_run(self, conversation_id: str) -> CallsToRun | None:
        """The calls of the model's newest message that have no result and wait for nobody. None: there are none."""

        def work(connection: Connection) -> CallsToRun | None:
            conversation = conversations.get(connection, conversation_id)
            last = conversations.last_message(connection, conversation_id)
            if conversation is None or last is None or last.role != "assistant":
                return None
            calls = conversations.calls_of(connection, conversation_id, last.seq)
            to_run = tuple(call for call in calls if call.is_to_run)
            if not to_run:
                return None
            return CallsToRun(conversation=conversation, seq=last.seq, calls=to_run)

        return await self._writer.read(work)

    async def is_asking(self, conversation_id: str) -> bool:
        """Whether people are asked in this conversation and have not answered."""
        return await self._writer.read(lambda connection: bool(asks.open_of(connection, conversation_id)))

    async def start_call(self, conversation_id: str, seq: int, tool_use_id: str) -> bool:
        """Committed before the call runs. False: it is not to run, since it has a result already."""
        return await self._writer.run(
            lambda connection: conversations.start_call(connection, conversation_id, seq, tool_use_id)
        )

    async def end_call(
        self,
        conversation_id: str,
        seq: int,
        tool_use_id: str,
        result: str,
        *,
        is_error: bool,
        blocks: Blocks = (),
        notice: Say | None = None,
    ) -> bool:
        """Keep what a call came to, and tell people where there is a notice. False: it has a result already."""

        def work(connection: Connection) -> bool:
            ended = conversations.end_call(
                connection, conversation_id, seq, tool_use_id, result, is_error=is_error, blocks=blocks
            )
            if ended and notice is not None:
                outbox.put_say(connection, notice, conversation_id, utc_now(), None)
            return ended

        return await self._writer.run(work)

    async def set_prose(self, conversation: Conversation, messages: tuple[MessageRef, ...]) -> None:
        """Where the text of the running turn begins to stand, unless somebody stopped it."""

        def work(connection: Connection) -> None:
            now = conversations.get(connection, conversation.id)
            if now is not None and now.stops == conversation.stops:
                conversations.set_prose(connection, conversation.id, messages)

        await self._writer.run(work)


def _store_asks(connection: Connection, new: tuple[Ask, ...], limits: Limits) -> tuple[Ask, ...]:
    """Store asks that were made together: they count as one towards the pace at which cards are posted."""
    if not new:
        return ()
    place = new[0].place
    if asks.open_in(connection, place) + len(new) > limits.pending_per_place:
        raise CallerError(
            f"{limits.pending_per_place} questions are open here already: wait for answers, or cancel some."
        )
    latest = asks.latest_post(connection, place)
    post_after = new[0].created_at
    if latest is not None:
        post_after = max(post_after, latest + timedelta(seconds=limits.seconds_between_asks))
    stored = tuple(ask.evolve(post_after=post_after) for ask in new)
    for ask in stored:
        asks.insert(connection, ask)
        outbox.put_card(connection, ask, post_after, None)
    return stored


def _exchange(connection: Connection, end: TurnEnd, last: Message) -> int:
    """Where the last exchange begins: results are never kept or dropped without the calls that they answer."""
    if not any(block.get("type") == "tool_result" for block in last.content):
        return last.seq
    return conversations.last_assistant(connection, end.conversation_id) or last.seq


def _goes_on(connection: Connection, conversation: Conversation) -> bool:
    """Whether a turn runs or is to come, or the model waits for people or tools: no message ends that."""
    if conversations.wants_turn(connection, conversation.id):
        return True
    last = conversations.last_message(connection, conversation.id)
    if last is None or last.role != "assistant":
        return False
    calls = conversations.calls_of(connection, conversation.id, last.seq)
    return any(call.is_to_run for call in calls) or bool(asks.open_of(connection, conversation.id))


def _waiting_for(connection: Connection, conversation: Conversation) -> tuple[tuple[Ask, ...], bool]:
    """The open asks that the conversation waits for, and whether people were told so."""
    last = conversations.last_message(connection, conversation.id)
    if last is None or last.role != "assistant":
        return (), True
    calls = conversations.calls_of(connection, conversation.id, last.seq)
    waiting = tuple(ask for call in calls if call.ask_id and (ask := asks.get(connection, call.ask_id)) is not None)
    told = conversations.told(connection, conversation.id) == last.seq
    return tuple(ask for ask in waiting if ask.outcome is None), told


def _stop(
    connection: Connection, conversation: Conversation, by: Actor | None, now: datetime, reason: str | None = None
) -> tuple[Ask, ...]:
    """End the open asks and calls of a conversation, and whatever a running turn wants to commit."""
    ended: list[Ask] = []
    for ask in asks.open_of(connection, conversation.id):
        outcome = Outcome(status="cancelled", at=now, by=by, reason=reason)
        over = ask.evolve(interview=settle(ask.interview, outcome))
        asks.save(connection, over)
        outbox.put_card(connection, over, now, None)
        offers.withdraw(connection, over)
        ended.append(over)
    last = conversations.last_message(connection, conversation.id)
    if last is not None and last.role == "assistant":
        for call in conversations.calls_of(connection, conversation.id, last.seq):
            if call.is_to_run:
                conversations.end_call(connection, conversation.id, last.seq, call.tool_use_id, STOPPED)
    conversations.set_stopped(connection, conversation.id, by)
    return tuple(ended)


def _day(moment: datetime) -> int:
    return to_micros(moment) // _DAY
