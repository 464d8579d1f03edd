"""A tool that needs approval, its approvers, and helpers to check the results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from askback import tool
from askback.agent.approvals import ApprovalRules
from askback.domain.actions import Choose
from askback.domain.ask import Ask
from askback.domain.identity import Actor
from askback.domain.who import Who
from askback_sandbox.model.script import call
from askback_sandbox.services import Services
from support.board import ANN, BEN, Board
from support.engine import Engine, last_request, results

APPROVE, DENY, ALWAYS = Choose(index=0), Choose(index=1), Choose(index=2)
CID = Actor(platform="board", tenant="T1", id="U3", name="Cid")
TEAM = ApprovalRules(approvers={"board": Who.from_people(BEN, CID)})
PAIR = ApprovalRules(approvers={"board": Who.from_people(ANN, BEN, CID)}, quorum=2)


class Deploying:
    """A tool that needs approval, and its effects."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        ran = self.ran

        @tool(approval=True)
        def deploy(where: str) -> str:
            """Deploy it."""
            ran.append(where)
            return f"deployed to {where}"

        self.tool: Callable[[str], str] = deploy


def to(where: str) -> Any:
    return call("deploy", where=where)


async def told(one: Engine, services: Services) -> list[dict[str, Any]]:
    """Return the results of the model's calls, once it has ended."""
    await one.says("Thanks.")
    return results(last_request(services))


async def current(one: Engine, ask: Ask) -> Ask:
    found = await one.manager.get(ask.id)
    assert found is not None
    return found


def noticed(board: Board) -> list[Any]:
    """Return a list that collects everything posted on the board from now on."""
    said: list[Any] = []
    post = board.post

    async def noted(place: Any, one: Any) -> Any:
        said.append(one)
        return await post(place, one)

    board.post = noted
    return said
