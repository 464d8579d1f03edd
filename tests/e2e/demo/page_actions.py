"""A person at the page: what they write and press, and what the model is told of it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from askback_sandbox.services import Services

expect = pytest.importorskip("playwright.async_api", reason="playwright is not installed").expect

CARD = re.compile(r"Asked: |\bby @|Show question")
"""Text of a card, open or settled."""
ACTING = 'button:not(:has-text("Show question")), input, select, textarea'
"""The controls that change something."""
QUESTION = {
    "question": "Which fruit?", "header": "Fruit", "multiSelect": False,
    "options": [{"label": "Apple", "description": "Red"}, {"label": "Pear", "description": "Green"}],
}  # fmt: skip


async def write(page: Any, text: str) -> None:
    """Write in the open thread, else in the channel."""
    thread = page.locator(".thread textarea")
    field = thread if await thread.is_visible() else page.locator(".main textarea")
    await field.fill(text)
    await field.press("Enter")


def button(place: Any, name: str) -> Any:
    """Return the button with exactly this name."""
    return place.get_by_role("button", name=name, exact=True)


async def leave(page: Any, way: str, note: str = "") -> None:
    """Choose a way to leave a question for now, in the open modal, and send it."""
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("radio", name=way).check()
    await dialog.locator("textarea").fill(note)
    await dialog.locator("[type=submit]").click()
    await expect(dialog).to_have_count(0)


def told(services: Services) -> list[str]:
    """Return every tool_result that the model received, oldest first, with duplicates."""
    newest = max((exchange.request.get("messages", []) for exchange in services.model.log), key=len)
    return [
        block["content"] if isinstance(block["content"], str) else block["content"][0]["text"]
        for message in newest
        for block in (message["content"] if isinstance(message["content"], list) else [])
        if block["type"] == "tool_result"
    ]
