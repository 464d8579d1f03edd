"""Turns of the model in the store alone: their beginning, their commits, and the remaining work."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pydantic import JsonValue

from askback.domain.actions import Action, Choose
from askback.domain.ask import Ask, create_ask_id
from askback.domain.ask_policy import Policy
from askback.domain.conversation import Conversation
from askback.domain.decision import decide
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.incoming_message import (
    DeletedMessages,
    EditedMessage,
    EditResult,
    HistoryMessage,
    IncomingMessage,
)
from askback.domain.interview import start_interview
from askback.domain.open_ask_limits import Limits
from askback.domain.outgoing_message import OutgoingMessage
from askback.domain.turn import Call, Message, TokenUsage, ToolCall, Turn, TurnEnd, TurnInput
from askback.domain.who import Who
from askback.internal.clock import utc_now
from askback.store.errors import TurnTakenOver
from askback.store.queries.outbox_leases import LEASE_SECONDS
from askback.store.store import Store
from askback.store.turn_transactions import TokenReservation
from support.cases import form, question

HERE = Place(platform="board", tenant="T1", channel="C1", thread="1")
ANN = Actor(platform="board", tenant="T1", id="U1", name="Ann")
BEN = Actor(platform="board", tenant="T1", id="U2", name="Ben")
LIMITS = Limits(seconds_between_asks=0)
PART = MessageRef(channel="C1", id="7")
ANSWER = ToolCall(tool_use_id="answered", tool="t", input={}, result="It went wrong.", is_error=True)
"""A call that has its result at once."""
TO_RUN = ToolCall(tool_use_id="to run", tool="t", input={})
"""A call of one of the operator's own tools."""


def say(target: str, **more: Any) -> OutgoingMessage:
    return OutgoingMessage(target=target, text=f"Text of {target}.", markdown=False, **more)


class Thread:
    """A conversation in the store: people write, and the model replies by a script."""

    def __init__(self, store: Store, started: Conversation) -> None:
        self.store = store
        self.id = started.id
        self.composed: list[TurnInput] = []
        """The news from which each message to the model was composed."""
        self._written = 1

    @classmethod
    async def begin(cls, store: Store, text: str = "hello", *, midway: bool = False) -> Thread:
        received = await store.receive(_heard(text, "1").evolve(midway=midway), begin=True)
        assert received is not None
        return cls(store, received.conversation)

    async def hears(self, text: str, by: Actor = ANN) -> str:
        """Receive a message; return its name."""
        self._written += 1
        assert await self.store.receive(_heard(text, str(self._written), by), begin=False) is not None
        return str(self._written)

    async def turn(
        self,
        notice: OutgoingMessage | None = None,
        *earlier: HistoryMessage,
        reservation: TokenReservation | None = None,
    ) -> Turn | None:
        def compose(news: TurnInput) -> Message:
            self.composed.append(news)
            results: list[dict[str, JsonValue]] = [_result(call) for call, _ in news.calls]
            content = (*results, *(_text(one.text) for one in news.written))
            return Message(seq=0, role="user", content=content, authors=tuple(one.author for one in news.written))

        return await self.store.begin_turn(self.id, compose, notice, earlier=earlier, reservation=reservation)

    async def begun(self, reservation: TokenReservation | None = None) -> Turn:
        turn = await self.turn(reservation=reservation)
        assert turn is not None
        return turn

    async def ends(self, turn: Turn, said: str = "Said.", *calls: ToolCall, **more: Any) -> tuple[Ask, ...] | None:
        made: list[dict[str, JsonValue]] = [{"type": "tool_use", "id": call.tool_use_id} for call in calls]
        end = TurnEnd(
            conversation_id=self.id,
            after=turn.history[-1].seq,
            content=(_text(said), *made) if said else tuple(made),
            calls=calls,
            stops=turn.conversation.stops,
        )
        return await self.store.end_turn(end.evolve(**more), LIMITS)

    def asks(self, name: str = "colour") -> ToolCall:
        now = utc_now()
        ask = Ask(
            id=create_ask_id(),
            place=HERE,
            policy=Policy(who=Who(anyone=True)),
            interview=start_interview(form(question(name, "Green", "Blue"))),
            created_at=now,
            post_after=now,
            conversation_id=self.id,
        )
        return ToolCall(tool_use_id=name, tool="AskUserQuestion", input={"about": name}, ask=ask)

    async def answers(self, call: ToolCall) -> None:
        assert call.ask is not None
        action = Action(ask_id=call.ask.id, actor=BEN, at=utc_now(), step=0, operation=Choose(index=0))
        acted = await self.store.decide(call.ask.id, lambda ask: decide(ask, action, is_admitted=lambda by, at: False))
        assert acted.settled

    async def is_runnable(self) -> bool:
        return self.id in await self.store.list_runnable(utc_now())

    async def text_messages(self) -> tuple[MessageRef, ...]:
        conversation = await self.store.find_conversation(HERE)
        assert conversation is not None
        return conversation.text_messages

    async def due(self) -> list[str]:
        """Return the names of the deliveries that are due and not leased."""
        return [item.target for item in await self.store.lease(10)]


