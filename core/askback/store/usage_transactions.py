"""Transactions that correct the count of the model's tokens."""

from __future__ import annotations

__all__ = ["UsageTransactions"]

from askback.domain.turn import TokenUsage
from askback.internal.clock import from_micros
from askback.store.database_clock import read_now
from askback.store.queries import usage
from askback.store.transactions import Transactions


class UsageTransactions(Transactions):
    """Transactions that correct the count of the model's tokens.

    The beginning of a turn counts its call in advance (`TurnTransactions.begin_turn`). So concurrent calls of several
    conversations and processes know of each other. If a process dies during a call, the whole call stays counted, since
    the service bills it too.
    """

    async def get_usage(self, conversation_id: str) -> TokenUsage:
        """Return the tokens that were used so far."""
        return await self._database.read(
            lambda connection: usage.get_usage(connection, conversation_id, from_micros(read_now(connection)))
        )

    async def adjust(self, reservation: str, tokens: int) -> None:
        """Change a reservation, since more is known about the call."""
        await self._run(lambda connection: usage.adjust(connection, reservation, tokens))

    async def settle(self, reservation: str, tokens: int) -> None:
        """Count the tokens of a call whose turn commits nothing. A second call of this method does nothing."""
        await self._run(lambda connection: usage.settle(connection, reservation, tokens))
