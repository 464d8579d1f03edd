"""`askback cancel ID`: ends a question from outside, whether a bot runs or not."""

from __future__ import annotations

__all__ = ["cancel", "cancel_from_outside"]

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from askback.asks import Ask
from askback.manager import QuestionManager
from askback.nudge import nudge
from askback.operate.asked import gist, one_beginning, when
from askback.store.beside import check_version, look, worker_of
from askback.store.store import Store
from askback.store.writer import Writer


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What came of it."""

    ask: Ask | None
    """As it is now."""
    ended: bool
    """Whether it was this that ended it."""


async def cancel_from_outside(path: Path, ask_id: str, reason: str | None) -> Cancelled:
    """End an ask in the database of a bot that may be running; nobody is told of it yet.

    By a writer of its own for this one commit, beside the running one: SQLite lets one of them at a time. Raises
    `StoreBusy` when the other does not let it within 2 s: nothing was changed then.
    """
    writer = Writer(path, prepare=check_version)
    try:
        store = Store(writer)
        manager = QuestionManager(store)
        ask = await manager.get(ask_id)
        if ask is None or ask.outcome is not None or ask.conversation_id is None:
            ended = await manager.cancel(ask_id, reason=reason)
        else:
            # The whole turn ends: what else it asked, and what it runs. The agent goes on when people write.
            ended = await store.stop(ask.conversation_id, None, reason) is not None
        return Cancelled(await manager.get(ask_id), ended)
    finally:
        await writer.close()


async def cancel(path: Path, prefix: str, reason: str | None, console: Console) -> int:
    """Cancel, say what was done, and return the exit code. Raises `OperatorError`."""
    ask = look(path, lambda connection: one_beginning(connection, prefix))
    done = await cancel_from_outside(path, ask.id, reason)
    if not done.ended:
        outcome = ask.outcome if done.ask is None else done.ask.outcome
        how = "settled" if outcome is None else outcome.status.replace("_", " ")
        at = "" if outcome is None else f" at {when(outcome.at)}"
        console.print(Text(f"Nothing was changed: {ask.id} was {how} already{at}."))
        return 1
    console.print(Text(f"Cancelled {ask.id}: {gist(ask)}"))
    console.print(Text(_told(path)))
    return 0


def _told(path: Path) -> str:
    told = nudge(path)
    if told:
        return "The running bot has been told, and settles the card."
    worker = worker_of(path)
    if worker is None:
        return "No bot runs on this database: the card is settled when one starts."
    return f"The running bot (process {worker}) could not be told: it notices within half a minute."
