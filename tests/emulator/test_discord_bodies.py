"""Bodies that Discord refuses, with the path and the words of each error."""

from __future__ import annotations

from typing import Any

import pytest

from support.discord_client import ADA, GENERAL, button, callback, label, modal, places, row, select, text_input

V2 = 1 << 15
MESSAGES = f"/channels/{GENERAL}/messages"


def text(content: str = "words") -> dict[str, Any]:
    return {"type": 10, "content": content}


def options(count: int) -> list[str]:
    return [f"v{number}" for number in range(count)]


def picker(kind: int, of: str, *ids: str, **more: Any) -> dict[str, Any]:
    """Return a picker of people (5) or channels (8) with these default values."""
    defaults = {"default_values": [{"id": one, "type": of} for one in ids]} if ids else {}
    return {"type": kind, "custom_id": "picker", **defaults, **more}


@pytest.fixture
async def refused(services, discord_bot, session) -> Any:
    """Return a function that posts a body, checks that it is refused, and returns Discord's errors."""

    async def post(body: dict[str, Any], method: str = "POST", path: str = MESSAGES) -> dict[str, Any]:
        headers = {"Authorization": "Bot local-discord-token"}
        url = services.discord_api_url + path
        async with session.request(method, url, json=body, headers=headers) as reply:
            assert reply.status == 400, await reply.text()
            assert reply.headers["Content-Type"] == "application/json"
            return await reply.json()

    return post


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"content": "x" * 2001}, "content:BASE_TYPE_MAX_LENGTH"),
        ({"content": 5}, "content:STRING_TYPE_CONVERT"),
        ({"content": "x", "text": "y"}, "text:UNKNOWN_PROPERTY"),
        ({"content": "x", "nonce": "n" * 26}, "nonce:BASE_TYPE_MAX_LENGTH"),
        ({"content": "x", "flags": "64"}, "flags:NUMBER_TYPE_COERCE"),
        ({"content": "x", "embeds": [{}] * 11}, "embeds:BASE_TYPE_MAX_LENGTH"),
        ({"embeds": [{"title": "x" * 257}]}, "embeds.0.title:BASE_TYPE_MAX_LENGTH"),
        ({"embeds": [{"description": "x" * 3001}] * 2}, "embeds:MAX_EMBED_SIZE_EXCEEDED"),
        ({"content": "x", "allowed_mentions": {"parse": ["all"]}}, "allowed_mentions.parse.0:BASE_TYPE_CHOICES"),
        ({"content": "x", "message_reference": {"message_id": "1"}}, "message_reference:REPLIES_UNKNOWN_MESSAGE"),
        ({"components": [row()]}, "components.0.components:BASE_TYPE_BAD_LENGTH"),
        ({"components": [row(button("a"))] * 6}, "components:BASE_TYPE_MAX_LENGTH"),
        (
            {"components": [row(*[button(f"b{n}") for n in range(6)])]},
            "components.0.components:BASE_TYPE_BAD_LENGTH",
        ),
        (
            {"components": [row(button("a"), select("s", "v"))]},
            "components.0.components.1:COMPONENT_LAYOUT_WIDTH_EXCEEDED",
        ),
        (
            {"components": [row(select("s", "v"), select("t", "v"))]},
            "components.0.components.1:COMPONENT_LAYOUT_WIDTH_EXCEEDED",
        ),
        ({"components": [text()]}, "components.0:UNION_TYPE_CHOICES"),
        ({"components": [button("a")]}, "components.0:UNION_TYPE_CHOICES"),
        ({"components": [row(text_input())]}, "components.0.components.0:UNION_TYPE_CHOICES"),
        ({"components": [row({"type": 99})]}, "components.0.components.0:UNION_TYPE_CHOICES"),
        ({"components": ["x"]}, "components.0:MODEL_TYPE_CONVERT"),
        (
            {"components": [row({"type": 2, "style": 1, "label": "x"})]},
            "components.0.components.0.custom_id:BUTTON_COMPONENT_CUSTOM_ID_REQUIRED",
        ),
        (
            {"components": [row(button("a"), button("a"))]},
            "components.0.components.1.custom_id:COMPONENT_CUSTOM_ID_DUPLICATED",
        ),
        (
            {"components": [row(button("a")), row(select("a", "v"))]},
            "components.1.components.0.custom_id:COMPONENT_CUSTOM_ID_DUPLICATED",
        ),
        ({"components": [row(button("x" * 101))]}, "components.0.components.0.custom_id:BASE_TYPE_BAD_LENGTH"),
        ({"components": [row(button(""))]}, "components.0.components.0.custom_id:BASE_TYPE_BAD_LENGTH"),
        ({"components": [row(button("a", "x" * 81))]}, "components.0.components.0.label:BASE_TYPE_MAX_LENGTH"),
        (
            {"components": [row(button("a", ""))]},
            "components.0.components.0.label:BUTTON_COMPONENT_INVALID_EMOJI_OR_LABEL",
        ),
        ({"components": [row(button("a", style=7))]}, "components.0.components.0.style:BASE_TYPE_CHOICES"),
        ({"components": [row(button("a", colour=1))]}, "components.0.components.0.colour:UNKNOWN_PROPERTY"),
        (
            {"components": [row({"type": 2, "style": 5, "label": "x"})]},
            "components.0.components.0.url:BUTTON_COMPONENT_URL_REQUIRED",
        ),
        (
            {"components": [row(button("a", style=5, url="https://example.com"))]},
            "components.0.components.0.custom_id:BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE",
        ),
        (
            {"components": [row({"type": 2, "style": 5, "label": "x", "url": "javascript:1"})]},
            "components.0.components.0.url:URL_TYPE_INVALID_SCHEME",
        ),
        ({"components": [row(select("s"))]}, "components.0.components.0.options:BASE_TYPE_BAD_LENGTH"),
        ({"components": [row(select("s", *options(26)))]}, "components.0.components.0.options:BASE_TYPE_BAD_LENGTH"),
        (
            {"components": [row(picker(5, "user", ADA, GENERAL, max_values=1))]},
            "components.0.components.0.default_values:BASE_TYPE_BAD_LENGTH",
        ),
        (
            {"components": [row(picker(5, "channel", GENERAL))]},
            "components.0.components.0.default_values.0.type:SELECT_COMPONENT_DEFAULT_VALUE_TYPE_INVALID",
        ),
        (
            {"components": [row({**picker(5, "user"), "channel_types": [0]})]},
            "components.0.components.0.channel_types:BASE_TYPE_UNKNOWN_FIELD",
        ),
        (
            {"components": [row(select("s", "v", "v"))]},
            "components.0.components.0.options.1:SELECT_COMPONENT_OPTION_VALUE_DUPLICATED",
        ),
        (
            {"components": [row(select("s", "x" * 101))]},
            "components.0.components.0.options.0.value:BASE_TYPE_BAD_LENGTH",
        ),
        (
            {"components": [row(select("s", "v", placeholder="x" * 151))]},
            "components.0.components.0.placeholder:BASE_TYPE_MAX_LENGTH",
        ),
        (
            {"components": [row(select("s", "v", max_values=2))]},
            "components.0.components.0.max_values:SELECT_COMPONENT_MAX_VALUES_TOO_LARGE",
        ),
        (
            {"components": [row(select("s", "v", min_values=2, max_values=1))]},
            "components.0.components.0.min_values:SELECT_COMPONENT_MIN_VALUES_TOO_LARGE",
        ),
        (
            {"components": [row(select("s", "v", min_values=26))]},
            "components.0.components.0.min_values:NUMBER_TYPE_MAX",
        ),
        (
            {"flags": V2, "content": "x", "components": [text()]},
            "content:MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
        ),
        (
            {"flags": V2, "components": [text("x" * 2001), text("x" * 2000)]},
            "components:COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED",
        ),
        (
            {"flags": V2, "components": [{"type": 17, "components": [text()] * 40}]},
            "components:COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED",
        ),
        (
            {"flags": V2, "components": [{"type": 17, "components": [{"type": 17, "components": [text()]}]}]},
            "components.0.components.0:UNION_TYPE_CHOICES",
        ),
        (
            {"flags": V2, "components": [{"type": 9, "components": [text()]}]},
            "components.0.accessory:BASE_TYPE_REQUIRED",
        ),
    ],
)
async def test_a_message_says_where_and_what(body: dict[str, Any], expected: str, refused) -> None:
    error = await refused(body)
    assert (error["code"], error["message"]) == (50035, "Invalid Form Body")
    assert expected in places(error)


