"""Responses to interactions, for the tests of Discord's rules."""

from __future__ import annotations

from typing import Any

import discord

from support.discord_client import GENERAL, callback

MESSAGES = f"/channels/{GENERAL}/messages"


def code_of(error: BaseException) -> tuple[int, int]:
    assert isinstance(error, discord.HTTPException)
    return error.status, error.code


async def answering(bot, body: dict[str, Any]) -> None:
    async def answer(interaction: discord.Interaction) -> None:
        await callback(interaction, body)

    bot.answer = answer


UPDATE = {"type": 7, "data": {"content": "done", "components": []}}
