"""Interactions as they arrive, and the responses to them: updates, modals, ephemeral messages."""

from __future__ import annotations

import asyncio
from typing import Any

import discord
import pytest

from emulator.interactions import MESSAGES, UPDATE, answering, code_of
from support.discord_client import ADA, APP, BEN, GENERAL, button, callback, label, modal, row, select, text_input

RELEASE = "1100000000000000010"


async def test_a_click_arrives_with_the_member_and_the_message(discord_bot, click, discord_card) -> None:
    await answering(discord_bot, UPDATE)
    assert (await click())["ok"]
    (interaction,) = discord_bot.interactions
    assert (interaction.type, interaction.data["custom_id"]) == (discord.InteractionType.component, "go")
    assert (str(interaction.user.id), interaction.user.display_name) == (ADA, "Ada Lovelace")
    assert [role.name for role in interaction.user.roles] == ["@everyone", "release"]
    assert interaction.permissions.send_messages
    assert str(interaction.message.id) == discord_card["message"]
    (payload,) = discord_bot.payloads("INTERACTION_CREATE")
    assert payload["member"]["roles"] == [RELEASE]
    assert (payload["context"], payload["authorizing_integration_owners"]) == (0, {"0": "1100000000000000001"})


async def test_in_a_direct_message_the_user_arrives_instead(discord_bot, hands) -> None:
    await answering(discord_bot, UPDATE)
    ada = await discord_bot.fetch_user(int(ADA))
    dm = await ada.create_dm()
    sent = await discord_bot.request("POST", f"/channels/{dm.id}/messages", content="x", components=[row(button("go"))])
    clicked = await hands.post(
        "/people/discord/click", person="ada", channel=str(dm.id), message=sent["id"], custom_id="go"
    )
    assert clicked["ok"]
    (payload,) = discord_bot.payloads("INTERACTION_CREATE")
    assert ("member" in payload, "guild_id" in payload, payload["user"]["id"]) == (False, False, ADA)
    assert (payload["context"], payload["authorizing_integration_owners"]) == (1, {"0": "0"})
    assert isinstance(discord_bot.interactions[0].user, discord.User)
    other = await hands.post(
        "/people/discord/click", person="ben", channel=str(dm.id), message=sent["id"], custom_id="go"
    )
    assert other["code"] == "channel_not_found"


async def test_choices_arrive_as_values_and_people_resolved(discord_bot, choose) -> None:
    await answering(discord_bot, {"type": 6})
    assert (await choose("one", "b"))["ok"]
    assert (await choose("some", "c", "a"))["ok"]
    assert (await choose("some"))["ok"]
    assert (await choose("who", BEN, APP))["ok"]
    assert (await choose("whom", RELEASE))["ok"]
    data = [interaction.data for interaction in discord_bot.interactions]
    assert [one["values"] for one in data] == [["b"], ["c", "a"], [], [BEN, APP], [RELEASE]]
    assert set(data[3]["resolved"]["users"]) == set(data[3]["resolved"]["members"]) == {BEN, APP}
    assert "deaf" not in data[3]["resolved"]["members"][BEN]
    assert data[4]["resolved"]["roles"][RELEASE]["name"] == "release"
    assert "resolved" not in data[0]


async def test_channels_arrive_resolved_and_only_those_of_the_types_are_offered(discord_bot, hands) -> None:
    await answering(discord_bot, {"type": 6})
    picker = {"type": 8, "custom_id": "where", "channel_types": [0, 5], "min_values": 0, "max_values": 2}
    sent = await discord_bot.request("POST", MESSAGES, content="x", components=[row(picker)])
    forum = await hands.post("/people/discord/write", person="ada", channel="general", content="hello")
    where = {"person": "ada", "channel": GENERAL, "message": sent["id"], "custom_id": "where"}
    assert (await hands.post("/people/discord/select", **where, values=[GENERAL]))["ok"]
    found = discord_bot.interactions[-1].data["resolved"]["channels"][GENERAL]
    assert (found["name"], found["type"]) == ("general", 0)
    refused = await hands.post("/people/discord/select", **where, values=[forum["id"]])
    assert refused["code"] == "invalid_choice"


@pytest.mark.parametrize(
    ("custom_id", "values", "code"),
    [
        ("one", ["c"], "invalid_choice"),
        ("one", [], "wrong_number"),
        ("one", ["a", "b"], "wrong_number"),
        ("some", ["a", "a"], "wrong_number"),
        ("some", ["a", "b", "c"], "wrong_number"),
        ("who", ["99"], "invalid_choice"),
        ("go", [], "not_a_select"),
        ("gone", [], "component_not_found"),
    ],
)
async def test_a_client_lets_nobody_choose_what_is_not_there(custom_id, values, code, choose, discord_bot) -> None:
    assert (await choose(custom_id, *values))["code"] == code
    assert discord_bot.interactions == []


