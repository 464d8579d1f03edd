"""People's clicks on messages: each element's kind of choice, what is offered, and the answers to a click."""

from __future__ import annotations

from typing import Any

import pytest

from askback_sandbox.slack.faults import Fault
from emulator.blocks import plain


def options(*values: str) -> list[dict[str, Any]]:
    return [{"text": plain(value.upper()), "value": value} for value in values]


def form() -> list[dict[str, Any]]:
    """Return a message with every element that keeps a value."""
    return [
        {
            "type": "section",
            "block_id": "many",
            "text": plain("Which?"),
            "accessory": {
                "type": "multi_static_select",
                "action_id": "pick",
                "options": options("x", "y", "z"),
                "max_selected_items": 2,
            },
        },
        {
            "type": "actions",
            "block_id": "one",
            "elements": [
                {
                    "type": "static_select",
                    "action_id": "menu",
                    "options": options("a", "b"),
                    "initial_option": options("a")[0],
                },
                {"type": "radio_buttons", "action_id": "radio", "options": options("r", "s")},
                {"type": "checkboxes", "action_id": "boxes", "options": options("c", "d")},
                {"type": "users_select", "action_id": "who"},
                {"type": "overflow", "action_id": "more", "options": options("m", "n")},
                {"type": "external_select", "action_id": "search", "min_query_length": 2},
                {"type": "button", "action_id": "send", "text": plain("Send"), "value": "v", "style": "primary"},
            ],
        },
        {
            "type": "input",
            "block_id": "note",
            "label": plain("Note"),
            "element": {"type": "plain_text_input", "action_id": "text"},
        },
    ]


@pytest.fixture
async def clicks(bot) -> list[dict[str, Any]]:
    """Every click that the bot receives."""
    heard: list[dict[str, Any]] = []

    @bot.app.action({"action_id": "send"})
    @bot.app.action({"action_id": "menu"})
    @bot.app.action({"action_id": "radio"})
    @bot.app.action({"action_id": "boxes"})
    @bot.app.action({"action_id": "pick"})
    @bot.app.action({"action_id": "who"})
    @bot.app.action({"action_id": "more"})
    @bot.app.action({"action_id": "search"})
    @bot.app.action({"action_id": "text"})
    async def click(ack, body) -> None:
        heard.append(body)
        await ack()

    @bot.app.event("message")
    async def message() -> None: ...

    await bot.connect()
    return heard


@pytest.fixture
async def card(client) -> str:
    return (await client.chat_postMessage(channel="C0GENERAL", text="form", blocks=form()))["ts"]


async def act(hands, ts: str, block: str, action: str, selected: Any = None, person: str = "ada", **more) -> dict:
    return await hands.post(
        "/people/act",
        person=person,
        channel="general",
        ts=ts,
        block_id=block,
        action_id=action,
        selected=selected,
        **more,
    )


async def test_each_element_sends_its_kind_of_choice(hands, clicks, card) -> None:
    filled = {"type": "plain_text", "emoji": True}
    for block, action, selected, found in (
        ("one", "menu", ["b"], {"selected_option": {"text": {**filled, "text": "B"}, "value": "b"}}),
        ("one", "radio", ["s"], {"selected_option": {"text": {**filled, "text": "S"}, "value": "s"}}),
        ("one", "boxes", ["d"], {"selected_options": [{"text": {**filled, "text": "D"}, "value": "d"}]}),
        ("many", "pick", ["x"], {"selected_options": [{"text": {**filled, "text": "X"}, "value": "x"}]}),
        ("one", "who", ["U0LOCALBEN"], {"selected_user": "U0LOCALBEN"}),
        ("one", "more", ["n"], {"selected_option": {"text": {**filled, "text": "N"}, "value": "n"}}),
        ("one", "send", None, {"value": "v", "style": "primary"}),
    ):
        assert (await act(hands, card, block, action, selected))["ok"], action
        (sent,) = clicks[-1]["actions"]
        assert (sent["action_id"], sent["block_id"]) == (action, block)
        assert found.items() <= sent.items()
        assert sent["action_ts"]


async def test_a_picker_sends_ids_alone_and_offers_what_its_filter_says(hands, clicks, client) -> None:
    public = {"include": ["public"]}
    blocks = [
        {"type": "actions", "block_id": "one", "elements": [
            {"type": "conversations_select", "action_id": "menu", "filter": public}]},
        {"type": "section", "block_id": "many", "text": plain("People"), "accessory": {
            "type": "multi_users_select", "action_id": "pick", "initial_users": ["U0LOCALADA"]}},
    ]  # fmt: skip
    ts = (await client.chat_postMessage(channel="C0GENERAL", text="pick", blocks=blocks))["ts"]
    assert (await act(hands, ts, "one", "menu", ["C0DEPLOYS"]))["ok"]
    assert clicks[-1]["actions"][0]["selected_conversation"] == "C0DEPLOYS"
    assert clicks[-1]["state"]["values"]["many"]["pick"]["selected_users"] == ["U0LOCALADA"]
    assert (await act(hands, ts, "many", "pick", ["U0LOCALBEN", "U0LOCALBOT"]))["ok"], "it has no filter of bots"
    assert clicks[-1]["actions"][0]["selected_users"] == ["U0LOCALBEN", "U0LOCALBOT"]
    assert (await act(hands, ts, "many", "pick", []))["ok"]
    assert clicks[-1]["actions"][0]["selected_users"] == []
    for block, action, selected in (
        ("one", "menu", ["C0PRIVATE"]), ("one", "menu", ["C0GENERAL", "C0DEPLOYS"]), ("one", "menu", ["U0LOCALBEN"]),
        ("many", "pick", ["U0STRANGER"]),
    ):  # fmt: skip
        assert (await act(hands, ts, block, action, selected))["code"] == "invalid_choice"


