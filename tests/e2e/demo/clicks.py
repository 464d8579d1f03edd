"""Clicks of people on the card of a program that runs next to the test."""

from __future__ import annotations

import asyncio

import aiohttp

from askback_sandbox.json_values import JsonObject, objects
from askback_sandbox.services import Services
from askback_sandbox.slack.controls import controls
from askback_sandbox.slack.values import Message
from askback_sandbox.slack.workspace import Workspace


async def click(services: Services, person: str, label: str, *, changes: bool = True) -> None:
    """Press a button of the only card that has it, and wait until the card shows it, if it changes the card."""
    await services.workspace.until(lambda w: list_buttons(w, label), within=60)
    async with asyncio.timeout(60):
        while not services.socket.connections:  # noqa: ASYNC110 - a card may be posted before the socket is open
            await asyncio.sleep(0.01)
    ((card, block, action),) = list_buttons(services.workspace, label)
    shown = card.blocks
    body = {"person": person, "channel": card.channel, "ts": card.ts, "block_id": block, "action_id": action}
    act = f"{services.url}/people/act"
    async with aiohttp.ClientSession() as session, session.post(act, json=body) as answer:
        done = await answer.json()
        assert done["ok"] is True, done
    if changes:
        await services.workspace.until(lambda w: w.messages[card.channel, card.ts].blocks != shown, within=60)


def list_buttons(workspace: Workspace, label: str) -> list[tuple[Message, str, str]]:
    """Return the buttons with this label: the message of each, and its block and action."""
    return [
        (message, block["block_id"], element["action_id"])
        for message in workspace.messages.values()
        for block in message.blocks
        for element in block.get("elements", [])
        if element.get("type") == "button" and element["text"]["text"] == label
    ]


async def write_into_field(services: Services, person: str, text: str) -> None:
    """Submit a text in the field that a button has opened."""
    who = services.workspace.person(person)
    assert who is not None
    await services.workspace.until(lambda w: w.stack(who.id), within=60)
    view = services.workspace.stack(who.id)[-1]
    (entry,) = (one for one in controls(objects(view.view.get("blocks"))) if one.kind == "field")
    values: JsonObject = {entry.handle["block_id"]: {entry.handle["action_id"]: text}}
    done = await services.modals.submit(person, view.id, values)
    assert (done.error, done.errors) == (None, {})
