"""`askback cancel ID`: ends a question from outside, whether a bot runs or not."""

from __future__ import annotations

__all__ = ["cancel", "cancel_from_outside"]

from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from askback.cli.admin.telling import tell
from askback.client.summary import gist, one_beginning, when
from askback.domain.ask import Ask
from askback.manager import QuestionManager
from askback.store.external_access import Where, look, writing
from askback.store.store import Store


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What came of it."""

    ask: Ask | None
    """As it is now."""
    ended: bool
    """Whether it was this that ended it."""


async def cancel_from_outside(where: Where, ask_id: str, reason: str | None) -> Cancelled:
    """End an ask in a database on which bots may be running. One that works on a file is not told of it yet.

    Raises `StoreBusy` when those do not let it within 2 s: nothing was changed then.
    """
    async with writing(where) as database:
        store = Store(database)
        manager = QuestionManager(store)
        ask = await manager.get(ask_id)
        if ask is None or ask.outcome is not None or ask.conversation_id is None:
            ended = await manager.cancel(ask_id, reason=reason)
        else:
            # The whole turn ends: what else it asked, and what it runs. The agent goes on when people write.
            ended = await store.stop(ask.conversation_id, None, reason) is not None
        return Cancelled(await manager.get(ask_id), ended)


async def cancel(where: Where, prefix: str, reason: str | None, console: Console) -> int:
    """Cancel, say what was done, and return the exit code. Raises `OperatorError`."""
    ask = look(where, lambda connection: one_beginning(connection, prefix))
    done = await cancel_from_outside(where, ask.id, reason)
    if not done.ended:
        outcome = ask.outcome if done.ask is None else done.ask.outcome
        how = "settled" if outcome is None else outcome.status.replace("_", " ")
        at = "" if outcome is None else f" at {when(outcome.at)}"
        console.print(Text(f"Nothing was changed: {ask.id} was {how} already{at}."))
        return 1
    console.print(Text(f"Cancelled {ask.id}: {gist(ask)}"))
    console.print(Text(tell(where, "settles the card", "the card is settled")))
    return 0
