"""Tools that need approval: the card, and the ways in which it ends: approval, denial, timeout, stop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from askback.agent.approvals import ApprovalRules
from askback.domain.actions import Cancel, Choose
from askback.domain.click_response import AskText, Notice
from askback.domain.who import Who
from askback_sandbox.model.script import turn
from askback_sandbox.services import Services
from support.approvals import (
    APPROVE,
    CID,
    DENY,
    PAIR,
    TEAM,
    Deploying,
    current,
    to,
    told,
)
from support.board import ANN, BEN, Board
from support.engine import engine, last_request

pytestmark = pytest.mark.usefixtures("stored")


async def test_the_card_shows_the_tool_and_its_arguments_and_nothing_has_run(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn("I deploy.", to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        (shown,) = ask.interview.form.questions
        assert shown.header == "Approval"
        assert shown.prompt == 'Run deploy?\n{\n  "where": "staging"\n}'
        assert shown.details == '{\n  "where": "staging"\n}'
        assert [option.label for option in shown.options] == ["Approve", "Deny"]
        assert (ask.asked_by, ask.policy.who) == (ANN, Who.from_people(BEN, CID))
        await board.until(lambda: board.statuses[-1:] == ["waiting"])
        assert deploying.ran == []


async def test_approved_it_runs_once_with_what_was_approved(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.press(ask, APPROVE, BEN)
        (result,) = await told(one, services)
        assert result["content"] == "deployed to staging"
        assert "is_error" not in result
        await one.press(ask, APPROVE, CID)
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM):
        assert deploying.ran == ["staging"]


async def test_a_denial_after_the_approval_changes_nothing_and_its_reason_reaches_the_agent(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("staging")), turn("Thanks."), turn("I see."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.press(ask, APPROVE, BEN)
        await told(one, services)
        late = await one.press(ask, Choose(index=1, reason="It is Friday."), CID)
        assert isinstance(late, Notice)
        assert late.kept
        one.worker.wake()
        await one.says("I see.")
        written: str = last_request(services)[-1]["content"][-1]["text"]
        assert written.startswith("Cid: (too late to be an answer to “Run deploy?")
        assert written.endswith("It is Friday.")
        assert deploying.ran == ["staging"]


async def test_denied_it_never_runs_and_the_model_is_told_by_whom_and_why(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("production")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        assert isinstance(await one.press(ask, DENY, BEN), AskText), "a denial wants a reason"
        await one.press(ask, Choose(index=1, reason="It is Friday."), BEN)
        (result,) = await told(one, services)
        assert result["content"] == "deploy was denied by Ben: It is Friday. It was not run."
        assert result["is_error"] is True
        assert deploying.ran == []


async def test_nobody_decides_in_time_and_it_is_not_run(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("production")), turn("Thanks."))
    rules = ApprovalRules(timeout=0.05)
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=rules) as one:
        await one.write("deploy it")
        (result,) = await told(one, services)
        # On a slow machine, the time is over before the card is posted, which the model learns as well.
        assert result["content"].startswith("Nobody decided in time whether deploy may run")
        assert result["content"].endswith(" It was not run.")
        assert result["is_error"] is True
        assert deploying.ran == []


async def test_whoever_requested_it_may_take_it_back(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("production")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.press(ask, Cancel(), ANN)
        (result,) = await told(one, services)
        assert result["content"] == "The request to run deploy was withdrawn by Ann. It was not run."
        assert deploying.ran == []


async def test_a_stop_ends_the_request(tmp_path: Path, board: Board, services: Services, deploying: Deploying) -> None:
    services.model.script(turn(to("production")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.stop(ANN)
        assert isinstance(await one.press(ask, APPROVE, BEN), Notice)
        await one.write("what now?")
        (result,) = await told(one, services)
        assert result["content"] == "The request to run deploy was withdrawn by Ann. It was not run."
        assert deploying.ran == []


async def test_what_was_approved_and_not_begun_is_ended_by_a_stop_as_well(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("production")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM, work=False) as one:
        await one.press(ask, APPROVE, BEN)
        await one.stop(ANN)
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("what now?")
        (result,) = await told(one, services)
        assert result["content"].startswith("Somebody stopped this before it finished.")
        assert deploying.ran == []


@pytest.mark.parametrize("mode", ["offer", "answer"])
async def test_an_approver_may_type_it_and_a_requester_may_not(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying, mode: Any
) -> None:
    services.model.script(turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=PAIR, typed=mode) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.recorded(ask)
        await one.write("approve", author=ANN)
        await one.write("approve", author=BEN)
        await one.write("Approve", author=BEN)
        await one.write("deny", author=CID)
        await one.says("Please use the card.")
        assert (await current(one, ask)).outcome is None
        assert len((await current(one, ask)).interview.votes) == 1
        await one.write("approve", author=CID)
        (result,) = await told(one, services)
        assert result["content"] == "deployed to staging"
        assert deploying.ran == ["staging"]


async def test_those_who_are_missing_are_reminded_and_others_asked_later_by_the_settings(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("staging")), turn("Thanks."))
    rules = ApprovalRules(
        approvers={"board": Who.from_people(BEN)},
        reminder_delays=(0.05,),
        escalate_after=0.1,
        escalate_to={"board": Who.from_people(CID), "elsewhere": Who.from_people(ANN)},
    )
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=rules) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.recorded(ask)
        await board.until(lambda: board.open()[0].policy.who == Who.from_people(BEN, CID))
        await one.press(ask, APPROVE, CID)
        await told(one, services)
        assert deploying.ran == ["staging"]
