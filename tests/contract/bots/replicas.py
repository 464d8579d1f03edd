"""Several processes of the bot on one platform, with one PostgreSQL database."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from askback.domain.open_ask_limits import Limits
from askback_sandbox.discord.guild import Guild
from askback_sandbox.services import Services
from askback_sandbox.slack.http import SlackHttp
from askback_sandbox.slack.socket import SlackSocket
from askback_sandbox.slack.workspace import Workspace
from support.clocks import SharedClock
from support.free_port import free_port
from support.processes import Launched, Launcher

from . import discord, slack
from .driver import TOOLS, Desk, Journal, until

START_SECONDS = 60.0
END_SECONDS = 15.0
LISTENING = ("Connected to Discord", "Connected to Slack", "Listening for Slack")
"""Log lines of a process that receives events."""


class Replica:
    """One process."""

    def __init__(self, process: Launched, output: Path, address: str | None) -> None:
        self._process = process
        self._output = output
        self.address = address
        """The address that receives Slack's requests over HTTP."""

    @property
    def said(self) -> str:
        """The log of the process."""
        return self._output.read_text()

    @property
    def is_gone(self) -> bool:
        return self._process.returncode is not None

    async def stop(self) -> None:
        """End it as an operator does."""
        await self._end(signal.SIGTERM)

    async def kill(self) -> None:
        """Kill it without a shutdown."""
        await self._end(signal.SIGKILL)

    def suspend(self) -> None:
        """Freeze it, as a machine that is out of memory or being moved does."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    async def _end(self, number: signal.Signals) -> None:
        if not self.is_gone:
            self._process.send_signal(number)
            async with asyncio.timeout(END_SECONDS):
                await self._process.wait()


class Office:
    """A desk, and the processes that serve it."""

    def __init__(
        self, desk: Desk, services: Services, folder: Path, environment: dict[str, str], launcher: Launcher
    ) -> None:
        self._launcher = launcher
        self.desk = desk
        self.services = services
        self.replicas: list[Replica] = []
        self._folder = folder
        self.environment = environment
        """The environment of every process that is started."""
        self.database = environment["ASKBACK_DATABASE_URL"]
        self.may_fail = False
        """True if the test makes processes log errors."""

    def spare(self) -> None:
        """Deliver no more events to the current processes, as long as there are others."""
        self.services.discord.gateway.spare()
        self.services.socket.spare()

    async def start(self, *arguments: str, http: bool = False) -> Replica:
        """Start another process; return once it receives events."""
        number = len(self.replicas)
        output = self._folder / f"{self.desk.platform}-{number}.log"
        address = f"127.0.0.1:{free_port()}" if http else None
        listening = ("--http", address) if address is not None else ()
        process = await self._launcher.start_into(
            output, self.desk.platform, *listening, *arguments, folder=self._folder, environment=self.environment
        )
        replica = Replica(process, output, address)
        self.replicas.append(replica)

        def there() -> bool:
            assert not replica.is_gone, replica.said
            return any(words in replica.said for words in LISTENING)

        await until(there, "it listens", within=START_SECONDS)
        return replica

    async def close(self) -> None:
        for replica in self.replicas:
            await replica.kill()


class _Afar(discord.DiscordDesk):
    """A desk whose bot runs elsewhere, so that only the platform shows when a click is handled."""

    async def handled_since(self, count: int) -> None:
        del count


@asynccontextmanager
async def open_office(
    platform: str, folder: Path, database: str, launcher: Launcher, *, http: bool = False
) -> AsyncGenerator[Office]:
    """Yield a platform and a model, without a process. The processes' logs show the errors at the end."""
    async with open_offices(folder, database, launcher, http=http) as offices:
        yield offices[platform]


@asynccontextmanager
async def open_offices(
    folder: Path, database: str, launcher: Launcher, *, http: bool = False
) -> AsyncGenerator[dict[str, Office]]:
    """Yield all platforms, with one model and one database."""
    clock = SharedClock()
    workspace, guild = Workspace(clock=clock), Guild(clock=clock)
    for person in guild.people.values():
        guild.people[person.id] = replace(person, global_name=person.name)
    kind = SlackHttp if http else SlackSocket
    delivery = kind(workspace, event_retries=(0.2,) * 5)
    async with clock.running(), Services(port=0, workspace=workspace, guild=guild, socket=delivery) as services:
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ASKBACK_", "SLACK_", "DISCORD_", "OTEL_")) and not name.lower().endswith("_proxy")
        }
        environment |= services.environment
        environment |= {"ASKBACK_DATABASE_URL": database, "ASKBACK_TOOLS": TOOLS, "ASKBACK_LOG_LEVEL": "DEBUG"}
        if isinstance(delivery, SlackHttp):
            del environment["SLACK_APP_TOKEN"]
            environment["SLACK_SIGNING_SECRET"] = delivery.secret
        journal = Journal()
        logging.getLogger().addHandler(journal)
        try:
            desks: tuple[Desk, ...] = (
                _Afar(services, journal, [], Limits()),
                slack.SlackDesk(services, delivery, journal, Limits()),
            )
            offices = {desk.platform: Office(desk, services, folder, environment, launcher) for desk in desks}
            try:
                yield offices
            finally:
                for office in offices.values():
                    await office.close()
        finally:
            logging.getLogger().removeHandler(journal)