async def test_a_client_lets_nobody_press_what_is_not_there(click) -> None:
    assert (await click("off"))["code"] == "disabled"
    assert (await click("one"))["code"] == "not_a_button"
    assert (await click("gone"))["code"] == "component_not_found"
    assert (await click(message="99"))["code"] == "message_not_found"
    assert (await click(person="eve"))["code"] == "person_not_found"


# the responses


async def test_the_answer_tells_what_came_of_it(discord_bot, click, discord_card) -> None:
    replies: list[dict[str, Any]] = []

    async def answer(interaction: discord.Interaction) -> None:
        kinds = [UPDATE, {"type": 6}, {"type": 5, "data": {"flags": 64}}, {"type": 4, "data": {"content": "m"}}]
        replies.append(await callback(interaction, kinds[len(replies)]))

    discord_bot.answer = answer
    for _ in range(4):
        assert (await click())["ok"]
        await discord_bot.request("PATCH", f"{MESSAGES}/{discord_card['message']}", components=[row(button("go"))])
    assert [reply.get("resource", {}).get("type") for reply in replies] == [7, None, None, 4]
    assert replies[0]["resource"]["message"]["content"] == "done"
    assert replies[0]["interaction"]["response_message_id"] == discord_card["message"]
    deferred = replies[2]["interaction"]
    assert (deferred["response_message_loading"], deferred["response_message_ephemeral"]) == (True, True)
    assert replies[3]["resource"]["message"]["message_reference"]["message_id"] == discord_card["message"]


async def test_a_modal_answers_a_click_and_no_submission(discord_bot, click, submit, hands) -> None:
    form = modal(label(text_input()))
    await answering(discord_bot, form)
    assert (await click())["ok"]

    async def again(interaction: discord.Interaction) -> None:
        try:
            await callback(interaction, form)
        finally:
            await callback(interaction, {"type": 4, "data": {"content": "thanks", "flags": 64}})

    discord_bot.answer = again
    assert (await submit(text="x"))["ok"]
    (error,) = discord_bot.errors
    assert code_of(error) == (400, 50035)
    assert "Value must be one of {4, 5, 6, 7, 12}." in str(error)
    assert (await hands.get("/people/discord/state"))["modals"] == []


async def test_a_modal_cannot_follow_a_defer(discord_bot, click) -> None:
    async def answer(interaction: discord.Interaction) -> None:
        await interaction.response.defer()
        await callback(interaction, modal(label(text_input())))

    discord_bot.answer = answer
    assert (await click())["ok"]
    await discord_bot.until(lambda: discord_bot.errors)
    assert code_of(discord_bot.errors[0]) == (400, 40060)


async def test_two_people_can_have_the_same_modal_open(discord_bot, click, submit, hands) -> None:
    await answering(discord_bot, modal(label(text_input())))
    assert (await click())["ok"]
    assert (await click(person="ben"))["ok"]
    await answering(discord_bot, {"type": 6})
    assert (await submit("ben", text="from ben"))["ok"]
    assert [entry["person"] for entry in (await hands.get("/people/discord/state"))["modals"]] == [ADA]
    assert (await submit("ada", text="from ada"))["ok"]
    assert [str(one.user.id) for one in discord_bot.interactions[-2:]] == [BEN, ADA]
    assert (await submit("ada", text="again"))["code"] == "modal_not_found"


async def test_a_submission_holds_every_field_as_it_was_left(discord_bot, click, submit, discord_card) -> None:
    fields = modal(
        {"type": 10, "content": "Read this"},
        label(text_input(value="as it was")),
        label({**select("radio", "a", "b"), "type": 21, "required": False}),
        label({**select("boxes", "a", "b", "c"), "type": 22}),
        label({"type": 5, "custom_id": "who", "max_values": 2}),
    )
    await answering(discord_bot, fields)
    assert (await click())["ok"]
    await answering(discord_bot, UPDATE)
    assert (await submit(boxes=["a", "c"], who=[BEN]))["ok"]
    (payload,) = discord_bot.payloads("INTERACTION_CREATE")[1:]
    assert (payload["type"], payload["message"]["id"]) == (5, discord_card["message"])
    assert payload["data"] == {
        "custom_id": "form",
        "components": [
            {"type": 10, "id": 1},
            {"type": 18, "id": 2, "component": {"type": 4, "id": 3, "custom_id": "text", "value": "as it was"}},
            {"type": 18, "id": 4, "component": {"type": 21, "id": 5, "custom_id": "radio", "value": None}},
            {"type": 18, "id": 6, "component": {"type": 22, "id": 7, "custom_id": "boxes", "values": ["a", "c"]}},
            {"type": 18, "id": 8, "component": {"type": 5, "id": 9, "custom_id": "who", "values": [BEN]}},
        ],
        "resolved": payload["data"]["resolved"],
    }
    assert set(payload["data"]["resolved"]) == {"users", "members"}


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"text": ""}, "required"),
        ({"text": "abc"}, "too_short"),
        ({"text": "x" * 11}, "too_long"),
        ({"text": "abcde", "radio": "c"}, "invalid_choice"),
        ({"text": "abcde", "radio": []}, "required"),
        ({"text": "abcde", "radio": "a", "more": "x"}, "field_not_found"),
    ],
)
async def test_a_client_keeps_a_modal_open_until_it_is_filled_in(values, code, discord_bot, click, submit) -> None:
    field = text_input(min_length=5, max_length=10)
    await answering(discord_bot, modal(label(field), label({**select("radio", "a", "b"), "type": 21})))
    assert (await click())["ok"]
    assert (await submit(**values))["code"] == code
    assert len(discord_bot.interactions) == 1


