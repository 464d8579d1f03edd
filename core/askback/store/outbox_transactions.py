"""Transactions on the outbox: lease, deliver, retry."""

from __future__ import annotations

__all__ = ["OutboxTransactions"]

from datetime import timedelta

from sqlalchemy import Connection

from askback.domain.conversation import UnshownText
from askback.domain.identity import MessageRef
from askback.domain.outgoing_message import OutgoingMessage
from askback.store.queries import conversations, locks, outbox, outbox_leases
from askback.store.queries.outbox_leases import LEASE_SECONDS, OutboxItem
from askback.store.transactions import Transactions
from askback.store.unreadable_rows import UnreadableRow

_LEASE = timedelta(seconds=LEASE_SECONDS)


class OutboxTransactions(Transactions):
    """Transactions on the outbox: lease, deliver, retry."""

    async def lease(self, at_most: int, platform: str | None = None) -> tuple[OutboxItem, ...]:
        """Lease the rows that are due now, on one platform or on all that this process serves."""
        served = self._served if platform is None else frozenset({platform})
        return await self._run(lambda connection: outbox_leases.lease(connection, _LEASE, at_most, served, self._left))

    async def renew_lease(self, target: str) -> None:
        """Renew the lease of a row, if it is leased."""
        await self._run(lambda connection: outbox_leases.renew_lease(connection, target, _LEASE))

    async def end_all_leases(self) -> None:
        """End every lease. A worker that runs alone calls this once, since the process that held them has ended."""
        await self._run(outbox_leases.end_all_leases)

    async def repair_due_times(self) -> int:
        """Make rows due that were postponed before the clock was set back. Return the number of rows."""
        return await self._run(outbox_leases.repair_due_times)

    async def get_time_until_due(self, platform: str | None = None) -> timedelta | None:
        """Return the time until the next row is due. None if nothing is queued."""
        served = self._served if platform is None else frozenset({platform})
        return await self._database.read(
            lambda connection: outbox_leases.get_time_until_due(connection, served, self._left)
        )

    async def retry_failed_now(self, platform: str) -> None:
        """Make rows due that failed on a platform which now answers again."""
        await self._run(lambda connection: outbox_leases.retry_failed_now(connection, frozenset({platform})))

    async def has_earlier_text(self, conversation_id: str, *, before: str) -> bool:
        """Return True if another text of this conversation must be posted before the named one."""
        return await self._database.read(
            lambda connection: outbox.has_earlier_text(connection, conversation_id, before)
        )

    async def delete_text(
        self, target: str, conversation_id: str | None = None, messages: tuple[MessageRef, ...] = ()
    ) -> None:
        """Delete the row of a text that this process posted in these messages when its turn ended.

        If another process may have overwritten the text meanwhile, the row stays and is due at once.
        """
        await self._run(lambda connection: _delete_text(connection, target, conversation_id, messages, 0))

    async def delete_item(self, item: OutboxItem, messages: tuple[MessageRef, ...] = ()) -> None:
        """Delete a row that was delivered or can never be, unless it has changed since it was leased.

        `messages` are those of a delivered text.
        """

        def work(connection: Connection) -> None:
            if item.kind == "card":
                outbox.delete(connection, item.target, revision=item.revision)
            else:
                _delete_text(connection, item.target, item.conversation_id, messages, item.revision)

        await self._run(work)

    async def give_up_text(self, item: OutboxItem, unshown: UnshownText, notice: OutgoingMessage) -> None:
        """Delete a text of the model that can never be shown. The model learns of it, and people by the notice."""
        conversation_id = item.conversation_id

        def work(connection: Connection) -> None:
            if conversation_id is not None:
                locks.lock_conversation(connection, conversation_id)
                conversations.add_unshown_text(connection, conversation_id, unshown)
                outbox.enqueue_message(connection, notice, conversation_id)
            outbox.delete(connection, item.target, revision=item.revision)

        await self._run(work)

    async def get_last_text(self, conversation_id: str) -> MessageRef | None:
        """Return the message with the newest text of a conversation that the platform confirmed."""
        return await self._database.read(lambda connection: conversations.get_last_text(connection, conversation_id))

    async def release_lease(self, target: str, *, only_own: bool = False) -> None:
        """Release the lease of a row that its holder could not deliver. The row is due at once.

        With `only_own`, another process that has leased the row meanwhile keeps it.
        """
        await self._run(lambda connection: outbox_leases.release_lease(connection, target, only_own=only_own))

    async def skip_unreadable(self, item: OutboxItem, error: UnreadableRow) -> None:
        """Leave a row to newer processes, because this release cannot read its ask or conversation."""
        self._left.add("outbox", item.id, error)
        await self._run(lambda connection: outbox_leases.undo_lease(connection, item))

    async def retry(self, item: OutboxItem, after: timedelta, error: str, *, failed: bool = True) -> None:
        """Schedule another try of a row. `failed` is False if the platform asked for a wait."""
        await self._run(lambda connection: outbox_leases.retry(connection, item, after, error, failed=failed))

    async def enqueue_message(
        self, outgoing: OutgoingMessage, conversation_id: str | None = None, *, ask_id: str | None = None
    ) -> None:
        """Queue a text to be posted once.

        With `ask_id`, it is posted where that was asked, and only while that is open.
        """

        def work(connection: Connection) -> None:
            if conversation_id is not None:
                locks.lock_conversation(connection, conversation_id)
            outbox.enqueue_message(connection, outgoing, conversation_id, ask_id=ask_id)

        await self._run(work)


def _delete_text(
    connection: Connection,
    target: str,
    conversation_id: str | None,
    messages: tuple[MessageRef, ...],
    revision: int,
) -> None:
    if messages and conversation_id is not None:
        locks.lock_conversation(connection, conversation_id)
        conversations.set_last_text(connection, conversation_id, messages[-1])
    if not outbox.delete(connection, target, revision=revision):
        outbox_leases.release_lease(connection, target, only_own=True)  # it is to be posted again
