"""Interactive sessions of the real Claude Code at a terminal: people in the chat answer and approve."""

from __future__ import annotations

import json
import re
from typing import Any

from askback_sandbox.model.script import call
from e2e.ask.office import Office

from .claude import GOLDENS, NEXT, TOUCH, Claude, ask_where, claude_session, http_hooks, mcp_server
from .http_agent import FIRST as AGENT
from .http_agent import serve as serve_mcp
from .http_caller import FIRST, serve, write_callers

ASK = call("mcp__askback__ask", question="Deploy 1.4.2?", options=["Yes", "No"])
ALLOWED: dict[str, Any] = {"permissions": {"allow": ["mcp__askback"]}}


async def test_people_answer_and_approve_what_a_session_asks_and_it_goes_on(office: Office) -> None:
    office.settings = {"ASKBACK_APPROVAL_REASONS": "none"}
    _, address = await serve(office, file=write_callers(office, first='scopes = ["permit"]\napprovers = "@ada"'))
    hooks = http_hooks(address, FIRST, "PermissionRequest", matcher="Bash")
    hooks |= http_hooks(address, FIRST, "PreToolUse", matcher="AskUserQuestion")
    calls = (call("AskUserQuestion", questions=ask_where()), call("Bash", command=TOUCH, description="Work"))
    async with claude_session(office, *calls, settings={"hooks": hooks}) as (run, terminal):
        await office.click("ben", "Staging", "Where?")
        await office.click("ada", "Approve", TOUCH)
        await terminal.sees("claude: Done.")
        terminal.type(NEXT)
        await terminal.sees(NEXT)
        terminal.type("\r")
        await terminal.sees("claude: Going on.")
        where, touched = (result for one in run.calls for result in one.results)
    assert where.text == GOLDENS["one label"]
    assert not touched.error
    assert (office.folder / "claude" / "approved").exists()
    assert len(office.shown()) == 2


async def test_the_answer_to_the_ask_tool_wakes_a_session_that_has_ended_its_turn(office: Office) -> None:
    async with claude_session(office, ASK, servers={"askback": mcp_server(office)}, settings=ALLOWED) as (
        run,
        terminal,
    ):
        await terminal.sees("claude: Done.")
        await office.click("ada", "Yes")
        await terminal.sees("claude: Going on.")
        assert read_answer(run) == ("answered", "Yes")
    assert len(office.shown()) == 1


async def test_a_session_gets_the_answer_although_the_server_was_restarted_meanwhile(office: Office) -> None:
    await office.bot()
    process, address = await serve_mcp(office)
    (port,) = re.findall(r":(\d+)/mcp", address)
    server = {"type": "http", "url": address, "headers": {"Authorization": f"Bearer {AGENT}"}}
    async with claude_session(office, ASK, servers={"askback": server}, settings=ALLOWED) as (run, terminal):
        await terminal.sees("claude: Done.")
        await process.kill()
        await office.click("ada", "Yes")
        await office.settled("Deploy 1.4.2?", "Yes")
        await serve_mcp(office, "--http", port)
        await terminal.sees("claude: Going on.")
        assert read_answer(run) == ("answered", "Yes")
    assert len(office.shown()) == 1


def read_answer(run: Claude) -> tuple[str, str]:
    """Return the status and the answer in the notice with which Claude Code wakes its model."""
    (result,) = re.findall(r"<result>\n(.*)\n</result>", run.notices)
    found = json.loads(result)
    return found["status"], found["answer"]
