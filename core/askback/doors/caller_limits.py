"""Limits the requests of each caller, so that one program cannot use up a server that others need."""

from __future__ import annotations

__all__ = ["CallerLimits", "TooManyRequests"]

import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from cachetools import TTLCache

from askback.errors import CallerError

MAX_RUNNING: Final = 2000
"""Requests of one caller that may run at the same time. Most of them wait for people."""
MAX_A_SECOND: Final = 100
"""Requests that one caller may begin in a second."""
MAX_CALLERS: Final = 10_000


class TooManyRequests(CallerError):
    """Raised for a request beyond a limit. The caller may try again after `seconds`."""

    def __init__(self, problem: str, seconds: int) -> None:
        super().__init__(problem)
        self.seconds = seconds


class CallerLimits:
    """The requests of all callers."""

    def __init__(self) -> None:
        self._running: Counter[str] = Counter()
        self._begun: TTLCache[tuple[str, int], int] = TTLCache(MAX_CALLERS, 2.0, time.monotonic)
        """The number of requests by caller and second."""

    @contextmanager
    def count(self, caller: str) -> Generator[None]:
        """Count a request of a caller until the block ends. Raises `TooManyRequests`."""
        second = (caller, int(time.monotonic()))
        begun = self._begun.get(second, 0) + 1
        self._begun[second] = begun
        if begun > MAX_A_SECOND:
            raise TooManyRequests(f"You sent more than {MAX_A_SECOND} requests in a second: try again later.", 1)
        if self._running[caller] >= MAX_RUNNING:
            raise TooManyRequests(f"{MAX_RUNNING:,} of your requests are running: let some end first.", 5)
        self._running[caller] += 1
        try:
            yield
        finally:
            self._running[caller] -= 1
            if not self._running[caller]:
                del self._running[caller]
