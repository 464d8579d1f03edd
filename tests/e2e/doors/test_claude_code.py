"""The real Claude Code lets people answer and approve, through `askback mcp` and `askback serve`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from askback_sandbox.json_values import as_object, as_text, objects
from askback_sandbox.model.script import call
from e2e.ask.office import Office
from support.claude_goldens import EXTENDED

from .claude import GOLDENS, PERMIT, REMOVE, TOUCH, ask_where, claude, http_hooks, mcp_server, program_server
from .http_agent import FIRST as AGENT
from .http_agent import serve as serve_mcp
from .http_caller import FIRST, serve, write_callers

EITHER = "Something else or a note…"
DRAFT = "( )\n( )"


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


async def test_people_read_and_keep_to_the_further_fields_of_claudes_questions(office: Office) -> None:
    count = {"kind": "number", "min": 10, "max": 50, "step": 5, "unit": "slides"}
    questions: Any = [
        {"question": "How long?", "header": "Length", "description": "One for each minute.", **count},
        {"question": "Which name?", "header": "Name", "kind": "text", "placeholder": "Ada's deck"},
    ]
    asking = call("AskUserQuestion", title="Before I build your deck", questions=questions)
    servers = {"askback": mcp_server(office, "--permit")}
    async with claude(office, asking, servers=servers, options=PERMIT, environment=EXTENDED) as run:
        shown = office.reads(await office.card("How long?"))
        parts = ("Before I build your deck", "How long?", "One for each minute.", "from 10 to 50", "Unit: slides")
        assert all(part in shown for part in parts), shown
        await office.fill("ada", "Write an answer…", "15", "How long?")
        await office.fill("ada", "Write an answer…", "Launch", "Which name?")
        await office.click("ada", "Submit", "Review your answers")
        (answered,) = await run.ended()
    assert '"How long?"="15", "Which name?"="Launch"' in answered.text


async def test_the_ask_tool_waits_until_people_answer(office: Office) -> None:
    asking = call("mcp__askback__ask", question="Deploy 1.4.2?", options=["Yes", "No"])
    settings = {"permissions": {"allow": ["mcp__askback"]}}
    async with claude(office, asking, servers={"askback": mcp_server(office)}, settings=settings) as run:
        await office.click("ada", "Yes")
        (answer,) = await run.ended()
    found = json.loads(answer.text)
    assert (found["status"], found["answer"], found["approved"]) == ("answered", "Yes", True)
    assert len(office.shown()) == 1


async def test_claude_code_accepts_the_results_of_every_tool_and_its_model_pays_for_no_schema_of_them(
    office: Office,
) -> None:
    question: Any = {"question": "Deploy 1.4.2?", "options": ["Yes", "No"]}
    calls = [
        call("mcp__askback__ask", **question),
        call("mcp__askback__AskUserQuestion", questions=ask_where()),
        call("mcp__askback__pending"),
        call("mcp__askback__wait", id="x"),
        call("mcp__askback__cancel", id="x"),
    ]
    servers = {"askback": mcp_server(office, "--call-wait", "1s")}
    settings = {"permissions": {"allow": ["mcp__askback"]}}
    async with claude(office, *calls, servers=servers, settings=settings) as run:
        asked, where, listed, *unknown = await run.ended()
    opened = [json.loads(one.text) for one in (asked, where)]
    assert [(one.error, found["status"]) for one, found in zip((asked, where), opened, strict=True)] == [
        (False, "open"),
        (False, "open"),
    ]
    assert not listed.error
    assert [one["id"] for one in json.loads(listed.text)["pending"]] == [one["id"] for one in opened]
    assert all(one.error and one.text.startswith("You have no question with the id 'x'") for one in unknown)
    tools = [tool for one in office.services.model.log for tool in objects(as_object(one.request).get("tools"))]
    ours = [tool for tool in tools if as_text(tool["name"]).startswith("mcp__askback__")]
    assert {name for tool in ours for name in tool} == {"name", "description", "input_schema"}


async def test_the_hook_for_permissions_lets_people_approve_and_deny_calls(quick: Office) -> None:
    _, address = await serve(quick, file=write_callers(quick, first='scopes = ["permit"]\napprovers = "@ada"'))
    calls = [call("Bash", command=command, description="Work") for command in (TOUCH, REMOVE)]
    settings = {"hooks": http_hooks(address, FIRST, "PermissionRequest")}
    async with claude(quick, *calls, settings=settings) as run:
        await quick.click("ada", "Approve", TOUCH)
        await quick.click("ada", "Deny", REMOVE)
        approved, denied = await run.ended()
    assert not approved.error
    assert (quick.folder / "claude" / "approved").exists()
    assert denied.error
    assert denied.text.startswith("Bash was denied by ")


async def test_the_hook_before_tools_lets_people_answer_claudes_questions(quick: Office) -> None:
    _, address = await serve(quick, file=write_callers(quick, first='scopes = ["permit"]'))
    settings = {"hooks": http_hooks(address, FIRST, "PreToolUse", matcher="AskUserQuestion")}
    # Claude Code offers the tool only to sessions in which somebody can answer, and asks the hook first.
    servers = {"askback": mcp_server(quick, "--permit")}
    asking = call("AskUserQuestion", questions=ask_where())
    async with claude(quick, asking, servers=servers, settings=settings, options=PERMIT) as run:
        await quick.click("ben", "Staging", "Where?")
        (answered,) = await run.ended()
    assert answered.text == GOLDENS["one label"]
    assert len(quick.shown()) == 1


async def test_the_elicitation_hook_lets_people_answer_what_another_server_asks(quick: Office) -> None:
    _, address = await serve(quick, file=write_callers(quick, first='scopes = ["permit"]'))
    settings = {
        "hooks": http_hooks(address, FIRST, "Elicitation"),
        "permissions": {"allow": ["mcp__booking"]},
    }
    servers = {"booking": program_server(Path(__file__).with_name("eliciting_server.py"))}
    calls = [call(f"mcp__booking__{tool}") for tool in ("book", "cancel", "cancel", "book")]
    async with claude(quick, *calls, servers=servers, settings=settings) as run:
        await quick.fill("ben", "Write an answer…", "4", "booking: Which table?")
        await quick.click("ben", "inside", "Where to sit")
        await quick.click("ben", "Submit", "inside")
        await quick.click("ben", "Accept", "booking: Cancel the booking?")
        await quick.until(lambda: len(quick.shown()) == 3)
        await quick.click("ben", "Decline", "booking: Cancel the booking?")
        await quick.until(lambda: len(quick.shown()) == 4)
        await quick.fill("ben", "Not now…", "Ask Cy.", "booking: Which table?")
        results = await run.ended()
    assert [json.loads(json.loads(result.text)["result"]) for result in results] == [
        ["accept", {"guests": 4, "seat": "inside"}],
        ["accept", {}],
        ["decline", None],
        ["decline", None],
    ]


async def test_a_run_after_a_kill_finds_the_open_question_and_asks_nobody_twice(office: Office) -> None:
    asking = [call("mcp__askback__ask", question="Deploy 1.4.2?", options=["Yes", "No"])]
    asking.append(call("AskUserQuestion", questions=ask_where()))
    settings = {"permissions": {"allow": ["mcp__askback"]}}
    how: Any = {"servers": {"askback": mcp_server(office, "--permit")}, "settings": settings, "options": PERMIT}
    for number, one in enumerate(asking, 1):
        async with claude(office, one, **how) as run:
            await office.until(lambda number=number: len(office.shown()) == number)
            await run.kill()
    async with claude(office, *asking, **how) as run:
        await office.click("ada", "Yes")
        await office.click("ada", "Staging", "Where?")
        deployed, where = await run.ended()
    assert json.loads(deployed.text)["answer"] == "Yes"
    assert where.text == GOLDENS["one label"]
    assert len(office.shown()) == 2


async def test_wait_gets_an_answer_from_a_time_when_neither_claude_nor_the_server_ran(office: Office) -> None:
    await office.bot()
    settings = {"permissions": {"allow": ["mcp__askback"]}}
    how: Any = {"servers": {"askback": mcp_server(office, "--call-wait", "1s")}, "settings": settings}
    asking = call("mcp__askback__ask", question="Deploy 1.4.2?", options=["Yes", "No"])
    async with claude(office, asking, **how) as run:
        (asked,) = await run.ended()
    found = json.loads(asked.text)
    assert found["status"] == "open"
    await office.click("ada", "Yes")
    await office.settled("Deploy 1.4.2?", "Yes")
    async with claude(office, call("mcp__askback__wait", id=found["id"]), **how) as run:
        (answer,) = await run.ended()
    assert json.loads(answer.text)["answer"] == "Yes"
    assert len(office.shown()) == 1


async def test_a_server_that_outlives_claude_gives_its_answer_to_the_next_run_once(office: Office) -> None:
    _, address = await serve_mcp(office)
    server = {"type": "http", "url": address, "headers": {"Authorization": f"Bearer {AGENT}"}}
    how: Any = {"servers": {"askback": server}, "settings": {"permissions": {"allow": ["mcp__askback"]}}}
    asking = call("mcp__askback__ask", question="Deploy 1.4.2?", options=["Yes", "No"])
    async with claude(office, asking, **how) as run:
        await office.card()
        await run.kill()
    await office.click("ada", "Yes")
    await office.settled("Deploy 1.4.2?", "Yes")
    async with claude(office, asking, asking, **how) as run:
        await office.until(lambda: len(office.shown()) == 2)  # the second call is a new question
        await office.click("ben", "No")
        answers = [json.loads(result.text)["answer"] for result in await run.ended()]
    assert answers == ["Yes", "No"]


@pytest.mark.parametrize("resumed", [False, True])
async def test_an_approval_does_not_outlive_the_run_that_asked(quick: Office, resumed: bool) -> None:
    servers = {"askback": mcp_server(quick, "--permit", "--approvers", "@ada")}
    work = call("Bash", command=TOUCH, description="Work")
    async with claude(quick, work, servers=servers, options=PERMIT) as run:
        await quick.card(TOUCH)
        (first,) = run.calls
        await run.kill()
    # A resumed session begins with two turns: the call, and what Claude Code says about its interruption.
    calls, options = ((work,) * 3, ("--resume", run.session)) if resumed else ((work,), ())
    async with claude(quick, *calls, servers=servers, options=(*PERMIT, *options)) as run:
        await quick.until(lambda: len(quick.shown()) == 2)
        await quick.press("ada", quick.shown()[0], "Approve")
        await quick.settled(TOUCH, "Approved")
        (again,) = run.calls
        assert again.id != first.id
        assert not again.results
        assert not (quick.folder / "claude" / "approved").exists()
        await quick.click("ada", "Approve", TOUCH)
        (done,) = await run.ended()
    assert not done.error
    assert (quick.folder / "claude" / "approved").exists()


async def test_a_server_that_is_killed_ends_the_call_and_leaves_its_question_open(office: Office) -> None:
    asking = call("mcp__askback__ask", question="Deploy 1.4.2?", options=["Yes", "No"])
    work = call("Bash", command=TOUCH, description="Work")
    server = mcp_server(office, "--permit", "--approvers", "anyone")
    how: Any = {
        "servers": {"askback": server}, "settings": {"permissions": {"allow": ["mcp__askback"]}}, "options": PERMIT
    }  # fmt: skip
    async with claude(office, asking, **how) as run:
        await office.card()
        await run.kill_servers()
        (failed,) = await run.ended()
    assert failed.error
    async with claude(office, work, **how) as run:
        await office.card(TOUCH)
        await run.kill_servers()
        (refused,) = await run.ended()
    assert refused.error
    assert not (office.folder / "claude" / "approved").exists()
    async with claude(office, asking, **how) as run:
        await office.click("ada", "Yes")
        (answer,) = await run.ended()
    assert json.loads(answer.text)["answer"] == "Yes"
    assert len(office.shown()) == 2
