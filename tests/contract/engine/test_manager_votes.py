"""Several people decide, through the manager: vote by vote, on both stores, with the visible cards."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from askback.domain.actions import Action, Cancel, Decline, OpenDecline, ShowDetails, SubmitText
from askback.domain.ask_policy import OWN_REQUEST, Approval, Policy
from askback.domain.click_response import AskText, Details, FieldErrors, Notice, Redraw
from askback.domain.decision import NOT_TO_CANCEL
from askback.domain.form import Form
from askback.domain.outcome import Outcome
from askback.domain.who import Who
from askback.errors import CallerError
from askback.internal.clock import utc_now
from askback.manager import build_ask, build_policy
from askback.store.schema import asks
from askback.tools import TOOLS, get_tool
from support.board import ANN, BEN, HERE, Board
from support.engine import engine

from .votes import CID, DEE, DEPLOY, NO, THREE, TWO, YES, asked

pytestmark = pytest.mark.usefixtures("stored")


@pytest.fixture
def board() -> Board:
    return Board()


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


OPTIONS_FOR_MODELS = [{"label": label, "description": ""} for label in ("Yes", "No")]


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
