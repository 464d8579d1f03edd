"""Transactions on the addresses that get the outcomes of asks: add, lease, and record each attempt."""

from __future__ import annotations

__all__ = ["DueWebhook", "WebhookTransactions"]

import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from sqlalchemy import Connection

from askback.domain.ask import Ask
from askback.domain.webhook import Webhook, WebhookDelivery
from askback.store.queries import asks, webhooks
from askback.store.transactions import Transactions
from askback.store.unreadable_rows import UnreadableRow

log = logging.getLogger("askback.store")

INCOMPLETE = timedelta(seconds=2)
"""Pause before the next look at an ask whose files are still read."""
UNREADABLE = timedelta(minutes=10)
"""Pause before the next look at an ask that only a newer release can read."""


@dataclass(frozen=True, slots=True)
class DueWebhook:
    """A leased delivery, and the ask whose outcome it sends."""

    delivery: WebhookDelivery
    ask: Ask


class WebhookTransactions(Transactions):
    """Transactions on the addresses that get the outcomes of asks."""

    async def add_webhook(self, ask_id: str, webhook: Webhook) -> None:
        """Store an address for the outcome of an ask that exists. Raises `CallerError` if it has too many."""
        await self._run(lambda connection: webhooks.add(connection, ask_id, webhook))

    async def lease_webhooks(self, caller: str, at_most: int) -> tuple[DueWebhook, ...]:
        """Lease the outcomes that are due for a caller. Those whose files are still read come later."""

        def work(connection: Connection) -> tuple[DueWebhook, ...]:
            found: list[DueWebhook] = []
            for item in webhooks.lease(connection, caller, at_most):
                try:
                    ask = asks.get(connection, item.ask_id)
                except UnreadableRow as error:
                    log.warning(
                        "Left an outcome to a newer process: %s",
                        error,
                        extra={"action": "webhook_left", "ask_id": item.ask_id},
                    )
                    webhooks.put_off(connection, item, UNREADABLE)
                    continue
                if ask is not None and ask.is_complete:
                    found.append(DueWebhook(item, ask))
                else:
                    webhooks.put_off(connection, item, INCOMPLETE)
            return tuple(found)

        return await self._run(work)

    async def end_webhook(
        self, item: WebhookDelivery, state: Literal["delivered", "failed"], error: str | None = None
    ) -> None:
        """Record that nothing more is sent."""
        await self._run(lambda connection: webhooks.end(connection, item, state, error))

    async def retry_webhook(self, item: WebhookDelivery, after: timedelta, error: str) -> None:
        """Schedule another attempt."""
        await self._run(lambda connection: webhooks.retry(connection, item, after, error))
