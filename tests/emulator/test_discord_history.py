"""A bot's reads of earlier messages in Discord: order, limits, threads, files, and withheld content."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import discord
import pytest

from askback_sandbox.discord.values import Permission
from support.discord_client import ADA, GENERAL, button, places, row

MESSAGES = f"/channels/{GENERAL}/messages"


@pytest.fixture
async def said(services, discord_bot) -> list[str]:
    """The ids of seven messages, the oldest first."""
    return [services.discord.people.write("ada", "general", f"line {number}").id for number in range(7)]


async def listed(bot: Any, **query: Any) -> list[str]:
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    return [message["id"] for message in await bot.request("GET", f"{MESSAGES}?{asked}")]


async def test_messages_come_newest_first_from_where_they_are_counted(discord_bot, said) -> None:
    newest = said[::-1]
    assert await listed(discord_bot) == newest
    assert await listed(discord_bot, limit=2) == newest[:2]
    assert await listed(discord_bot, before=said[3], limit=2) == [said[2], said[1]]
    # After: the oldest of the newer messages, and these again newest first.
    assert await listed(discord_bot, after=said[3], limit=2) == [said[5], said[4]]
    assert await listed(discord_bot, around=said[3], limit=3) == [said[4], said[3], said[2]]
    assert await listed(discord_bot, before=said[0]) == []


async def test_a_page_holds_fifty_unless_told_and_a_hundred_at_most(discord_bot, services) -> None:
    for number in range(101):
        services.discord.people.write("ada", "general", f"line {number}")
    assert len(await listed(discord_bot)) == 50
    assert len(await listed(discord_bot, limit=100)) == 100
    channel = discord_bot.get_channel(int(GENERAL))
    assert len([message async for message in channel.history(limit=None)]) == 101


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ({"limit": 0}, "limit:NUMBER_TYPE_MIN"),
        ({"limit": 101}, "limit:NUMBER_TYPE_MAX"),
        ({"limit": "many"}, "limit:NUMBER_TYPE_COERCE"),
        ({"before": "yesterday"}, "before:NUMBER_TYPE_COERCE"),
        ({"after": "-1"}, "after:NUMBER_TYPE_COERCE"),
        ({"around": "x"}, "around:NUMBER_TYPE_COERCE"),
    ],
)
async def test_a_page_that_cannot_be_is_refused(discord_bot, services, session, query, place) -> None:
    headers = {"Authorization": "Bot local-discord-token"}
    async with session.get(f"{services.discord_api_url}{MESSAGES}", params=query, headers=headers) as reply:
        body = await reply.json()
    assert (reply.status, body["code"], places(body)) == (400, 50035, {place})


async def test_without_the_right_to_read_history_there_is_nothing_to_see(discord_bot, services, said) -> None:
    guild = services.discord.guild
    guild.put_place(replace(guild.places[GENERAL], denied=int(Permission.READ_MESSAGE_HISTORY)))
    assert await listed(discord_bot) == []
    with pytest.raises(discord.Forbidden) as caught:
        await discord_bot.request("GET", f"{MESSAGES}/{said[0]}")
    assert caught.value.code == 50013


async def test_a_thread_begins_with_an_empty_message_that_points_at_what_it_hangs_from(discord_bot, said) -> None:
    channel = discord_bot.get_channel(int(GENERAL))
    start = await channel.fetch_message(int(said[0]))
    thread = await start.create_thread(name="Talk")
    await thread.send("hello")
    answer, first = await discord_bot.request("GET", f"/channels/{thread.id}/messages")
    assert (answer["content"], first["type"], first["content"]) == ("hello", 21, "")
    assert first["id"] != said[0]
    assert (first["referenced_message"]["id"], first["referenced_message"]["content"]) == (said[0], "line 0")
    assert first["message_reference"]["channel_id"] == GENERAL
    assert (await discord_bot.fetch_channel(thread.id)).message_count == 1


async def test_without_the_intent_content_is_empty_also_where_it_is_referred_to(discord_bot, services, said) -> None:
    guild = services.discord.guild
    guild.app = replace(guild.app, privileged=0)
    mention = services.discord.people.write("ben", "general", "@askback look at this", said[0])
    (shown,) = await discord_bot.request("GET", f"{MESSAGES}?limit=1")
    assert shown["id"] == mention.id
    assert shown["content"].endswith("look at this")
    assert shown["referenced_message"]["content"] == ""
    (before,) = await discord_bot.request("GET", f"{MESSAGES}?limit=1&before={mention.id}")
    assert (before["content"], before["attachments"]) == ("", [])
    await discord_bot.until(lambda: any(m["id"] == mention.id for m in discord_bot.payloads("MESSAGE_CREATE")))
    (told,) = [m for m in discord_bot.payloads("MESSAGE_CREATE") if m["id"] == mention.id]
    assert told["referenced_message"]["content"] == ""


async def test_files_come_with_their_names_kinds_and_sizes(discord_bot, services, hands) -> None:
    sent = await hands.post(
        "/people/discord/write",
        person="ada",
        channel=services.discord.guild.dm(ADA).id,  # in a channel, content without a mention would be empty
        content="",
        files=["shot.png", {"name": "ein Log.txt", "size": 12}],
    )
    assert sent["ok"]
    await discord_bot.until(lambda: discord_bot.messages)
    (message,) = discord_bot.messages
    assert message.content == ""
    assert [(one.filename, one.content_type, one.size) for one in message.attachments] == [
        ("shot.png", "image/png", 1024),
        ("ein Log.txt", "text/plain", 12),
    ]
    assert message.attachments[1].url.partition("?")[0].endswith("/ein%20Log.txt")
    read = await message.channel.fetch_message(message.id)
    assert [one.filename for one in read.attachments] == ["shot.png", "ein Log.txt"]


@pytest.mark.parametrize("files", [[""], ["a/b"], [{"size": 3}], [{"name": "x", "size": -1}], ["x"] * 11, 7])
async def test_what_is_no_file_is_not_sent(hands, files) -> None:
    for door, content in (("/people/discord/write", "content"), ("/people/write", "text")):
        answer = await hands.post(door, person="ada", channel="general", files=files, **{content: "hi"})
        assert (answer["ok"], answer["code"]) == (False, "invalid_file")


async def test_an_ordinary_message_may_carry_buttons_be_a_reply_and_lose_them_again(
    discord_bot, services, hands, said
) -> None:
    async def answer(interaction: discord.Interaction) -> None:
        await interaction.response.edit_message(content="Stopped.", view=None)

    discord_bot.answer = answer
    written = await discord_bot.request(
        "POST",
        MESSAGES,
        content="Working on it…",
        components=[row(button("stop:1", "Stop", style=4))],
        message_reference={"message_id": said[0]},
        allowed_mentions={"parse": []},
    )
    assert (written["type"], written["referenced_message"]["id"], written["mentions"]) == (19, said[0], [])
    # While the agent writes, only the text changes.
    grown = await discord_bot.request("PATCH", f"{MESSAGES}/{written['id']}", content="Working on it… still")
    assert grown["components"][0]["components"][0]["custom_id"] == "stop:1"
    pressed = await hands.post(
        "/people/discord/click", person="ada", channel="general", message=written["id"], custom_id="stop:1"
    )
    assert pressed["ok"]
    assert str(discord_bot.interactions[0].user.id) == ADA
    post = services.discord.guild.post(GENERAL, written["id"])
    assert (post.content, post.components, post.reference) == ("Stopped.", (), said[0])


async def test_typing_lasts_ten_seconds_or_until_something_is_said(discord_bot, hands, clock) -> None:
    channel = discord_bot.get_channel(int(GENERAL))

    async def typing() -> list[str]:
        return [one["channel"] for one in (await hands.get("/people/discord/state"))["typing"]]

    await discord_bot.request("POST", f"/channels/{GENERAL}/typing")
    clock.advance(9)
    assert await typing() == [GENERAL]
    await discord_bot.request("POST", f"/channels/{GENERAL}/typing")
    clock.advance(9)
    assert await typing() == [GENERAL]
    clock.advance(1)
    assert await typing() == []
    await discord_bot.request("POST", f"/channels/{GENERAL}/typing")
    await channel.send("done")
    assert await typing() == []
