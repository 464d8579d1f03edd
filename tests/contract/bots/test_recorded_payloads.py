"""Payloads recorded from the real Slack, sent to the running bot: acked, and never more than a warning."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from askback_sandbox.json_values import JsonObject, as_object, as_text
from askback_sandbox.model.script import turn
from askback_sandbox.slack.values import Message

from . import slack
from .driver import ADA, asks, card, one, settled, until

PAYLOADS = Path(__file__).parents[4] / "shared/payloads"
pytestmark = pytest.mark.skipif(not PAYLOADS.exists(), reason="the recorded payloads are not on this machine")


def recorded() -> list[Any]:
    return [
        pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in sorted(PAYLOADS.glob("slack_*/*.json"))
    ]


def payload_of(path: Path) -> JsonObject:
    """Return the payload in the file, without an envelope; answers to it go nowhere."""
    data: JsonObject = json.loads(path.read_text(encoding="utf-8"))
    payload = as_object(data["payload"]) if "envelope_id" in data else data
    return {**payload, "response_url": "http://127.0.0.1:9/gone"} if "response_url" in payload else payload


async def send(desk: slack.SlackDesk, payload: JsonObject) -> None:
    """Send a raw payload; return when it is acked."""
    before = {interaction.id for interaction in desk.workspace.interactions}
    ack = await desk.services.people.raw(payload)
    assert ack.acked, ack
    if payload.get("type") == "event_callback":
        told = next(one for one in desk.workspace.interactions if one.id not in before)

        def acked() -> bool | None:
            return next(one for one in desk.workspace.interactions if one.id == told.id).acked

        assert await until(acked, "the event is acked")


@pytest.fixture
async def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    async with slack.open_desk(tmp_path, monkeypatch) as desk:
        yield desk


async def test_each_as_it_is_is_acked_and_harms_nothing(running: slack.SlackDesk) -> None:
    desk = running
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it."), when="fruit")
    talk = await desk.mention(ADA, "fruit")
    shown = await card(desk, talk)
    # They were sent to bots of other workspaces, so no reply can reach their channels.
    desk.journal.announce("delivery_rejected")
    for parameters in recorded():
        await send(desk, payload_of(parameters.values[0]))
    await desk.press(ADA, shown, "Pear")
    await settled(desk, talk, "Pear")
    assert desk.journal.unexpected() == []


async def test_each_with_our_own_ids_is_acked_and_harms_nothing(running: slack.SlackDesk) -> None:
    """The payloads use this workspace's person, channel, message and controls."""
    desk = running
    desk.model.script(turn(asks(one("Which fruit?", "Apple", "Pear"))), turn("So be it."), when="fruit")
    talk = await desk.mention(ADA, "fruit")
    shown = await card(desk, talk)
    control = shown.control("Not now…").handle
    for parameters in recorded():
        payload = ours(
            payload_of(parameters.values[0]),
            desk,
            shown.id,
            str(control.handle["action_id"]).replace("postpone", "back"),
        )
        await send(desk, payload)
    await until(lambda: not running_tasks("askback slack click"), "everything behind the acks is done", within=30)
    (still,) = [one for one in desk.cards(talk) if one.controls]
    await desk.press(ADA, still, "Pear")
    await settled(desk, talk, "Pear")
    assert desk.journal.unexpected() == []


async def test_each_is_acked_whatever_is_missing_in_it(running: slack.SlackDesk) -> None:
    """Each field is missing once, and null once; slack-bolt itself cannot read some of these payloads."""
    running.journal.announce("payload_failed", "askback.slack.bolt", "delivery_rejected", "click_failed")
    for parameters in recorded():
        payload = payload_of(parameters.values[0])
        if payload.get("type") == "event_callback":
            continue
        for name in sorted(set(payload) - {"type"}):
            await send(running, {key: value for key, value in payload.items() if key != name})
            await send(running, {**payload, name: None})
    assert running.journal.unexpected() == []


def running_tasks(name: str) -> list[Any]:
    return [task for task in asyncio.all_tasks() if task.get_name() == name]


def ours(payload: JsonObject, desk: slack.SlackDesk, ts: str, action_id: str) -> JsonObject:
    """Return the payload as if it came from this workspace, about one of the bot's cards."""
    team, person, channel = desk.workspace.team.id, "U0LOCALADA", "C0GENERAL"
    message = desk.workspace.messages[channel, ts]
    url = desk.workspace.issue_response_url(message, person)
    put: dict[str, Any] = {
        "team": {"id": team, "domain": "local"},
        "team_id": team,
        "api_app_id": desk.workspace.bot.app_id,
        "response_url": f"{desk.services.url}/response/{url.token}",
    }
    changed: JsonObject = {name: put.get(name, value) for name, value in payload.items()}
    if "user" in changed:
        changed["user"] = {**as_object(changed["user"]), "id": person, "team_id": team}
    if "channel" in changed:
        changed["channel"] = {"id": channel, "name": "general"}
    if "container" in changed:
        changed["container"] = {**as_object(changed["container"]), "channel_id": channel, "message_ts": ts}
    if isinstance(actions := changed.get("actions"), list):
        changed["actions"] = [{**as_object(action), "action_id": action_id} for action in actions]
    if changed.get("type") == "block_suggestion":
        changed["action_id"] = action_id
    if "event" in changed:
        event = as_object(changed["event"])
        text = re.sub(r"<@[A-Z0-9]+>", f"<@{desk.workspace.bot.id}>", as_text(event.get("text")))
        desk.workspace.put_message(Message(channel=channel, ts=as_text(event.get("ts")), user=person, text=text))
        changed["event"] = {**event, "user": person, "channel": channel, "team": team, "text": text}
    return changed