async def test_everything_wrong_is_named_at_once(refused) -> None:
    error = await refused({"content": "x" * 2001, "components": [row(button("a"), button("a", "x" * 81))]})
    assert places(error) == {
        "content:BASE_TYPE_MAX_LENGTH",
        "components.0.components.1.custom_id:COMPONENT_CUSTOM_ID_DUPLICATED",
        "components.0.components.1.label:BASE_TYPE_MAX_LENGTH",
    }


@pytest.mark.parametrize("body", [{}, {"content": ""}, {"content": " \n"}, {"content": None, "components": []}])
async def test_an_empty_message_is_refused(body: dict[str, Any], refused) -> None:
    assert (await refused(body))["code"] == 50006


async def test_at_every_limit_a_message_is_good(discord_bot) -> None:
    full = [
        {"label": "l" * 100, "value": f"{n:0100}", "description": "d" * 100, "emoji": {"name": "🐐"}} for n in range(25)
    ]
    components = [
        row(*[button(f"{n:0100}b"[1:], "x" * 80) for n in range(5)]),
        row({"type": 3, "custom_id": "s", "options": full, "placeholder": "p" * 150, "max_values": 25}),
        row({"type": 5, "custom_id": "people"}),
        row({"type": 2, "style": 5, "label": "read", "url": "https://example.com"}),
        row(select("single", "a", "b")),
    ]
    sent = await discord_bot.request("POST", MESSAGES, content="x" * 2000, components=components)
    assert [one["type"] for one in sent["components"]] == [1] * 5
    v2 = [
        {"type": 17, "accent_color": 1, "components": [text("x" * 3990), {"type": 14, "divider": True, "spacing": 2}]},
        {"type": 9, "components": [text("s")], "accessory": button("b")},
        row(button("c")),
    ]
    assert (await discord_bot.request("POST", MESSAGES, flags=V2, components=v2))["flags"] == V2


