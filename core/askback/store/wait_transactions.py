"""Transactions on the programs that wait for answers."""

from __future__ import annotations

__all__ = ["WaitTransactions"]

from sqlalchemy import Connection

from askback.domain.wait_report import WaitReport
from askback.store.queries import asks, decisions, locks, waits
from askback.store.transactions import Transactions
from askback.store.unreadable_rows import UnreadableRow

MOST = 100
"""Maximum number of cards that one look returns."""


class WaitTransactions(Transactions):
    """Transactions on the programs that wait for answers."""

    async def record_waits(self, report: WaitReport) -> None:
        """Record the asks for which a process waits, and those for which it has stopped waiting."""

        def work(connection: Connection) -> None:
            ended, waiting = set(report.ended), set(report.waiting)
            if left := ended - report.lost - report.kept:
                waits.end(connection, left)
            for has_ended, kept in ((True, report.kept & ended), (False, report.kept - ended)):
                if kept:
                    waits.keep(connection, kept, ended=has_ended)
            if gone := report.lost - waiting:
                waits.lose(connection, gone)
            for is_lost, renewed in ((False, waiting - report.lost), (True, waiting & report.lost)):
                if renewed:
                    waits.renew(connection, renewed, lost=is_lost)

        await self._run(work)

    async def list_changed_waits(self) -> tuple[str, ...]:
        """Return the ids of some open asks whose callers left or came back without the card showing it."""
        return await self._database.read(
            lambda connection: waits.list_changed(connection, MOST, self._served, self._left)
        )

    async def apply_wait(self, ask_id: str) -> bool:
        """Let the card of an open ask show that its caller has left, or has come back. Return False if it does already.

        Nobody is notified: the card is drawn in its messages. An ask of a newer release is left to that.
        """

        def work(connection: Connection) -> bool:
            locks.lock_ask(connection, ask_id)
            ask = asks.get(connection, ask_id)
            found = waits.find_absence(connection, ask_id)
            if ask is None or ask.outcome is not None or found == "unchanged":
                return False
            absence = None if found == "back" else found
            waits.mark_told(connection, ask_id, told=absence is not None)
            interview = ask.interview.evolve(revision=ask.interview.revision + 1)
            decisions.save_change(connection, ask, ask.evolve(interview=interview, absence=absence), None)
            return True

        try:
            return await self._run(work)
        except UnreadableRow as error:
            self._left.add("ask", ask_id, error)
            return False

    async def forget_ended_waits(self) -> None:
        """Delete what is known of waits for asks that are settled."""
        if await self._database.read(waits.has_ended):
            await self._run(waits.delete_ended)
