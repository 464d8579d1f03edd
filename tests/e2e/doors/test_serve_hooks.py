"""The hooks of Claude Code, which `askback serve` answers."""

from __future__ import annotations

import asyncio
from typing import Any

from e2e.ask.office import Office

from .http_caller import SECOND, caller, write_callers


async def test_hooks_of_claude_code_let_people_approve_calls_and_answer_questions(office: Office) -> None:
    call = {"command": "rm -r build"}
    options = [{"label": "Blue", "description": "As the sky."}, {"label": "Red", "description": "As a rose."}]
    questions = {
        "questions": [{"question": "Which colour?", "header": "Colour", "options": options, "multiSelect": False}]
    }
    office.settings = {"ASKBACK_APPROVAL_REASONS": "none"}
    file = write_callers(office, first='scopes = ["permit"]\napprovers = "@ada"')

    def hook(event: str, tool: str, given: dict[str, Any]) -> asyncio.Task[tuple[int, Any]]:
        body = {"hook_event_name": event, "tool_name": tool, "tool_input": given, "session_id": "s", "cwd": "/"}
        return asyncio.create_task(one.request("POST", "/v1/hooks/claude-code", json=body))

    async with caller(office, file=file) as one:
        asking = hook("PermissionRequest", "Bash", call)
        card = await office.card("Run Bash?")
        await office.press("ben", card, "Approve")
        assert not asking.done()
        await office.click("ada", "Approve", "Run Bash?")
        decision = {"behavior": "allow", "updatedInput": call}
        assert await asking == (
            200,
            {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}},
        )
        asking = hook("PreToolUse", "AskUserQuestion", questions)
        await office.click("ben", "Blue", "Which colour?")
        _, answer = await asking
        assert answer["hookSpecificOutput"]["permissionDecision"] == "allow"
        assert answer["hookSpecificOutput"]["updatedInput"]["answers"] == {"Which colour?": "Blue"}
        asking = hook("PreToolUse", "Bash", {"command": "reboot"})
        await office.click("ada", "Deny", "reboot")
        _, answer = await asking
        assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
        assert "denied" in answer["hookSpecificOutput"]["permissionDecisionReason"].casefold()


async def test_hooks_let_approvers_change_the_arguments_where_the_operator_allows_it(office: Office) -> None:
    file = write_callers(office, first='scopes = ["permit"]\napprovers = "anyone"\nedit = "Bash"')
    body = {
        "hook_event_name": "PermissionRequest",
        "tool_name": "Bash",
        "tool_input": {"command": "rm -r build"},
        "session_id": "s",
    }
    async with caller(office, file=file) as one:
        asking = asyncio.create_task(one.request("POST", "/v1/hooks/claude-code", json=body))
        await office.change("ben", {"command": "rm -r build/cache"}, "Run Bash?")
        await office.click("ada", "Approve", "rm -r build/cache")
        decision = {"behavior": "allow", "updatedInput": {"command": "rm -r build/cache"}}
        assert await asking == (
            200,
            {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}},
        )


async def test_an_elicitation_that_nobody_answers_is_cancelled_and_an_address_is_not_asked_about(
    office: Office,
) -> None:
    body: dict[str, Any] = {
        "hook_event_name": "Elicitation", "session_id": "s", "mcp_server_name": "booking", "message": "Which table?",
        "mode": "form", "requested_schema": {"type": "object", "properties": {"guests": {"type": "integer"}}},
    }  # fmt: skip
    async with caller(office, file=write_callers(office, first='scopes = ["permit"]\nwait = "1s"')) as one:
        answer = await one.request("POST", "/v1/hooks/claude-code", json=body)
        assert answer == (200, {"hookSpecificOutput": {"hookEventName": "Elicitation", "action": "cancel"}})
        address = body | {"mode": "url", "url": "https://example.com", "requested_schema": None}
        problem = await one.problem(422, "POST", "/v1/hooks/claude-code", json=address)
        assert "open it in Claude Code" in problem
        without = await one.problem(403, "POST", "/v1/hooks/claude-code", json=body, token=SECOND)
        assert "'permit'" in without
    assert len(office.shown()) <= 1