async def test_once_v2_a_message_stays_so(discord_bot, refused) -> None:
    sent = await discord_bot.request("POST", MESSAGES, flags=V2, components=[text()])
    path = f"{MESSAGES}/{sent['id']}"
    error = await refused({"content": "x"}, "PATCH", path)
    assert "content:MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2" in places(error)
    edited = await discord_bot.request("PATCH", path, components=[text("newer")])
    assert (edited["flags"], edited["components"][0]["content"]) == (V2, "newer")


GOOD = [label(text_input())]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (modal(*GOOD, title="x" * 46), "data.title:BASE_TYPE_BAD_LENGTH"),
        (modal(*GOOD, custom_id="x" * 101), "data.custom_id:BASE_TYPE_BAD_LENGTH"),
        (modal(), "data.components:BASE_TYPE_BAD_LENGTH"),
        (modal(*[label(text_input(f"t{n}")) for n in range(6)]), "data.components:BASE_TYPE_BAD_LENGTH"),
        (modal(label(text_input(), "x" * 46)), "data.components.0.label:BASE_TYPE_BAD_LENGTH"),
        (modal({**GOOD[0], "description": "x" * 101}), "data.components.0.description:BASE_TYPE_BAD_LENGTH"),
        (modal(label(button("b"))), "data.components.0.component:UNION_TYPE_CHOICES"),
        (modal(row(button("b"))), "data.components.0.components.0:UNION_TYPE_CHOICES"),
        (modal(row(text_input())), "data.components.0.components.0.label:BASE_TYPE_REQUIRED"),
        (modal(text_input()), "data.components.0:UNION_TYPE_CHOICES"),
        (
            modal(label(text_input(placeholder="x" * 101))),
            "data.components.0.component.placeholder:BASE_TYPE_MAX_LENGTH",
        ),
        (modal(label(text_input(value="x" * 4001))), "data.components.0.component.value:BASE_TYPE_MAX_LENGTH"),
        (modal(label(text_input(value="xx", max_length=1))), "data.components.0.component.value:BASE_TYPE_BAD_LENGTH"),
        (
            modal(label(text_input(min_length=5, max_length=1))),
            "data.components.0.component.min_length:TEXT_INPUT_COMPONENT_MIN_LENGTH_TOO_LARGE",
        ),
        (modal(label(text_input(style=3))), "data.components.0.component.style:BASE_TYPE_CHOICES"),
        (
            modal(label(text_input("a")), label(text_input("a"))),
            "data.components.1.component.custom_id:COMPONENT_CUSTOM_ID_DUPLICATED",
        ),
        (modal(label({**select("r", "a"), "type": 21})), "data.components.0.component.options:BASE_TYPE_BAD_LENGTH"),
        (
            modal(label({**select("c", *options(11)), "type": 22})),
            "data.components.0.component.options:BASE_TYPE_BAD_LENGTH",
        ),
        (
            modal(label(select("s", "a", disabled=True))),
            "data.components.0.component.disabled:MODAL_COMPONENT_DISABLED",
        ),
        (modal(label(select("s", "a", min_values=0))), "data.components.0.component.min_values:NUMBER_TYPE_MIN"),
        ({"type": 9}, "data:MODEL_TYPE_CONVERT"),
        ({"type": 9, "data": {"title": "x"}}, "data.custom_id:BASE_TYPE_REQUIRED"),
        ({"type": 4, "data": {"content": "x" * 2001}}, "data.content:BASE_TYPE_MAX_LENGTH"),
        (
            {"type": 7, "data": {"components": [row(button("a"), button("a"))]}},
            "data.components.0.components.1.custom_id:COMPONENT_CUSTOM_ID_DUPLICATED",
        ),
        ({"type": 3}, "type:BASE_TYPE_CHOICES"),
        ({"type": 4, "date": {}}, "date:UNKNOWN_PROPERTY"),
        ({}, "type:BASE_TYPE_CHOICES"),
    ],
)
async def test_an_initial_response_says_where_and_what(
    body: dict[str, Any], expected: str, services, discord_bot, refused
) -> None:
    sent = await discord_bot.request("POST", MESSAGES, content="x")
    done = services.discord.guild.begin("component", ADA, GENERAL, sent["id"], "x")
    error = await refused(body, path=f"/interactions/{done.id}/{done.token}/callback")
    assert (error["code"], expected in places(error)) == (50035, True), error
    assert services.discord.guild.done_by_id(done.id).acked is None


