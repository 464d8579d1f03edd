"""The times of an interaction: three seconds for the one response, fifteen minutes for its token."""

from __future__ import annotations

import asyncio

import discord
import pytest

from askback_sandbox.discord.faults import DiscordFault
from emulator.interactions import UPDATE, answering, code_of
from support.discord_client import APP, FAILED, callback


async def test_nothing_within_three_seconds_shows_a_failure(discord_bot, click, clock, hands) -> None:
    pressing = asyncio.create_task(click())
    await discord_bot.until(lambda: discord_bot.interactions)
    await clock.until_sleeping()
    clock.advance(2.9)
    assert not pressing.done()
    clock.advance(0.2)
    answer = await pressing
    assert (answer["ok"], answer["error"]) == (False, FAILED)
    (entry,) = (await hands.get("/people/discord/state"))["interactions"]
    assert (entry["acked"], entry["ack_ms"], entry["error"]) == (False, None, FAILED)
    with pytest.raises(discord.NotFound) as late:
        await callback(discord_bot.interactions[0], UPDATE)
    assert code_of(late.value) == (404, 10062)


async def test_an_interaction_that_is_old_when_it_is_read_is_unknown(discord_bot, click, clock) -> None:
    await answering(discord_bot, UPDATE)
    pressing = asyncio.create_task(click(late=3.5))
    await clock.until_sleeping(2)
    clock.advance(3.2)
    assert (await pressing)["error"] == FAILED
    assert discord_bot.interactions == []
    clock.advance(0.5)
    await discord_bot.until(lambda: discord_bot.errors)
    assert [code_of(error) for error in discord_bot.errors] == [(404, 10062)]


async def test_a_foreign_token_is_unknown(discord_bot, click, session, services) -> None:
    await answering(discord_bot, UPDATE)
    await click()
    url = f"{services.discord_api_url}/interactions/{discord_bot.interactions[0].id}/wrong/callback"
    async with session.post(url, json=UPDATE) as reply:
        assert (reply.status, (await reply.json())["code"]) == (404, 10062)


async def test_one_interaction_has_one_response(discord_bot, click) -> None:
    async def answer(interaction: discord.Interaction) -> None:
        await callback(interaction, UPDATE)
        await callback(interaction, {"type": 6})

    discord_bot.answer = answer
    assert (await click())["ok"]
    await discord_bot.until(lambda: discord_bot.errors)
    assert [code_of(error) for error in discord_bot.errors] == [(400, 40060)]


async def test_the_same_interaction_can_arrive_twice(discord_bot, click, hands) -> None:
    await answering(discord_bot, {"type": 6})
    assert (await click(twice=True))["ok"]
    await discord_bot.until(lambda: len(discord_bot.interactions) == 2 and discord_bot.errors)
    first, second = discord_bot.interactions
    assert (first.id, first.token) == (second.id, second.token)
    assert [code_of(error) for error in discord_bot.errors] == [(400, 40060)]
    await hands.post("/faults/discord", kind="twice", operation="INTERACTION_CREATE")
    assert (await click())["ok"]
    await discord_bot.until(lambda: len(discord_bot.interactions) == 4)


async def test_a_refused_response_leaves_time_for_a_good_one(discord_bot, click) -> None:
    async def answer(interaction: discord.Interaction) -> None:
        with pytest.raises(discord.HTTPException) as refused:
            await callback(interaction, {"type": 7, "data": {"content": "x" * 2001}})
        assert code_of(refused.value) == (400, 50035)
        await callback(interaction, UPDATE)

    discord_bot.answer = answer
    assert (await click())["ok"]


async def test_a_swallowed_response_reaches_nobody(discord_bot, click, clock, services, discord_card) -> None:
    await answering(discord_bot, UPDATE)
    services.discord.guild.faults.add(DiscordFault(kind="swallow", operation="create_interaction_response"))
    pressing = asyncio.create_task(click())
    await discord_bot.until(lambda: services.discord.guild.log[-1].operation == "create_interaction_response")
    clock.advance(3.1)
    assert (await pressing)["error"] == FAILED
    assert services.discord.guild.posts[discord_card["message"]].content == "card"


async def test_the_token_words_messages_for_fifteen_minutes(discord_bot, click, services, clock) -> None:
    await answering(discord_bot, {"type": 5, "data": {"flags": 64}})
    assert (await click())["ok"]
    (interaction,) = discord_bot.interactions
    token = interaction.token
    hook = f"/webhooks/{APP}/{token}"
    waiting = await discord_bot.request("GET", f"{hook}/messages/@original")
    assert waiting["flags"] == 64 | 128
    first = await discord_bot.request("POST", hook, content="what was deferred", flags=0)
    assert (first["id"], first["flags"], first["edited_timestamp"]) == (waiting["id"], 64, None)
    second = await discord_bot.request("POST", hook, content="another", flags=0)
    assert second["id"] != first["id"]
    edited = await discord_bot.request("PATCH", f"{hook}/messages/@original", content="newer")
    assert edited["content"] == "newer"
    await discord_bot.request("PATCH", f"{hook}/messages/{second['id']}", content="newer too")
    clock.advance(899)
    await discord_bot.request("DELETE", f"{hook}/messages/{second['id']}")
    with pytest.raises(discord.NotFound) as gone:
        await discord_bot.request("GET", f"{hook}/messages/{second['id']}")
    assert code_of(gone.value) == (404, 10008)
    clock.advance(2)
    with pytest.raises(discord.HTTPException) as over:
        await discord_bot.request("POST", hook, content="late")
    assert code_of(over.value) == (401, 50027)


async def test_before_the_response_there_is_no_webhook(discord_bot, click, services) -> None:
    async def answer(interaction: discord.Interaction) -> None:
        with pytest.raises(discord.NotFound) as early:
            await discord_bot.request("POST", f"/webhooks/{APP}/{interaction.token}", content="x")
        assert code_of(early.value) == (404, 10015)
        await interaction.response.defer()
        original = await interaction.original_response()
        assert original.id == interaction.message.id
        await interaction.edit_original_response(content="by the token", view=None)

    discord_bot.answer = answer
    assert (await click())["ok"]
    await discord_bot.until(lambda: services.discord.guild.log[-1].operation == "update_original_webhook_message")
    assert discord_bot.errors == []
