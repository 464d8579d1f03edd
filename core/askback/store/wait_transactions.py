"""Transactions on the programs that wait for answers."""

from __future__ import annotations

__all__ = ["WaitTransactions"]

from sqlalchemy import Connection

from askback.domain.ask import Ask
from askback.domain.wait_report import WaitReport
from askback.store.queries import asks, decisions, locks, receipts, waits
from askback.store.transactions import Transactions
from askback.store.unreadable_rows import UnreadableRow

MOST = 100
"""Maximum number of cards that one look returns."""


class WaitTransactions(Transactions):
    """Transactions on the programs that wait for answers."""

    async def record_waits(self, report: WaitReport) -> None:
        """Record the asks for which a process waits, those for which it has stopped waiting, and received answers."""
        for received in report.received:  # one at a time, since each locks a place
            await self._run(lambda connection, ask_id=received: decisions.save_receipt(connection, ask_id))
        if not report.evolve(received=frozenset()):
            return

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
        """Return the ids of some asks whose callers left or came back without the card showing it.

        Those that were answered are among them, if no caller has received the answer in time.
        """

        def look(connection: Connection) -> tuple[str, ...]:
            late = receipts.list_late(connection, MOST, self._served, self._left)
            return late + waits.list_changed(connection, MOST - len(late), self._served, self._left)

        return await self._database.read(look)

    async def apply_wait(self, ask_id: str) -> bool:
        """Let the card of an ask show that its caller has left, or has come back. Return False if it does already.

        That of an answered one shows that no caller has received the answer. An ask of a newer release is left to that.
        """

        def work(connection: Connection) -> bool:
            locks.lock_ask(connection, ask_id)
            ask = asks.get(connection, ask_id)
            if ask is not None and ask.outcome is not None:
                return _apply_late_receipt(connection, ask)
            found = waits.find_absence(connection, ask_id)
            if ask is None or found == "unchanged":
                return False
            absence = None if found == "back" else found
            waits.mark_told(connection, ask_id, told=absence is not None)
            decisions.save_absence(connection, ask, absence)
            return True

        try:
            return await self._run(work)
        except UnreadableRow as error:
            self._left.add("ask", ask_id, error)
            return False

    async def forget_ended_waits(self) -> None:
        """Delete what is known of waits for asks that ended without an answer."""
        if await self._database.read(waits.has_ended):
            await self._run(waits.delete_ended)


def _apply_late_receipt(connection: Connection, ask: Ask) -> bool:
    """Let the card of an answered ask show that no caller has received the answer. Return False if it does already."""
    absence = receipts.find_absence(connection, ask.id)
    waits.delete(connection, (ask.id,))
    if absence is None or absence == ask.absence:
        return False
    decisions.save_absence(connection, ask, absence)
    return True
