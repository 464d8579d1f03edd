"""The store. Each of its methods is one complete transaction, and returns neither connections nor rows."""

from __future__ import annotations

__all__ = ["DecisionResult", "Store"]

from datetime import datetime, timedelta

from askback.store.ask_transactions import AskTransactions, DecisionResult
from askback.store.conversation_transactions import ConversationTransactions
from askback.store.edit_transactions import EditTransactions
from askback.store.file_transactions import FileTransactions
from askback.store.hand_over_transactions import HandOverTransactions
from askback.store.outbox_transactions import OutboxTransactions
from askback.store.queries import retention, unserved_work
from askback.store.queries.retention import PruneCounts
from askback.store.stop_transactions import StopTransactions
from askback.store.tool_call_transactions import ToolCallTransactions
from askback.store.turn_transactions import TurnTransactions
from askback.store.usage_transactions import UsageTransactions
from askback.store.wait_transactions import WaitTransactions
from askback.store.webhook_transactions import WebhookTransactions


class Store(
    AskTransactions,
    OutboxTransactions,
    ConversationTransactions,
    EditTransactions,
    FileTransactions,
    StopTransactions,
    TurnTransactions,
    UsageTransactions,
    ToolCallTransactions,
    HandOverTransactions,
    WaitTransactions,
    WebhookTransactions,
):
    """All transactions on data that must survive a restart."""

    async def close(self) -> None:
        await self._database.close()

    async def list_unserved_platforms(self, for_long: timedelta) -> frozenset[str]:
        """Return the platforms that have had work due `for_long` and that neither this process nor another one
        serves."""
        served = self._served
        if served is None:
            return frozenset()
        return await self._database.read(
            lambda connection: unserved_work.list_unserved_platforms(connection, for_long, served)
        )

    async def prune(self, before: datetime, at_most: int) -> PruneCounts:
        """Delete up to `at_most` conversations, and as many asks, without activity since `before`.

        An empty result means that none remain.
        """
        return await self._run(lambda connection: retention.prune(connection, before, at_most))
