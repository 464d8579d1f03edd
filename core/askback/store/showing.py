"""What people are to see: leased, delivered, tried again."""

from __future__ import annotations

__all__ = ["LEASE_SECONDS", "Showing"]

from datetime import datetime, timedelta

from sqlalchemy import Connection

from askback.clock import utc_now
from askback.conversations import Say
from askback.store import locks, outbox
from askback.store.outbox import OutboxItem
from askback.store.transactions import Transactions

LEASE_SECONDS = 10
"""How long what was taken is nobody else's, unless it is held for longer: a process that ends holds nothing."""


class Showing(Transactions):
    """What people are to see: leased, delivered, tried again."""

    async def lease(self, at_most: int) -> tuple[OutboxItem, ...]:
        """Take what has to be shown now."""
        now = utc_now()
        until = now + timedelta(seconds=LEASE_SECONDS)
        return await self._database.run(lambda connection: outbox.lease(connection, now, until, at_most, self._served))

    async def hold(self, targets: tuple[str, ...]) -> None:
        """What was taken is still being shown."""
        until = utc_now() + timedelta(seconds=LEASE_SECONDS)
        await self._database.run(lambda connection: outbox.hold(connection, targets, until))

    async def free_leases(self) -> None:
        """What an ended process had taken is anybody's: called once, by a worker that is alone."""
        await self._database.run(lambda connection: outbox.free(connection, utc_now()))

    async def set_right(self) -> int:
        """After the clock went back: what waits for a moment that is too far off is due. Returns how much that was."""
        now = utc_now()
        return await self._database.run(lambda connection: outbox.set_right(connection, now))

    async def next_due(self) -> datetime | None:
        return await self._database.read(lambda connection: outbox.next_due(connection, self._served))

    async def said(self, target: str) -> None:
        """A text was delivered, or never can be."""
        await self._database.run(lambda connection: outbox.delete(connection, target))

    async def drop(self, item: OutboxItem) -> None:
        """It was shown, or never can be. What has changed since it was taken stays to be shown."""
        await self._database.run(lambda connection: outbox.delete(connection, item.target, revision=item.revision))

    async def release(self, target: str) -> None:
        """Whoever wanted to show it could not: the outbox may, at once."""
        now = utc_now()
        await self._database.run(lambda connection: outbox.release(connection, target, now))

    async def retry(self, item: OutboxItem, after: timedelta, error: str) -> None:
        """It could not be shown for now."""
        now = utc_now()
        await self._database.run(lambda connection: outbox.retry(connection, item, now, after, error))

    async def queue(self, say: Say, conversation_id: str | None = None) -> None:
        """A text to be said, once."""

        def work(connection: Connection) -> None:
            if conversation_id is not None:
                locks.lock_conversation(connection, conversation_id)
            outbox.put_say(connection, say, conversation_id, utc_now(), None)

        await self._database.run(work)
