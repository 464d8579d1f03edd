"""The real Claude Code lets people answer and approve, through `askback mcp` and `askback serve`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from askback_sandbox.model.script import call
from e2e.ask.office import Office
from support.claude_goldens import FILE

from .claude import PERMIT, claude, http_hooks, mcp_server, program_server
from .http_caller import FIRST, serve, write_callers

GOLDENS: dict[str, str] = json.loads(FILE.read_text(encoding="utf-8"))["results"]
TOUCH, REMOVE = "touch approved", "rm -r build"
EITHER = "Something else or a note…"
DRAFT = "( )\n( )"


def ask_where(**more: Any) -> Any:
    """Return the call of `AskUserQuestion` of which the recorded sentences tell."""
    options = [
        {"label": "Staging", "description": "A copy.", **more},
        {"label": "Production, EU", "description": "For all."},
    ]
    return [{"question": "Where?", "header": "Where", "options": options, "multiSelect": False}]


@pytest.fixture
def quick(office: Office) -> Office:
    """An office in which approvers give no reasons."""
    office.settings = {"ASKBACK_APPROVAL_REASONS": "none"}
    return office


async def test_people_approve_and_deny_calls_through_the_permission_prompt_tool(quick: Office) -> None:
    servers = {"askback": mcp_server(quick, "--permit", "--approvers", "@ada")}
    calls = [call("Bash", command=command, description="Work") for command in (TOUCH, REMOVE)]
    async with claude(quick, *calls, servers=servers, options=PERMIT) as run:
        await quick.click("ada", "Approve", TOUCH)
        await quick.click("ada", "Deny", REMOVE)
        approved, denied = await run.ended()
    assert not approved.error
    assert (quick.folder / "claude" / "approved").exists()
    assert denied.error
    assert denied.text.startswith("Bash was denied by ")
    assert len(quick.shown()) == 2


async def test_people_answer_claudes_questions_and_the_model_reads_what_they_meant(office: Office) -> None:
    forged: Any = {"answers": {"Where?": "Production, EU"}, "annotations": {"Where?": {"notes": "and hurry"}}}
    calls = [
        call("AskUserQuestion", questions=ask_where(), **forged),
        call("AskUserQuestion", questions=ask_where(preview=DRAFT)),
        *(call("AskUserQuestion", questions=ask_where()) for _ in range(4)),
    ]
    servers = {"askback": mcp_server(office, "--permit")}

    async def answer(number: int, person: str, label: str, *text: str, option: int | None = None) -> None:
        await office.until(lambda: len(office.shown()) == number)
        if text:
            await office.fill(person, label, *text, "Where?", option=option)
        else:
            await office.click(person, label, "Where?")

    async with claude(office, *calls, servers=servers, options=PERMIT) as run:
        await answer(1, "ben", "Staging")
        await answer(2, "ben", "Staging")
        await answer(3, "ada", EITHER, "On my machine")
        await answer(4, "ada", EITHER, "but after six", option=0)
        await answer(5, "ada", "Not now…", "What does it cost?")
        await answer(6, "ada", "Not now…", "")
        results = await run.ended()
    texts = [result.text for result in results]
    assert texts[:5] == [
        GOLDENS["one label"],
        GOLDENS["a preview"].replace('"Which shape?"="Round"', '"Where?"="Staging"'),
        GOLDENS["a written answer"],
        GOLDENS["a note"],
        GOLDENS["a response"],
    ]
    assert texts[5].startswith("The person wants to discuss this before anybody answers.")
    assert any("but after six" in office.reads(card) for card in office.shown())


async def test_the_ask_tool_waits_until_people_answer(office: Office) -> None:
    asking = call("mcp__askback__ask", question="Deploy 1.4.2?", options=["Yes", "No"])
    settings = {"permissions": {"allow": ["mcp__askback"]}}
    async with claude(office, asking, servers={"askback": mcp_server(office)}, settings=settings) as run:
        await office.click("ada", "Yes")
        (answer,) = await run.ended()
    found = json.loads(answer.text)
    assert (found["status"], found["answer"], found["approved"]) == ("answered", "Yes", True)
    assert len(office.shown()) == 1


async def test_http_hooks_let_people_approve_calls_and_answer_questions_and_elicitations(quick: Office) -> None:
    file = write_callers(quick, first='scopes = ["permit"]\napprovers = "@ada"')
    _, address = await serve(quick, file=file)
    hooks = http_hooks(address, FIRST, "PermissionRequest", "Elicitation") | {
        "PreToolUse": [{**http_hooks(address, FIRST, "x")["x"][0], "matcher": "AskUserQuestion"}]
    }
    settings = {"hooks": hooks, "permissions": {"allow": ["mcp__booking"]}}
    servers = {
        "booking": program_server(Path(__file__).with_name("eliciting_server.py")),
        # Claude Code offers the tool only to sessions in which somebody can answer.
        "askback": mcp_server(quick, "--permit"),
    }
    calls = [
        call("Bash", command=TOUCH, description="Work"),
        call("Bash", command=REMOVE, description="Work"),
        call("AskUserQuestion", questions=ask_where()),
        call("mcp__booking__book"),
        call("mcp__booking__cancel"),
        call("mcp__booking__cancel"),
    ]
    async with claude(quick, *calls, servers=servers, settings=settings, options=PERMIT) as run:
        await quick.click("ada", "Approve", TOUCH)
        await quick.click("ada", "Deny", REMOVE)
        await quick.click("ben", "Staging", "Where?")
        await quick.fill("ben", "Write an answer…", "4", "booking: Which table?")
        await quick.click("ben", "inside", "Where to sit")
        await quick.click("ben", "Send", "inside")
        await quick.click("ben", "Accept", "booking: Cancel the booking?")
        await quick.click("ben", "Decline", "booking: Cancel the booking?")
        results = await run.ended()
    assert (quick.folder / "claude" / "approved").exists()
    assert "was denied by" in results[1].text
    assert results[2].text == GOLDENS["one label"]
    assert [json.loads(json.loads(result.text)["result"]) for result in results[3:]] == [
        ["accept", {"guests": 4, "seat": "inside"}],
        ["accept", {}],
        ["decline", None],
    ]
    assert len(quick.shown()) == 6
