"""Turns of the model in the store alone: their beginning, their commits, and the remaining work."""

from __future__ import annotations

from datetime import timedelta

import pytest

from askback.domain.turn import Message, TokenUsage, ToolCall, Turn
from askback.internal.clock import utc_now
from askback.store.store import Store
from askback.store.turn_transactions import TokenReservation
from contract.engine.stored_thread import ANN, BEN, Thread, say

ANSWER = ToolCall(tool_use_id="answered", tool="t", input={}, result="It went wrong.", is_error=True)
"""A call that has its result at once."""
TO_RUN = ToolCall(tool_use_id="to run", tool="t", input={})
"""A call of one of the operator's own tools."""


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
