"""What every group of transactions of the store has: the database that runs them."""

from __future__ import annotations

__all__ = ["CLICK_SECONDS", "Transactions"]

from askback.store.database import Database
from askback.store.left import Left
from askback.store.platform_claims import Served

CLICK_SECONDS = 2.0
"""A click that cannot be committed by then is refused, visibly: the platforms wait 3 s."""


class Transactions:
    """Whole transactions: no connection and no row leaves a method."""

    def __init__(self, database: Database, served: Served = None, known: Served = None) -> None:
        """`served`: of which platforms work is taken; `known`: those that there are. None means any."""
        self._database = database
        self._known = known
        self._served = served
        self._left = Left()
