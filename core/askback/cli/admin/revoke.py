"""Run `askback revoke ID`: end an approval of all later calls of a tool, with or without a running bot."""

from __future__ import annotations

__all__ = ["revoke"]

from rich.console import Console
from rich.text import Text

from askback.cli.admin.notify_bot import notify
from askback.client.summary import find_by_prefix, format_time
from askback.domain import approval
from askback.domain.ask import Ask
from askback.domain.outcome import Revocation
from askback.internal.clock import utc_now
from askback.store.external_access import DatabaseLocation, open_for_writing, read_snapshot
from askback.store.store import Store
from askback.text.terminal import to_terminal_text


async def revoke(where: DatabaseLocation, prefix: str, reason: str | None, by: str | None, console: Console) -> int:
    """Revoke, report the result, and return the exit code. Raises `OperatorError`.

    A running bot reads it at the next call. `by` is the operator's name for the audit log.
    """
    ask = read_snapshot(where, lambda connection: find_by_prefix(connection, prefix))

    def decide(newest: Ask | None) -> tuple[Ask | None, bool]:
        after = None if newest is None else approval.revoke(newest, Revocation(at=utc_now(), reason=reason, by=by))
        return after, after is not None

    async with open_for_writing(where) as database:
        done = await Store(database).decide(ask.id, decide)
    if not done.answer:
        console.print(Text(f"Nothing changed: {ask.id} {_explain(done.ask or ask)}."))
        return 1
    tool = to_terminal_text(ask.interview.form.questions[0].id)
    console.print(Text(f"Revoked {ask.id}: each call of {tool} needs approval again."))
    console.print(Text("A call that runs already is not stopped."))
    console.print(Text(notify(where, "changes the card", "it changes the card")))
    return 0


def _explain(ask: Ask) -> str:
    if ask.outcome is not None and ask.outcome.revoked is not None:
        return f"was already revoked at {format_time(ask.outcome.revoked.at)}"
    return "lets no later call run without a card"