def _heard(text: str, key: str, by: Actor = ANN) -> IncomingMessage:
    return IncomingMessage(place=HERE, author=by, text=text, dedupe_key=key, at=utc_now())


def _text(text: str) -> dict[str, JsonValue]:
    return {"type": "text", "text": text}


def _result(call: Call) -> dict[str, JsonValue]:
    return {"type": "tool_result", "tool_use_id": call.tool_use_id}


def sent(turn: Turn) -> list[tuple[int, str, list[str]]]:
    """Return the request to the model: for each message its row, its role, and its texts, calls and results."""
    return [
        (
            message.seq,
            message.role,
            [str(block.get("text") or block.get("tool_use_id") or block["id"]) for block in message.content],
        )
        for message in turn.history
    ]


@pytest.fixture
async def thread(store: Store) -> Thread:
    return await Thread.begin(store)


# The beginning of a turn


async def test_of_a_conversation_that_there_is_not_no_turn_begins(store: Store, thread: Thread) -> None:
    assert await store.begin_turn("gone", lambda _: Message(seq=0, role="user", content=())) is None
    assert await store.get_starter("gone") is None
    assert await store.get_starter(thread.id) == ANN


async def test_each_turn_is_sent_what_was_said_before_and_what_people_wrote_since(thread: Thread) -> None:
    first = await thread.begun()
    assert sent(first) == [(0, "user", ["hello"])]
    assert await thread.ends(first, "Hi.") == ()
    await thread.hears("one more")
    await thread.hears("and another", BEN)
    second = await thread.begun()
    assert sent(second) == [(0, "user", ["hello"]), (1, "assistant", ["Hi."]), (2, "user", ["one more", "and another"])]
    assert [news.known for news in thread.composed] == [(), (ANN,)]
    assert (first.resumed, second.resumed) == (False, False)


async def test_a_turn_that_a_crash_broke_off_is_begun_again_with_the_same_messages(thread: Thread) -> None:
    broken = await thread.begun()
    assert await thread.is_runnable(), "whoever comes after the crash has something to do"
    again = await thread.begun()
    assert again == broken.evolve(resumed=True)
    await thread.hears("still there?")
    more = await thread.begun()
    assert sent(more) == [(0, "user", ["hello"]), (1, "user", ["still there?"])]
    assert [[one.text for one in news.written] for news in thread.composed] == [["hello"], ["still there?"]]


async def test_a_paused_turn_goes_on_with_nothing_new(thread: Thread) -> None:
    assert await thread.ends(await thread.begun(), "Let me", again=True) == ()
    assert await thread.is_runnable()
    on = await thread.begun()
    assert on.resumed
    assert sent(on) == [(0, "user", ["hello"]), (1, "assistant", ["Let me"])]
    assert await thread.ends(on, "see.") == ()
    assert not await thread.is_runnable()
    assert await thread.turn() is None


