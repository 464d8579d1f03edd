"""Discord's REST API as discord.py uses it: its answers, and every code of its refusals."""

from __future__ import annotations

import asyncio
import io
import json
from dataclasses import replace
from typing import Any

import aiohttp
import discord
import pytest

from askback_sandbox.discord.faults import DiscordFault
from askback_sandbox.discord.values import Permission
from support.discord_client import ADA, APP, BEN, GENERAL, PRIVATE, button, row

TOKEN = {"Authorization": "Bot local-discord-token"}


def code_of(error: pytest.ExceptionInfo[Any]) -> tuple[int, int]:
    return error.value.status, error.value.code


@pytest.fixture
async def general(discord_bot) -> discord.TextChannel:
    return await discord_bot.fetch_channel(int(GENERAL))


@pytest.fixture
async def thread(general) -> discord.Thread:
    return await general.create_thread(name="Alone", type=discord.ChannelType.public_thread)


# reading


async def test_a_bot_reads_itself_the_guild_its_members_and_roles(discord_bot) -> None:
    assert (discord_bot.user.name, str(discord_bot.application_id)) == ("askback", APP)
    guild = discord_bot.guilds[0]
    assert [channel.name for channel in guild.text_channels] == ["general", "deploys", "private-room"]
    fetched = await discord_bot.fetch_guild(guild.id)
    assert (fetched.name, [role.name for role in await guild.fetch_roles()]) == (
        "Local",
        ["@everyone", "release", "askback"],
    )
    ada = await guild.fetch_member(int(ADA))
    assert (ada.display_name, [role.name for role in ada.roles]) == ("Ada Lovelace", ["@everyone", "release"])
    assert (await discord_bot.fetch_user(int(BEN))).name == "ben"
    assert guild.me.guild_permissions.send_messages
    assert (await discord_bot.application_info()).owner.name == "ada"
    gateway = await discord_bot.request("GET", "/gateway/bot")
    assert (gateway["shards"], gateway["url"]) == (1, discord_bot.services.discord_gateway_url)


async def test_messages_are_created_read_edited_listed_and_deleted(discord_bot, general, services) -> None:
    first = await general.send("one")
    second = await general.send("two", reference=first)
    assert (second.reference.message_id, second.type) == (first.id, discord.MessageType.reply)
    edited = await first.edit(content="one more", suppress=True)
    assert (edited.content, edited.edited_at is not None, edited.flags.suppress_embeds) == ("one more", True, True)
    assert (await general.fetch_message(first.id)).content == "one more"
    assert [m.content async for m in general.history(limit=5)] == ["two", "one more"]
    assert [m.content async for m in general.history(before=second)] == ["one more"]
    assert [m.content async for m in general.history(after=first)] == ["two"]
    await first.delete()
    assert [post.content for post in services.discord.guild.history(GENERAL)] == ["two"]


async def test_the_same_nonce_posts_once_for_some_minutes(discord_bot, general, services, clock) -> None:
    first = await general.send("a card", nonce="ask-1-0")
    again = await general.send("a card", nonce="ask-1-0")
    assert again.id == first.id
    assert len(services.discord.guild.history(GENERAL)) == 1
    assert (await general.send("a card", nonce="ask-1-1")).id != first.id
    clock.advance(301)
    assert (await general.send("a card", nonce="ask-1-0")).id != first.id
    body = {"content": "x", "nonce": "free"}
    ids = {(await discord_bot.request("POST", f"/channels/{GENERAL}/messages", **body))["id"] for _ in range(2)}
    assert len(ids) == 2


@pytest.mark.parametrize(
    ("allowed", "pings"),
    [
        (None, {ADA, BEN, "1100000000000000010"}),
        (discord.AllowedMentions.none(), set()),
        (discord.AllowedMentions(users=[discord.Object(ADA)], everyone=False, roles=False), {ADA}),
        (discord.AllowedMentions(users=False, roles=True, everyone=False), {"1100000000000000010"}),
    ],
)
async def test_who_is_pinged_is_what_allowed_mentions_says(allowed, pings, general, hands) -> None:
    text = f"<@{ADA}> <@!{BEN}> <@&1100000000000000010> `<@1100000000000000203>` @everyone"
    await general.send(text, allowed_mentions=allowed)
    (message,) = (await hands.get("/people/discord/state"))["messages"]
    assert set(message["pings"]) == pings


