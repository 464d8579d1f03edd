"""The offices of all platforms."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from askback_sandbox.services import Services
from support.clocks import SharedClock
from support.processes import Launcher

from .discord_office import DiscordOffice
from .office import Office
from .slack_office import SlackOffice

OFFICES: dict[str, type[Office]] = {"discord": DiscordOffice, "slack": SlackOffice}


@asynccontextmanager
async def opened(platform: str, folder: Path, launcher: Launcher) -> AsyncGenerator[Office]:
    clock = SharedClock()
    async with clock.running(), Services(port=0, clock=clock) as services:
        office = OFFICES[platform](services, folder, launcher)
        try:
            yield office
        finally:
            await office.close()
