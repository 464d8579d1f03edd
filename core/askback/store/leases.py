"""Renew a lease of the outbox while its owner delivers the row."""

from __future__ import annotations

__all__ = ["RENEW_SECONDS", "LeaseLost", "keep_lease"]

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from askback.store.errors import StoreError
from askback.store.outbox_transactions import OutboxTransactions
from askback.store.queries.outbox_leases import LEASE_SECONDS

log = logging.getLogger("askback.store")

RENEW_SECONDS = 3.0
"""Seconds between two renewals of a lease."""
MARGIN_SECONDS = 1.0
"""Seconds before the end of a lease at which its owner stops. The call that it cancels must end before the lease
does."""


class LeaseLost(StoreError):
    """Raised if the lease could not be renewed in time, so that another process may take the delivery."""


@asynccontextmanager
async def keep_lease(store: OutboxTransactions, target: str, taken_at: float) -> AsyncGenerator[None]:
    """Keep the lease of a delivery until the block ends.

    `taken_at` is the running loop's time at which the owner requested the lease. If no renewal reaches the database
    before the lease expires, this cancels the block and raises `LeaseLost`. The owner must then not touch the row.
    """
    limit = asyncio.timeout_at(taken_at + LEASE_SECONDS - MARGIN_SECONDS)
    try:
        async with limit:
            renewal = asyncio.create_task(_keep_renewed(store, target, limit), name=f"askback lease {target}")
            try:
                yield
            finally:
                renewal.cancel()
                await asyncio.wait([renewal])
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise LeaseLost(f"The lease of {target} expired before it could be renewed.") from error


async def _keep_renewed(store: OutboxTransactions, target: str, limit: asyncio.Timeout) -> None:
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(RENEW_SECONDS)
        began = loop.time()
        try:
            await store.renew_lease(target)
        except StoreError as error:
            log.warning("Could not renew a lease; trying again: %s", error, extra={"action": "lease_not_renewed"})
        else:
            if limit.expired():
                return  # too late: the block is being cancelled
            limit.reschedule(began + LEASE_SECONDS - MARGIN_SECONDS)
