"""One question in Discord from the mention to the answer, with a real discord.py client."""

from __future__ import annotations

import discord

from support.discord_client import ADA, callback, label, modal, text_input


async def test_a_mention_a_thread_a_card_a_click_and_a_text_field(services, discord_bot, hands) -> None:
    guild = services.discord.guild
    heard = []

    async def answer(interaction: discord.Interaction) -> None:
        heard.append(interaction.data)
        if interaction.type is discord.InteractionType.modal_submit:
            await interaction.response.edit_message(content="Thanks", view=None)
        elif interaction.data["custom_id"] == "yes":
            await interaction.response.edit_message(content=f"Yes, by <@{interaction.user.id}>")
        else:
            await callback(interaction, modal(label(text_input()), title="Something else…"))

    discord_bot.answer = answer
    await hands.post("/people/discord/write", person="ada", channel="general", content="hi, @askback!")
    await discord_bot.until(lambda: discord_bot.messages)
    (message,) = discord_bot.messages
    assert (message.content, message.author.id, message.guild.name) == (f"hi, <@{guild.bot.id}>!", int(ADA), "Local")
    assert discord_bot.user in message.mentions

    thread = await message.create_thread(name="A question", auto_archive_duration=10080)
    assert thread.id == message.id
    view = discord.ui.View(timeout=None)
    view.add_item(discord.ui.Button(label="Yes", custom_id="yes", style=discord.ButtonStyle.primary))
    view.add_item(discord.ui.Button(label="Something else…", custom_id="other"))
    view.stop()
    card = await thread.send("Which one?", view=view, allowed_mentions=discord.AllowedMentions.none())

    where = {"person": "ada", "channel": str(thread.id), "message": str(card.id)}
    assert (await hands.post("/people/discord/click", **where, custom_id="yes"))["ok"]
    assert guild.posts[str(card.id)].content == f"Yes, by <@{ADA}>"
    assert (await hands.post("/people/discord/click", **where, custom_id="other"))["ok"]
    (shown,) = (await hands.get("/people/discord/state"))["modals"]
    assert (shown["person"], shown["modal"]["title"]) == (ADA, "Something else…")
    submitted = await hands.post("/people/discord/submit", person="ada", custom_id="form", values={"text": "a goat"})
    assert submitted["ok"]
    assert heard[-1]["components"][0]["component"] == {"type": 4, "id": 2, "custom_id": "text", "value": "a goat"}
    state = await hands.get("/people/discord/state")
    assert state["modals"] == []
    assert [entry["acked"] for entry in state["interactions"]] == [True, True, True]
    assert (guild.posts[str(card.id)].content, guild.posts[str(card.id)].components) == ("Thanks", ())
    assert [call.status for call in guild.log if call.status >= 300] == []
