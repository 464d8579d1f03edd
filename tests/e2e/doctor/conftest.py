"""The subjects of an examination: the local services, a database, and the settings that point to both."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

from askback.cli.doctor.examination import examine
from askback.cli.doctor.report import exit_code, report
from askback.ports.findings import Finding, Scene
from askback.store.sqlite.database import SqliteDatabase
from askback_sandbox.services import Services
from support.clocks import SharedClock

PATIENT = Scene(seconds=30)
"""A patient timeout: healthy services answer at once, and a slow machine must not count as broken."""
IMPATIENT = Scene(seconds=2.5)
"""A short timeout for services that are broken by not answering."""
SECRETS = ("TOKEN", "KEY", "SECRET")


async def until(condition: Callable[[], object], within: float = 15.0) -> None:
    """Return once the condition holds."""
    async with asyncio.timeout(within):
        while True:
            if condition():
                return
            await asyncio.sleep(0.005)


@dataclass(frozen=True)
class Examined:
    """The result of an examination."""

    code: int
    text: str
    findings: tuple[tuple[str, Finding], ...]

    @property
    def bad(self) -> list[Finding]:
        """The findings that are not good."""
        return [finding for _, finding in self.findings if finding.grade != "good"]

    def one(self) -> Finding:
        """Return the only finding that is not good."""
        assert len(self.bad) == 1, self.text
        return self.bad[0]

    def good(self, section: str, about: str) -> str:
        """Return the text of a good finding."""
        return next(
            one.summary for title, one in self.findings if (title, one.about, one.grade) == (section, about, "good")
        )


@dataclass
class Ward:
    """A healthy bot's environment; each test breaks one thing."""

    services: Services
    database: Path
    patch: pytest.MonkeyPatch

    async def examined(self, platform: str | None = None, scene: Scene | None = None) -> Examined:
        sections = await examine(platform, scene or PATIENT)
        out = io.StringIO()
        report(sections, Console(file=out, width=80, color_system=None))
        text = out.getvalue()
        assert max(map(len, text.splitlines())) <= 80, text
        for name, value in os.environ.items():
            if name.startswith(("SLACK_", "DISCORD_", "ANTHROPIC_")) and name.endswith(SECRETS):
                assert value not in text, name
        found = tuple((section.title, finding) for section in sections for finding in section.findings)
        return Examined(exit_code(sections), text, found)

    def set(self, **settings: str) -> None:
        for name, value in settings.items():
            self.patch.setenv(name, value)


@pytest.fixture
async def ward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Ward]:
    for name in list(os.environ):
        if name.startswith(("ASKBACK_", "SLACK_", "DISCORD_", "ANTHROPIC_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASKBACK_CONFIG", "")
    monkeypatch.setenv("ASKBACK_DATABASE_URL", "askback.db")
    database = tmp_path / "askback.db"
    await SqliteDatabase(database).close()
    clock = SharedClock()
    async with clock.running(), Services(port=0, clock=clock) as services:
        for name, value in services.environment.items():
            monkeypatch.setenv(name, value)
        yield Ward(services, database, monkeypatch)