async def test_at_every_limit_a_modal_is_good(discord_bot, services, hands) -> None:
    sent = await discord_bot.request("POST", MESSAGES, content="x", components=[row(button("go"))])
    full = modal(
        {"type": 10, "content": "Read this"},
        {
            **label(text_input(max_length=4000, value="v" * 4000, placeholder="p" * 100), "l" * 45),
            "description": "d" * 100,
        },
        label({**select("radio", *options(10)), "type": 21}),
        label({**select("boxes", *options(10)), "type": 22, "min_values": 2, "max_values": 3}),
        label(select("menu", *options(25), max_values=25)),
        custom_id="c" * 100,
        title="t" * 45,
    )

    async def answer(interaction: Any) -> None:
        await callback(interaction, full)

    discord_bot.answer = answer
    where = {"person": "ada", "channel": "general", "message": sent["id"]}
    assert (await hands.post("/people/discord/click", **where, custom_id="go"))["ok"]
    (shown,) = (await hands.get("/people/discord/state"))["modals"]
    assert len(shown["modal"]["components"]) == 5


async def test_the_openapi_document_catches_what_the_rules_have_missed(services, discord_bot, refused) -> None:
    if services.discord.openapi is None:
        pytest.skip("Discord's OpenAPI document is not here")
    error = await refused({"content": "x", "sticker_ids": "none"})
    assert places(error) == {"sticker_ids:OPENAPI_DOCUMENT"}
    assert services.discord.guild.history(GENERAL) == []
