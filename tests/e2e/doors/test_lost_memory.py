"""A model that lost its memory, as in a new session, finds what it has asked, and reads what people answered."""

from __future__ import annotations

import pytest

from e2e.ask.office import Office

from .client import agent, permit
from .killed_servers import DOORS, Door


@pytest.mark.parametrize("door", DOORS, ids=lambda one: f"{one.transport}-{one.mode}")
async def test_pending_lists_an_answer_that_no_call_has_received(office: Office, door: Door) -> None:
    async with door.open(office, "--call-wait", "1s") as one:
        asked = await one.deploy()
        assert asked["status"] == "open"
        found = await one.call("pending")
        assert ([entry["id"] for entry in found["pending"]], found["unread"]) == ([asked["id"]], [])
        assert found["message"].startswith("1 open question: ")
        await office.click("ada", "Yes")
        await office.settled("Deploy 1.4.2?", "Yes")
    async with door.open(office, "--call-wait", "1s") as one:
        found = await one.call("pending")
        (entry,) = found["unread"]
        assert (entry["id"], entry["question"], entry["status"]) == (asked["id"], "Deploy 1.4.2?", "answered")
        assert found["pending"] == []
        assert "call `wait` with its id" in found["message"]
        assert (await one.call("wait", id=entry["id"]))["answer"] == "Yes"
        found = await one.call("pending")
        assert (found["pending"], found["unread"]) == ([], [])
        assert found["message"] == "No open questions, and no results that you have not read."


async def test_pending_lists_the_unread_results_of_this_agent_alone(stored_office: Office) -> None:
    office = stored_office
    await office.bot()
    async with agent(office, "--call-wait", "1s", "--name", "first", "--permit", "--approvers", "anyone") as one:
        asked = await one.deploy()
        await permit(one, "toolu_1")
        await one.call("cancel", id=(await one.call("ask", question="Which version?"))["id"])
        await office.click("ada", "No")
        await office.click("ada", "Approve", "Run Bash?")
        await office.settled("Run Bash?")
        found = await one.call("pending")
        # The approval is for the call that asked for it, and the agent has read that it withdrew the other question.
        assert [(entry["id"], entry["status"]) for entry in found["unread"]] == [(asked["id"], "refused")]
        async with agent(office, "--name", "second") as other:
            assert (await other.call("pending"))["unread"] == []


async def test_what_an_agent_withdraws_is_not_told_as_words_of_people(office: Office) -> None:
    async with agent(office, "--call-wait", "1s") as one:
        asked = await one.deploy()
        found = await one.call("cancel", id=asked["id"], reason="It is done.")
    assert "They wrote" not in found["message"]
    assert 'The reason: "The agent withdrew it: It is done."' in found["message"]
