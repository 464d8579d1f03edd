"""The gateway: its events, their receivers, and a client's reconnect after a drop."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import aiohttp
import discord
import pytest

from askback_sandbox.discord.guild import GUILD
from askback_sandbox.discord.values import App, Intent
from askback_sandbox.services import Services
from support.discord_client import GENERAL, DiscordBot, button, pointed_at, row

HELLO, IDENTIFY, RESUME = 10, 2, 6
MESSAGES = f"/channels/{GENERAL}/messages"


@asynccontextmanager
async def client(services: Services, **options: Any) -> AsyncIterator[DiscordBot]:
    with pointed_at(services):
        bot = DiscordBot(services, **options)
        try:
            await bot.run_until_ready()
            yield bot
        finally:
            await bot.stop()


async def write(hands, content: str, channel: str = "general", person: str = "ada") -> str:
    answer = await hands.post("/people/discord/write", person=person, channel=channel, content=content)
    assert answer["ok"], answer
    return answer["id"]


# events


async def test_without_the_intent_content_comes_only_where_it_concerns_the_bot(discord_bot, hands) -> None:
    await write(hands, "not for you")
    await write(hands, "for you, @askback")
    await write(hands, "in private", channel="1100000000000000401")
    await discord_bot.until(lambda: len(discord_bot.messages) == 3)
    assert [m.content for m in discord_bot.messages] == ["", "for you, <@1100000000000000100>", "in private"]
    assert [m.guild is None for m in discord_bot.messages] == [False, False, True]


async def test_with_the_intent_all_content_comes(services, hands) -> None:
    intents = discord.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True)
    async with client(services, intents=intents) as bot:
        await write(hands, "not for you")
        await bot.until(lambda: bot.messages)
        assert bot.messages[0].content == "not for you"


async def test_edits_and_deletions_are_told(discord_bot, hands) -> None:
    posted = await write(hands, "@askback one")
    await hands.post("/people/discord/edit", person="ada", channel="general", message=posted, content="@askback two")
    await discord_bot.until(lambda: discord_bot.edits)
    assert discord_bot.edits[0].data["content"] == "<@1100000000000000100> two"
    await hands.post("/people/discord/delete", person="ada", channel="general", message=posted)
    await discord_bot.until(lambda: "MESSAGE_DELETE" in discord_bot.events)


async def test_a_moderator_deletes_several_messages_of_others_at_once(discord_bot, hands, services) -> None:
    posted = [await write(hands, "one"), await write(hands, "two")]
    services.discord.people.moderate("ben", "general", *posted)
    await discord_bot.until(lambda: "MESSAGE_DELETE_BULK" in discord_bot.events)
    last = await write(hands, "three")
    body = {"person": "ben", "channel": "general", "message": last, "moderator": True}
    assert (await hands.post("/people/discord/delete", **body))["ok"]
    await discord_bot.until(lambda: "MESSAGE_DELETE" in discord_bot.events)


async def test_intents_filter_what_is_sent(services, hands) -> None:
    async with client(services, intents=discord.Intents(guilds=True, dm_messages=True)) as bot:
        await write(hands, "@askback hi")
        await write(hands, "hi", channel="1100000000000000401")
        await bot.until(lambda: bot.messages)
        assert [m.content for m in bot.messages] == ["hi"]


async def test_typing_reaches_those_who_asked(services, hands) -> None:
    intents = discord.Intents(guilds=True, guild_messages=True, guild_typing=True)
    async with client(services, intents=intents) as bot:
        channel = bot.get_channel(int(GENERAL))
        await channel.typing()
        await bot.until(lambda: "TYPING_START" in bot.events)


async def test_members_come_with_their_intent(services) -> None:
    async with client(services, intents=discord.Intents(guilds=True, members=True)) as bot:
        await bot.until(lambda: len(bot.guilds[0].members) == 4)
        assert {member.name for member in bot.guilds[0].members} == {"askback", "ada", "ben", "cy"}
    async with client(services) as bot:
        assert [member.name for member in bot.guilds[0].members] == ["askback"]


async def test_a_channel_the_bot_cannot_see_is_silent(discord_bot, hands) -> None:
    await write(hands, "@askback psst", channel="private-room")
    await write(hands, "@askback hi")
    await discord_bot.until(lambda: discord_bot.messages)
    assert [m.content for m in discord_bot.messages] == ["<@1100000000000000100> hi"]


async def test_a_message_can_be_replayed(discord_bot, hands) -> None:
    await hands.post("/faults/discord", kind="replay", operation="MESSAGE_CREATE")
    await hands.post("/people/discord/write", person="ada", channel="general", content="@askback hi")
    await discord_bot.until(lambda: len(discord_bot.messages) == 2)
    first, second = discord_bot.messages
    assert first.id == second.id


async def test_ephemeral_messages_are_told_to_no_gateway(discord_bot, hands) -> None:
    async def answer(interaction: discord.Interaction) -> None:
        await interaction.response.send_message("only you", ephemeral=True)

    discord_bot.answer = answer
    card = await discord_bot.request(
        "POST", f"/channels/{GENERAL}/messages", content="x", components=[row(button("a"))]
    )
    clicked = await hands.post(
        "/people/discord/click", person="ada", channel="general", message=card["id"], custom_id="a"
    )
    assert clicked["ok"]
    await write(hands, "@askback hi")
    await discord_bot.until(lambda: len(discord_bot.messages) == 2)
    assert [m.content for m in discord_bot.messages] == ["x", "<@1100000000000000100> hi"]


async def test_two_clients_both_hear_everything(discord_bot, services, hands) -> None:
    other = DiscordBot(services)
    await other.run_until_ready()
    await write(hands, "@askback hi")
    await discord_bot.until(lambda: discord_bot.messages and other.messages)
    await other.stop()


# reconnects


async def test_a_dropped_client_resumes_and_misses_nothing(discord_bot, services, hands) -> None:
    gateway = services.discord.gateway
    gateway.drop()
    await write(hands, "@askback while away")
    await write(hands, "@askback and again")
    await discord_bot.until(lambda: len(discord_bot.messages) == 2)
    assert [m.content.split(" ", 1)[1] for m in discord_bot.messages] == ["while away", "and again"]
    assert (gateway.identified, gateway.resumed, "RESUMED" in discord_bot.events) == (1, 1, True)
    assert discord_bot.events.index("RESUMED") > discord_bot.events.index("MESSAGE_CREATE")


async def test_asked_to_reconnect_a_client_resumes(discord_bot, services, hands) -> None:
    await hands.post("/faults/discord", kind="reconnect")
    await discord_bot.until(lambda: services.discord.gateway.resumed == 1)
    await write(hands, "@askback hi")
    await discord_bot.until(lambda: discord_bot.messages)


async def test_dropped_without_resume_a_client_identifies_and_has_missed_it(services, hands) -> None:
    async with client(services) as bot:
        await hands.post("/faults/discord", kind="drop_gateway", resumable=False)
        await write(hands, "@askback while away")
        await bot.until(lambda: services.discord.gateway.identified == 2)
        await write(hands, "@askback back")
        await bot.until(lambda: bot.messages)
        assert [m.content.split(" ", 1)[1] for m in bot.messages] == ["back"]
        assert services.discord.gateway.resumed == 0


async def test_an_invalid_session_is_begun_anew(discord_bot, services, hands) -> None:
    await hands.post("/faults/discord", kind="invalidate")
    await discord_bot.until(lambda: services.discord.gateway.identified == 2)
    await hands.post("/faults/discord", kind="invalidate", resumable=True)
    await discord_bot.until(lambda: services.discord.gateway.resumed == 1)


async def test_a_refused_resume_is_followed_by_identify(discord_bot, services, hands) -> None:
    await hands.post("/faults/discord", kind="no_resume")
    await hands.post("/faults/discord", kind="drop_gateway")
    await discord_bot.until(lambda: services.discord.gateway.identified == 2)


async def test_a_click_while_the_bot_is_away_is_replayed_in_time_or_fails(discord_bot, services, hands, clock) -> None:
    async def answer(interaction: discord.Interaction) -> None:
        await interaction.response.edit_message(content="done")

    discord_bot.answer = answer
    card = await discord_bot.request(
        "POST", f"/channels/{GENERAL}/messages", content="x", components=[row(button("a"))]
    )
    services.discord.gateway.drop()
    where = {"person": "ada", "channel": "general", "message": card["id"], "custom_id": "a"}
    assert (await hands.post("/people/discord/click", **where))["ok"]
    assert services.discord.guild.posts[card["id"]].content == "done"


async def test_heartbeats_are_answered_and_missed(hands, clock, session) -> None:
    async with Services(port=0, clock=clock) as services:
        services.discord.gateway._heartbeat_seconds = 0.2
        async with client(services) as bot:
            await bot.until(lambda: sum(frame["op"] == 11 for frame in bot.raw) >= 3)
        async with session.ws_connect(services.discord_gateway_url) as socket:
            hello = await socket.receive_json(timeout=30)
            assert (hello["op"], hello["d"]["heartbeat_interval"]) == (HELLO, 200)
            closed = await socket.receive(timeout=30)
            assert (closed.type, closed.data) == (aiohttp.WSMsgType.CLOSE, 4000)


async def test_unanswered_heartbeats_make_the_client_reconnect(clock) -> None:
    async with Services(port=0, clock=clock) as services:
        services.discord.gateway._heartbeat_seconds = 0.2
        async with client(services, heartbeat_timeout=0.5) as bot:
            await_fault = {"kind": "no_heartbeat_ack", "times": None}
            async with aiohttp.ClientSession() as session:
                await session.post(f"{services.url}/faults/discord", json=await_fault)
                await bot.until(lambda: services.discord.gateway.resumed >= 1)
                await session.delete(f"{services.url}/faults/discord")


# codes


@asynccontextmanager
async def raw_socket(services: Services, session: aiohttp.ClientSession) -> AsyncIterator[Any]:
    async with session.ws_connect(services.discord_gateway_url) as socket:
        await socket.receive_json(timeout=30)
        yield socket


def identify(**more: Any) -> dict[str, Any]:
    return {"op": IDENTIFY, "d": {"token": "local-discord-token", "intents": 513, "properties": {}, **more}}


@pytest.mark.parametrize(
    ("frames", "code"),
    [
        ([{"op": 99, "d": None}], 4001),
        (["{"], 4002),
        (["x" * 4097], 4002),
        ([{"op": 3, "d": {}}], 4003),
        ([identify(token="wrong")], 4004),
        ([identify(), identify()], 4005),
        *(([identify(shard=shard)], 4010) for shard in ([2, 1], [2, 2], [0, 0], [0], ["0", "1"], "0/1")),
        ([identify(intents=1 << 30)], 4013),
        ([identify(intents="513")], 4013),
        ([{"op": RESUME, "d": {"token": "wrong", "session_id": "x", "seq": 1}}], 4004),
        ([{"op": 1, "d": None}] * 121, 4008),
    ],
)
async def test_close_codes(frames: list[Any], code: int, services, session) -> None:
    async with raw_socket(services, session) as socket:
        with contextlib.suppress(ConnectionError):
            for frame in frames:
                await socket.send_str(frame if isinstance(frame, str) else json.dumps(frame))
        while (message := await socket.receive(timeout=30)).type != aiohttp.WSMsgType.CLOSE:
            pass
        assert message.data == code


# shards

GUILD_SHARD = (int(GUILD) >> 22) % 2
"""The guild's shard, of two; direct messages always go to the first."""