async def test_a_failed_submission_leaves_the_modal_open(discord_bot, click, submit, clock, hands) -> None:
    await answering(discord_bot, modal(label(text_input())))
    assert (await click())["ok"]
    discord_bot.answer = None
    sending = asyncio.create_task(submit(text="x"))
    await discord_bot.until(lambda: len(discord_bot.interactions) == 2)
    clock.advance(3.1)
    assert (await sending)["error"] == "Something went wrong. Try again."
    assert len((await hands.get("/people/discord/state"))["modals"]) == 1
    assert (await hands.post("/people/discord/dismiss", person="ada"))["ok"]
    assert (await hands.get("/people/discord/state"))["modals"] == []
    assert (await hands.post("/people/discord/dismiss", person="ada"))["code"] == "modal_not_found"
    assert len(discord_bot.interactions) == 2


async def test_a_modal_submitted_after_a_restart_of_the_bot_arrives(discord_bot, click, submit, services) -> None:
    await answering(discord_bot, modal(label(text_input())))
    assert (await click())["ok"]
    services.discord.gateway.drop(resumable=False)
    await discord_bot.until(lambda: services.discord.gateway.identified == 2)
    await answering(discord_bot, UPDATE)
    assert (await submit(text="x"))["ok"]


# ephemeral messages


async def test_an_ephemeral_message_is_one_persons(discord_bot, click, services, hands) -> None:
    async def answer(interaction: discord.Interaction) -> None:
        view = discord.ui.View(timeout=None)
        view.add_item(discord.ui.Button(label="Go on", custom_id="on"))
        view.stop()
        await interaction.response.send_message("Only you", ephemeral=True, view=view)

    discord_bot.answer = answer
    assert (await click())["ok"]
    private = next(m for m in (await hands.get("/people/discord/state"))["messages"] if m["ephemeral_to"])
    assert (private["ephemeral_to"], private["flags"] & 64) == (ADA, 64)
    where = {"channel": GENERAL, "message": private["id"], "custom_id": "on"}
    assert (await hands.post("/people/discord/click", person="ben", **where))["code"] == "message_not_found"
    with pytest.raises(discord.NotFound) as refused:
        await discord_bot.request("PATCH", f"{MESSAGES}/{private['id']}", content="x")
    assert code_of(refused.value) == (404, 10008)
    await answering(discord_bot, UPDATE)
    assert (await hands.post("/people/discord/click", person="ada", **where))["ok"]
    assert services.discord.guild.posts[private["id"]].content == "done"
    dismissed = await hands.post("/people/discord/delete", person="ada", channel=GENERAL, message=private["id"])
    assert dismissed["ok"]


async def test_in_an_archived_thread_a_card_is_updated_once_it_is_open_again(discord_bot, hands, services) -> None:
    channel = await discord_bot.fetch_channel(int(GENERAL))
    thread = await channel.create_thread(name="Old", type=discord.ChannelType.public_thread)
    path = f"/channels/{thread.id}/messages"
    sent = await discord_bot.request("POST", path, content="card", components=[row(button("go"))])
    await hands.post("/faults/discord", kind="archive", channel=str(thread.id))

    async def answer(interaction: discord.Interaction) -> None:
        with pytest.raises(discord.HTTPException) as refused:
            await callback(interaction, UPDATE)
        assert code_of(refused.value) == (400, 50083)
        await discord_bot.request("PATCH", f"/channels/{thread.id}", archived=False)
        await callback(interaction, UPDATE)

    discord_bot.answer = answer
    where = {"person": "ada", "channel": str(thread.id), "message": sent["id"], "custom_id": "go"}
    assert (await hands.post("/people/discord/click", **where))["ok"]
    assert not services.discord.guild.places[str(thread.id)].archived


async def test_a_removed_message_or_channel_says_so(discord_bot, hands, click, services, discord_card) -> None:
    async def answer(interaction: discord.Interaction) -> None:
        await discord_bot.request("DELETE", f"{MESSAGES}/{discord_card['message']}")
        await callback(interaction, UPDATE)

    discord_bot.answer = answer
    pressing = asyncio.create_task(click())
    await discord_bot.until(lambda: discord_bot.errors)
    assert code_of(discord_bot.errors[0]) == (404, 10008)
    await callback(discord_bot.interactions[0], {"type": 6})
    assert (await pressing)["ok"]
    await hands.post("/faults/discord", kind="remove_channel", channel="general")
    with pytest.raises(discord.NotFound) as gone:
        await discord_bot.request("POST", MESSAGES, content="x")
    assert code_of(gone.value) == (404, 10003)
