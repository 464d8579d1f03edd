"""The payloads built here have the keys of recorded ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

RECORDED = Path(__file__).resolve().parents[3] / "shared" / "payloads"
# Recorded with other installs or features: organisations, remote functions, fields that Slack has retired or renamed.
ELSEWHERE = {
    "authed_users",
    "bot_access_token",
    "function_data",
    "interactivity",
    "enterprise_id",
    "enterprise_name",
    "original",
    "icons",
    "subtype",
    "is_app_unfurl",
    "app_unfurl",
    "app_unfurl_url",
    "attachment_id",
    "workflow_step",
    "submit_disabled",
    "user_team",
    "source_team",
    "user_profile",
}
# Files that merge many payloads, or are templates with empty values; and one trigger that only organisations get.
NOT_ONE_PAYLOAD = {
    "slack_block_actions/001_java-slack-sdk.json",
    "slack_block_actions/009_java-slack-sdk.json",
    "slack_view_submission/007_java-slack-sdk.json",
    "slack_view_closed/003_java-slack-sdk.json",
}

pytestmark = pytest.mark.skipif(not RECORDED.is_dir(), reason="the recorded payloads are not here")


def recorded(kind: str) -> list[tuple[str, dict[str, Any]]]:
    files = [path for path in sorted((RECORDED / kind).glob("*.json")) if f"{kind}/{path.name}" not in NOT_ONE_PAYLOAD]
    return [(path.name, json.loads(path.read_text())) for path in files]


def lacks(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Return the keys of a recorded payload that ours lacks; contents of blocks and values may differ."""
    if not isinstance(theirs, dict) or not isinstance(ours, dict):
        return []
    missing = []
    for name, value in theirs.items():
        if name in ELSEWHERE:
            continue
        if name not in ours:
            missing.append(f"{path}/{name}")
        elif name not in ("blocks", "values", "actions", "elements"):
            missing += lacks(ours[name], value, f"{path}/{name}")
    return missing


def plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text}


@pytest.fixture
async def heard(services, bot, hands) -> dict[str, Any]:
    """One payload of each kind, as a bolt bot receives it."""
    heard: dict[str, Any] = {}

    @bot.app.event("app_mention")
    async def mention(body) -> None:
        heard["mention"] = body

    @bot.app.event("message")
    async def message(body) -> None:
        heard["message"] = body
        services.workspace.touch()

    @bot.app.action("go")
    async def click(ack, body) -> None:
        heard["home click" if "view" in body else "click"] = body
        await ack()

    @bot.app.options("search")
    async def search(ack, body) -> None:
        heard["search"] = body
        await ack(options=[])

    @bot.app.view("form")
    async def submission(ack, body) -> None:
        heard["submission"] = body
        await ack(response_action="errors", errors={"i": "no"})

    @bot.app.view_closed("form")
    async def closed(ack, body) -> None:
        heard["closed"] = body
        await ack()

    await bot.connect()
    await hands.write("ada", "general", "@askback hi")
    await services.workspace.until(lambda _: "mention" in heard and "message" in heard)
    button = {"type": "button", "action_id": "go", "text": plain("Go"), "value": "1", "style": "primary"}
    actions = {"type": "actions", "block_id": "a", "elements": [button]}
    posted = await bot.client.chat_postMessage(channel="C0GENERAL", text="x", blocks=[actions])
    where = {"person": "ada", "channel": "general", "ts": posted["ts"], "block_id": "a"}
    await hands.post("/people/act", **where, action_id="go")
    view = {
        "type": "modal",
        "callback_id": "form",
        "title": plain("Form"),
        "submit": plain("Send"),
        "close": plain("Close"),
        "notify_on_close": True,
        "blocks": [
            actions,
            {
                "type": "input",
                "block_id": "i",
                "label": plain("I"),
                "optional": True,
                "element": {"type": "external_select", "action_id": "search", "min_query_length": 0},
            },
        ],
    }
    trigger = services.workspace.issue_trigger("U0LOCALADA").id
    view_id = (await bot.client.views_open(trigger_id=trigger, view=view))["view"]["id"]
    await hands.post("/people/act", person="ada", view_id=view_id, block_id="a", action_id="go")
    await hands.post("/people/options", person="ada", view_id=view_id, block_id="i", action_id="search", query="q")
    await hands.post("/people/submit", person="ada", view_id=view_id, values={})
    await hands.post("/people/close", person="ada", view_id=view_id)
    return heard


@pytest.mark.parametrize(
    ("kind", "ours"),
    [
        ("slack_app_mention", "mention"),
        ("slack_view_submission", "submission"),
        ("slack_view_closed", "closed"),
        ("slack_block_suggestion", "search"),
    ],
)
async def test_has_the_keys_of_the_recorded_ones(kind: str, ours: str, heard) -> None:
    payloads = recorded(kind)
    assert payloads
    assert {name: found for name, theirs in payloads if (found := lacks(heard[ours], theirs))} == {}


async def test_clicks_have_the_keys_of_the_recorded_ones(heard) -> None:
    payloads = [(name, theirs) for name, theirs in recorded("slack_block_actions") if theirs.get("actions")]
    assert payloads
    wrong = {}
    for name, theirs in payloads:
        ours = heard["home click" if "view" in theirs else "click"]
        if found := lacks(ours, theirs):
            wrong[name] = found
    assert wrong == {}


async def test_envelopes_have_the_keys_of_the_recorded_ones(services, session, hands) -> None:
    headers = {"Authorization": "Bearer xapp-local"}
    async with session.post(f"{services.slack_api_url}apps.connections.open", headers=headers) as reply:
        url = (await reply.json())["url"]
    async with session.ws_connect(url) as socket:
        await socket.receive_json(timeout=30)
        await hands.write("ada", "general", "hi")
        event = await socket.receive_json(timeout=30)
    payloads = [(n, p) for n, p in recorded("slack_socket_envelope") if p.get("type") == "events_api"]
    assert payloads
    for name, theirs in payloads:
        assert set(theirs) <= set(event), name
