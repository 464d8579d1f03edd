"""The desk on Discord: a local guild, and the real bot with discord.py connected to it."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from discord.gateway import KeepAliveHandler

from askback.domain.open_ask_limits import Limits
from askback.ports.installed_bots import get_bot
from askback.runtime.app import open_host
from askback.settings.core import Settings
from askback.settings.loader import load
from askback.store import transactions
from askback_discord.clicks import Clicks
from askback_sandbox.discord.guild import Guild
from askback_sandbox.discord.values import Place as Room
from askback_sandbox.json_values import as_object, as_text
from askback_sandbox.services import Services
from contract.bots.driver import COMMIT_SECONDS, PROXIES, TOOLS, Journal, until
from support import discord_cards as cards
from support.clocks import SharedClock
from support.stores import url_in

from .faults import Faults
from .people import People
from .view import component_text, controls

OPENAPI = Path(__file__).parents[5] / "shared" / "schemas" / "discord-openapi.json"


@asynccontextmanager
async def open_desk(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    limits: Limits | None = None,
    privileged: int | None = None,
    public: bool = False,
    start: bool = True,
    connections: int = 1,
    database: str | None = None,
) -> AsyncGenerator[DiscordDesk]:
    """Yield a guild with the bot in it, until the block ends.

    `privileged`: the intents that its application may use; `public`: True if anyone may add it to a server.
    Without `start`, the scenario runs the bot itself. `connections`: the number of independent connections, like that
    many processes on one database.
    """
    for name in (*PROXIES, "ASKBACK_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    journal = Journal()
    logging.getLogger().addHandler(journal)
    clock = SharedClock()
    guild = Guild(clock=clock)
    guild.app = replace(guild.app, public=public)
    if privileged is not None:
        guild.app = replace(guild.app, privileged=privileged)
    for person in guild.people.values():
        guild.people[person.id] = replace(person, global_name=person.name)
    handled: list[int] = []
    interaction = Clicks.handle_interaction

    async def counted(self: Clicks, one: Any) -> None:
        await interaction(self, one)
        handled.append(one.id)

    monkeypatch.setattr(Clicks, "handle_interaction", counted)
    monkeypatch.setattr(transactions, "CLICK_SECONDS", COMMIT_SECONDS)
    try:
        async with (
            clock.running(),
            Services(port=0, guild=guild, discord_openapi=OPENAPI if OPENAPI.exists() else None) as services,
        ):
            environment = {
                **services.environment,
                "ASKBACK_DATABASE_URL": database or url_in(tmp_path) or str(tmp_path / "desk.db"),
                "ASKBACK_TOOLS": TOOLS,
            }
            for name, value in environment.items():
                monkeypatch.setenv(name, value)
            desk = DiscordDesk(services, journal, handled, limits or Limits(seconds_between_asks=0))
            if start:
                async with desk.bot(connections):
                    yield desk
            else:
                yield desk
            audit(desk)
    finally:
        logging.getLogger().removeHandler(journal)
    # A thread that was told to stop may need a moment for it.
    await until(
        lambda: not any(isinstance(one, KeepAliveHandler) for one in threading.enumerate()), "no heartbeat goes on"
    )


def allow(monkeypatch: pytest.MonkeyPatch, **lists: Sequence[str]) -> None:
    """Set the people who may talk to the bot, by names if they have any."""
    guild = Guild()
    ids = {thing.name: thing.id for thing in (*guild.places.values(), *guild.people.values(), *guild.roles.values())}
    words = {"groups": "ALLOW_ROLES", "admin_groups": "ADMIN_ROLES", "admins": "ADMINS"}
    for name, entries in lists.items():
        variable = f"ASKBACK_DISCORD_{words.get(name, f'ALLOW_{name.upper()}')}"
        monkeypatch.setenv(variable, ",".join(ids.get(entry, entry) for entry in entries))


def accepted(messages: list[dict[str, Any]]) -> None:
    """Fail if Discord, or its OpenAPI document, would reject the output of `askback preview`."""
    for message in messages:
        cards.accepted([message])


def readable(messages: list[dict[str, Any]]) -> str:
    """Return all readable text in the output of `askback preview`, with that of the controls."""
    found = [one.label for message in messages for one in controls(tuple(message["components"]))]
    return "\n".join([*(component_text(tuple(message["components"])) for message in messages), *found])


def audit(desk: DiscordDesk) -> None:
    """Check the rules for everything that a bot sends, in every scenario."""
    answers: Counter[str] = Counter()
    for call in desk.guild.log:
        assert as_object(call.answer).get("code") != 50035, (call.operation, call.answer)
        body = call.body
        if call.operation == "create_interaction_response":
            answers[call.path] += call.status < 300
            if body.get("type") not in (4, 7):
                continue
            body = as_object(body.get("data"))
        elif call.operation not in ("create_message", "update_message", "execute_webhook"):
            continue
        allowed = as_object(body.get("allowed_mentions"))
        assert allowed.get("parse") == [], (call.operation, body)
        if call.operation != "create_message":
            assert not set(allowed) - {"parse"}, (call.operation, allowed)
        else:
            assert body.get("enforce_nonce") is True
            assert 1 <= len(as_text(body.get("nonce"))) <= 25, body.get("nonce")
    assert not [path for path, count in answers.items() if count > 1], "an interaction was answered twice"


def archived(thread: Room) -> Room:
    return replace(thread, archived=True)


class DiscordDesk(People, Faults):
    """See `Desk`."""

    @asynccontextmanager
    async def bot(self, connections: int = 1) -> AsyncGenerator[None]:
        """Run the bot until the block ends, like one process."""
        async with open_host([get_bot("discord")] * connections, load(Settings), limits=self._limits) as self.host:
            await until(lambda: self.gateway.connections == connections, "it is connected")
            yield