@asynccontextmanager
async def shards(services: Services, *numbers: int) -> AsyncIterator[list[DiscordBot]]:
    with pointed_at(services):
        bots = [DiscordBot(services, shard_id=number, shard_count=2) for number in numbers]
        try:
            for bot in bots:
                await bot.run_until_ready()
            yield bots
        finally:
            for bot in bots:
                await bot.stop()


async def test_a_shard_hears_its_guilds_and_the_first_one_hears_direct_messages(services, hands) -> None:
    assert GUILD_SHARD == 1
    async with shards(services, 0, 1) as (first, second):
        assert ([guild.id for guild in first.guilds], [guild.id for guild in second.guilds]) == ([], [int(GUILD)])
        await write(hands, "@askback in the guild")
        await write(hands, "in private", channel="1100000000000000401")
        await first.until(lambda: first.messages)
        await second.until(lambda: second.messages)
        assert [m.content for m in first.messages] == ["in private"]
        assert [m.content for m in second.messages] == ["<@1100000000000000100> in the guild"]


async def test_a_click_comes_to_the_shard_of_its_guild(services, hands) -> None:
    async with shards(services, 0, 1) as (first, second):
        for bot in (first, second):
            bot.answer = lambda interaction: interaction.response.defer()
        for channel, bot in ((GENERAL, second), ("1100000000000000401", first)):
            # Either client may post it: the API needs no shard.
            card = await first.request(
                "POST", f"/channels/{channel}/messages", content="x", components=[row(button("a"))]
            )
            told = {"person": "ada", "channel": channel, "message": card["id"], "custom_id": "a"}
            assert (await hands.post("/people/discord/click", **told))["ok"]
            assert len(bot.interactions) == 1
        assert (len(first.interactions), len(second.interactions)) == (1, 1)


