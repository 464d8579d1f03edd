"""Interactions with the minimum of fields that Discord's documentation allows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import discord
import pytest

from askback.domain.actions import Action
from askback.domain.click_response import Notice, Response
from askback.domain.identity import MessageRef
from askback_discord import control_ids
from askback_discord.clicks import Clicks
from askback_discord.payloads import read_click

CARD = MessageRef(channel="100", id="300")
PERSON = {"id": "501", "username": "ada", "discriminator": "0", "avatar": None}


def interaction(**changes: Any) -> discord.Interaction:
    control = control_ids.Control(kind="cancel", ask_id="ask", step=1)
    message = {
        "id": CARD.id, "channel_id": CARD.channel, "author": PERSON, "content": "", "components": [], "type": 0,
        "timestamp": "2026-01-01T00:00:00+00:00", "edited_timestamp": None, "tts": False, "pinned": False,
        "mention_everyone": False, "mentions": [], "mention_roles": [], "attachments": [], "embeds": [],
    }  # fmt: skip
    payload = {
        "id": "1", "application_id": "2", "type": 3, "token": "t", "version": 1, "attachment_size_limit": 1,
        "data": {"custom_id": control_ids.to_custom_id(control), "component_type": 2}, "message": message,
        "channel_id": CARD.channel, "user": PERSON, **changes,
    }  # fmt: skip
    client = discord.Client(intents=discord.Intents.none())
    return discord.Interaction(data=payload, state=client._connection)  # type: ignore[arg-type]


class Manager:
    """A manager that knows one ask, and records the actions on it."""

    def __init__(self) -> None:
        self.acted: list[Action] = []

    async def get(self, ask_id: str) -> Any:
        return SimpleNamespace(id=ask_id, messages=(CARD,))

    async def act(self, action: Action) -> Response:
        self.acted.append(action)
        return Notice(text="Noted.")


class Api:
    async def respond(self, *_: object) -> None: ...


def test_a_channel_that_is_told_is_the_one_of_the_message() -> None:
    told = {"id": CARD.channel, "type": 1, "recipients": []}
    assert read_click(interaction(channel=told)).message == CARD


@pytest.mark.parametrize("told", [{}, {"channel": {"id": CARD.channel}}], ids=["by its id", "without its type"])
async def test_a_channel_that_discord_py_does_not_read_is_found_by_the_message(told: dict[str, Any]) -> None:
    manager: Any = Manager()
    await Clicks(manager, Any, Api(), Any, Any).handle_interaction(interaction(**told))  # type: ignore[arg-type]
    (action,) = manager.acted
    assert action.message == CARD
