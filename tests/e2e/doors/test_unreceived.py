"""The card of an answer says that no program has received it, once its caller was killed, and until one has."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import pytest

from e2e.ask.office import Office

from . import client, http_agent
from .client import permit
from .http_caller import HttpCaller
from .waits import LOST, waited_for

HOOK = {"hook_event_name": "PermissionRequest", "tool_name": "Bash", "session_id": "s", "tool_use_id": "toolu_1"}
CALL = {"command": "rm -r build"}


def hook(http: HttpCaller) -> asyncio.Task[tuple[int, Any]]:
    return asyncio.create_task(http.request("POST", "/v1/hooks/claude-code", json=HOOK | {"tool_input": CALL}))


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_the_card_of_an_approval_for_a_killed_server_says_that_nobody_received_it(
    stored_office: Office, transport: str
) -> None:
    office = stored_office
    office.settings |= {"ASKBACK_APPROVAL_REASONS": "none"}
    await office.bot()
    options = ("--permit", "--approvers", "anyone", "--call-wait", "10m")
    if transport == "stdio":
        opened: Any = client.agent(office, *options, client="claude-code")
    else:
        opened = http_agent.agent(*await http_agent.serve(office, *options), http_agent.FIRST)
    is_killed = False
    try:
        async with opened as one:
            asking = asyncio.create_task(permit(one, "toolu_1"))
            await office.card("Run Bash?")
            await waited_for(office)
            one.process.signal(signal.SIGKILL)
            is_killed = True
            await asking
    except (Exception, BaseExceptionGroup):  # the client tells in several ways that its server has ended
        if not is_killed:
            raise
    await office._processes[-1].ended()
    await office.click("ada", "Approve", "Run Bash?")
    await office.settled("Run Bash?", "Approved", LOST)
