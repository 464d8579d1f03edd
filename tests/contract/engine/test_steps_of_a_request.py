"""A request with several steps: whoever wrote it decides about none of them, until somebody asks for something new."""

from __future__ import annotations

from pathlib import Path

import pytest

from askback import tool
from askback.agent.approvals import ApprovalRules
from askback.domain.actions import SubmitText
from askback.domain.ask import Ask
from askback.domain.ask_policy import OWN_CALL
from askback.domain.click_response import Notice
from askback.domain.identity import Actor
from askback.domain.who import Who
from askback_sandbox.model.script import turn
from askback_sandbox.services import Services
from support.approvals import APPROVE, CID, DENY, TEAM, Deploying, to, told
from support.board import ANN, BEN, Board
from support.engine import Engine, engine, question

DAN = Actor(platform="board", tenant="T1", id="U4", name="Dan")

pytestmark = pytest.mark.usefixtures("stored")


async def next_card(board: Board, *before: Ask) -> Ask:
    """Return the open card that follows these."""
    known = {ask.id for ask in before}
    (card,) = await board.until(lambda: [ask for ask in board.open() if ask.id not in known])
    return card


async def refuses_words_of(one: Engine, ask: Ask, by: Actor) -> None:
    response = await one.press(ask, APPROVE, by)
    assert isinstance(response, Notice), f"{by.name} decides about a call that may follow their words"
    assert response.text == OWN_CALL


async def test_whoever_asks_for_two_steps_in_one_message_decides_about_neither(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn("Hi"), turn(to("staging 1.4.2")), turn(to("production 6.6.6")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("hello")
        await one.says("Hi")
        await one.write("deploy 1.4.2 to staging, and when that is out 6.6.6 to production", author=BEN)
        (first,) = await one.asked()
        await one.press(first, APPROVE, CID)
        second = await next_card(board, first)
        await refuses_words_of(one, second, BEN)
        assert deploying.ran == ["staging 1.4.2"]
        await one.press(second, APPROVE, CID)
        await told(one, services)
        assert deploying.ran == ["staging 1.4.2", "production 6.6.6"]


async def test_a_remark_from_before_the_decision_asks_for_nothing_new(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying
) -> None:
    services.model.script(turn("Hi"), turn(to("staging 1.4.2")), turn(to("production 6.6.6")), turn("Thanks."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=TEAM) as one:
        await one.write("hello")
        await one.says("Hi")
        await one.write("deploy 1.4.2 to staging, and when that is out 6.6.6 to production", author=BEN)
        (first,) = await one.asked()
        await one.write("fine with me")
        await one.press(first, APPROVE, CID)
        await refuses_words_of(one, await next_card(board, first), BEN)


@pytest.mark.parametrize("said", ["a reason", "an answer"])
async def test_what_people_write_about_a_step_asks_for_nothing_new(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying, said: str
) -> None:
    """A reason to deny and the answer to a question belong to the request that led to them."""
    rules = ApprovalRules(approvers={"board": Who.from_people(BEN, CID, DAN)})
    between = to("production 6.6.6") if said == "a reason" else question()
    services.model.script(
        turn("Hi"), turn(to("staging 1.4.2")), turn(between), turn(to("production 6.6.6")), turn("Thanks.")
    )
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=rules) as one:
        await one.write("hello")
        await one.says("Hi")
        await one.write("deploy 1.4.2 to staging, and 6.6.6 to production until it is out", author=BEN)
        (first,) = await one.asked()
        await one.press(first, APPROVE, CID)
        middle = await next_card(board, first)
        if said == "a reason":
            await one.press(middle, DENY.evolve(reason="not yet"), DAN)
        else:
            await one.press(middle, SubmitText(text="green"), ANN)
        await refuses_words_of(one, await next_card(board, first, middle), BEN)


async def test_an_approved_call_that_failed_leaves_open_what_was_asked_for(
    tmp_path: Path, board: Board, services: Services
) -> None:
    ran: list[str] = []

    @tool(approval=True)
    def deploy(where: str) -> str:
        if where == "production 6.6.6":
            raise RuntimeError("no such cluster")
        ran.append(where)
        return "deployed"

    services.model.script(
        turn("Hi"), turn(to("production 6.6.6")), turn("It failed."), turn(to("production-eu 6.6.6")), turn("Thanks.")
    )
    async with engine(tmp_path, board, services, own=(deploy,), approvals=TEAM) as one:
        await one.write("hello")
        await one.says("Hi")
        await one.write("deploy 6.6.6 to production, or wherever it works", author=BEN)
        (first,) = await one.asked()
        await one.press(first, APPROVE, CID)
        await one.says("It failed.")
        await one.write("oh dear")
        await refuses_words_of(one, await next_card(board, first), BEN)
        assert ran == []