async def test_files_come_with_their_names(general, hands) -> None:
    sent = await general.send("see", file=discord.File(io.BytesIO(b"all of it"), "plan.txt"))
    assert [(one.filename, one.size) for one in sent.attachments] == [("plan.txt", 9)]
    (message,) = (await hands.get("/people/discord/state"))["messages"]
    assert [one["filename"] for one in message["attachments"]] == ["plan.txt"]


async def test_a_direct_message_is_opened_and_written_to(discord_bot) -> None:
    ada = await discord_bot.fetch_user(int(ADA))
    assert (await ada.send("psst")).channel.id == int(ADA) + 200
    with pytest.raises(discord.NotFound) as refused:
        await discord_bot.request("POST", "/users/@me/channels", recipient_id="99")
    assert code_of(refused) == (404, 10013)


async def test_typing_is_shown_for_ten_seconds_or_until_a_message(general, hands, clock) -> None:
    async def typing() -> list[dict[str, str]]:
        return (await hands.get("/people/discord/state"))["typing"]

    await general.typing()
    assert await typing() == [{"channel": GENERAL, "user": APP}]
    clock.advance(10.5)
    assert await typing() == []
    await general.typing()
    await general.send("here")
    assert await typing() == []


# threads


async def test_threads_start_from_a_message_or_alone_and_are_archived_and_opened(discord_bot, general, thread) -> None:
    message = await general.send("a start")
    started = await message.create_thread(name="From it", auto_archive_duration=10080)
    assert (started.id, started.parent_id, started.owner_id) == (message.id, general.id, discord_bot.user.id)
    assert started.auto_archive_duration == 10080
    assert (await general.fetch_message(message.id)).flags.has_thread
    closed = await thread.edit(archived=True)
    assert closed.archived
    await discord_bot.until(lambda: discord_bot.events.count("THREAD_UPDATE") == 1)
    opened = await closed.edit(archived=False, auto_archive_duration=1440)
    assert (opened.archived, opened.auto_archive_duration) == (False, 1440)
    await thread.join()
    assert {name for name in discord_bot.events if name.startswith("THREAD")} == {"THREAD_CREATE", "THREAD_UPDATE"}


async def test_an_archived_thread_takes_no_edits_until_it_is_opened(thread, hands) -> None:
    message = await thread.send("a card")
    await hands.post("/faults/discord", kind="archive", channel=str(thread.id))
    for attempt in (message.edit(content="newer"), message.delete(), thread.edit(name="Newer")):
        with pytest.raises(discord.HTTPException) as refused:
            await attempt
        assert code_of(refused) == (400, 50083)
    opened = await thread.edit(archived=False)
    await message.edit(content="newer")
    assert not opened.archived


async def test_a_message_opens_an_archived_thread_and_no_locked_one(thread, hands, services) -> None:
    place = services.discord.guild.places
    await hands.post("/faults/discord", kind="archive", channel=str(thread.id))
    await thread.send("wakes it")
    assert not place[str(thread.id)].archived
    await hands.post("/faults/discord", kind="archive", channel=str(thread.id), locked=True)
    with pytest.raises(discord.Forbidden) as refused:
        await thread.send("in vain")
    assert code_of(refused) == (403, 160005)
    with pytest.raises(discord.Forbidden) as refused:
        await thread.edit(archived=False)
    assert code_of(refused) == (403, 50013)


async def test_one_thread_for_a_message_and_none_in_a_thread_or_direct_message(discord_bot, general, thread) -> None:
    message = await general.send("a start")
    await message.create_thread(name="One")
    with pytest.raises(discord.HTTPException) as refused:
        await discord_bot.request("POST", f"/channels/{GENERAL}/messages/{message.id}/threads", name="Two")
    assert code_of(refused) == (400, 160004)
    inside = await thread.send("x")
    with pytest.raises(discord.HTTPException) as refused:
        await discord_bot.request("POST", f"/channels/{thread.id}/messages/{inside.id}/threads", name="Two")
    assert code_of(refused) == (400, 50024)
    for name in ("", "x" * 101):
        with pytest.raises(discord.HTTPException) as refused:
            await general.create_thread(name=name, type=discord.ChannelType.public_thread)
        assert code_of(refused) == (400, 50035)
    with pytest.raises(discord.HTTPException) as refused:
        await general.create_thread(name="x", type=discord.ChannelType.public_thread, auto_archive_duration=61)
    assert code_of(refused) == (400, 50035)


