"""Lets the same thing happen once in a while, whoever makes it happen again and again."""

from __future__ import annotations

__all__ = ["Throttle"]

import time
from collections.abc import Hashable
from typing import Generic, TypeVar

from askback.internal.bounded_cache import Recent

KeyT = TypeVar("KeyT", bound=Hashable)

REMEMBERED = 5000


class Throttle(Generic[KeyT]):
    """Remembers when each key was last let through, in this process only, and so many keys."""

    def __init__(self, seconds: float, most: int = REMEMBERED) -> None:
        self._seconds = seconds
        self._last: Recent[KeyT, float] = Recent(most)

    def is_recent(self, key: KeyT) -> bool:
        """Whether the key was let through less than the given seconds ago."""
        return key in self._last and time.monotonic() - self._last[key] < self._seconds

    def allows(self, key: KeyT) -> bool:
        """Let the key through, unless it was lately."""
        if self.is_recent(key):
            return False
        self._last[key] = time.monotonic()
        return True
