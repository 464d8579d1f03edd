"""The store, in which every method is one whole transaction. No connection and no row leaves it."""

from __future__ import annotations

__all__ = ["DecisionResult", "Store"]

from datetime import datetime, timedelta

from askback.store import retention, waiting
from askback.store.asking import Asking, DecisionResult
from askback.store.calling import Calling
from askback.store.changing import Changing
from askback.store.listening import Listening
from askback.store.retention import Pruned
from askback.store.showing import Showing
from askback.store.spending import Spending
from askback.store.stopping import Stopping
from askback.store.turning import Turning


class Store(Asking, Showing, Listening, Changing, Stopping, Turning, Spending, Calling):
    """The transactions on everything that must survive the end of the process."""

    async def close(self) -> None:
        await self._database.close()

    async def unserved(self, for_long: timedelta) -> frozenset[str]:
        """Return the platforms that have had work due `for_long` and that neither this process nor another one
        serves."""
        served = self._served
        if served is None:
            return frozenset()
        return await self._database.read(lambda connection: waiting.unserved(connection, for_long, served))

    async def prune(self, before: datetime, at_most: int) -> Pruned:
        """Delete up to `at_most` conversations, and as many asks, without activity since `before`.

        An empty result means that none remain.
        """
        return await self._database.run(lambda connection: retention.prune(connection, before, at_most))
