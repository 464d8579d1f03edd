"""The people's endpoints of Discord: the visible state, and people's actions by keyboard."""

from __future__ import annotations

import json

import pytest

from askback_sandbox.services import Services
from support.discord_client import ADA, APP, BEN, GENERAL, button, callback, label, modal, row, text_input

MESSAGES = f"/channels/{GENERAL}/messages"


@pytest.fixture
def write(hands):
    async def post(content: str, person: str = "ada", channel: str = "general", **more):
        return await hands.post("/people/discord/write", person=person, channel=channel, content=content, **more)

    return post


async def test_the_state_has_the_promised_keys(hands, write, discord_bot) -> None:
    await write("hi")
    state = await hands.get("/people/discord/state")
    assert set(state) == {
        "revision",
        "guild",
        "roles",
        "bot",
        "people",
        "channels",
        "messages",
        "modals",
        "interactions",
        "typing",
    }
    assert state["guild"] == {"id": "1100000000000000001", "name": "Local"}
    assert [role["name"] for role in state["roles"]] == ["@everyone", "release", "askback"]
    assert state["bot"] == {"id": APP, "name": "askback"}
    assert [(person["name"], person["roles"]) for person in state["people"]] == [
        ("ada", ["1100000000000000010"]),
        ("ben", []),
        ("cy", []),
    ]
    assert [(place["name"], place["kind"], place["person"]) for place in state["channels"]][:4] == [
        ("general", "channel", None),
        ("deploys", "channel", None),
        ("private-room", "channel", None),
        ("ada", "dm", ADA),
    ]
    (message,) = state["messages"]
    promised = {"id", "channel", "author", "name", "bot", "content", "components", "embeds", "flags", "edited"}
    assert promised | {"ephemeral_to", "reference"} <= set(message)
    assert (message["author"], message["name"], message["bot"], message["edited"]) == (ADA, "ada", False, False)


async def test_the_state_shows_modals_and_what_became_of_interactions(discord_bot, hands) -> None:
    async def answer(interaction) -> None:
        await callback(interaction, modal(label(text_input())))

    discord_bot.answer = answer
    sent = await discord_bot.request(
        "POST", f"/channels/{GENERAL}/messages", content="x", components=[row(button("go"))]
    )
    where = {"channel": GENERAL, "message": sent["id"], "custom_id": "go"}
    assert (await hands.post("/people/discord/click", person="ben", **where))["ok"]
    state = await hands.get("/people/discord/state")
    (shown,) = state["modals"]
    assert set(shown) == {"person", "modal"}
    assert (shown["person"], set(shown["modal"])) == (BEN, {"title", "custom_id", "components"})
    (entry,) = state["interactions"]
    assert {"id", "kind", "person", "acked", "ack_ms", "error"} <= set(entry)
    assert (entry["kind"], entry["person"], entry["acked"], entry["error"]) == ("component", BEN, True, None)
    assert entry["ack_ms"] >= 0


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("@askback hi", f"<@{APP}> hi"),
        ("hi, @ben.", f"hi, <@{BEN}>."),
        ("@Ada, @ben", f"<@{ADA}>, <@{BEN}>"),
        ("@release please", "<@&1100000000000000010> please"),
        ("mail a@ben.example", "mail a@ben.example"),
        ("@nobody @everyone", "@nobody @everyone"),
        ("  <b>&amp; *as it is*  ", "<b>&amp; *as it is*"),
    ],
)
async def test_a_typed_name_becomes_a_mention(typed, sent, write, services) -> None:
    answer = await write(typed)
    assert services.discord.guild.posts[answer["id"]].content == sent


async def test_people_edit_and_delete_their_own_and_answer_others(write, hands, services) -> None:
    posts = services.discord.guild.posts
    first = (await write("one"))["id"]
    reply = (await write("two", person="ben", reference=first))["id"]
    assert (posts[reply].reference, posts[reply].mentions) == (first, (ADA,))
    body = {"channel": "general", "message": first}
    assert (await hands.post("/people/discord/edit", person="ada", content="newer", **body))["ok"]
    assert (posts[first].content, posts[first].edited is not None) == ("newer", True)
    refused = await hands.post("/people/discord/edit", person="ben", content="x", **body)
    assert refused["code"] == "not_own_message"
    assert (await hands.post("/people/discord/delete", person="ben", **body))["code"] == "not_own_message"
    assert (await hands.post("/people/discord/delete", person="ada", **body))["ok"]
    assert first not in posts


async def test_what_discords_client_refuses(write, discord_bot, hands) -> None:
    assert (await write("x", person="eve"))["code"] == "person_not_found"
    assert (await write("x", channel="nowhere"))["code"] == "channel_not_found"
    assert (await write("x", person="ben", channel="1100000000000000401"))["code"] == "channel_not_found"
    assert (await write(" \n "))["code"] == "no_text"
    assert (await write("x" * 2001))["code"] == "content_too_long"
    channel = await discord_bot.fetch_channel(int(GENERAL))
    thread = await (await channel.send("x")).create_thread(name="t")
    await hands.post("/faults/discord", kind="archive", channel=str(thread.id), locked=True)
    assert (await write("x", channel=str(thread.id)))["code"] == "thread_locked"
    where = {"person": "ada", "channel": str(thread.id), "message": "1", "custom_id": "go"}
    assert (await hands.post("/people/discord/click", **where))["code"] == "message_not_found"


async def test_a_payload_goes_through_the_raw_door_as_it_is(discord_bot, hands) -> None:
    async def answer(interaction) -> None:
        await interaction.response.send_message("heard", ephemeral=True)

    discord_bot.answer = answer
    sent = await discord_bot.request("POST", MESSAGES, content="x", components=[row(button("go"))])
    where = {"channel": GENERAL, "message": sent["id"], "custom_id": "go"}
    assert (await hands.post("/people/discord/click", person="ada", **where))["ok"]
    (payload,) = discord_bot.payloads("INTERACTION_CREATE")
    payload["data"]["custom_id"] = "from an older card"
    del payload["member"]["permissions"]
    assert (await hands.post("/people/discord/raw", payload=payload))["ok"]
    first, second = discord_bot.interactions
    assert second.data["custom_id"] == "from an older card"
    assert first.id != second.id
    payload["member"]["user"]["id"] = "99"
    assert (await hands.post("/people/discord/raw", payload=payload))["code"] == "person_not_found"


async def test_every_change_is_told(services, session, write) -> None:
    async with session.get(f"{services.url}/people/discord/events") as events:
        first = json.loads((await events.content.readline()).removeprefix(b"data: "))
        await events.content.readline()
        await write("hi")
        second = json.loads((await events.content.readline()).removeprefix(b"data: "))
    assert second["revision"] > first["revision"]


async def test_foreign_pages_are_refused_here_too(services, session) -> None:
    for path in ("/people/discord/state", "/log/discord", "/discord/api/v10/users/@me", "/discord/gateway"):
        async with session.get(f"{services.url}{path}", headers={"Origin": "https://evil.example"}) as reply:
            assert reply.status == 403, path


async def test_the_environment_leads_a_bot_here() -> None:
    async with Services(port=0) as services:
        environment = services.environment
        assert environment["DISCORD_TOKEN"] == "local-discord-token"
        assert environment["ASKBACK_DISCORD_API_URL"] == f"{services.url}/discord/api/v10"
        assert environment["ASKBACK_DISCORD_GATEWAY_URL"] == services.url.replace("http", "ws") + "/discord/gateway"
