"""Ends a server of `askback mcp` while an agent waits for a permission."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

from e2e.ask.office import Office

from . import client, http_agent
from .client import permit
from .waits import waited_for


async def end_during_permit(office: Office, transport: str, end: signal.Signals) -> None:
    """Start a server over `stdio` or `http`, let an agent call `permit`, and send the server this signal."""
    options = ("--permit", "--approvers", "anyone", "--call-wait", "10m")
    if transport == "stdio":
        opened: Any = client.agent(office, *options, client="claude-code")
    else:
        opened = http_agent.agent(*await http_agent.serve(office, *options), http_agent.FIRST)
    is_signalled = False
    try:
        async with opened as one:
            asking = asyncio.create_task(permit(one, "toolu_1"))
            await office.card("Run Bash?")
            await waited_for(office)
            one.process.signal(end)
            is_signalled = True
            await asking
    except (Exception, BaseExceptionGroup):  # the client tells in several ways that its server has ended
        if not is_signalled:
            raise
