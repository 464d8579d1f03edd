"""A limit on how often the same thing happens, such as a repeated notice."""

from __future__ import annotations

__all__ = ["Throttle"]

import time
from collections.abc import Hashable
from typing import Generic, TypeVar

from cachetools import TTLCache

KeyT = TypeVar("KeyT", bound=Hashable)

MAX_KEYS = 5000


class Throttle(Generic[KeyT]):
    """Remember which keys were allowed in the last `seconds`: in this process only, and at most `most` of them."""

    def __init__(self, seconds: float, most: int = MAX_KEYS) -> None:
        self._allowed: TTLCache[KeyT, None] = TTLCache(most, seconds, time.monotonic)

    def is_recent(self, key: KeyT) -> bool:
        """Return True if the key was allowed less than `seconds` ago."""
        return key in self._allowed

    def try_allow(self, key: KeyT) -> bool:
        """Allow the key and return True, unless it was allowed less than `seconds` ago."""
        if key in self._allowed:
            return False
        self._allowed[key] = None
        return True
