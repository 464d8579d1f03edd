"""The base class of the store's groups of transactions."""

from __future__ import annotations

__all__ = ["CLICK_SECONDS", "Transactions"]

from askback.store.database import Database
from askback.store.platform_claims import Served
from askback.store.unreadable_rows import Left

CLICK_SECONDS = 2.0
"""Seconds after which an uncommitted click is refused visibly. The platforms wait 3 s."""


class Transactions:
    """A group of methods that are whole transactions. No connection and no row leaves a method."""

    def __init__(self, database: Database, served: Served = None, known: Served = None) -> None:
        """`served` are the platforms whose work this process takes, `known` all that exist. None means any platform."""
        self._database = database
        self._known = known
        self._served = served
        self._left = Left()