@pytest.mark.parametrize("spoken", [False, True], ids=["before the first turn", "after a turn"])
async def test_where_all_that_was_written_is_taken_back_there_is_nothing_to_do(thread: Thread, spoken: bool) -> None:
    name = "1"
    if spoken:
        await thread.ends(await thread.begun())
        name = await thread.hears("never mind")
    assert await thread.is_runnable()
    assert await thread.store.withdraw_messages(thread.id, (name,)) == 1
    assert await thread.turn() is None
    assert not await thread.is_runnable(), "and nobody looks again and again"


async def test_while_people_are_asked_what_they_write_waits_and_comes_after_the_answer(thread: Thread) -> None:
    green, shape = thread.asks("green"), thread.asks("shape")
    stored = await thread.ends(await thread.begun(), "", green, shape)
    assert [ask.id for ask in stored or ()] == [ask.id for ask in await thread.store.list_open()]
    assert not await thread.is_runnable()
    await thread.hears("why do you ask?")
    assert await thread.turn() is None
    assert not await thread.is_runnable()
    await thread.answers(shape)
    assert await thread.turn() is None
    await thread.answers(green)
    assert await thread.is_runnable()
    turn = await thread.begun()
    assert sent(turn)[-1] == (2, "user", ["green", "shape", "why do you ask?"])
    news = thread.composed[-1]
    outcomes = [ask.outcome for _, ask in news.calls if ask is not None]
    assert [outcome and outcome["green" if at == 0 else "shape"].labels for at, outcome in enumerate(outcomes)] == [
        ("Green",),
        ("Green",),
    ]


async def test_no_turn_begins_before_each_call_has_its_result(thread: Thread) -> None:
    await thread.ends(await thread.begun(), "", ANSWER, TO_RUN)
    await thread.hears("and?")
    assert await thread.turn() is None
    assert await thread.is_runnable(), "the call is to be run"
    assert await thread.store.end_call(thread.id, 1, TO_RUN.tool_use_id, "done", is_error=False)
    assert sent(await thread.begun())[-1] == (2, "user", ["answered", "to run", "and?"])
    assert [(call.result, call.is_error) for call, _ in thread.composed[-1].calls] == [
        ("It went wrong.", True),
        ("done", False),
    ]


async def test_results_go_to_the_model_without_a_word_from_people(thread: Thread) -> None:
    await thread.ends(await thread.begun(), "", ANSWER)
    assert sent(await thread.begun())[-1] == (2, "user", ["answered"])


async def test_what_people_wrote_before_a_stop_waits_for_what_they_write_next(thread: Thread) -> None:
    await thread.ends(await thread.begun())
    await thread.hears("delete it")
    assert await thread.store.stop(thread.id, BEN) is not None
    assert await thread.turn() is None
    assert not await thread.is_runnable()
    await thread.hears("no, keep it")
    assert sent(await thread.begun())[-1] == (2, "user", ["delete it", "no, keep it"])
    halt = thread.composed[-1].halt
    assert halt is not None
    assert halt.by == BEN


async def test_people_are_told_about_a_message_to_the_model_when_it_is_committed(thread: Thread) -> None:
    turn = await thread.turn(notice=say("left out"))
    assert turn is not None
    assert await thread.due() == ["left out"]
    await thread.store.delete_text("left out")
    assert await thread.turn(notice=say("left out")) is not None
    assert await thread.due() == [], "begun again, nothing is said again"


async def test_a_turn_that_is_put_off_waits_unless_something_new_comes_in(thread: Thread) -> None:
    now = utc_now()
    assert await thread.store.get_next_turn_at(now) is None
    await thread.store.postpone(thread.id, timedelta(minutes=5))
    assert not await thread.is_runnable()
    until = await thread.store.get_next_turn_at(now)
    assert until is not None
    assert timedelta(minutes=4) < until - now < timedelta(minutes=6)
    await thread.hears("are you there?")
    assert await thread.is_runnable()
    assert await thread.store.get_next_turn_at(now) is None


