"""Several people decide, through the manager: vote by vote, on both stores, with the visible cards."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from askback.domain.actions import Action, Cancel, Choose, Decline, OpenDecline, Remind, ShowDetails, SubmitText
from askback.domain.ask import Ask
from askback.domain.ask_policy import OWN_REQUEST, Approval, Policy
from askback.domain.click_response import AskText, Details, FieldErrors, Notice, Redraw
from askback.domain.decision import NOT_TO_CANCEL
from askback.domain.form import Form, Option, Question
from askback.domain.identity import MessageRef
from askback.domain.outcome import Outcome
from askback.domain.who import Who
from askback.errors import CallerError
from askback.internal.clock import utc_now
from askback.manager import build_ask, build_policy
from askback.ports.platform import RetryableError
from askback.store.schema import asks
from askback.tools import TOOLS, get_tool
from support.engine import ANN, BEN, HERE, Board, Engine, engine, eventually

pytestmark = pytest.mark.usefixtures("stored")

CID = ANN.evolve(id="U3", name="Cid")
DEE = ANN.evolve(id="U4", name="Dee")
OPTIONS = (Option(value="yes", label="Yes"), Option(value="no", label="No"))
DEPLOY = Form(
    questions=(Question(id="deploy", prompt="Deploy?", options=OPTIONS, allow_custom=False, details="The whole log"),)
)
TWO = Approval(quorum=2, refusing=("no",))
THREE = Who.from_people(ANN, BEN, CID)
YES, NO = Choose(index=0), Choose(index=1)


@pytest.fixture
def board() -> Board:
    return Board()


async def asked(one: Engine, approval: Approval | None = TWO, **more: Any) -> tuple[asyncio.Task[Outcome], Ask]:
    asking = asyncio.create_task(
        one.manager.ask(DEPLOY, **{"to": HERE, "who": THREE, "timeout": None, "approval": approval, **more})
    )
    (card,) = await one.asked()
    await one.recorded(card)
    return asking, card


async def test_vote_by_vote_the_card_grows_and_the_last_one_needed_decides(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        asking, card = await asked(one)
        assert isinstance(await one.press(card, YES, ANN), Redraw)
        (shown,) = board.cards()
        tally = shown.to_card().tally
        assert tally is not None
        assert [vote.by for vote in tally.votes] == [ANN]
        assert tally.missing == Who.from_people(BEN, CID)
        assert not asking.done()
        # Ben clicks the card from before Ann's vote.
        assert isinstance(await one.press(card, YES, BEN), Redraw)
        outcome = await asyncio.wait_for(asking, 30)
        assert (outcome.status, outcome.refused, outcome["deploy"].labels) == ("answered", False, ("Yes",))
        assert [vote.by for vote in outcome.votes] == [ANN, BEN]
        await board.until(lambda: not board.open())
        (posted,) = board.messages.values()
        assert posted.revisions == sorted(set(posted.revisions))
        late = await one.press(card, YES, CID)
        assert isinstance(late, Notice)
        assert late.text == "This question has already been answered. Your click changed nothing."
        assert await one.manager.wait_for_outcome(card) == outcome


async def test_a_no_with_its_reason_ends_it(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        asking, card = await asked(one, TWO.evolve(reasons="no"))
        await one.press(card, YES, ANN)
        field = await one.press(card, NO, BEN)
        assert isinstance(field, AskText)
        assert field.field.choice == 1
        wrong = await one.press(card, NO.evolve(reason=" "), BEN)
        assert isinstance(wrong, FieldErrors)
        assert wrong.message == "Please say why: this decision needs a reason."
        long = await one.press(card, NO.evolve(reason="x" * 1001), BEN)
        assert isinstance(long, FieldErrors)
        assert not asking.done()
        assert isinstance(await one.press(card, NO.evolve(reason="not on a Friday"), BEN), Redraw)
        outcome = await asyncio.wait_for(asking, 30)
        assert (outcome.refused, outcome.reason, outcome.by) == (True, "not on a Friday", BEN)
        assert Outcome.model_validate_json(outcome.model_dump_json()) == outcome


async def test_the_own_request_and_strangers_are_refused_and_nothing_but_a_vote_counts(
    tmp_path: Path, board: Board
) -> None:
    async with engine(tmp_path, board) as one:
        asking, card = await asked(one, TWO.evolve(requesters=(CID,)))
        before = await one.manager.get(card.id)
        for who, operation, words in (
            (CID, YES, OWN_REQUEST),
            (DEE, YES, "Only Ann or Ben can answer this."),
            (DEE, ShowDetails(), "Only Ann or Ben can answer this."),
            (DEE, Cancel(), "Only Ann or Ben can answer this."),
            (ANN, Cancel(), NOT_TO_CANCEL),
            (ANN, Decline(), "Please vote by choosing one of the options."),
            (CID, OpenDecline(), OWN_REQUEST),
            (DEE, OpenDecline(), "Only Ann or Ben can answer this."),
            (ANN, SubmitText(text="Yes"), "Please vote by choosing one of the options."),
        ):
            told = await one.press(card, operation, who)
            assert isinstance(told, Notice)
            assert told.text == words
        for who in (ANN, CID):
            whole = await one.press(card, ShowDetails(), who)
            assert isinstance(whole, Details)
            assert whole.text == "The whole log"
        after = await one.manager.get(card.id)
        assert before is not None
        assert after is not None
        assert after.interview == before.interview
        await one.press(card, YES, ANN)
        assert isinstance(await one.press(card, Cancel(), CID), Redraw)
        outcome = await asyncio.wait_for(asking, 30)
        assert (outcome.status, outcome.by, [vote.by for vote in outcome.votes]) == ("cancelled", CID, [ANN])


async def test_members_of_a_group_decide_as_long_as_they_are_in_it(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        asking, card = await asked(one, who=Who(groups=("G1",)))
        member = ANN.evolve(groups=("G1",), groups_known=True)
        left = await one.press(card, YES, ANN)
        assert isinstance(left, Notice)
        assert left.denied == "not_asked"
        await one.press(card, YES, member)
        # The same person again, with other groups.
        again = await one.press(card, YES, member.evolve(groups=("G1", "G2")))
        assert isinstance(again, Notice)
        assert again.text == "Your vote is already “Yes”. 1 more is needed."
        await one.press(card, YES, BEN.evolve(groups=("G1",), groups_known=True))
        assert (await asyncio.wait_for(asking, 30)).status == "answered"


async def test_votes_at_the_same_instant_all_count_and_one_outcome_comes_of_them(tmp_path: Path, board: Board) -> None:
    people = tuple(ANN.evolve(id=f"P{number}", name=f"P{number}") for number in range(12))
    async with engine(tmp_path, board) as one:
        asking, card = await asked(one, TWO.evolve(quorum=10), who=Who(anyone=True))
        # Each of them twice.
        told = await asyncio.gather(*(one.press(card, YES, who, draw=False) for who in (*people, *people)))
        outcome = await asyncio.wait_for(asking, 30)
        assert len({vote.by.id for vote in outcome.votes}) == len(outcome.votes) == 10
        assert sum(isinstance(response, Redraw) for response in told) == 10


async def test_a_click_that_is_delivered_twice_counts_once(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        _, card = await asked(one)
        click = Action(ask_id=card.id, actor=ANN, at=utc_now(), step=0, operation=YES, delivery="d1")
        first, again = await asyncio.gather(one.manager.act(click), one.manager.act(click))
        assert isinstance(first, Redraw)
        assert isinstance(again, Redraw), "and nobody is told otherwise"
        kept = await one.manager.get(card.id)
        assert kept is not None
        assert len(kept.interview.votes) == 1


async def test_votes_survive_a_restart_and_the_asker_comes_back_by_the_key(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        asking, card = await asked(one, TWO.evolve(subject="sha256:x"), key="release-7", remind=(600,))
        await one.press(card, YES.evolve(reason="tested"), ANN)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        first = await one.manager.get(card.id)
    async with engine(tmp_path, board) as two:
        assert await two.manager.get(card.id) == first
        # Other rules do not replace the ones that people have already voted by.
        again = asyncio.create_task(
            two.manager.ask(DEPLOY, to=HERE, who=THREE, timeout=None, approval=TWO.evolve(quorum=1), key="release-7")
        )
        await two.press(card, YES, BEN)
        outcome = await asyncio.wait_for(again, 30)
        assert [(vote.by, vote.reason) for vote in outcome.votes] == [(ANN, "tested"), (BEN, None)]
        kept = await two.manager.get(card.id)
        assert kept is not None
        assert kept.policy.approval == TWO.evolve(subject="sha256:x")
    assert len([posted for posted in board.messages.values() if posted.ask is not None]) == 1


@pytest.mark.parametrize("after", [0, -1, float("nan"), float("inf"), 1e12])
async def test_a_time_that_never_comes_is_refused(tmp_path: Path, board: Board, after: float) -> None:
    async with engine(tmp_path, board) as one:
        for times in ({"remind": (after,)}, {"escalate": {after: Who.from_people(DEE)}}):
            with pytest.raises(CallerError, match="give more than 0 seconds"):
                await one.manager.ask(DEPLOY, to=HERE, who=THREE, approval=TWO, **times)
        assert await one.manager.list_open_asks() == ()


async def test_what_cannot_be_decided_is_refused_before_anybody_is_asked(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        more: Mapping[str, Any]
        for more in ({"approval": TWO.evolve(quorum=4)}, {"approval": TWO, "remind": (600,), "timeout": 300}):
            with pytest.raises(CallerError):
                await one.manager.ask(DEPLOY, to=HERE, who=THREE, **more)
        assert await one.manager.list_open_asks() == ()
    assert board.messages == {}


# Reminders and escalations

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


# Stored rows


async def test_rows_of_before_there_were_votes_still_load(tmp_path: Path, board: Board) -> None:
    async with engine(tmp_path, board) as one:
        ask = await one.manager.submit(build_ask(DEPLOY, to=HERE, policy=build_policy(Who.from_people(ANN), 600)))
        await one.recorded(ask)  # the deadline counts from the posting
        posted = await one.manager.get(ask.id)
        assert posted is not None

        def older(connection: Any) -> None:
            row = connection.execute(select(asks).where(asks.c.id == ask.id)).mappings().one()
            policy, interview = json.loads(row["policy"]), json.loads(row["interview"])
            policy = {name: policy[name] for name in ("who", "deadline")}
            interview.pop("votes", None)
            connection.execute(
                update(asks)
                .values(policy=json.dumps(policy), interview=json.dumps(interview))
                .where(asks.c.id == ask.id)
            )

        await one.store._database.run(older)
        kept = await one.manager.get(ask.id)
        assert kept is not None
        assert (kept.policy, kept.interview.votes) == (
            Policy(who=Who.from_people(ANN), deadline=posted.policy.deadline),
            (),
        )
        await one.press(kept, YES, ANN)
        assert (await one.manager.wait_for_outcome(ask)).votes == ()


@pytest.mark.one_store("a tool knows of no store")
@pytest.mark.parametrize("name", sorted(TOOLS))
async def test_a_tool_that_asks_is_told_the_option_that_people_agreed_on(
    tmp_path: Path, board: Board, name: str
) -> None:
    tool = get_tool(name)
    wanted: dict[str, Any] = {
        "askQuestion": {"question": "Deploy?", "options": ["Yes", "No"]},
        "AskUserQuestion": {"questions": [{"question": "Deploy?", "header": "Deploy", "options": OPTIONS_FOR_MODELS}]},
        "question": {"questions": [{"question": "Deploy?", "header": "Deploy", "options": OPTIONS_FOR_MODELS}]},
        "ask": {"questions": [{"id": "deploy", "question": "Deploy?", "options": OPTIONS_FOR_MODELS}]},
    }[name]
    (only,) = tool.parse(wanted).questions
    async with engine(tmp_path, board) as one:
        asking = asyncio.create_task(
            one.manager.ask(
                Form(questions=(only.evolve(allow_custom=False),)),
                to=HERE,
                who=THREE,
                approval=Approval(quorum=2, refusing=(only.options[1].value,)),
            )
        )
        (card,) = await one.asked()
        await one.press(card, YES, ANN)
        await one.press(card, YES, CID)
        outcome = await asyncio.wait_for(asking, 30)
    assert len(outcome.votes) == 2
    assert outcome.answers[0].labels == ("Yes",)
    assert tool.build_result(wanted, outcome) == tool.build_result(wanted, outcome.evolve(votes=())), (
        "as if one had answered"
    )


OPTIONS_FOR_MODELS = [{"label": label, "description": ""} for label in ("Yes", "No")]


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
