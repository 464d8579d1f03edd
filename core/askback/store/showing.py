"""What people are to see: leased, delivered, tried again."""

from __future__ import annotations

__all__ = ["Showing"]

from datetime import timedelta

from sqlalchemy import Connection

from askback.domain.conversation import Say
from askback.store import locks, outbox
from askback.store.left import Unreadable
from askback.store.outbox import LEASE_SECONDS, OutboxItem
from askback.store.transactions import Transactions

_LEASE = timedelta(seconds=LEASE_SECONDS)


class Showing(Transactions):
    """What people are to see: leased, delivered, tried again."""

    async def lease(self, at_most: int, platform: str | None = None) -> tuple[OutboxItem, ...]:
        """Take what has to be shown now, on one platform or on all that are served."""
        served = self._served if platform is None else frozenset({platform})
        return await self._database.run(
            lambda connection: outbox.lease(connection, _LEASE, at_most, served, self._left)
        )

    async def hold(self, target: str) -> None:
        """Renew the lease of a row, where somebody has it."""
        await self._database.run(lambda connection: outbox.hold(connection, target, _LEASE))

    async def free_leases(self) -> None:
        """What an ended process had taken is anybody's: called once, by a worker that is alone."""
        await self._database.run(outbox.free)

    async def set_right(self) -> int:
        """After the clock went back, make due what was put off at a time to come. Returns how much that was."""
        return await self._database.run(outbox.set_right)

    async def next_due(self, platform: str | None = None) -> timedelta | None:
        """Return in how long something has to be shown. None: nothing is queued."""
        served = self._served if platform is None else frozenset({platform})
        return await self._database.read(lambda connection: outbox.next_due(connection, served, self._left))

    async def hurry(self, platform: str) -> None:
        """The platform answers again: what failed there is due now."""
        await self._database.run(lambda connection: outbox.hurry(connection, frozenset({platform})))

    async def text_waits(self, conversation_id: str, *, before: str) -> bool:
        """Return whether a text of this conversation is still to be said before the named one."""
        return await self._database.read(lambda connection: outbox.text_waits(connection, conversation_id, before))

    async def said(self, target: str) -> None:
        """A text was delivered, or never can be."""
        await self._database.run(lambda connection: outbox.delete(connection, target))

    async def drop(self, item: OutboxItem) -> None:
        """It was shown, or never can be. What has changed since it was taken stays to be shown."""
        await self._database.run(lambda connection: outbox.delete(connection, item.target, revision=item.revision))

    async def release(self, target: str) -> None:
        """Whoever wanted to show it could not: the outbox may, at once."""
        await self._database.run(lambda connection: outbox.release(connection, target))

    async def leave(self, item: OutboxItem, error: Unreadable) -> None:
        """It is about something that only a newer process can read: to that it is left."""
        self._left.add("outbox", item.id, error)
        await self._database.run(lambda connection: outbox.leave(connection, item))

    async def retry(self, item: OutboxItem, after: timedelta, error: str, *, failed: bool = True) -> None:
        """It could not be shown for now. `failed`: not where the platform asked to wait."""
        await self._database.run(lambda connection: outbox.retry(connection, item, after, error, failed=failed))

    async def queue(self, say: Say, conversation_id: str | None = None, *, ask_id: str | None = None) -> None:
        """A text to be said, once; `ask_id`: where that was asked, and while it is open."""

        def work(connection: Connection) -> None:
            if conversation_id is not None:
                locks.lock_conversation(connection, conversation_id)
            outbox.put_say(connection, say, conversation_id, ask_id=ask_id)

        await self._database.run(work)
