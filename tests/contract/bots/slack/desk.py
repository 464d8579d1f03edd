"""The desk on Slack: a local workspace, and the real bot with slack-bolt connected to it."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from askback.domain.open_ask_limits import Limits
from askback.ports.bot import BotOptions
from askback.ports.installed_bots import get_bot
from askback.runtime.app import open_host
from askback.settings.core import Settings
from askback.settings.loader import load
from askback.store import transactions
from askback_sandbox.services import Services
from askback_sandbox.slack.controls import controls
from askback_sandbox.slack.drawing import body
from askback_sandbox.slack.http import SlackHttp
from askback_sandbox.slack.socket import SlackSocket
from askback_sandbox.slack.workspace import Workspace
from askback_slack.render import SlackMessage
from contract.bots.driver import COMMIT_SECONDS, PROXIES, TOOLS, Journal, until
from support import slack_cards as cards
from support.clocks import SharedClock
from support.stores import url_in

from .faults import Faults
from .people import People


@asynccontextmanager
async def open_desk(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    limits: Limits | None = None,
    http: bool = False,
    start: bool = True,
    connections: int = 1,
    database: str | None = None,
) -> AsyncGenerator[SlackDesk]:
    """Yield a workspace with the bot in it, until the block ends. `http`: use signed HTTP instead of a socket.

    Without `start`, the scenario runs the bot itself. `connections`: the number of independent connections, like that
    many processes on one database.
    """
    for name in (*PROXIES, "SLACK_CLIENT_ID", "SLACK_CLIENT_SECRET", "ASKBACK_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(transactions, "CLICK_SECONDS", COMMIT_SECONDS)
    journal = Journal()
    logging.getLogger().addHandler(journal)
    try:
        clock = SharedClock()
        workspace = Workspace(clock=clock)
        delivery = SlackHttp(workspace, event_retries=(0.1,) * 5) if http else SlackSocket(workspace)
        async with clock.running(), Services(port=0, workspace=workspace, socket=delivery) as services:
            environment = {
                **services.environment,
                "ASKBACK_DATABASE_URL": database or url_in(tmp_path) or str(tmp_path / "desk.db"),
                "ASKBACK_TOOLS": TOOLS,
            }
            for name, value in environment.items():
                monkeypatch.setenv(name, value)
            if isinstance(delivery, SlackHttp):
                monkeypatch.delenv("SLACK_APP_TOKEN")
                monkeypatch.setenv("SLACK_SIGNING_SECRET", delivery.secret)
            desk = SlackDesk(services, delivery, journal, limits or Limits(seconds_between_asks=0))
            if start:
                async with desk.bot(connections):
                    yield desk
            else:
                yield desk
    finally:
        logging.getLogger().removeHandler(journal)


def allow(monkeypatch: pytest.MonkeyPatch, **lists: Sequence[str]) -> None:
    """Set the people who may talk to the bot, by names if they have any."""
    workspace = Workspace()
    ids = {thing.name: thing.id for thing in (*workspace.channels.values(), *workspace.people.values())}
    ids |= {group.handle: group.id for group in workspace.groups.values()}
    for name, entries in lists.items():
        variable = f"ASKBACK_SLACK_{'' if name.startswith('admin') else 'ALLOW_'}{name.upper()}"
        monkeypatch.setenv(variable, ",".join(ids.get(entry, entry) for entry in entries))


def accepted(messages: list[dict[str, Any]]) -> None:
    """Fail if Slack, its library or blockkit would reject the output of `askback preview`."""
    for message in messages:
        cards.accepted([SlackMessage(text=message["text"], blocks=tuple(message["blocks"]))])


def readable(messages: list[dict[str, Any]]) -> str:
    """Return all readable text in the output of `askback preview`, with that of the controls."""
    found = [one for message in messages for one in controls(message["blocks"])]
    texts = [text for one in found for choice in one.choices for text in (choice.label, choice.description)]
    return "\n".join([*(body(message["blocks"]) for message in messages), *(one.label for one in found), *texts])


class SlackDesk(People, Faults):
    """See `Desk`."""

    @asynccontextmanager
    async def bot(self, connections: int = 1) -> AsyncGenerator[None]:
        """Run the bot until the block ends, like one process."""
        bots = [get_bot("slack")] * connections
        if isinstance(self._delivery, SlackHttp):
            bots = [get_bot("slack", BotOptions(http="127.0.0.1:0"))]
        async with open_host(bots, load(Settings), limits=self._limits) as self.host:
            if isinstance(self._delivery, SlackHttp):
                address = await until(lambda: self.host.connections["slack"].address, "the bot listens")
                assert await self._delivery.send_to(f"http://{address}"), self._delivery.sent
            await until(lambda: self.services.socket.connections == connections, "it is connected")
            yield