# The commit at the end of a turn


async def test_what_a_turn_used_up_is_counted_once_whether_or_not_it_was_in_advance(thread: Thread) -> None:
    await thread.ends(await thread.begun(), tokens=70)
    assert (await thread.store.get_usage(thread.id)).conversation == 70
    await thread.hears("more")
    seen: list[tuple[int, int]] = []

    def amount(turn: Turn, spent: TokenUsage) -> int:
        seen.append((len(turn.history), spent.today))
        return 5_000

    turn = await thread.begun(TokenReservation("r", amount))
    assert seen == [(3, 70)], "it knows the request and what was used before"
    assert (await thread.store.get_usage(thread.id)).reserved == 5_000
    await thread.ends(turn, tokens=30, reservation="r")
    spent = await thread.store.get_usage(thread.id)
    assert (spent.conversation, spent.today, spent.reserved) == (100, 100, 0)


async def test_a_turn_that_somebody_stopped_commits_its_tokens_alone(thread: Thread) -> None:
    turn = await thread.begun()
    assert await thread.store.stop(thread.id, ANN) is not None
    ended = await thread.ends(turn, "Done.", thread.asks(), outgoing=say("text"), notice=say("notice"), tokens=7)
    assert ended is None
    assert await thread.store.list_open() == ()
    assert await thread.due() == [f"stop:{thread.id}:0"]
    assert (await thread.store.get_usage(thread.id)).conversation == 7
    assert not await thread.is_runnable()
    await thread.hears("again")
    assert sent(await thread.begun()) == [(0, "user", ["hello"]), (1, "user", ["again"])]


async def test_a_turn_that_another_process_ended_commits_its_tokens_alone(thread: Thread) -> None:
    turn = await thread.begun()
    assert await thread.ends(turn, "Mine.", tokens=5) == ()
    assert await thread.ends(turn, "Yours.", outgoing=say("text"), tokens=7) is None
    assert await thread.due() == []
    assert (await thread.store.get_usage(thread.id)).conversation == 12
    await thread.hears("again")
    assert [texts for _, _, texts in sent(await thread.begun())] == [["hello"], ["Mine."], ["again"]]


async def test_a_turn_of_a_deleted_conversation_commits_its_tokens_alone(store: Store, thread: Thread) -> None:
    turn = await thread.begun()
    await thread.ends(turn)
    assert (await store.prune(utc_now() + timedelta(seconds=1), 10)).conversations == 1
    assert await thread.ends(turn, "Too late.", outgoing=say("text"), tokens=7) is None
    assert (await store.get_usage(thread.id)).today == 7


async def test_a_failed_turn_adds_nothing_to_what_the_model_is_sent(thread: Thread) -> None:
    assert await thread.ends(await thread.begun(), "", notice=say("problem")) == ()
    assert await thread.due() == ["problem"]
    assert not await thread.is_runnable()
    await thread.hears("again")
    assert sent(await thread.begun()) == [(0, "user", ["hello"]), (1, "user", ["again"])]


async def test_a_full_context_is_forgotten_whole(thread: Thread) -> None:
    await thread.ends(await thread.begun())
    await thread.hears("a lot")
    await thread.ends(await thread.begun(), "", forget="all")
    await thread.hears("from the start")
    assert sent(await thread.begun()) == [(3, "user", ["from the start"])]


async def test_what_the_model_refused_is_forgotten_alone(thread: Thread) -> None:
    await thread.ends(await thread.begun(), "Hi.")
    await thread.hears("something bad")
    await thread.ends(await thread.begun(), "", forget="last")
    await thread.hears("something good")
    assert sent(await thread.begun()) == [
        (0, "user", ["hello"]),
        (1, "assistant", ["Hi."]),
        (3, "user", ["something good"]),
    ]


