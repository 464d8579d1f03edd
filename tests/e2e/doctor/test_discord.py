"""`askback doctor` with a fault at Discord."""

from __future__ import annotations

from dataclasses import replace

import pytest

from askback.ports.findings import Scene
from askback_discord.doctor import PERMISSIONS
from askback_sandbox.discord.faults import DiscordFault
from askback_sandbox.discord.values import Permission

from .conftest import IMPATIENT, Ward


async def test_a_token_that_discord_does_not_accept(ward: Ward) -> None:
    ward.set(DISCORD_TOKEN="another-token")
    found = (await ward.examined("discord")).one()
    assert found.summary == "Discord does not accept DISCORD_TOKEN."
    assert found.cure.startswith("Reset the token on the page Bot")


async def test_a_proxy_that_wants_a_login_is_not_taken_for_discord(ward: Ward) -> None:
    ward.services.discord.guild.faults.add(DiscordFault(kind="foreign", status=401, times=None))
    found = (await ward.examined("discord")).one()
    assert found.summary == "The server at Discord's address is not Discord's API (HTTP 401)."


async def test_an_intent_that_is_off_is_a_warning(ward: Ward) -> None:
    guild = ward.services.discord.guild
    guild.app = replace(guild.app, privileged=0)
    found = await ward.examined("discord")
    assert (found.code, found.one().grade) == (0, "warning")
    assert "Message Content Intent is off" in found.one().summary
    assert found.one().cure.startswith("Turn on Message Content Intent on the page Bot")


@pytest.mark.parametrize(
    ("code", "says", "cure"),
    [
        (4014, "does not grant the intents", "Turn on Message Content Intent"),
        (4004, "does not accept DISCORD_TOKEN", "Reset the token"),
        (4010, "The shard is invalid", "Check ASKBACK_DISCORD_SHARD"),
        (4011, "too many servers for its number of shards", "Run several processes"),
        (4000, "closed the connection (4000)", "Wait a minute"),
    ],
)
async def test_a_gateway_that_closes(ward: Ward, code: int, says: str, cure: str) -> None:
    ward.services.discord.guild.faults.add(DiscordFault(kind="close", code=code))
    found = (await ward.examined("discord")).one()
    assert (found.grade, found.about) == ("broken", "gateway")
    assert says in found.summary
    assert found.cure.startswith(cure)


async def test_a_gateway_that_never_becomes_ready(ward: Ward) -> None:
    ward.services.discord.guild.faults.add(DiscordFault(kind="silent"))
    found = (await ward.examined("discord", IMPATIENT)).one()
    assert found.summary == "Discord's gateway was not ready within 2.5 s."
    assert "in the firewall or proxy" in found.cure


async def test_a_gateway_that_cannot_be_reached(ward: Ward) -> None:
    ward.set(ASKBACK_DISCORD_GATEWAY_URL="ws://127.0.0.1:9/")
    found = (await ward.examined("discord")).one()
    assert "Could not reach Discord's gateway (Connection refused)." in found.summary
    ward.set(ASKBACK_DISCORD_GATEWAY_URL=ward.services.url.replace("http", "ws") + "/nothing")
    assert "rejected the connection (HTTP 404)" in (await ward.examined("discord")).one().summary


async def test_each_permission_that_is_missing_is_named_with_the_server(ward: Ward) -> None:
    guild = ward.services.discord.guild
    everyone = guild.roles[guild.id]
    names = {name for name, wanted in PERMISSIONS if wanted}
    for name in sorted(names):
        here = "VIEW_CHANNEL" if name == "read_messages" else name.upper()
        taken = everyone.permissions & ~Permission[here]
        guild.roles[guild.id] = replace(everyone, permissions=int(taken))
        found = (await ward.examined("discord", Scene(worker=1))).one()
        assert (found.grade, found.about) == ("broken", "permissions")
        assert found.summary.startswith(f"On Local ({guild.id}), the bot lacks the permission ")
        assert ": without it, " in found.summary, "what is lost is told"
        assert "https://discord.com/oauth2/authorize?client_id=" in found.cure


async def test_too_few_shards_are_noticed_with_how_many_it_takes(ward: Ward) -> None:
    guild = ward.services.discord.guild
    healthy = (await ward.examined("discord")).good("Discord", "shards")
    assert healthy == "One process receives all events; Discord recommends 1 shard."
    guild.app = replace(guild.app, shards=3)
    found = (await ward.examined("discord")).one()
    assert (found.grade, found.about) == ("warning", "shards")
    assert "askback discord --shard 0/3 up to 2/3" in found.cure
    ward.set(ASKBACK_DISCORD_SHARD="0/3")
    found = await ward.examined("discord")
    assert not found.bad
    assert found.good("Discord", "shards").startswith(
        "With shard 0/3, a process receives the events of that part of the servers, and d"
    )


async def test_servers_of_another_shard_are_told(ward: Ward) -> None:
    ward.set(ASKBACK_DISCORD_SHARD="0/2")
    found = await ward.examined("discord", Scene(seconds=30, tenants=frozenset({ward.services.discord.guild.id})))
    assert not found.bad, "a question there is looked after by the other process"
    assert found.good("Discord", "servers").startswith("Of 1 server, shard 0/2 serves 0.")


async def test_a_bot_that_begins_too_often_is_noticed(ward: Ward) -> None:
    guild = ward.services.discord.guild
    guild.app = replace(guild.app, sessions_left=12)
    found = (await ward.examined("discord")).one()
    assert found.summary == "The bot may begin 12 more sessions of 1000 before the limit resets in 240 minutes."


async def test_clicks_that_go_elsewhere_are_noticed(ward: Ward) -> None:
    guild = ward.services.discord.guild
    guild.app = replace(guild.app, clicks_url="https://old.example/interactions")
    found = (await ward.examined("discord")).one()
    assert (found.grade, found.cure.startswith("Clear Interactions Endpoint URL")) == ("broken", True)


async def test_a_public_bot_for_which_nobody_is_named_is_a_warning(ward: Ward) -> None:
    guild = ward.services.discord.guild
    assert (await ward.examined("discord")).good("Discord", "access") == "Everybody may talk to the bot."
    guild.app = replace(guild.app, public=True)
    found = await ward.examined("discord")
    assert (found.code, found.one().grade, found.one().about) == (0, "warning", "access")
    assert found.one().cure.startswith(f"Set ASKBACK_DISCORD_ALLOW_GUILDS={guild.id}, or turn off Public Bot")
    ward.set(ASKBACK_DISCORD_ALLOW_PEOPLE=guild.people[next(iter(guild.people))].id)
    assert "1 people" in (await ward.examined("discord")).good("Discord", "access")