async def test_two_sessions_of_one_shard_both_hear_everything(services, hands) -> None:
    async with shards(services, 1, 1) as bots:
        assert services.discord.gateway.connections == 2
        await write(hands, "@askback hi")
        for bot in bots:
            await bot.until(lambda bot=bot: bot.messages)
        assert bots[0].messages[0].id == bots[1].messages[0].id


async def test_a_shard_resumes_as_itself(services, hands) -> None:
    async with shards(services, 1) as (bot,):
        services.discord.gateway.drop()
        await write(hands, "@askback while you were away")
        await bot.until(lambda: bot.messages)
        assert services.discord.gateway.resumed == 1


async def test_too_few_shards_are_refused(services, session) -> None:
    services.discord.guild.app = replace(App(), shards=3, least_shards=2)
    for told, code in ({}, 4011), ({"shard": [0, 1]}, 4011), ({"shard": [0, 2]}, None):
        async with raw_socket(services, session) as socket:
            await socket.send_json(identify(**told))
            message = await socket.receive(timeout=30)
            assert message.data == code if code else json.loads(message.data)["t"] == "READY"


async def test_a_sequence_from_the_future_is_no_resume(services, session) -> None:
    async with raw_socket(services, session) as socket:
        await socket.send_json(identify())
        ready = await socket.receive_json(timeout=30)
    resume = {"token": "local-discord-token", "session_id": ready["d"]["session_id"], "seq": 99}
    async with raw_socket(services, session) as socket:
        await socket.send_json({"op": RESUME, "d": resume})
        assert (await socket.receive(timeout=30)).data == 4007
    async with raw_socket(services, session) as socket:
        await socket.send_json({"op": RESUME, "d": {**resume, "session_id": "unknown"}})
        assert (await socket.receive_json(timeout=30)) == {"op": 9, "d": False, "s": None, "t": None}


