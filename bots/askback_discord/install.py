"""The permissions and intents that the bot needs, and the link that invites it with just these permissions."""

from __future__ import annotations

__all__ = ["INTENTS", "PERMISSIONS", "SCOPES", "build_invite_link"]

import discord

SCOPES = ("bot",)
PERMISSIONS = discord.Permissions(
    view_channel=True,
    send_messages=True,
    create_public_threads=True,
    send_messages_in_threads=True,
    read_message_history=True,
)
"""It reads messages to find a card again that was posted just before a crash."""
INTENTS = discord.Intents(guilds=True, guild_messages=True, dm_messages=True)
"""The intents that are always requested. Message content is added if the application is allowed to read it."""


def build_invite_link(application_id: int) -> str:
    """Return the address at which a server's administrator invites the bot."""
    return discord.utils.oauth_url(application_id, permissions=PERMISSIONS, scopes=SCOPES)
