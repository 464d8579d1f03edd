"""The page in a real browser, with a real bot behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from askback_sandbox.clock import SystemClock
from askback_sandbox.services import Services
from support.browser import Opener, browsing


@pytest.fixture
def clock() -> SystemClock:
    """People in a browser live in real time."""
    return SystemClock()


@pytest.fixture
async def open_page(services: Services) -> AsyncIterator[Opener]:
    """Opens the page as someone in Slack."""
    async with browsing(without_pictures=True) as opened:

        async def open_one(person: str = "ada", channel: str = "C0GENERAL", **more: Any) -> Any:
            return await opened(f"{services.url}/#U0LOCAL{person.upper()}/{channel}", **more)

        yield open_one
