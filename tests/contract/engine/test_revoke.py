"""`askback approvals` and `askback revoke`: an operator sees and ends what runs without a card, at the next call."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from askback import tool
from askback.agent.approvals import ApprovalRules
from askback.agent.concurrency_slots import MAX_SLOTS_PER_PERSON
from askback.cli.admin.revoke import revoke
from askback.cli.main import app
from askback.errors import OperatorError
from askback.store.url import parse_database_url
from askback_sandbox.model.script import call, turn
from askback_sandbox.services import Services
from support.approvals import ALWAYS, APPROVE, CID, TEAM, Deploying, to, told
from support.board import BEN, Board
from support.engine import engine, last_request, results
from support.stores import url_in

pytestmark = pytest.mark.usefixtures("stored")
RULES = ApprovalRules(approvers=TEAM.approvers, allow_always=True)


class Terminal:
    """An operator's terminal on the same database."""

    def __init__(self, url: str) -> None:
        self._where = parse_database_url(url)

    async def reads(self, *arguments: str) -> str:
        done = await asyncio.to_thread(CliRunner().invoke, app, arguments)
        assert done.exit_code == 0, done.exception
        return done.stdout

    async def revokes(self, prefix: str, reason: str | None = None) -> tuple[int, str]:
        said = io.StringIO()
        code = await revoke(self._where, prefix, reason, "olga", Console(file=said, soft_wrap=True, highlight=False))
        return code, said.getvalue().splitlines()[0]


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    url = url_in(tmp_path) or str(tmp_path / "askback.db")
    monkeypatch.setenv("ASKBACK_DATABASE_URL", url)
    return Terminal(url)


async def test_an_operator_ends_an_always_and_the_running_bot_asks_at_the_next_call(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying, terminal: Terminal
) -> None:
    services.model.script(
        turn(to("one")), turn("Done."), turn(to("two")), turn("Again."), turn(to("three")), turn("Thanks.")
    )
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=RULES) as one:
        await one.write("deploy it")
        (first,) = await one.asked()
        await one.press(first, ALWAYS, BEN)
        await one.says("Done.")
        await one.write("the next")
        await one.says("Again.")
        assert deploying.ran == ["one", "two"]

        (found,) = map(json.loads, (await terminal.reads("approvals", "--json")).splitlines())
        assert (found["id"], found["tool"], found["conversation"]) == (first.id, "deploy", first.conversation_id)
        assert [(given["id"], given["name"]) for given in found["given_by"]] == [("U2", "Ben")]
        said = await terminal.reads("approvals")
        assert f"{first.id}  deploy, since " in said
        assert "given by: Ben (U2)" in said

        code, said = await terminal.revokes(first.id[:8], "Freeze until Monday")
        assert (code, said) == (0, f"Revoked {first.id}: each call of deploy needs approval again.")
        assert "No tool may run without a card" in await terminal.reads("approvals")
        code, said = await terminal.revokes(first.id)
        assert (code, said.startswith(f"Nothing changed: {first.id} was already revoked at ")) == (1, True)

        await one.write("and the last")
        (asked,) = await one.asked()
        assert asked.id != first.id
        assert deploying.ran == ["one", "two"]
        await one.press(asked, APPROVE, CID)
        await told(one, services)
        assert deploying.ran == ["one", "two", "three"]

    shown = await terminal.reads("show", first.id)
    assert "“Always in this conversation”" in shown
    assert "revoked " in shown
    assert "Freeze until Monday" in shown
    assert "revoked" in json.loads(await terminal.reads("show", first.id, "--json"))["outcome"]


async def test_a_call_that_was_let_through_but_has_not_begun_does_not_run(
    tmp_path: Path, board: Board, services: Services, terminal: Terminal
) -> None:
    ran: list[str] = []
    begun = 0
    revoked = asyncio.Event()

    @tool(approval=True)
    async def deploy(where: str) -> str:
        """Revoke the approval once no more calls can begin, and end then."""
        nonlocal begun
        ran.append(where)
        if where != "first":
            begun += 1
            if begun == MAX_SLOTS_PER_PERSON:
                await terminal.revokes(first.id)
                revoked.set()
            await revoked.wait()
        return where

    others = tuple(call("deploy", where=str(number)) for number in range(MAX_SLOTS_PER_PERSON + 1))
    services.model.script(turn(call("deploy", where="first")), turn("Done."), turn(*others), turn("Sorry."))
    async with engine(tmp_path, board, services, own=(deploy,), approvals=RULES) as one:
        await one.write("deploy it")
        (first,) = await one.asked()
        await one.press(first, ALWAYS, BEN)
        await one.says("Done.")
        await one.write("the others")
        await one.says("Sorry.")
    assert len(ran) == MAX_SLOTS_PER_PERSON + 1
    said = [block["content"] for block in results(last_request(services))]
    assert sum("the approval of all calls of this tool was revoked" in str(one) for one in said) == 1


async def test_only_an_always_can_be_revoked_and_a_new_conversation_ends_it_too(
    tmp_path: Path, board: Board, services: Services, deploying: Deploying, terminal: Terminal
) -> None:
    services.model.script(turn(to("one")), turn("Done."), turn(to("two")), turn("Again."))
    async with engine(tmp_path, board, services, own=(deploying.tool,), approvals=RULES) as one:
        await one.write("deploy it")
        (only,) = await one.asked()
        await one.press(only, APPROVE, BEN)
        await one.says("Done.")
        code, said = await terminal.revokes(only.id)
        assert (code, said) == (1, f"Nothing changed: {only.id} lets no later call run without a card.")
        with pytest.raises(OperatorError, match="no question whose id begins with 'zzz'"):
            await terminal.revokes("zzz")
        await one.write("again")
        (always,) = await one.asked()
        await one.press(always, ALWAYS, BEN)
        await one.says("Again.")
        assert always.id in await terminal.reads("approvals")
        await one.write("new")
        assert always.id not in await terminal.reads("approvals")
