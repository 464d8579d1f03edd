"""Leaving a question for now."""

from __future__ import annotations

from datetime import datetime

from .desk import Desk
from .values import Card

NOT_NOW = "Not now…"
CANCEL = "Cancel it"


async def leave(
    desk: Desk, person: str, card: Card, way: str, note: str = "", *, when: datetime | None = None
) -> tuple[str, ...]:
    """Press "Not now…", choose a way and send it; return the reasons if the modal stays open."""
    await desk.open_field(person, card, NOT_NOW)
    return await desk.submit(person, note, way=way, when=when)


async def cancel(desk: Desk, person: str, card: Card) -> None:
    """Cancel a question by its card."""
    assert await leave(desk, person, card, CANCEL) == ()
