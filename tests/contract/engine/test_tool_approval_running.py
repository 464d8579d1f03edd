"""An approved call runs exactly as approved, once; a call without approval never runs."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from askback import tool
from askback.domain.actions import Choose
from askback.domain.ask import Ask
from askback.domain.turn import Call, NextStep
from askback.domain.who import Who
from askback.store.database import Database
from askback.store.queries import approvals
from askback.store.schema import calls
from askback_sandbox.model.script import call, turn
from askback_sandbox.services import Services
from support.approvals import (
    APPROVE,
    CID,
    TEAM,
    Deploying,
    current,
    noticed,
    to,
    told,
)
from support.board import ANN, BEN, HERE, Board
from support.engine import Engine, engine, eventually, question

pytestmark = pytest.mark.usefixtures("stored")


@pytest.mark.parametrize("changed", [{"input": '{"where": "production"}'}, {"tool": "wipe"}])
async def test_what_is_not_what_was_approved_does_not_run(
    tmp_path: Path,
    board: Board,
    services: Services,
    deploying: Deploying,
    changed: dict[str, str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    @tool(approval=True)
    def wipe(where: str) -> str:
        raise AssertionError("it ran")

    services.model.script(turn(to("staging")), turn("Thanks."))
    own = (deploying.tool, wipe)
    async with engine(tmp_path, board, services, own=own, approvals=TEAM) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.store._database.run(  # pyright: ignore[reportPrivateUsage] - someone edits the rows
            lambda connection: connection.execute(update(calls).values(**changed)).rowcount
        )
        await one.press(ask, APPROVE, BEN)
        (result,) = await told(one, services)
        assert result["content"] == "The call was not run, because it is not the call that people approved."
        assert result["is_error"] is True
        assert deploying.ran == []
    (record,) = (one for one in caplog.records if getattr(one, "action", "") == "not_approved")
    assert record.levelno == logging.ERROR


async def test_a_call_about_which_nobody_has_decided_is_not_approved(database: Database) -> None:
    undecided = Call(tool_use_id="t1", tool="deploy", input={}, ask_id="a1", result=None, is_error=False)
    assert not await database.read(lambda connection: approvals.is_approved(connection, "c1", 1, undecided))


async def test_a_call_waits_for_its_approval_also_where_its_tool_needs_none_any_more(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    def deploy(where: str) -> str:
        deploying.ran.append(where)
        return f"deployed to {where}"

    services.model.script(turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("deploy it")
        await one.asked()
    async with engine(tmp_path, board, services, own=(deploy,)) as one:
        one.worker.wake()
        (ask,) = await one.asked()
        assert deploying.ran == []
        await one.press(ask, APPROVE, BEN)
        await told(one, services)
        assert deploying.ran == ["staging"]


async def test_a_call_of_before_its_tool_needed_approval_does_not_run(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    def deploy(where: str) -> str:
        raise AssertionError("it ran")

    services.model.script(turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploy,)) as one:

        async def never(*_: Any) -> NextStep:
            return NextStep()

        one.store.get_next_step = never
        await one.write("deploy it")
        await board.until(lambda: services.model.log)
        await eventually(lambda: _called(one))
    async with engine(tmp_path, board, services, own=(deploying.tool,)) as one:
        one.worker.wake()
        (result,) = await told(one, services)
        assert result["content"].startswith("deploy was not run: it now needs an approval, which is missing.")
        assert (deploying.ran, board.cards()) == ([], [])


async def _called(one: Engine) -> bool:
    conversation = await one.store.find_conversation(HERE)
    assert conversation is not None
    return (await type(one.store).get_next_step(one.store, conversation.id)).calls is not None


async def test_interrupted_after_an_approval_the_model_and_the_approvers_are_told_at_the_card(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn(to("staging")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("deploy it")
        (ask,) = await one.asked()
        await one.recorded(ask)
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM, work=False) as one:
        await one.press(ask, APPROVE, BEN)
        work = (await one.store.get_next_step(str(ask.conversation_id))).calls
        assert work is not None
        assert await one.store.start_call(str(ask.conversation_id), work.seq, work.calls[0].tool_use_id)
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        said = noticed(board)
        one.worker.wake()
        (result,) = await told(one, services)
        assert result["content"].startswith("Interrupted, outcome unknown")
        assert deploying.ran == []
        await one.says("I was interrupted while I ran “deploy”")
        (notice,) = (say for say in said if say.text.startswith("I was interrupted"))
        assert notice.mention == Who.from_people(BEN)
        assert notice.reply_to == next(iter((await current(one, ask)).messages))


async def test_beside_questions_and_other_tools_each_call_has_its_own_result(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    def look() -> str:
        return "green"

    said = turn(to("staging"), question(), call("look"), to("production"))
    services.model.script(said, turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool, look), approvals=TEAM) as one:
        await one.write("deploy it")
        await one.asked(3)
        first, asking, second = _shows(board, "staging"), _shows(board, "colour"), _shows(board, "production")
        await one.press(first, APPROVE, BEN)
        await eventually(lambda: _is(deploying.ran == ["staging"]))
        await one.press(second, Choose(index=1, reason="no"), CID)
        await one.press(asking, Choose(index=1), ANN)
        contents = [result["content"] for result in await told(one, services)]
        assert contents[0] == "deployed to staging"
        assert "Blue" in contents[1]
        assert contents[2:] == ["green", "deploy was denied by Cid: no. It was not run."]
        assert deploying.ran == ["staging"]


def _shows(board: Board, text: str) -> Ask:
    """Return the card whose prompt contains this text."""
    (found,) = (ask for ask in board.cards() if text in ask.interview.question.prompt)
    return found


async def _is(found: bool) -> bool:
    return found


async def test_one_that_is_approved_while_another_runs_runs_after_it(
    tmp_path: Path, board: Board, services: Services
) -> None:
    ran: list[str] = []
    pressed: list[Callable[[], Awaitable[Any]]] = []

    @tool(approval=True)
    async def deploy(where: str) -> str:
        ran.append(where)
        if where == "one":
            pressed.append(lambda: one.press(_shows(board, "two"), APPROVE))
        return where

    services.model.script(turn(to("one"), to("two")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploy,)) as one:
        await one.write("deploy it")
        await one.asked(2)
        begin_turn = one.store.begin_turn

        async def approved_in_between(*args: Any, **more: Any) -> Any:
            if pressed:
                await pressed.pop()()
            return await begin_turn(*args, **more)

        one.store.begin_turn = approved_in_between
        await one.press(_shows(board, "one"), APPROVE)
        assert [result["content"] for result in await told(one, services)] == ["one", "two"]
        assert ran == ["one", "two"]
