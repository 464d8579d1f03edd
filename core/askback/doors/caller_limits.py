"""Limits the requests and the stored bytes of each caller, so that one cannot use up a server that others need."""

from __future__ import annotations

__all__ = ["CallerLimits", "StorageLimits", "TooManyRequests"]

import math
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
DAY: Final = 86_400.0
"""Seconds in which a caller that has stored all its bytes may store as many again."""


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


class StorageLimits:
    """The bytes that each caller may still store: `most` at once, and as many again spread over a day."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._left: TTLCache[str, tuple[float, float]] = TTLCache(MAX_CALLERS, DAY, time.monotonic)
        """The bytes that a caller had left, and since when. Without an entry, a caller has all of them."""

    @contextmanager
    def count(self, caller: str, size: int) -> Generator[None]:
        """Count bytes that the block stores for a caller, unless it fails. Raises `TooManyRequests`.

        More than `most` at once is possible if the caller has all of its bytes left, since it would never be otherwise.
        """
        left = self._compute_left(caller)
        missing = min(size, self._most) - left
        if missing > 0:
            seconds = math.ceil(missing * DAY / self._most)
            raise TooManyRequests(
                f"You have asked so much within a day that no more may be stored now. Ask again in {seconds:,} "
                "seconds, or sooner with less text, or let the operator raise the setting `question_bytes` "
                f"({self._most:,}).",
                seconds,
            )
        self._left[caller] = left - size, time.monotonic()
        try:
            yield
        except Exception:
            # A caller that was cancelled may have stored it.
            self._left[caller] = self._compute_left(caller) + size, time.monotonic()
            raise

    def _compute_left(self, caller: str) -> float:
        now = time.monotonic()
        left, since = self._left.get(caller, (self._most, now))
        return min(left + (now - since) * self._most / DAY, self._most)
