"""Clicks of people on the card of a program that runs beside the test."""

from __future__ import annotations

import asyncio

import aiohttp

from askback_sandbox.services import Services


async def click(services: Services, person: str, label: str) -> None:
    """Press a button of the only card as a person, and wait until the card shows it."""
    await services.workspace.until(lambda w: any(m.blocks for m in w.messages.values()), within=60)
    async with asyncio.timeout(60):
        while not services.socket.connections:  # noqa: ASYNC110 - a card may be posted before the socket is open
            await asyncio.sleep(0.01)
    (card,) = (message for message in services.workspace.messages.values() if message.blocks)
    shown = card.blocks
    block, action = next(
        (block["block_id"], element["action_id"])
        for block in card.blocks
        for element in block.get("elements", [])
        if element.get("type") == "button" and element["text"]["text"] == label
    )
    body = {"person": person, "channel": card.channel, "ts": card.ts, "block_id": block, "action_id": action}
    act = f"{services.url}/people/act"
    async with aiohttp.ClientSession() as session, session.post(act, json=body) as answer:
        done = await answer.json()
        assert done["ok"] is True, done
    await services.workspace.until(lambda w: w.messages[card.channel, card.ts].blocks != shown, within=60)