async def test_each_click_brings_everything_that_is_set(hands, clicks, card) -> None:
    assert (await act(hands, card, "note", "text", ["because"]))["interaction"] is None
    assert clicks == []
    await act(hands, card, "one", "boxes", ["c", "d"])
    await act(hands, card, "one", "send")
    values = clicks[-1]["state"]["values"]
    assert values["note"]["text"] == {"type": "plain_text_input", "value": "because"}
    assert [o["value"] for o in values["one"]["boxes"]["selected_options"]] == ["c", "d"]
    assert values["one"]["menu"]["selected_option"]["value"] == "a"
    assert values["one"]["radio"] == {"type": "radio_buttons", "selected_option": None}
    assert values["many"]["pick"]["selected_options"] == []
    assert not {"send", "more"} & set(values["one"])


async def test_what_one_person_sets_another_does_not_see(hands, clicks, card) -> None:
    await act(hands, card, "one", "menu", ["b"], person="ada")
    await act(hands, card, "one", "send", person="ben")
    assert clicks[-1]["state"]["values"]["one"]["menu"]["selected_option"]["value"] == "a"


async def test_what_is_set_is_gone_with_its_block_and_stays_with_it(hands, clicks, client, card) -> None:
    await act(hands, card, "one", "menu", ["b"])
    await client.chat_update(channel="C0GENERAL", ts=card, text="form", blocks=form())
    await act(hands, card, "one", "send")
    # The known surprise: a new initial_option does not show while block_id and action_id are the same.
    assert clicks[-1]["state"]["values"]["one"]["menu"]["selected_option"]["value"] == "b"
    changed = form()
    changed[1]["block_id"] = "one again"
    await client.chat_update(channel="C0GENERAL", ts=card, text="form", blocks=changed)
    await act(hands, card, "one again", "send")
    assert clicks[-1]["state"]["values"]["one again"]["menu"]["selected_option"]["value"] == "a"


async def test_a_click_on_what_is_not_offered_is_no_click(hands, clicks, client, card) -> None:
    for block, action, selected in (
        ("one", "menu", ["q"]),
        ("one", "menu", ["a", "b"]),
        ("many", "pick", ["x", "y", "z"]),
        ("one", "gone", None),
    ):
        assert not (await act(hands, card, block, action, selected))["ok"]
    assert not (await act(hands, "1.0", "one", "send"))["ok"]
    assert not (await act(hands, card, "one", "send", person="nobody"))["ok"]
    only_ben = [
        {
            "type": "actions",
            "block_id": "b",
            "elements": [
                {
                    "type": "button",
                    "action_id": "send",
                    "text": plain("x"),
                    "visible_to_user_ids": ["U0LOCALBEN"],
                }
            ],
        }
    ]
    await client.chat_update(channel="C0GENERAL", ts=card, text="form", blocks=only_ben)
    assert not (await act(hands, card, "b", "send", person="ada"))["ok"]
    assert (await act(hands, card, "b", "send", person="ben"))["ok"]
    assert len(clicks) == 1


async def test_a_stale_click_comes_from_the_blocks_still_on_the_screen(hands, clicks, client, card) -> None:
    old = (await hands.state())["messages"][0]["blocks"]
    await client.chat_update(channel="C0GENERAL", ts=card, text="settled", blocks=[])
    assert not (await act(hands, card, "one", "send"))["ok"]
    assert (await act(hands, card, "one", "send", blocks=old))["ok"]
    assert clicks[-1]["message"]["blocks"] == old


async def test_search_shows_the_bots_options_and_takes_only_those(hands, clicks, bot, card) -> None:
    asked: list[str] = []
    answer: dict[str, Any] = {"options": options("p1", "p2")}

    @bot.app.options("search")
    async def search(ack, body) -> None:
        asked.append(body["value"])
        await ack(**answer)

    where = {"person": "ada", "channel": "general", "ts": card, "block_id": "one", "action_id": "search"}
    assert await hands.post("/people/options", **where, query="p") == {"ok": True, "options": []}
    assert not (await act(hands, card, "one", "search", ["p2"]))["ok"]
    found = await hands.post("/people/options", **where, query="pp")
    assert [option["value"] for option in found["options"]] == ["p1", "p2"]
    assert asked == ["pp"]
    assert (await act(hands, card, "one", "search", ["p2"]))["ok"]
    assert clicks[-1]["actions"][0]["selected_option"]["value"] == "p2"
    answer["options"] = options("p1", "p1")
    broken = await hands.post("/people/options", **where, query="pp")
    assert not broken["ok"]
    assert "must be unique" in broken["error"]


