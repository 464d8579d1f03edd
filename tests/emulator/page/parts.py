"""Cards for the page, and a bot that asks with them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

from support.browser import PATIENCE


def plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def mrkdwn(text: str) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": text}


def option(label: str, value: str, description: str | None = None) -> dict[str, Any]:
    return {
        "text": plain(label),
        "value": value,
        **({"description": plain(description)} if description else {}),
    }


def button(label: str, action_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "button", "action_id": action_id, "text": plain(label), "value": action_id, **more}


OPTIONS = [option("PostgreSQL", "pg", "What the team knows"), option("SQLite", "sq"), option("DuckDB", "dk")]

SEVERAL = {
    "type": "actions",
    "block_id": "several",
    "elements": [
        {"type": "checkboxes", "action_id": "boxes", "options": OPTIONS},
        {"type": "static_select", "action_id": "menu", "placeholder": plain("Pick one"), "options": OPTIONS},
    ],
}

CARD = [
    {"type": "section", "block_id": "q", "text": plain("Which database?")},
    {
        "type": "actions",
        "block_id": "a",
        "elements": [
            button("PostgreSQL", "choose", style="primary"),
            button("Something else…", "other"),
        ],
    },
]

MODAL = {
    "type": "modal",
    "callback_id": "written",
    "title": plain("Something else…"),
    "submit": plain("Submit"),
    "blocks": [
        {
            "type": "input",
            "block_id": "answer",
            "label": plain("Your answer"),
            "hint": plain("A name"),
            "element": {"type": "plain_text_input", "action_id": "text", "multiline": True, "max_length": 50},
        },
        {
            "type": "input",
            "block_id": "why",
            "optional": True,
            "label": plain("Why"),
            "element": {"type": "plain_text_input", "action_id": "text"},
        },
    ],
}


async def until(condition: Callable[[], bool], what: str, *, arrived: Sequence[object] = (), page: Any = None) -> None:
    """Wait until the condition holds, for events at the bot that the page does not show.

    If it never holds, the error tells what `arrived` at the bot, and which problems the `page` shows.
    """
    end = time.monotonic() + PATIENCE / 1000
    while not condition():
        if time.monotonic() >= end:
            problems = await page.get_by_role("alert").all_inner_texts() if page else []
            raise AssertionError(f"not within {PATIENCE / 1000:g} s: {what}; arrived: {arrived}; problems: {problems}")
        await asyncio.sleep(0.01)


async def settled(page: Any) -> None:
    """Let the page fetch and draw what has just changed."""
    await page.wait_for_timeout(150)


async def asking(bot, seen: list[dict[str, Any]]) -> asyncio.Event:
    """Set up a bot that asks when it is mentioned, and settles its card with the choice or the text.

    After a choice it waits until the returned event is set.
    """
    decided = asyncio.Event()

    async def settle(client, channel: str, ts: str, text: str) -> None:
        block = {"type": "section", "text": plain(text)}
        await client.chat_update(channel=channel, ts=ts, text=text, blocks=[block])

    @bot.app.event("app_mention")
    async def mention(event, client) -> None:
        await client.chat_postMessage(channel=event["channel"], thread_ts=event["ts"], text="Which?", blocks=CARD)

    @bot.app.event("message")
    async def message() -> None: ...

    @bot.app.action("choose")
    async def choose(ack, body, client) -> None:
        seen.append(body)
        await decided.wait()
        await ack()
        await settle(client, body["channel"]["id"], body["message"]["ts"], "You chose PostgreSQL")

    @bot.app.action("other")
    async def other(ack, body, client) -> None:
        await ack()
        where = f"{body['channel']['id']} {body['message']['ts']}"
        await client.views_open(trigger_id=body["trigger_id"], view={**MODAL, "private_metadata": where})

    @bot.app.action({"block_id": "several"})
    async def several(ack, body) -> None:
        seen.append(body)
        await ack()

    @bot.app.view("written")
    async def written(ack, body, client) -> None:
        text = body["view"]["state"]["values"]["answer"]["text"]["value"]
        if text == "no":
            await ack(response_action="errors", errors={"answer": "Not “no”, please."})
            return
        await ack()
        await settle(client, *body["view"]["private_metadata"].split(), f"You wrote {text}")

    await bot.connect()
    return decided
