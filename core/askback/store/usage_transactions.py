"""Transactions that reserve the model's tokens before each call and correct the count afterwards."""

from __future__ import annotations

__all__ = ["UsageTransactions"]

from collections.abc import Callable

from sqlalchemy import Connection

from askback.domain.turn import TokenUsage
from askback.internal.clock import from_micros
from askback.store.database_clock import read_now
from askback.store.queries import locks, usage
from askback.store.transactions import Transactions


class UsageTransactions(Transactions):
    """Transactions that count the model's tokens before each call and correct the count afterwards.

    So concurrent calls of several conversations and processes know of each other. If a process dies during a call, the
    whole call stays counted, since the service bills it too.
    """

    async def get_usage(self, conversation_id: str) -> TokenUsage:
        """Return the tokens that were used so far."""
        return await self._database.read(
            lambda connection: usage.get_usage(connection, conversation_id, from_micros(read_now(connection)))
        )

    async def reserve(self, conversation_id: str, reservation: str, amount: Callable[[TokenUsage], int]) -> TokenUsage:
        """Reserve the number of tokens that `amount` returns for a call. 0 means that the call must not run.

        Return the usage before that. `reservation` is a new id, for `settle`.
        """

        def work(connection: Connection) -> TokenUsage:
            locks.lock_conversation(connection, conversation_id)
            locks.lock_usage(connection)
            usage.delete_reservations(connection, conversation_id)
            now = from_micros(read_now(connection))
            spent = usage.get_usage(connection, conversation_id, now)
            if tokens := amount(spent):
                usage.reserve(connection, conversation_id, reservation, tokens, now)
            return spent

        return await self._run(work)

    async def adjust(self, reservation: str, tokens: int) -> None:
        """Change a reservation, since more is known about the call."""
        await self._run(lambda connection: usage.adjust(connection, reservation, tokens))

    async def settle(self, reservation: str, tokens: int) -> None:
        """Count the tokens of a call whose turn commits nothing. A second call of this method does nothing."""
        await self._run(lambda connection: usage.settle(connection, reservation, tokens))
