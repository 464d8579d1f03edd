"""Transactions on the outbox: lease, deliver, retry."""

from __future__ import annotations

__all__ = ["Showing"]

from datetime import timedelta

from sqlalchemy import Connection

from askback.domain.conversation import OutgoingMessage
from askback.store import locks, outbox
from askback.store.outbox import LEASE_SECONDS, OutboxItem
from askback.store.transactions import Transactions
from askback.store.unreadable_rows import Unreadable

_LEASE = timedelta(seconds=LEASE_SECONDS)


class Showing(Transactions):
    """Transactions on the outbox: lease, deliver, retry."""

    async def lease(self, at_most: int, platform: str | None = None) -> tuple[OutboxItem, ...]:
        """Lease what is due now, on one platform or on all that this process serves."""
        served = self._served if platform is None else frozenset({platform})
        return await self._database.run(
            lambda connection: outbox.lease(connection, _LEASE, at_most, served, self._left)
        )

    async def hold(self, target: str) -> None:
        """Renew the lease of a row, if it is leased."""
        await self._database.run(lambda connection: outbox.hold(connection, target, _LEASE))

    async def free_leases(self) -> None:
        """End every lease, since the process that held them has ended. Called once, by a worker that runs alone."""
        await self._database.run(outbox.free)

    async def set_right(self) -> int:
        """Make rows due that were put off before the clock went back. Return the number of rows."""
        return await self._database.run(outbox.set_right)

    async def next_due(self, platform: str | None = None) -> timedelta | None:
        """Return the time until the next row is due. None if nothing is queued."""
        served = self._served if platform is None else frozenset({platform})
        return await self._database.read(lambda connection: outbox.next_due(connection, served, self._left))

    async def hurry(self, platform: str) -> None:
        """Make rows due that failed on a platform which now answers again."""
        await self._database.run(lambda connection: outbox.hurry(connection, frozenset({platform})))

    async def text_waits(self, conversation_id: str, *, before: str) -> bool:
        """Return True if another text of this conversation must be posted before the named one."""
        return await self._database.read(lambda connection: outbox.text_waits(connection, conversation_id, before))

    async def said(self, target: str) -> None:
        """Delete the row of a text that was delivered, or can never be."""
        await self._database.run(lambda connection: outbox.delete(connection, target))

    async def drop(self, item: OutboxItem) -> None:
        """Delete a row that was delivered or can never be, unless it has changed since it was leased."""
        await self._database.run(lambda connection: outbox.delete(connection, item.target, revision=item.revision))

    async def release(self, target: str) -> None:
        """Return a row that its holder could not deliver to the outbox. It is due at once."""
        await self._database.run(lambda connection: outbox.release(connection, target))

    async def leave(self, item: OutboxItem, error: Unreadable) -> None:
        """Leave a row to newer processes, because this release cannot read its ask or conversation."""
        self._left.add("outbox", item.id, error)
        await self._database.run(lambda connection: outbox.leave(connection, item))

    async def retry(self, item: OutboxItem, after: timedelta, error: str, *, failed: bool = True) -> None:
        """Schedule another try of a row. `failed` is False if the platform asked for a wait."""
        await self._database.run(lambda connection: outbox.retry(connection, item, after, error, failed=failed))

    async def queue(
        self, say: OutgoingMessage, conversation_id: str | None = None, *, ask_id: str | None = None
    ) -> None:
        """Queue a text to be posted once.

        With `ask_id`, it is posted where that was asked, and only while that is open.
        """

        def work(connection: Connection) -> None:
            if conversation_id is not None:
                locks.lock_conversation(connection, conversation_id)
            outbox.put_say(connection, say, conversation_id, ask_id=ask_id)

        await self._database.run(work)