async def test_a_forgotten_session_cannot_be_resumed(services, session, clock) -> None:
    async with raw_socket(services, session) as socket:
        await socket.send_json(identify())
        ready = await socket.receive_json(timeout=30)
    await services.discord.guild.until(lambda _: services.discord.gateway.connections == 0)
    clock.advance(200)
    resume = {"token": "local-discord-token", "session_id": ready["d"]["session_id"], "seq": 1}
    async with raw_socket(services, session) as socket:
        await socket.send_json({"op": RESUME, "d": resume})
        assert (await socket.receive_json(timeout=30))["op"] == 9


async def test_privileged_intents_must_be_switched_on(services, session) -> None:
    services.discord.guild.app = replace(App(), privileged=int(Intent.GUILD_MEMBERS))
    async with raw_socket(services, session) as socket:
        await socket.send_json(identify(intents=int(Intent.MESSAGE_CONTENT)))
        assert (await socket.receive(timeout=30)).data == 4014
    with pointed_at(services):
        intents = discord.Intents(guilds=True, message_content=True)
        bot = DiscordBot(services, intents=intents)
        with pytest.raises(discord.PrivilegedIntentsRequired):
            await bot.run_until_ready()
        await bot.stop()


async def test_a_wrong_token_is_no_login(services) -> None:
    with pointed_at(services):
        bot = DiscordBot(services)
        with pytest.raises(discord.LoginFailure):
            await bot.run_until_ready("wrong")
        await bot.stop()


async def test_ready_sends_clients_back_here(discord_bot, services) -> None:
    (ready,) = discord_bot.payloads("READY")
    assert ready["resume_gateway_url"] == services.discord_gateway_url
    assert ready["application"]["id"] == services.discord.guild.app.id


async def test_stopping_leaves_no_task_behind(session) -> None:
    before = asyncio.all_tasks()
    async with Services(port=0) as services:
        socket = await session.ws_connect(services.discord_gateway_url)
        events = await session.get(f"{services.url}/people/discord/events")
        await events.content.readline()
    await socket.close()
    events.close()
    await asyncio.sleep(0)
    assert {task for task in asyncio.all_tasks() - before if "services" in repr(task)} == set()
