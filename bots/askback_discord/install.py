"""What the bot needs on a server, and the link that invites it with just that."""

from __future__ import annotations

__all__ = ["INTENTS", "PERMISSIONS", "SCOPES", "invite_link"]

import discord

SCOPES = ("bot",)
PERMISSIONS = discord.Permissions(
    view_channel=True,
    send_messages=True,
    create_public_threads=True,
    send_messages_in_threads=True,
    read_message_history=True,
)
"""Reading is for finding a card again that was posted just before a crash."""
INTENTS = discord.Intents(guilds=True, guild_messages=True, dm_messages=True)
"""What is asked of the gateway always. Message content comes on top where the application is allowed it."""


def invite_link(application_id: int) -> str:
    """The address where an administrator of a server lets the bot in."""
    return discord.utils.oauth_url(application_id, permissions=PERMISSIONS, scopes=SCOPES)
