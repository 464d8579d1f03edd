"""What people are to see: leased, delivered, tried again."""

from __future__ import annotations

__all__ = ["SEND_SECONDS", "Showing"]

from datetime import datetime, timedelta

from askback.clock import utc_now
from askback.conversations import Say
from askback.store import outbox
from askback.store.outbox import OutboxItem
from askback.store.transactions import Transactions

SEND_SECONDS = 90
"""How long one delivery may take; longer than any platform client's own time-outs."""


class Showing(Transactions):
    """What people are to see: leased, delivered, tried again."""

    async def lease(self, at_most: int) -> tuple[OutboxItem, ...]:
        """Take what has to be shown now."""
        now = utc_now()
        until = now + timedelta(seconds=SEND_SECONDS)
        return await self._writer.run(lambda connection: outbox.lease(connection, now, until, at_most))

    async def free_leases(self) -> None:
        """What an ended process had taken is anybody's: called once, by a worker that is alone."""
        await self._writer.run(lambda connection: outbox.free(connection, utc_now()))

    async def next_due(self) -> datetime | None:
        return await self._writer.read(outbox.next_due)

    async def said(self, target: str) -> None:
        """A text was delivered, or never can be."""
        await self._writer.run(lambda connection: outbox.delete(connection, target))

    async def drop(self, item: OutboxItem) -> None:
        """It was shown, or never can be. What has changed since it was taken stays to be shown."""
        await self._writer.run(lambda connection: outbox.delete(connection, item.target, revision=item.revision))

    async def release(self, target: str) -> None:
        """Whoever wanted to show it could not: the outbox may, at once."""
        now = utc_now()
        await self._writer.run(lambda connection: outbox.release(connection, target, now))

    async def retry(self, item: OutboxItem, after: timedelta, error: str) -> None:
        """It could not be shown for now."""
        now = utc_now()
        await self._writer.run(lambda connection: outbox.retry(connection, item, now, after, error))

    async def queue(self, say: Say, conversation_id: str | None = None) -> None:
        """A text to be said, once."""
        await self._writer.run(lambda connection: outbox.put_say(connection, say, conversation_id, utc_now(), None))
