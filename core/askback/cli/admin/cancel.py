"""Run `askback cancel ID`: settle a question from outside, with or without a running bot."""

from __future__ import annotations

__all__ = ["cancel", "cancel_from_outside"]

from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from askback.cli.admin.notify_bot import notify
from askback.client.summary import find_by_prefix, format_question, format_time
from askback.domain.ask import Ask
from askback.manager import QuestionManager
from askback.store.external_access import DatabaseLocation, open_for_writing, read_snapshot
from askback.store.store import Store


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The result of cancelling."""

    ask: Ask | None
    """The ask after the attempt."""
    ended: bool
    """True if this attempt ended the ask."""


async def cancel_from_outside(where: DatabaseLocation, ask_id: str, reason: str | None) -> Cancelled:
    """Cancel an ask in a database that bots may be using. A bot on an SQLite file is not notified yet.

    Raises `StoreBusy` if other processes prevent the commit for 2 s; nothing was changed then.
    """
    async with open_for_writing(where) as database:
        store = Store(database)
        manager = QuestionManager(store)
        ask = await manager.get(ask_id)
        if ask is None or ask.outcome is not None or ask.conversation_id is None:
            ended = await manager.cancel(ask_id, reason=reason)
        else:
            # End the whole turn, with its other questions and its tools. The agent continues when people write.
            ended = await store.stop(ask.conversation_id, None, reason) is not None
        return Cancelled(await manager.get(ask_id), ended)


async def cancel(where: DatabaseLocation, prefix: str, reason: str | None, console: Console) -> int:
    """Cancel, report the result, and return the exit code. Raises `OperatorError`."""
    ask = read_snapshot(where, lambda connection: find_by_prefix(connection, prefix))
    done = await cancel_from_outside(where, ask.id, reason)
    if not done.ended:
        outcome = ask.outcome if done.ask is None else done.ask.outcome
        how = "settled" if outcome is None else outcome.status.replace("_", " ")
        at = "" if outcome is None else f" at {format_time(outcome.at)}"
        console.print(Text(f"Nothing changed: {ask.id} was already {how}{at}."))
        return 1
    console.print(Text(f"Cancelled {ask.id}: {format_question(ask)}"))
    console.print(Text(notify(where, "settles the card", "it settles the card")))
    return 0
