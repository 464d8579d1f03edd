"""Several people decide: reminders to those who are missing, and escalations."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from askback.domain.actions import Remind
from askback.domain.ask import Ask
from askback.domain.click_response import Notice, Redraw
from askback.domain.identity import MessageRef
from askback.domain.outcome import Outcome
from askback.domain.who import Who
from askback.internal.clock import utc_now
from askback.manager import build_ask, build_policy
from askback.ports.platform import RetryableError
from askback.store.schema import asks
from support.board import ANN, BEN, HERE, Board
from support.engine import Engine, engine, eventually

from .votes import CID, DEE, DEPLOY, TWO, YES, asked

pytestmark = pytest.mark.usefixtures("stored")
SOON = 0.3


async def bring_forward(one: Engine, card: Ask, seconds: float = SOON) -> None:
    """Move its first reminder to the near future, because the test may have taken long so far."""
    _, *others = card.policy.reminders
    await one.change_policy(card.id, reminders=(utc_now() + timedelta(seconds=seconds), *others))


async def test_those_who_are_missing_are_reminded_at_once_when_the_time_has_come(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        _, card = await asked(one, remind=(600, 1200))
        await one.press(card, YES, ANN)
        began = asyncio.get_running_loop().time()
        await bring_forward(one, card)
        await one.says("Reminder: “Deploy?” still waits for you.")
        assert asyncio.get_running_loop().time() - began < 20, "not when the outbox is looked at anyway"
        (say,) = board.said
        assert say.mention == Who.from_people(BEN, CID)
        assert say.reply_to == card.messages[0] if card.messages else True


async def test_a_reminder_that_comes_due_before_the_card_stands_comes_once_it_does(
    tmp_path: Path, board: Board
) -> None:
    board.holds["show"] = asyncio.Event()
    async with engine(tmp_path, board) as one:
        began = asyncio.get_running_loop().time()
        asking = asyncio.create_task(one.manager.ask(DEPLOY, to=HERE, who=Who.from_people(BEN), remind=(0.01,)))
        await board.until(lambda: "show" in board.calls)
        (ask,) = await one.manager.list_open_asks()
        (due,) = ask.policy.reminders

        async def has_come() -> bool:
            return utc_now() > due

        await eventually(has_come)
        assert not await one.manager.deadlines.apply(ask.id), "nobody sees it, so nobody is reminded"
        board.holds.pop("show").set()
        await one.says("Reminder:")
        assert asyncio.get_running_loop().time() - began < 20, "not when the outbox is looked at anyway"
        assert [(say.mention, say.reply_to) for say in board.said] == [
            (Who.from_people(BEN), MessageRef(channel=HERE.channel, id="1"))
        ]
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


async def test_an_ask_that_an_earlier_release_had_due_is_looked_at_once(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board, work=False) as one:
        policy = build_policy(Who.from_people(BEN), None, remind=(0.01,))
        ask = await one.manager.submit(build_ask(DEPLOY, to=HERE, policy=policy))
        await one.store._database.run(  # pyright: ignore[reportPrivateUsage] - as an earlier release has it
            lambda connection: connection.execute(update(asks).values(attend_at=1)).rowcount
        )
        assert await one.store.list_due() == (ask.id,)
        assert not await one.manager.deadlines.apply(ask.id)
        assert await one.store.list_due() == ()


async def test_after_a_while_further_people_are_asked_and_may_decide(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        _, card = await asked(one, TWO, who=Who.from_people(ANN, BEN), escalate={600: Who.from_people(DEE)})
        early = await one.press(card, YES, DEE)
        assert isinstance(early, Notice)
        assert await one.cancel(card.id)
        await board.until(lambda: not board.open())
        asking, card = await asked(one, TWO, who=Who.from_people(ANN, BEN), escalate={SOON: Who.from_people(DEE)})
        await one.says("This now waits for you, too: “Deploy?”")
        assert [say.mention for say in board.said] == [Who.from_people(DEE)]
        await board.until(lambda: board.cards()[-1].policy.who.contains(DEE))
        # On the earlier card.
        assert isinstance(await one.press(card, YES, DEE), Redraw)
        await one.press(card, YES, ANN)
        assert (await asyncio.wait_for(asking, 30)).status == "answered"


async def test_a_deadline_that_comes_before_enough_have_agreed_tells_who_had(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        asking, card = await asked(one, timeout=3600)
        await one.press(card, YES, ANN)
        await one.expire(card.id)
        outcome = await asyncio.wait_for(asking, 30)
        assert (outcome.status, [vote.by for vote in outcome.votes]) == ("timed_out", [ANN])
        assert Outcome.model_validate_json(outcome.model_dump_json()) == outcome
        kept = await one.manager.get(card.id)
        assert kept is not None
        assert kept.outcome == outcome


async def test_of_what_is_decided_nobody_is_reminded(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        asking, card = await asked(one, TWO.evolve(quorum=1), remind=(600,))
        await one.press(card, YES, ANN)
        assert (await asyncio.wait_for(asking, 30)).status == "answered"
        await bring_forward(one, card, seconds=0)
        assert not await one.manager.deadlines.apply(card.id)
        await one.worker.finish(30)
        assert board.said == []


async def test_a_reminder_that_was_queued_already_is_not_said_of_what_was_decided_a_moment_ago(
    tmp_path: Path, board: Board
) -> None:
    board.holds["post"] = asyncio.Event()
    board.faults["post"].append(RetryableError("the platform is away"))
    async with engine(tmp_path, board) as one:
        asking, card = await asked(one, TWO.evolve(quorum=1), remind=(SOON,))
        await board.until(lambda: "post" in board.calls)
        await one.press(card, YES, ANN)
        assert (await asyncio.wait_for(asking, 30)).status == "answered"
        board.holds["post"].set()

        async def nothing_waits() -> bool:
            return await one.store.get_time_until_due() is None

        await eventually(nothing_waits)
        assert board.calls.count("post") == 1
        assert board.said == []


async def test_reminders_that_came_due_while_nothing_ran_are_one_after_the_start(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        asking, card = await asked(one, remind=(600, 1200, 1800), escalate={2400: Who.from_people(DEE)})
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    async with engine(tmp_path, board, work=False) as nobody:
        past = utc_now() - timedelta(seconds=1)
        (escalation,) = card.policy.escalations
        await nobody.change_policy(
            card.id, reminders=(past,) * len(card.policy.reminders), escalations=(escalation.evolve(at=past),)
        )
    said = len(board.said)
    async with engine(tmp_path, board) as two:
        await board.until(lambda: len(board.said) > said)
        await two.worker.finish(30)
        kept = await two.manager.get(card.id)
        assert kept is not None
        assert kept.policy.next_due_at is None
    assert len(board.said) <= said + 1
    assert board.said[-1].mention is not None
    assert board.said[-1].mention.contains(DEE)


async def test_a_reminder_that_a_person_asked_for_outlives_the_process(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        asking, ask = await asked(one, approval=None)
        remind = Remind(moment=utc_now() + timedelta(hours=1), reason="In a meeting.")
        assert isinstance(await one.press(ask, remind, BEN), Redraw)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    async with engine(tmp_path, board, work=False) as nobody:
        stored = await nobody.manager.get(ask.id)
        assert stored is not None
        (own,) = stored.policy.personal_reminders
        assert (own.who.id, own.at, own.reason) == (BEN.id, remind.moment, "In a meeting.")
        past = own.evolve(at=utc_now() - timedelta(seconds=1))
        await nobody.change_policy(ask.id, personal_reminders=(past,))
    said = len(board.said)
    async with engine(tmp_path, board) as two:
        await board.until(lambda: len(board.said) > said)
        await two.worker.finish(30)
        kept = await two.manager.get(ask.id)
        assert kept is not None
        assert (kept.status, kept.policy.personal_reminders) == ("open", ())
    assert len(board.said) == said + 1
    assert board.said[-1].mention == Who.from_people(own.who)


async def test_a_reminder_is_not_said_if_its_question_is_decided_while_the_bot_looks_for_an_earlier_one(
    tmp_path: Path, board: Board
) -> None:
    board.holds["find_posted"] = asyncio.Event()
    board.faults["post"].append(RetryableError("the answer was lost", in_doubt=True))
    async with engine(tmp_path, board) as one:
        asking, card = await asked(one, TWO.evolve(quorum=1), remind=(SOON,))
        await board.until(lambda: "find_posted" in board.calls)
        await one.press(card, YES, ANN)
        assert (await asyncio.wait_for(asking, 30)).status == "answered"
        board.holds["find_posted"].set()

        async def nothing_waits() -> bool:
            return await one.store.get_time_until_due() is None

        await eventually(nothing_waits)
        assert board.said == []