async def test_an_input_with_dispatch_action_tells_at_once(hands, clicks, client) -> None:
    block = {**form()[2], "dispatch_action": True}
    ts = (await client.chat_postMessage(channel="C0GENERAL", text="x", blocks=[block]))["ts"]
    assert (await act(hands, ts, "note", "text", "typed"))["ok"]
    assert clicks[-1]["actions"][0]["value"] == "typed"


async def test_a_response_url_works_five_times_for_half_an_hour(services, hands, clicks, card, clock, session) -> None:
    await act(hands, card, "one", "send")
    url = clicks[-1]["response_url"]

    async def respond(**body: Any) -> tuple[int, str]:
        async with session.post(url, json=body) as reply:
            text = await reply.text()
            return reply.status, text if reply.status == 200 else (await reply.json())["error"]

    assert await respond(text="only for ada") == (200, "ok")
    assert await respond(text="for all", response_type="in_channel", thread_ts=card) == (200, "ok")
    assert await respond(replace_original=True, text="x", blocks=[{"type": "poll"}]) == (400, "invalid_blocks")
    assert await respond() == (400, "no_text")
    assert await respond(replace_original=True, text="new", blocks=[{"type": "divider"}]) == (200, "ok")
    new, ephemeral, public = (await hands.state())["messages"]
    assert (new["text"], new["edited"], [b["type"] for b in new["blocks"]]) == ("new", False, ["divider"])
    assert (ephemeral["text"], ephemeral["ephemeral_to"]) == ("only for ada", "U0LOCALADA")
    assert (public["text"], public["thread_ts"], public["ephemeral_to"]) == ("for all", card, None)
    services.workspace.faults.add(Fault(kind="ignore", method="response_url"))
    assert await respond(replace_original=True, text="lost") == (200, "ok")
    assert (await hands.state())["messages"][0]["text"] == "new"
    assert await respond(delete_original=True) == (200, "ok")
    gone = next(message for message in (await hands.state())["messages"] if message["ts"] == card)
    assert gone["text"] == "This message was deleted.", "its thread has a message"
    assert await respond(text="six") == (404, "used_url")
    services.workspace.response_urls.clear()
    assert await respond(text="x") == (404, "invalid_url")


async def test_a_response_url_ends_after_half_an_hour(hands, clicks, card, clock, session) -> None:
    await act(hands, card, "one", "send")
    clock.advance(1_801)
    async with session.post(clicks[-1]["response_url"], json={"text": "late"}) as reply:
        assert (reply.status, (await reply.json())["error"]) == (404, "expired_url")


async def test_a_recorded_payload_can_be_sent_as_it_is(hands, bot, clicks) -> None:
    payload = {
        "type": "block_actions",
        "user": {"id": "U9"},
        "team": None,
        "actions": [{"type": "button", "action_id": "send", "block_id": "b", "action_ts": "1"}],
        "response_url": "",
        "trigger_id": "1.2.3",
    }
    answer = await hands.post("/people/raw", payload=payload)
    assert (answer["ok"], answer["acked"]) == (True, True)
    assert clicks[-1]["user"] == {"id": "U9"}


async def test_ephemeral_messages_are_for_one_person(hands, clicks, client) -> None:
    await client.chat_postEphemeral(channel="C0GENERAL", user="U0LOCALADA", text="psst", blocks=form())
    (message,) = (await hands.state())["messages"]
    assert message["ephemeral_to"] == "U0LOCALADA"
    assert not (await act(hands, message["ts"], "one", "send", person="ben"))["ok"]
    assert (await act(hands, message["ts"], "one", "send", person="ada"))["ok"]
    assert clicks[-1]["container"]["is_ephemeral"] is True
    assert "message" not in clicks[-1]
    dismissed = await hands.post("/people/delete", person="ada", channel="general", ts=message["ts"])
    assert dismissed["ok"]
    assert (await hands.state())["messages"] == []


async def test_text_without_blocks_takes_the_blocks_away_and_shows_as_edited(client, hands, card) -> None:
    await client.chat_update(channel="C0GENERAL", ts=card, text="form", blocks=form()[:1])
    assert (await hands.state())["messages"][0]["edited"] is False
    only_metadata = {"channel": "C0GENERAL", "ts": card, "metadata": {"event_type": "e", "event_payload": {}}}
    await client.api_call("chat.update", json=only_metadata)
    assert len((await hands.state())["messages"][0]["blocks"]) == 1
    await client.chat_update(channel="C0GENERAL", ts=card, text="plain")
    message = (await hands.state())["messages"][0]
    assert (message["text"], message["blocks"], message["edited"]) == ("plain", [], True)
