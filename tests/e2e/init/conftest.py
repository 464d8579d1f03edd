"""A newcomer: a terminal, a home without settings, and the local services."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from askback_sandbox.services import Services
from support.clocks import SharedClock
from support.processes import Launcher
from support.pseudo_terminal import Terminal

SECRETS = ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "DISCORD_TOKEN", "ANTHROPIC_API_KEY")


@dataclass
class Newcomer:
    """A person who has installed askback, and nothing else yet."""

    launcher: Launcher
    services: Services
    home: Path
    environment: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def file(self) -> Path:
        return self.home / ".config/askback/askback.toml"

    @property
    def secrets(self) -> dict[str, str]:
        return {name: self.services.environment[name] for name in SECRETS}

    def runs(self, *arguments: str) -> AbstractAsyncContextManager[Terminal]:
        return Terminal.open(self.launcher, *arguments, folder=self.home, environment=self.environment)

    def files(self) -> list[str]:
        """Return every file below the home."""
        return sorted(path.relative_to(self.home).as_posix() for path in self.home.rglob("*") if path.is_file())


@pytest.fixture
async def newcomer(tmp_path: Path, launcher: Launcher) -> AsyncIterator[Newcomer]:
    clock = SharedClock()
    async with clock.running(), Services(port=0, clock=clock) as services:
        of_machine = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "TMPDIR")}
        addresses = {name: value for name, value in services.environment.items() if name not in SECRETS}
        environment = {**of_machine, **addresses, "HOME": str(tmp_path), "TERM": "dumb", "COLUMNS": "80"}
        yield Newcomer(launcher, services, tmp_path, environment)