@pytest.mark.parametrize("forget", ["last", "all"])
async def test_what_is_forgotten_is_not_begun_again_where_what_came_after_it_is_taken_back(
    thread: Thread, forget: str
) -> None:
    turn = await thread.begun()
    name = await thread.hears("and then")
    await thread.ends(turn, "", forget=forget)
    assert await thread.is_runnable()
    assert await thread.store.withdraw_messages(thread.id, (name,)) == 1
    assert await thread.turn() is None, "there is nothing that the model could be sent"
    assert not await thread.is_runnable()


async def test_results_that_the_model_refused_are_forgotten_with_their_calls(thread: Thread) -> None:
    await thread.ends(await thread.begun(), "", ANSWER)
    await thread.ends(await thread.begun(), "", forget="last")
    await thread.hears("again")
    assert sent(await thread.begun()) == [(0, "user", ["hello"]), (3, "user", ["again"])]


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


async def test_an_approval_for_the_whole_conversation_stands_behind_each_further_call(thread: Thread) -> None:
    first = thread.asks("first")
    await thread.ends(await thread.begun(), "", first)
    await thread.answers(first)
    assert first.ask is not None
    further = TO_RUN.model_copy(update={"approved": first.ask.id})
    await thread.ends(await thread.begun(), "", further, thread.asks("second"), ANSWER)
    assert await thread.is_runnable(), "the further call is to be run"
    await thread.store.end_call(thread.id, 3, TO_RUN.tool_use_id, "done", is_error=False)
    (second,) = await thread.store.list_open()
    await thread.answers(ToolCall(tool_use_id="second", tool="t", input={}, ask=second))
    await thread.begun()
    calls = thread.composed[-1].calls
    assert [(call.tool_use_id, call.ask_id, ask and ask.id) for call, ask in calls] == [
        ("to run", first.ask.id, first.ask.id),
        ("second", second.id, second.id),
        ("answered", None, None),
    ]


async def test_after_its_answer_the_model_rests_unless_people_wrote_meanwhile(thread: Thread) -> None:
    turn = await thread.begun()
    await thread.hears("wait")
    await thread.ends(turn)
    assert await thread.is_runnable()
    await thread.ends(await thread.begun())
    assert not await thread.is_runnable()


async def test_what_people_wrote_meanwhile_waits_where_they_are_asked(thread: Thread) -> None:
    turn = await thread.begun()
    await thread.hears("wait")
    await thread.ends(turn, "", thread.asks())
    assert not await thread.is_runnable()


async def test_results_of_a_turn_that_rests_wait_for_a_word_from_people(thread: Thread) -> None:
    await thread.ends(await thread.begun(), "", ANSWER, waits_for_person=True)
    assert not await thread.is_runnable()
    assert await thread.turn() is None
    await thread.hears("go on")
    assert sent(await thread.begun())[-1] == (2, "user", ["answered", "go on"])


# The location of a running turn's text


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


def edited(key: str, text: str, by: Actor = BEN, after: float = 0.0) -> EditedMessage:
    return EditedMessage(message=_heard(text, key, by), at=utc_now() + timedelta(seconds=after))


EARLIER = HistoryMessage(key="0", author=BEN, text="to stagin")


async def test_an_edit_of_history_is_heard_and_its_row_changes_nothing_else(store: Store) -> None:
    thread = await Thread.begin(store, midway=True)
    own, program = EARLIER.evolve(key="00", ours=True), EARLIER.evolve(key="000", author=BEN.evolve(is_program=True))
    assert await thread.turn(None, own, program, EARLIER) is not None
    assert [await store.is_stored(key) for key in ("00", "000", "0")] == [False, False, True]
    late = _heard("to stagin", "0", BEN).evolve(at=utc_now() - timedelta(hours=1))
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
    received = await store.receive(_heard("to stagin", "0", BEN), begin=True)
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
