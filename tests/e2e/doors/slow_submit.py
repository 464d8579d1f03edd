"""Run askback with more time between the moment when a question is stored and the moment when its caller knows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from askback.cli.main import main
from askback.client import ask_access
from askback.domain.ask import Ask
from askback.doors import shared_session

_submit = ask_access.OwnBot.submit


async def _submit_slowly(self: ask_access.OwnBot, build: Callable[[], Ask]) -> Ask:
    stored = await _submit(self, build)
    await asyncio.sleep(1.5)
    return stored


ask_access.OwnBot.submit = _submit_slowly  # type: ignore[method-assign]
shared_session.IDLE_SECONDS = 0.2
main()