# refusals


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("POST", "/channels/99/messages", {"content": "x"}, (404, 10003)),
        ("GET", "/channels/99", {}, (404, 10003)),
        ("GET", f"/channels/{GENERAL}/messages/99", {}, (404, 10008)),
        ("PATCH", f"/channels/{GENERAL}/messages/99", {"content": "x"}, (404, 10008)),
        ("DELETE", f"/channels/{GENERAL}/messages/99", {}, (404, 10008)),
        ("POST", f"/channels/{GENERAL}/messages/99/threads", {"name": "x"}, (404, 10008)),
        ("POST", f"/channels/{PRIVATE}/messages", {"content": "x"}, (403, 50001)),
        ("GET", f"/channels/{PRIVATE}", {}, (403, 50001)),
        ("GET", "/guilds/99", {}, (404, 10004)),
        ("GET", "/guilds/1100000000000000001/members/99", {}, (404, 10007)),
        ("POST", f"/webhooks/{APP}/no-token", {"content": "x"}, (404, 10015)),
        ("PATCH", f"/channels/{GENERAL}", {"name": "x"}, (403, 50013)),
        ("GET", "/no/such/path", {}, (404, 0)),
        ("PUT", f"/channels/{GENERAL}/messages", {}, (405, 0)),
        ("GET", "/channels/general", {}, (404, 0)),
    ],
)
async def test_codes(method: str, path: str, body: dict[str, Any], expected, discord_bot) -> None:
    with pytest.raises(discord.HTTPException) as refused:
        await discord_bot.request(method, path, **body)
    assert code_of(refused) == expected


async def test_what_others_wrote_is_not_the_bots_to_change(discord_bot, general, hands) -> None:
    posted = await hands.post("/people/discord/write", person="ada", channel="general", content="mine")
    path = f"/channels/{GENERAL}/messages/{posted['id']}"
    with pytest.raises(discord.Forbidden) as refused:
        await discord_bot.request("PATCH", path, content="yours")
    assert code_of(refused) == (403, 50005)
    with pytest.raises(discord.Forbidden) as refused:
        await discord_bot.request("DELETE", path)
    assert code_of(refused) == (403, 50013)


async def test_permissions_are_taken_away_per_channel(general, services) -> None:
    guild = services.discord.guild
    guild.put_place(replace(guild.places[GENERAL], denied=int(Permission.SEND_MESSAGES)))
    with pytest.raises(discord.Forbidden) as refused:
        await general.send("x")
    assert code_of(refused) == (403, 50013)
    guild.put_place(replace(guild.places[GENERAL], denied=int(Permission.CREATE_PUBLIC_THREADS)))
    with pytest.raises(discord.Forbidden) as refused:
        await general.create_thread(name="x", type=discord.ChannelType.public_thread)
    assert code_of(refused) == (403, 50013)


@pytest.mark.parametrize("header", [{}, {"Authorization": "Bot wrong"}, {"Authorization": "local-discord-token"}])
async def test_without_the_token_nothing_is_told(header, services, session) -> None:
    async with session.get(f"{services.discord_api_url}/users/@me", headers=header) as reply:
        assert (reply.status, await reply.json()) == (401, {"message": "401: Unauthorized", "code": 0})


async def test_a_body_is_json_and_not_endless(services, session) -> None:
    url = f"{services.discord_api_url}/channels/{GENERAL}/messages"
    headers = {**TOKEN, "Content-Type": "application/json"}
    for data, expected in ((b"{", (400, 50109)), (b"[]", (400, 50109)), (b"x" * 10_500_000, (413, 40005))):
        async with session.post(url, data=io.BytesIO(data), headers=headers) as reply:
            assert (reply.status, (await reply.json())["code"]) == expected


# rate limits and faults


