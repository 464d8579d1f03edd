"""QuestionManager, the only interface to questions."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from askback.domain.actions import Cancel, Choose, OpenTextField, Select, Submit, SubmitText
from askback.domain.ask import Ask
from askback.domain.bot_access import Access
from askback.domain.click_response import AskText, FieldErrors, Notice, Redraw
from askback.domain.form import Form, Option, Question
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.open_ask_limits import Limits
from askback.domain.outcome import Outcome
from askback.domain.who import Who
from askback.errors import CallerError
from askback.internal.clock import utc_now
from askback.store.errors import StoreBusy
from askback.store.store import Store
from support.board import ANN, BEN, HERE, Board
from support.engine import Engine, engine, eventually

pytestmark = pytest.mark.usefixtures("stored")

COLOURS = (Option(value="green", label="Green"), Option(value="blue", label="Blue"))
COLOUR = Form(questions=(Question(id="colour", prompt="Which colour?", options=COLOURS),))
SEVERAL = Form(questions=(Question(id="colours", prompt="Which?", options=COLOURS, multi_select=True),))
ONLY_ANN = Who.from_people(ANN)
ANYONE = Who(anyone=True)


async def test_ask_returns_what_was_answered_as_soon_as_it_is_committed(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        asking = asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN))
        (card,) = await one.asked()
        response = await one.press(card, Choose(index=1))
        assert isinstance(response, Redraw)
        async with asyncio.timeout(30):
            outcome = await asking
        assert (outcome.status, outcome["colour"].choices[0].label, outcome.by) == ("answered", "Blue", ANN)
        await board.until(lambda: not board.open())


@pytest.mark.one_store("whoever listens to PostgreSQL has timers of its own")
async def test_ask_waits_on_an_event_and_not_on_a_clock(
    tmp_path: Path, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    call_at, get = loop.call_at, Store.get
    reads, looked, alarms = 0, asyncio.Event(), 0

    async def counted(store: Store, ask_id: str):
        nonlocal reads
        found = await get(store, ask_id)
        reads += 1
        looked.set()
        return found

    def counting(*args: Any, **more: Any) -> asyncio.TimerHandle:
        nonlocal alarms
        alarms += 1
        return call_at(*args, **more)

    monkeypatch.setattr(Store, "get", counted)
    # Without the worker, which also reads asks, every read and timer belongs to the wait.
    async with engine(tmp_path, board, work=False) as one:
        monkeypatch.setattr(loop, "call_at", counting)
        asking = asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN, timeout=None))
        # It does not yield to the loop between its read and its wait, so from here on it waits.
        await looked.wait()
        assert (reads, alarms) == (1, 0)
        (ask,) = await one.manager.list_open_asks()
        assert not asking.done()
        assert (reads, alarms) == (1, 0)
        monkeypatch.setattr(loop, "call_at", call_at)
        await one.press(ask, Choose(index=0), ANN.evolve(groups_known=True), draw=False)
        assert (await asking).status == "answered"
        assert reads == 2


async def test_a_caller_that_restarted_gets_its_ask_and_its_outcome_by_the_key(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        asking = asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN, key="deploy-7"))
        (card,) = await one.asked()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    async with engine(tmp_path, board) as two:
        again = asyncio.create_task(two.manager.ask(COLOUR, to=HERE, who=ONLY_ANN, key="deploy-7"))
        assert [ask.id for ask in await two.asked()] == [card.id]
        await two.press(card, Choose(index=0))
        assert (await again)["colour"].choices[0].label == "Green"
    assert len(board.messages) == 1


async def test_an_ask_that_was_settled_while_its_caller_was_away_is_told_by_the_key(
    tmp_path: Path, board: Board
) -> None:
    async with engine(tmp_path, board) as one:
        asking = asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN, key="deploy-7"))
        (card,) = await one.asked()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await one.press(card, Choose(index=1))
    async with engine(tmp_path, board) as two:
        outcome = await two.manager.ask(COLOUR, to=HERE, who=ONLY_ANN, key="deploy-7")
        assert outcome["colour"].choices[0].label == "Blue"
        await board.until(lambda: not board.open())


async def test_cancelling_the_wait_leaves_the_ask_open(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        asking = asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN))
        (card,) = await one.asked()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert [ask.id for ask in await one.manager.list_open_asks()] == [card.id]
        assert isinstance(await one.press(card, Choose(index=0)), Redraw)
        settled = await one.manager.get(card.id)
        assert settled is not None
        assert settled.status == "answered"


async def test_two_waiters_for_one_key_get_the_same_outcome(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        both = [asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN, key="k")) for _ in range(2)]
        (card,) = await one.asked()
        await one.press(card, Choose(index=0))
        first, second = await asyncio.gather(*both)
        assert first == second


async def test_an_unknown_id_is_logged_as_a_warning_ignored_and_told(
    tmp_path: Path, board: Board, caplog: pytest.LogCaptureFixture
) -> None:
    async with engine(tmp_path, board) as one:
        asking = asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN))
        (card,) = await one.asked()
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            response = await one.press(card.evolve(id="x" * 22), Choose(index=0))
        assert isinstance(response, Notice)
        assert "know this question" in response.text
        assert [(r.levelname, r.action) for r in caplog.records] == [("WARNING", "unknown_ask")]  # type: ignore[attr-defined]
        assert [ask.id for ask in await one.manager.list_open_asks()] == [card.id]
        asking.cancel()


async def test_a_late_click_changes_nothing_and_is_told_how_it_ended(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        asking = asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ANYONE))
        (card,) = await one.asked()
        await one.press(card, Choose(index=0))
        late = await one.press(card, Choose(index=1), BEN)
        assert isinstance(late, Notice)
        assert "already been answered" in late.text
        assert (await asking)["colour"].choices[0].label == "Green"


async def test_two_people_at_the_same_instant_make_one_outcome_and_the_other_is_told(
    tmp_path: Path, board: Board
) -> None:
    async with engine(tmp_path, board) as one:
        for _ in range(20):
            asking = asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ANYONE))
            (card,) = await one.asked()
            responses = await asyncio.gather(
                one.press(card, Choose(index=0), ANN), one.press(card, Choose(index=1), BEN)
            )
            assert sorted(type(response).__name__ for response in responses) == ["Notice", "Redraw"]
            winner = (ANN, BEN)[[isinstance(response, Redraw) for response in responses].index(True)]
            outcome = await asking
            assert outcome.by == winner
            assert outcome["colour"].choices[0].label == {ANN: "Green", BEN: "Blue"}[winner]
            await board.until(lambda: not board.open())


async def test_ticks_of_two_people_at_the_same_instant_both_count(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        asking = asyncio.create_task(one.manager.ask(SEVERAL, to=HERE, who=ANYONE))
        (card,) = await one.asked()
        ticks = [Select(chosen=(index,), base=(), revision=0) for index in (0, 1)]
        await asyncio.gather(one.press(card, ticks[0], ANN), one.press(card, ticks[1], BEN))
        await one.press(card, Submit())
        assert [choice.label for choice in (await asking)["colours"].choices] == ["Green", "Blue"]


async def test_a_stranger_changes_nothing_and_gets_a_private_notice(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        asking = asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN))
        (card,) = await one.asked()
        for operation in (Choose(index=0), OpenTextField(), SubmitText(text="x"), Cancel()):
            response = await one.press(card, operation, BEN)
            assert isinstance(response, Notice)
            assert response.denied == "not_asked"
            assert response.card is None
        await one.recorded(card)
        newest = await one.manager.get(card.id)
        assert newest is not None
        assert newest.posted_at is not None
        assert card.posted_at is not None
        assert newest == card.evolve(
            drawn_revision=0,
            messages=(MessageRef(channel="C1", id="1"),),
            posted_at=newest.posted_at,
            policy=card.policy.postpone(newest.posted_at - card.posted_at),
        )
        asking.cancel()


async def test_a_written_answer_that_breaks_the_rules_is_kept_and_said(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        asking = asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN))
        (card,) = await one.asked()
        assert isinstance(await one.press(card, OpenTextField()), AskText)
        refused = await one.press(card, SubmitText(text="   "))
        assert isinstance(refused, FieldErrors)
        assert "empty" in refused.message
        assert isinstance(await one.press(card, SubmitText(text=" Mauve ")), Redraw)
        assert (await asking)["colour"].text == "Mauve"


async def test_a_timeout_is_nobody_answered_typed_and_the_card_is_settled(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        asking = asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN, timeout=3600))
        (card,) = await one.asked()
        await one.expire(card.id)
        outcome = await asking
        assert (outcome.status, outcome.answers, outcome.by) == ("timed_out", (), None)
        await board.until(lambda: board.cards() and not board.open())
        assert await one.manager.list_open_asks() == ()
        late = await one.press(card, Choose(index=0))
        assert isinstance(late, Notice)
        assert "timed out" in late.text


async def test_the_default_timeout_is_that_of_the_limits(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board, limits=Limits(timeout=0.1)) as one:
        assert (await one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN)).status == "timed_out"


async def test_a_deadline_that_passed_while_nothing_ran_holds_after_the_start(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        asking = asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN, timeout=3600, key="k"))
        (card,) = await one.asked()
        await one.recorded(card)
        asking.cancel()
    async with engine(tmp_path, board, work=False) as nobody:
        await nobody.expire(card.id)
    async with engine(tmp_path, board) as two:
        outcome = await two.manager.ask(COLOUR, to=HERE, who=ONLY_ANN, key="k")
        assert outcome.status == "timed_out"
        await board.until(lambda: not board.open())


async def test_cancel_and_reject_end_an_ask_once(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        asking = [asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN)) for _ in range(2)]
        first, second = await one.asked(2)
        assert await one.cancel(first.id, by=BEN, reason="not needed any more") is True
        assert await one.cancel(first.id) is False
        assert await one.cancel(first.id, reason="late", undeliverable=True) is False
        assert await one.cancel(second.id, reason="the bot was removed", undeliverable=True) is True
        assert await one.cancel("nobody knows it") is False
        outcomes = await asyncio.gather(*asking)
        assert {(outcome.status, outcome.reason) for outcome in outcomes} == {
            ("cancelled", "not needed any more"),
            ("undeliverable", "the bot was removed"),
        }
        await board.until(lambda: not board.open())


async def test_pending_is_of_one_place_or_of_all_oldest_first(tmp_path: Path, board: Board) -> None:
    there = Place(platform="board", tenant="T1", channel="C2")
    async with engine(tmp_path, board) as one:
        asking = []
        for place in (HERE, there, HERE):
            asking.append(asyncio.create_task(one.manager.ask(COLOUR, to=place, who=ONLY_ANN)))
            await one.asked(len(asking))
        everything = await one.manager.list_open_asks()
        assert [ask.place for ask in everything] == [HERE, there, HERE]
        assert await one.manager.list_open_asks(there) == (everything[1],)
        assert await one.manager.get("x") is None
        for task in asking:
            task.cancel()


async def test_more_than_ten_open_in_one_place_are_refused_and_elsewhere_there_is_room(
    tmp_path: Path, board: Board
) -> None:
    async with engine(tmp_path, board) as one:
        asking = [asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN)) for _ in range(10)]
        cards = await one.asked(10)
        with pytest.raises(CallerError, match="at most 10 may be open in one place"):
            await one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN)
        there = HERE.evolve(thread="2")
        asking.append(asyncio.create_task(one.manager.ask(COLOUR, to=there, who=ONLY_ANN)))
        await one.asked(11)
        await one.press(cards[0], Choose(index=0))
        asking.append(asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN)))
        await one.asked(11)
        for task in asking:
            task.cancel()


async def test_the_pace_delays_a_card_and_never_the_ask(tmp_path: Path, board: Board) -> None:
    pace = 0.3
    async with engine(tmp_path, board, limits=Limits(seconds_between_asks=pace)) as one:
        asking = [asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN)) for _ in range(3)]
        await one.asked(3)
        due = sorted(ask.post_after for ask in await one.manager.list_open_asks())
        assert all(later - earlier >= timedelta(seconds=pace) for earlier, later in pairwise(due)), due
        to_utc = utc_now().timestamp() - asyncio.get_running_loop().time()
        shown = [at + to_utc for name, at in zip(board.calls, board.at, strict=True) if name == "show"]
        assert all(at > after.timestamp() - 0.05 for at, after in zip(shown, due, strict=True)), (shown, due)
        for task in asking:
            task.cancel()


async def pending(one: Engine, count: int) -> tuple[Ask, ...]:
    """Return the open asks once there are `count`."""

    async def there() -> bool:
        return len(await one.manager.list_open_asks()) == count

    await eventually(there)
    return tuple(await one.manager.list_open_asks())


async def test_a_question_that_nobody_came_to_see_delays_no_later_one(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board, limits=Limits(seconds_between_asks=3600)) as one:
        asking = [asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN)) for _ in range(3)]
        (shown,) = await one.asked(1)
        for ask in await pending(one, 3):
            if ask.id != shown.id:
                await one.cancel(ask.id)
        asking.append(asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN)))
        first, later = sorted(ask.post_after for ask in await pending(one, 2))
        assert later == first + timedelta(seconds=3600)
        for task in asking:
            task.cancel()


async def test_a_click_on_an_unknown_message_of_a_known_ask_makes_it_the_live_one(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        asking = asyncio.create_task(one.manager.ask(SEVERAL, to=HERE, who=ONLY_ANN))
        (card,) = await one.asked()
        stray = board.add(type(board.messages["1"])(HERE, card.id, "", card))
        await one.press(card, Select(chosen=(0,), base=(), revision=0), message=stray)
        await board.until(lambda: list(board.messages) == [stray.id])
        await one.press(card, Submit())
        assert (await asking).status == "answered"


async def test_a_message_clicked_while_another_is_being_drawn_stays_the_live_one(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        asking = asyncio.create_task(one.manager.ask(SEVERAL, to=HERE, who=ONLY_ANN))
        (card,) = await one.asked()
        board.holds["show"] = asyncio.Event()
        await one.press(card, Select(chosen=(0,), base=(), revision=0), draw=False)
        await one.manager.cards.leave_to_outbox(card.id)
        await board.until(lambda: board.calls.count("show") == 2)
        stray = board.add(type(board.messages["1"])(HERE, card.id, "", card))
        await one.press(card, Submit(), message=stray, draw=False)
        board.holds.pop("show").set()
        await one.manager.cards.leave_to_outbox(card.id)
        await board.until(lambda: list(board.messages) == [stray.id] and not board.open())
        assert (await asking).status == "answered"


async def test_a_click_whose_commit_is_in_doubt_is_refused_and_its_outcome_told_once_it_is_known(
    tmp_path: Path, board: Board
) -> None:
    async with engine(tmp_path, board) as one:
        asking = asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN))
        (card,) = await one.asked()
        decide = one.store.decide

        async def committed_late(*args, **more):
            await decide(*args, **more)
            raise StoreBusy("The disk took too long.", in_doubt=True)

        one.store.decide = committed_late  # type: ignore[method-assign]
        with pytest.raises(StoreBusy):
            await one.press(card, Choose(index=0))
        one.store.decide = decide  # type: ignore[method-assign]
        async with asyncio.timeout(30):
            assert (await asking).status == "answered"


async def test_outcomes_survive_the_store_as_they_are(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        asking = asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN, key="k"))
        (card,) = await one.asked()
        hostile = "a\x00b \u202e <@U1> 🧨 ```x```"
        await one.press(card, SubmitText(text=hostile))
        told: Outcome = await asking
        assert told["colour"].text == hostile
    async with engine(tmp_path, board) as two:
        assert await two.manager.ask(COLOUR, to=HERE, who=ONLY_ANN, key="k") == told


async def test_whoever_asked_and_an_administrator_may_cancel_and_nothing_else(tmp_path: Path, board: Board) -> None:
    asker = Actor(platform="board", tenant="T1", id="U8", name="Asker")
    async with engine(tmp_path, board) as one:
        first = asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN, timeout=None, asked_by=asker))
        (card,) = await one.asked()
        assert isinstance(await one.press(card, Choose(index=0), asker), Notice)
        assert isinstance(await one.press(card, Cancel(), BEN), Notice)
        await one.press(card, Cancel(), asker)
        assert (await first).status == "cancelled"
        second = asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=ONLY_ANN, timeout=None))
        (card,) = await one.asked()
        one.manager.access.add(board.name, Access(open=True, admins=(BEN.id,)), board.groups)
        assert isinstance(await one.press(card, Choose(index=0), BEN), Notice)
        await one.press(card, Cancel(), BEN)
        assert (await second).by == BEN


async def test_a_click_without_groups_gets_those_of_the_ask_and_a_card_shown_here_needs_no_query(
    tmp_path: Path, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    who = Who(groups=("G1",))
    async with engine(tmp_path, board) as one:
        asking = asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=who))
        (card,) = await one.asked()
        await board.until(lambda: board.open())
        access = one.manager.access
        assert (await access.identify(ANN, "of nobody")).people == (ANN,)
        assert board.groups.resolved == []

        async def nothing(*_: object) -> None:
            raise AssertionError("a click on a card that was shown here looks nothing up")

        with monkeypatch.context() as patch:
            patch.setattr(Store, "get", nothing)
            await access.identify(ANN, card.id)
        assert board.groups.resolved == [("G1",)]
        asking.cancel()
    async with engine(tmp_path, board) as restarted:
        await restarted.manager.access.identify(ANN, card.id)
        assert board.groups.resolved == [("G1",), ("G1",)]
