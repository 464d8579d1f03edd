"""Run `askback show ID --post`: post the card of an open question again if it was deleted."""

from __future__ import annotations

__all__ = ["post"]

from rich.console import Console
from rich.text import Text

from askback.cli.admin.notify_bot import notify
from askback.client.summary import find_by_prefix, format_question
from askback.store.external_access import DatabaseLocation, open_for_writing, read_snapshot
from askback.store.store import Store


async def post(where: DatabaseLocation, prefix: str, console: Console) -> int:
    """Have the card drawn again, report the result, and return the exit code. Raises `OperatorError`."""
    ask = read_snapshot(where, lambda connection: find_by_prefix(connection, prefix))
    async with open_for_writing(where) as database:
        is_open = await Store(database).enqueue_redraw(ask.id)
    if not is_open:
        console.print(Text(f"Nothing changed: {ask.id} was already {ask.status.replace('_', ' ')}."))
        return 1
    console.print(Text(f"Showing {ask.id} again: {format_question(ask)}"))
    console.print(
        Text(
            notify(
                where,
                "redraws the card, and posts it again if it was deleted",
                "it redraws the card",
            )
        )
    )
    return 0
