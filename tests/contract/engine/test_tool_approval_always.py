"""“Always in this conversation”: its scope and its duration."""

from __future__ import annotations

from pathlib import Path

import pytest

from askback import tool
from askback.agent.approvals import ApprovalRules
from askback.domain.click_response import Notice
from askback.domain.who import Who
from askback_sandbox.model.script import call, turn
from askback_sandbox.services import Services
from support.approvals import (
    ALWAYS,
    APPROVE,
    CID,
    DENY,
    TEAM,
    Deploying,
    to,
    told,
)
from support.board import ANN, BEN, HERE, Board
from support.engine import engine

pytestmark = pytest.mark.usefixtures("stored")


async def test_always_holds_for_this_tool_in_this_conversation_and_for_nothing_else(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    wiped: list[str] = []

    @tool(approval=True)
    def wipe(where: str) -> str:
        wiped.append(where)
        return "wiped"

    services.model.script(
        turn(to("one")), turn(to("two")), turn(call("wipe", where="two")), turn("Thanks."), turn(to("three"))
    )
    rules = ApprovalRules(approvers=TEAM.approvers, allow_always=True)
    async with engine(tmp_path, board, services, own=(deploying.tool, wipe), approvals=rules) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        assert [option.label for option in ask.interview.form.questions[0].options][2] == "Always in this conversation"
        await one.press(ask, ALWAYS, BEN)
        (asked,) = await one.asked()
        assert deploying.ran == ["one", "two"]
        assert asked.interview.form.questions[0].id == "wipe"
        await one.press(asked, APPROVE, BEN)
        await told(one, services)
        assert wiped == ["two"]
        await one.write("deploy it here, too", place=HERE.evolve(thread="2"))
        (other,) = await one.asked()
        assert other.place.thread == "2"
        assert deploying.ran == ["one", "two"]


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(TEAM, id="it is off by now"),
        pytest.param(
            ApprovalRules(approvers={"board": Who.from_people(CID)}, allow_always=True), id="they decide no more"
        ),
        pytest.param(
            ApprovalRules(approvers=TEAM.approvers, quorum=2, allow_always=True), id="it takes more of them by now"
        ),
    ],
)
async def test_always_holds_only_as_long_as_the_settings_let_it(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying, rules: ApprovalRules
) -> None:
    services.model.script(turn(to("one")), turn("Done."), turn(to("two")), turn("Thanks."))
    before = ApprovalRules(approvers=TEAM.approvers, allow_always=True)
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=before) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.press(ask, ALWAYS, BEN)
        await one.says("Done.")
        await board.until(lambda: board.statuses[-1] == "idle")
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=rules) as one:
        await one.write("again")
        (ask,) = await one.asked()
        assert deploying.ran == ["one"]
        await one.press(ask, APPROVE, CID)
        if rules.quorum == 2:
            await one.press(ask, APPROVE, BEN)
        await told(one, services)
        assert deploying.ran == ["one", "two"]


@pytest.mark.parametrize(
    ("votes", "ran"),
    [
        ((APPROVE, ALWAYS), ["one"]),
        ((ALWAYS, APPROVE), ["one"]),
        ((ALWAYS, ALWAYS), ["one", "two"]),
    ],
)
async def test_an_always_is_an_approval_and_holds_where_as_many_say_it_as_have_to_agree(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying, votes: tuple[int, int], ran: list[str]
) -> None:
    services.model.script(turn(to("one")), turn(to("two")), turn("Thanks."))
    rules = ApprovalRules(approvers=TEAM.approvers, quorum=2, allow_always=True)
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=rules) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        for person, vote in zip((BEN, CID), votes, strict=True):
            assert deploying.ran == []
            await one.press(ask, vote, person)
        if ran == ["one"]:
            (other,) = await one.asked()
            assert other.id != ask.id
            assert deploying.ran == ran
            await one.press(other, DENY.evolve(reason="Enough."), BEN)
        await told(one, services)
        assert deploying.ran == ran


async def test_an_always_is_no_approval_of_what_its_own_giver_requests(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("one")), turn("Done."), turn(to("two")), turn("Thanks."))
    rules = ApprovalRules(approvers=TEAM.approvers, allow_always=True)
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=rules) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.press(ask, ALWAYS, BEN)
        await one.says("Done.")
        await one.write("now two", author=BEN)
        (ask,) = await one.asked()
        assert isinstance(await one.press(ask, APPROVE, BEN), Notice)
        await one.press(ask, APPROVE, CID)
        await told(one, services)
        assert deploying.ran == ["one", "two"]


async def test_a_call_that_an_always_let_run_leaves_its_requesters_what_they_asked_for(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    """Nobody reviewed that call, so the next one may still follow the words that led to it."""
    services.model.script(
        turn(to("one")), turn("Done."), turn(to("two")), turn("Done, too."), turn(to("three")), turn("Thanks.")
    )
    rules = ApprovalRules(approvers=TEAM.approvers, allow_always=True)
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=rules) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.press(ask, ALWAYS, CID)
        await one.says("Done.")
        await one.write("deploy two, and three when I say so", author=BEN)
        await one.says("Done, too.")
        await board.until(lambda: board.statuses[-1] == "idle")
        assert deploying.ran == ["one", "two"]
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("go on")
        (ask,) = await one.asked()
        assert ask.policy.approval is not None
        assert ask.policy.approval.requesters == (ANN, BEN)
        assert isinstance(await one.press(ask, APPROVE, BEN), Notice)
        await one.press(ask, APPROVE, CID)
        await told(one, services)
        assert deploying.ran == ["one", "two", "three"]