async def test_every_answer_has_the_type_and_the_bucket_that_clients_read(services, session) -> None:
    url = f"{services.discord_api_url}/channels/{GENERAL}/messages"
    async with session.post(url, json={"content": "x"}, headers=TOKEN) as reply:
        assert reply.headers["Content-Type"] == "application/json"
        assert reply.headers["X-RateLimit-Bucket"] == "create_message-local"
        assert (reply.headers["X-RateLimit-Limit"], reply.headers["X-RateLimit-Remaining"]) == ("50", "49")
        assert float(reply.headers["X-RateLimit-Reset-After"]) <= 1
    async with session.get(url, headers=TOKEN) as reply:
        assert reply.headers["X-RateLimit-Bucket"] == "list_messages-local"


async def test_a_429_of_discord_is_waited_for(discord_bot, general, services) -> None:
    services.discord.guild.faults.ratelimit("create_message", retry_after=0.05, times=2)
    services.discord.guild.faults.ratelimit("create_message", retry_after=0.05, everywhere=True)
    await general.send("at last")
    assert [call.status for call in services.discord.guild.log if call.operation == "create_message"] == [
        429,
        429,
        429,
        200,
    ]
    assert services.discord.guild.log[-2].answer == {
        "message": "You are being rate limited.",
        "retry_after": 0.05,
        "global": True,
    }


async def test_a_429_of_what_stands_before_discord_is_none_of_its_own(general, services) -> None:
    services.discord.guild.faults.ratelimit("create_message", via=False)
    with pytest.raises(discord.HTTPException) as refused:
        await general.send("in vain")
    assert refused.value.status == 429
    assert "Via" not in refused.value.response.headers
    assert refused.value.response.headers["Retry-After"] == "1"


async def test_faults_are_switched_on_from_outside(discord_bot, general, services, session, hands) -> None:
    added = await hands.post(
        "/faults/discord",
        kind="error",
        operation="create_message",
        status=403,
        code=50013,
        message="Missing Permissions",
    )
    assert [entry["operation"] for entry in await hands.get("/faults/discord")] == ["create_message"]
    assert added["ok"]
    with pytest.raises(discord.Forbidden) as refused:
        await general.send("x")
    assert code_of(refused) == (403, 50013)
    await hands.post("/faults/discord", kind="drop", operation="create_message")
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await general.send("x")
    assert services.discord.guild.history(GENERAL) == []
    await hands.post("/faults/discord", kind="lost_answer", operation="create_message")
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await general.send("x")
    assert len(services.discord.guild.history(GENERAL)) == 1
    assert not (await hands.post("/faults/discord", kind="mischief"))["ok"]
    assert not (await hands.post("/faults/discord", kind="archive", channel="nowhere"))["ok"]
    await hands.post("/faults/discord", kind="error")
    async with session.delete(f"{services.url}/faults/discord") as reply:
        assert (await reply.json())["ok"]
    await general.send("good again")


async def test_a_delay_waits_by_the_clock(general, services, clock) -> None:
    services.discord.guild.faults.add(DiscordFault(kind="delay", operation="create_message", seconds=30))
    sending = asyncio.create_task(general.send("late"))
    await clock.until_sleeping()
    assert services.discord.guild.history(GENERAL) == []
    clock.advance(30)
    await sending


async def test_the_log_holds_every_request_and_no_token(discord_bot, general, hands) -> None:
    message = await general.send("x", view=None)
    await discord_bot.request("PATCH", f"/channels/{GENERAL}/messages/{message.id}", components=[row(button("go"))])
    await hands.post("/people/discord/click", person="ada", channel="general", message=str(message.id), custom_id="x")

    async def answer(interaction: discord.Interaction) -> None:
        await interaction.response.defer()
        await interaction.followup.send("more")

    discord_bot.answer = answer
    where = {"person": "ada", "channel": "general", "message": str(message.id)}
    assert (await hands.post("/people/discord/click", **where, custom_id="go"))["ok"]
    await discord_bot.until(lambda: discord_bot.services.discord.guild.log[-1].operation == "execute_webhook")
    log = await hands.get("/log/discord")
    assert [(call["operation"], call["status"]) for call in log[-4:]] == [
        ("create_message", 200),
        ("update_message", 200),
        ("create_interaction_response", 200),
        ("execute_webhook", 200),
    ]
    assert log[-1]["path"] == f"/webhooks/{APP}/…"
    assert "local-discord-token" not in json.dumps(log)
    assert discord_bot.interactions[0].token not in json.dumps(log)
