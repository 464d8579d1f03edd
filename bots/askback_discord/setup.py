"""Helps an operator to set the Discord bot up: its application's manifest, its invitation, checks and previews."""

from __future__ import annotations

__all__ = ["NOBODY", "DiscordSetup"]

from collections.abc import Mapping, Sequence
from importlib.resources import files

import discord
from pydantic import JsonValue, SecretStr

from askback.domain.card import Card
from askback.errors import OperatorError
from askback.ports.bot import Invitation
from askback.ports.findings import Finding, Scene
from askback.ports.setup_guide import SetupGuide
from askback.settings.credentials import build_credential, examine_form
from askback.settings.loader import load
from askback_discord import doctor, render
from askback_discord.answer_check import build_answer_check
from askback_discord.install import INTENTS, build_invite_link
from askback_discord.login import ignore_voice, open_client, use_addresses
from askback_discord.settings import DiscordSettings

NOBODY = "1000000000000000000"
"""Replaces the id of a person in a preview; it has the length of a real id."""


PORTAL = "https://discord.com/developers/applications"
"""The page where one creates an application, and with it the bot."""
_TOKEN = build_credential(DiscordSettings, "token", "Bot token")


class DiscordSetup:
    """See `BotSetup`."""

    def get_manifest(self) -> str:
        return (files("askback_discord") / "manifest.json").read_text()

    def get_guide(self) -> SetupGuide:
        return SetupGuide(
            page=PORTAL,
            steps=(
                "Choose New Application, and give it a name.",
                "On the page Installation, set Install Link to None.",
                "On the page Bot, turn Public Bot off and Message Content Intent on, and save.",
                "On the same page, choose Reset Token, and copy the token.",
            ),
            credentials=(_TOKEN,),
            needs_invitation=True,
            channel_access="In Discord, add the bot to each private channel in which it is to ask.",
            first_message="In Discord, mention the bot in a channel.",
        )

    async def examine_credential(self, key: str, given: Mapping[str, SecretStr], seconds: float) -> Sequence[Finding]:
        malformed = examine_form(DiscordSettings, "token", given[key])
        return [malformed] if malformed is not None else await doctor.examine_token(given[key], seconds)

    async def get_invitation(self) -> Invitation:
        settings = load(DiscordSettings)
        ignore_voice()
        with use_addresses(settings):
            client = discord.Client(intents=INTENTS, http_trace=build_answer_check())
            async with open_client(client, settings):
                if client.application_id is None:
                    raise OperatorError("Discord's response does not name the application: check DISCORD_TOKEN.")
                public = client.application is None or client.application.bot_public
                access = settings.to_access(public=public)
                return Invitation(
                    build_invite_link(client.application_id), access.describe() if access.is_closed else ""
                )

    async def examine(self, scene: Scene) -> Sequence[Finding]:
        return await doctor.examine(scene)

    def preview(self, card: Card) -> Sequence[dict[str, JsonValue]]:
        people = tuple(one.evolve(id=NOBODY) if not one.id.isdigit() else one for one in card.who.people)
        card = card.evolve(who=card.who.evolve(people=people))
        return [dict(body) for body in render.render_messages(card, ping=True)]
