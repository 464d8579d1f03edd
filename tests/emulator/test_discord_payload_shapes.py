"""The payloads built here have the keys of recorded ones, and the answers pass Discord's OpenAPI document."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import discord
import pytest

from support.discord_client import GENERAL, button, callback, label, modal, row, text_input

SHARED = Path(__file__).resolve().parents[3] / "shared"
RECORDED = SHARED / "payloads"
OPENAPI = SHARED / "schemas" / "discord-openapi.json"
MESSAGES = f"/channels/{GENERAL}/messages"
# Recorded under other circumstances, by a factory that sets everything at once, or fields that Discord has retired.
ELSEWHERE = {
    "accent_color",
    "activity",
    "allow_new",
    "application",
    "deny_new",
    "embed_channel_id",
    "embed_enabled",
    "entitlements",
    "features",
    "interaction_metadata",
    "is_pending",
    "mention_channels",
    "permission_overwrites",
    "poll",
    "reactions",
    "recorded",
    "referenced_message",
    "message_reference",
    "resolved",
    "sticker_items",
    "system",
    "tags",
    "thread",
    "webhook_id",
    "application_id",
    "nonce",
}
# A message in an interaction contains no guild; a select has values, a button has none.
INSIDE = {"/message/guild_id", "/message/member", "/data/values", "/data/id", "/authorizing_integration_owners/1"}

needs_recorded = pytest.mark.skipif(not RECORDED.is_dir(), reason="the recorded payloads are not here")
needs_document = pytest.mark.skipif(not OPENAPI.is_file(), reason="Discord's OpenAPI document is not here")


def recorded(kind: str) -> list[tuple[str, dict[str, Any]]]:
    files = sorted((RECORDED / kind).glob("*.json"))
    payloads = [(path.name, json.loads(path.read_text())) for path in files]
    return [(name, payload.get("d", payload) if "t" in payload else payload) for name, payload in payloads]


def lacks(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Return the keys of a recorded payload that ours lacks; a message's contents may differ."""
    if not isinstance(theirs, dict) or not isinstance(ours, dict):
        return []
    missing = []
    for name, value in theirs.items():
        if name in ELSEWHERE or f"{path}/{name}" in INSIDE:
            continue
        if name not in ours:
            missing.append(f"{path}/{name}")
        elif name not in ("components", "embeds", "attachments", "mentions"):
            missing += lacks(ours[name], value, f"{path}/{name}")
    return missing


@pytest.fixture
async def heard(discord_bot, hands) -> dict[str, dict[str, Any]]:
    """One payload of each kind, as received from the gateway."""
    sent = await discord_bot.request("POST", MESSAGES, content="x", components=[row(button("go"))])

    async def answer(interaction: discord.Interaction) -> None:
        await callback(interaction, modal(label(text_input())))

    discord_bot.answer = answer
    where = {"person": "ada", "channel": GENERAL, "message": sent["id"], "custom_id": "go"}
    assert (await hands.post("/people/discord/click", **where))["ok"]

    async def thanks(interaction: discord.Interaction) -> None:
        await callback(interaction, {"type": 6})

    discord_bot.answer = thanks
    submitted = await hands.post("/people/discord/submit", person="ada", custom_id="form", values={"text": "y"})
    assert submitted["ok"]
    click, submission = discord_bot.payloads("INTERACTION_CREATE")
    return {
        "discord_button": click,
        "discord_modal_submit": submission,
        "discord_ready": discord_bot.payloads("READY")[0],
        "discord_guild_create": discord_bot.payloads("GUILD_CREATE")[0],
    }


@needs_recorded
@pytest.mark.parametrize("kind", ["discord_button", "discord_modal_submit", "discord_ready", "discord_guild_create"])
async def test_has_the_keys_of_the_recorded_ones(kind: str, heard) -> None:
    payloads = recorded(kind)
    assert payloads
    assert {name: found for name, theirs in payloads if (found := lacks(heard[kind], theirs))} == {}


@cache
def answers() -> dict[str, dict[str, Any]]:
    """Return the schema of each operation's successful answer."""
    document = json.loads(OPENAPI.read_text())
    found = {}
    for item in document["paths"].values():
        for operation in item.values():
            if not isinstance(operation, dict) or "operationId" not in operation:
                continue
            for status, response in operation["responses"].items():
                schema = response.get("content", {}).get("application/json", {}).get("schema")
                if schema and status in ("200", "201"):
                    found[operation["operationId"]] = {**schema, "components": document["components"]}
    return found


@needs_document
async def test_good_answers_pass_discords_own_document(discord_bot, hands, heard) -> None:
    jsonschema_rs = pytest.importorskip("jsonschema_rs")
    guild = discord_bot.guilds[0]
    channel = await discord_bot.fetch_channel(int(GENERAL))
    message = await channel.send("one", reference=await channel.send("two"))
    await message.edit(content="three")
    await message.create_thread(name="A thread")
    await channel.create_thread(name="Another", type=discord.ChannelType.public_thread)
    assert [m async for m in channel.history()]
    await channel.fetch_message(message.id)
    await guild.fetch_member(int(discord_bot.user.id))
    await guild.fetch_roles()
    await discord_bot.fetch_guild(guild.id)
    await discord_bot.application_info()
    await (await discord_bot.fetch_user(int("1100000000000000201"))).create_dm()
    await discord_bot.request("GET", "/gateway/bot")
    interaction = discord_bot.interactions[0]
    del heard
    await interaction.followup.send("more", wait=True)
    wrong = {}
    checked = set()
    for call in discord_bot.services.discord.guild.log:
        schema = answers().get(call.operation)
        if schema is None or call.status not in (200, 201):
            continue
        checked.add(call.operation)
        if found := [
            f"{e.instance_path}: {e.message[:200]}"
            for e in jsonschema_rs.validator_for(schema).iter_errors(call.answer)
        ]:
            wrong[call.operation] = found
    assert wrong == {}
    assert {
        "create_message",
        "update_message",
        "create_thread",
        "get_my_user",
        "create_interaction_response",
    } <= checked
