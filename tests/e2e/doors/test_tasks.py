"""The tasks of `askback mcp`: a client that asks later gets the answer, whatever was killed meanwhile."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import datetime
from typing import Any

import pytest
from mcp import MCPError

from askback.doors.mcp_tasks import TASKS
from e2e.ask.office import Office

from .client import OPTIONS, Agent, agent
from .tasks_client import Task, TasksClient, send

QUESTION = {"question": "Deploy 1.4.2?", "options": OPTIONS}


async def begin(one: Agent, tool: str = "ask", given: Any = QUESTION) -> Task:
    """Call a tool whose result must be a task."""
    found: Any = await one.client.session.call_tool(tool, given, allow_claimed=True)
    assert isinstance(found, Task), found
    return found


async def test_a_call_becomes_a_task_and_ends_with_the_answer(office: Office) -> None:
    extension = TasksClient()
    async with agent(office, extensions=[extension]) as one:
        asking = asyncio.create_task(one.deploy())
        await office.click("ada", "Yes")
        answer = await asking
    assert (answer["status"], answer["answer"]) == ("answered", "Yes")
    assert answer["message"].startswith("Answered by ")
    (task,) = extension.tasks
    assert task.status == "working"
    assert task.model_dump(by_alias=True)["ttlMs"] is None
    assert answer["id"] == task.task_id


async def test_the_answer_is_there_after_the_server_was_killed(stored_office: Office) -> None:
    office = stored_office
    with suppress(BaseExceptionGroup, Exception):
        async with agent(office, extensions=[TasksClient()]) as one:
            task = await begin(one)
            await office.card()
            await one.process.kill()
    async with agent(office, extensions=[TasksClient()]) as one:
        working = await send(one.client.session, "get", task.task_id)
        assert working["status"] == "working"
        assert working["lastUpdatedAt"] == working["createdAt"]
        await office.click("ada", "Yes")
        await office.settled("Deploy 1.4.2?", "Yes")
        for _ in range(2):
            found = await send(one.client.session, "get", task.task_id)
            assert found["status"] == "completed"
            assert found["result"]["structuredContent"]["answer"] == "Yes"
            assert found["result"]["structuredContent"]["at"] == found["lastUpdatedAt"]
            assert found["createdAt"] == working["createdAt"]
            assert datetime.fromisoformat(found["createdAt"]) < datetime.fromisoformat(found["lastUpdatedAt"])
            assert found["createdAt"].endswith("Z")
            assert found["lastUpdatedAt"].endswith("Z")
            assert found["result"]["content"][0]["text"].startswith("Answered by ")
    assert len(office.shown()) == 1


async def test_a_cancelled_task_withdraws_its_question_and_an_answered_one_stays_answered(office: Office) -> None:
    async with agent(office, extensions=[TasksClient()]) as one:
        task = await begin(one)
        await office.card()
        await send(one.client.session, "cancel", task.task_id)
        found = await send(one.client.session, "get", task.task_id)
        assert found["status"] == "cancelled"
        assert "withdrew" in found["statusMessage"]
        await office.settled("Deploy 1.4.2?", "withdrew")  # the next card reads the same, and must be the one pressed
        task = await begin(one)
        await office.click("ada", "No")
        await office.settled("Deploy 1.4.2?", "No")
        await send(one.client.session, "cancel", task.task_id)
        found = await send(one.client.session, "get", task.task_id)
        assert (found["status"], found["result"]["structuredContent"]["status"]) == ("completed", "refused")


async def test_nobody_else_learns_of_a_task(office: Office) -> None:
    async with agent(office, "--name", "one", extensions=[TasksClient()]) as one:
        task = await begin(one)
    async with agent(office, "--name", "other", extensions=[TasksClient()]) as other:
        for method in ("get", "cancel", "update"):
            with pytest.raises(MCPError, match="no task") as caught:
                await send(other.client.session, method, task.task_id)
            assert caught.value.error.code == -32602


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_without_tasks_gets_none(office: Office, mode: str) -> None:
    async with agent(office, "--call-wait", "1s", mode=mode) as one:
        assert (await one.deploy())["status"] == "open"
        if mode == "auto":
            with pytest.raises(MCPError, match="capability") as caught:
                await send(one.client.session, "get", "x")
            assert caught.value.error.code == -32021
            assert caught.value.error.data == {"requiredCapabilities": {"extensions": {TASKS: {}}}}


async def test_an_approval_is_never_a_task(office: Office) -> None:
    """The model gets the result of a task in words that say that it is nobody's consent."""
    async with agent(office, "--permit", "--approvers", "anyone", extensions=[TasksClient()]) as one:
        given = {"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "toolu_1"}
        asking = asyncio.create_task(one.call_raw("permit", given))
        await office.click("ada", "Approve", "Run Bash?")
        assert '"allow"' in (await asking).content[0].text


async def test_a_wrong_call_is_an_error_and_no_task(office: Office) -> None:
    async with agent(office, extensions=[TasksClient()]) as one:
        assert "invalid" in await one.error("ask", options=OPTIONS)
    assert office.shown() == []
