"""A limit on how often the same thing happens, such as a repeated notice."""

from __future__ import annotations

__all__ = ["Throttle"]

import time
from collections.abc import Hashable
from typing import Generic, TypeVar

from askback.internal.bounded_cache import Recent

KeyT = TypeVar("KeyT", bound=Hashable)

REMEMBERED = 5000


class Throttle(Generic[KeyT]):
    """Remember when each key was last allowed: in this process only, and for at most `most` keys."""

    def __init__(self, seconds: float, most: int = REMEMBERED) -> None:
        self._seconds = seconds
        self._last: Recent[KeyT, float] = Recent(most)

    def is_recent(self, key: KeyT) -> bool:
        """Return True if the key was allowed less than `seconds` ago."""
        return key in self._last and time.monotonic() - self._last[key] < self._seconds

    def allows(self, key: KeyT) -> bool:
        """Allow the key and return True, unless it was allowed less than `seconds` ago."""
        if self.is_recent(key):
            return False
        self._last[key] = time.monotonic()
        return True
