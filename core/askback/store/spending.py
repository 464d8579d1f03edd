"""The tokens of the model: counted before a call, corrected after it."""

from __future__ import annotations

__all__ = ["Spending"]

from collections.abc import Callable

from sqlalchemy import Connection

from askback.domain.conversation import Spent
from askback.internal.clock import utc_now
from askback.store import locks, usage
from askback.store.transactions import Transactions


class Spending(Transactions):
    """The tokens of the model: counted before a call, corrected after it.

    Calls of several conversations and processes at the same time so know of one another. A process that dies in the
    middle of a call leaves it counted whole, since the service bills it as well.
    """

    async def spent(self, conversation_id: str) -> Spent:
        """Return what was used up so far."""
        return await self._database.read(lambda connection: usage.spent(connection, conversation_id, utc_now()))

    async def reserve(self, conversation_id: str, reservation: str, amount: Callable[[Spent], int]) -> Spent:
        """Count a call in advance, with the `amount` of tokens for what is spent. 0: there is to be none.

        Return what was spent before. `reservation`: a new id, for `settle`.
        """

        def work(connection: Connection) -> Spent:
            locks.lock_conversation(connection, conversation_id)
            locks.lock_usage(connection)
            usage.lapse(connection, conversation_id)
            now = utc_now()
            spent = usage.spent(connection, conversation_id, now)
            if tokens := amount(spent):
                usage.reserve(connection, conversation_id, reservation, tokens, now)
            return spent

        return await self._database.run(work)

    async def adjust(self, reservation: str, tokens: int) -> None:
        """Count another number in advance, since more is known of the call."""
        await self._database.run(lambda connection: usage.adjust(connection, reservation, tokens))

    async def settle(self, reservation: str, tokens: int) -> None:
        """Count what a call used up whose turn commits nothing. The second time, it does nothing."""
        await self._database.run(lambda connection: usage.settle(connection, reservation, tokens))
