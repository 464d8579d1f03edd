"""PostgreSQL: two processes that do the same at the same instant."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from sqlalchemy import func, select, text, update

from askback.domain.actions import Action, Choose
from askback.domain.ask import Ask, create_ask_id
from askback.domain.ask_policy import Policy
from askback.domain.click_response import Notice
from askback.domain.decision import decide
from askback.domain.identity import Actor, MessageRef
from askback.domain.interview import start_interview
from askback.domain.open_ask_limits import Limits
from askback.domain.outgoing_message import OutgoingMessage
from askback.domain.turn import ToolCall, TurnEnd
from askback.domain.who import Who
from askback.internal.clock import utc_now
from askback.store.schema import asks, calls, conversations, inbox, outbox, transcript
from askback.store.store import Store
from support.postgres_database import (
    ANN,
    BEN,
    COLOUR,
    HERE,
    begun,
    heard,
)

NO_LIMITS = Limits(seconds_between_asks=0, pending_per_place=1000)
JOBS = text("SELECT count(*) FROM procrastinate_jobs WHERE lock = :it AND status = 'todo'")
ROUNDS = 15
"""Attempts for each race between two simultaneous operations."""


def asked(number: int = 0, **more: Any) -> Ask:
    now = utc_now()
    fields: dict[str, Any] = {
        "place": HERE.evolve(thread=str(number)),
        "policy": Policy(who=Who(anyone=True)),
        "interview": start_interview(COLOUR),
        "created_at": now,
        "post_after": now,
    }
    return Ask(id=create_ask_id(), **(fields | more))


async def clicked(store: Store, ask: Ask, by: Actor, index: int) -> bool:
    """Return True if the click counted."""
    action = Action(ask_id=ask.id, actor=by, at=utc_now(), step=ask.interview.step, operation=Choose(index=index))
    acted = await store.decide(ask.id, lambda found: decide(found, action, is_admitted=lambda *_: False), action=action)
    assert acted.settled != isinstance(acted.answer, Notice)
    return acted.settled


async def waiting(store: Store, number: int, **call: Any) -> tuple[str, int, Ask]:
    """Make a conversation whose model has asked, and waits."""
    place = HERE.evolve(thread=f"waits {number}")
    received = await store.receive(heard("1", place=place), begin=True)
    assert received is not None
    turn = await begun(store, received.conversation.id)
    assert turn is not None
    ask = asked(place=place, conversation_id=received.conversation.id)
    made = ToolCall(tool_use_id="t", tool="AskUserQuestion", input={}, **({"ask": ask} | call))
    end = TurnEnd(
        conversation_id=received.conversation.id,
        content=({"type": "text", "text": "hm"},),
        calls=(made,),
        after=turn.history[-1].seq,
    )
    assert await store.end_turn(end, NO_LIMITS) is not None
    return received.conversation.id, 1, ask


async def test_an_answer_in_the_instant_in_which_a_turn_begins_is_never_slept_through(
    pair: tuple[Store, Store],
) -> None:
    one, other = pair
    for number in range(ROUNDS):
        conversation_id, _, ask = await waiting(one, number)
        turn, counted = await asyncio.gather(begun(one, conversation_id), clicked(other, ask, ANN, 0))
        assert counted
        if turn is None:
            assert conversation_id in await one.list_runnable(utc_now())
            assert await one._database.read(lambda c, it=conversation_id: c.execute(JOBS, {"it": it}).scalar_one())
            assert await begun(one, conversation_id) is not None


async def test_two_clicks_in_the_same_instant_make_one_outcome(pair: tuple[Store, Store]) -> None:
    one, other = pair
    for number in range(ROUNDS):
        ask = await one.ask(asked(number), NO_LIMITS)
        assert sorted(await asyncio.gather(clicked(one, ask, ANN, 0), clicked(other, ask, BEN, 1))) == [False, True]


async def test_a_card_that_changes_while_its_drawing_is_confirmed_is_drawn_again(pair: tuple[Store, Store]) -> None:
    one, other = pair
    for number in range(ROUNDS):
        ask = await one.ask(asked(number), NO_LIMITS)
        (item,) = await one.lease(1)
        shown = (MessageRef(channel="C1", id=str(number)),)
        await asyncio.gather(one.mark_rendered(ask.id, 0, shown), clicked(other, ask, ANN, 0))
        await one.delete_item(item)
        left = await one._database.read(lambda c: c.execute(select(outbox.c.revision)).scalars().all())
        newest = await one.get(ask.id)
        assert newest is not None
        assert left == [newest.interview.revision]
        await one.mark_rendered(ask.id, newest.interview.revision, shown)
        assert await one.lease(1) == ()


async def test_what_two_take_at_once_each_takes_alone(pair: tuple[Store, Store]) -> None:
    one, other = pair
    for number in range(40):
        await one.enqueue_message(OutgoingMessage(target=f"say {number}", text="x", markdown=False))
    taken = await asyncio.gather(*(store.lease(4) for store in pair * 6))
    targets = [item.target for items in taken for item in items]
    assert len(targets) == len(set(targets))
    while items := await one.lease(16):
        targets += [item.target for item in items]
    assert len(targets) == len(set(targets)) == 40
    assert await other.lease(16) == ()


async def test_what_is_taken_is_anybodys_when_its_time_is_over(pair: tuple[Store, Store]) -> None:
    one, other = pair
    await one.enqueue_message(OutgoingMessage(target="it", text="x", markdown=False))
    assert len(await one.lease(16)) == 1
    assert await other.lease(16) == ()
    await one._database.run(lambda c: c.execute(update(outbox).values(leased_until=1)).rowcount)
    taken = await other.lease(16)
    assert [(item.target, item.attempts) for item in taken] == [("it", 2)]


async def test_a_message_that_comes_while_its_conversation_is_deleted_is_kept(pair: tuple[Store, Store]) -> None:
    one, other = pair
    for number in range(ROUNDS):
        place = HERE.evolve(thread=f"old {number}")
        assert await one.receive(heard("1", place=place), begin=True) is not None
        await one._database.run(lambda c: c.execute(update(conversations).values(wants_turn=False)) and None)
        future = utc_now() + timedelta(hours=1)
        received, _ = await asyncio.gather(one.receive(heard("2", place=place), begin=True), other.prune(future, 20))
        assert received is not None
        kept = select(inbox.c.conversation_id).where(inbox.c.dedupe_key == "2", inbox.c.taken_seq.is_(None))
        assert received.conversation.id in await one._database.read(lambda c, q=kept: c.execute(q).scalars().all())
        assert await begun(one, received.conversation.id) is not None


async def test_one_key_asks_once_however_many_ask_at_once(pair: tuple[Store, Store]) -> None:
    one, other = pair
    for number in range(ROUNDS):
        made = await asyncio.gather(
            *(
                store.ask(asked(index, key=f"k{number}"), NO_LIMITS)
                for index, store in enumerate((one, other, one, other))
            )
        )
        assert len({ask.id for ask in made}) == 1
    assert await one.count_open() == ROUNDS


async def test_a_mention_that_two_hear_begins_one_conversation_and_is_kept_once(pair: tuple[Store, Store]) -> None:
    for number in range(ROUNDS):
        place = HERE.evolve(thread=f"new {number}")
        received = await asyncio.gather(*(store.receive(heard("1", place=place), begin=True) for store in pair * 2))
        assert len({one.conversation.id for one in received if one is not None}) == 1
        assert sorted(one.duplicate for one in received if one is not None) == [False, True, True, True]


async def test_a_turn_that_another_process_has_ended_is_not_ended_again(pair: tuple[Store, Store]) -> None:
    one, other = pair
    for number in range(ROUNDS):
        place = HERE.evolve(thread=f"zombie {number}")
        received = await one.receive(heard("1", place=place), begin=True)
        assert received is not None
        turn = await begun(one, received.conversation.id)
        again = await begun(other, received.conversation.id)
        assert turn is not None
        assert again == turn.evolve(resumed=True)
        ends = [
            TurnEnd(
                conversation_id=received.conversation.id,
                content=({"type": "text", "text": text_},),
                after=turn.history[-1].seq,
            )
            for text_ in ("mine", "yours")
        ]
        ended = await asyncio.gather(one.end_turn(ends[0], NO_LIMITS), other.end_turn(ends[1], NO_LIMITS))
        assert sorted(end is None for end in ended) == [False, True]
        query = select(func.count()).where(
            transcript.c.conversation_id == received.conversation.id, transcript.c.role == "assistant"
        )
        assert await one._database.read(lambda c, q=query: c.execute(q).scalar_one()) == 1


async def test_a_call_that_two_begin_runs_once_and_has_one_result(pair: tuple[Store, Store]) -> None:
    one, other = pair
    for number in range(ROUNDS):
        conversation_id, seq, _ = await waiting(one, number, ask=None)
        key = (conversation_id, seq, "t")
        assert sorted(await asyncio.gather(one.start_call(*key), other.start_call(*key))) == [False, True]
        ends = (one.end_call(*key, "mine", is_error=False), other.end_call(*key, "yours", is_error=True))
        assert sorted(await asyncio.gather(*ends)) == [False, True]
        query = select(func.count()).select_from(calls).where(calls.c.conversation_id == conversation_id)
        assert await one._database.read(lambda c, q=query: c.execute(q).scalar_one()) == 1


async def test_too_many_at_once_in_one_place_are_refused_by_whoever_comes_last(pair: tuple[Store, Store]) -> None:
    limits = Limits(seconds_between_asks=0, pending_per_place=3)
    made = await asyncio.gather(*(store.ask(asked(), limits) for store in pair * 4), return_exceptions=True)
    assert sum(isinstance(one, Ask) for one in made) == 3
    query = select(func.count()).select_from(asks)
    assert await pair[0]._database.read(lambda c: c.execute(query).scalar_one()) == 3
