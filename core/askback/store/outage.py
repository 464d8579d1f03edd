"""A database that is away, in the log: once when it goes, now and then while it is, and once when it is back."""

from __future__ import annotations

__all__ = ["REPEAT_SECONDS", "Outage", "is_away"]

import logging
import threading
import time

log = logging.getLogger("askback.store")

REPEAT_SECONDS = 30.0
"""How often an outage that lasts is logged again."""
QUIET_SECONDS = 5.0
"""A database that comes and goes is logged no more often than this."""

LATE_SECONDS = 5.0
"""For so long after an outage, what failed in it may still be on its way to the log."""

_away: set[Outage] = set()
"""Changed and read by single operations only, which need no lock."""
_back_at = float("-inf")
"""When the last outage ended."""


def is_away() -> bool:
    """Return whether a database of this process is away, or was a moment ago, which the log says already."""
    return bool(_away) or time.monotonic() - _back_at < LATE_SECONDS


class Outage:
    """The outages of one database, as its threads report them."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()
        self._since: float | None = None
        self._logged = float("-inf")
        self._is_known = False
        """Whether the log says that it is away."""

    def failed(self, reason: str) -> None:
        """Note that nothing could be read or committed, and why."""
        now = time.monotonic()
        with self._lock:
            if self._since is None:
                self._since = now
                _away.add(self)
            if now - self._logged < (REPEAT_SECONDS if self._is_known else QUIET_SECONDS):
                return
            first, self._is_known, self._logged = not self._is_known, True, now
            seconds = now - self._since
        if first:
            log.error(
                "%s does not commit: %s. It is tried again until it does; clicks are refused meanwhile.",
                self._what,
                reason,
                extra={"action": "database_away"},
            )
        else:
            log.error(
                "%s has not committed for %.0f s: %s.",
                self._what,
                seconds,
                reason,
                extra={"action": "database_away", "seconds": round(seconds)},
            )

    def succeeded(self) -> None:
        """Note that it reads and commits."""
        global _back_at
        since = self._since
        if since is None:
            return
        now = time.monotonic()
        seconds = now - since
        with self._lock:
            self._since = None
            _away.discard(self)
            _back_at = now
            was_known, self._is_known = self._is_known, False
            if was_known:
                self._logged = now
        if was_known:
            log.warning(
                "%s commits again, after %.0f s.",
                self._what,
                seconds,
                extra={"action": "database_back", "seconds": round(seconds)},
            )

    def ended(self) -> None:
        """Forget the outage of a database that is closed."""
        with self._lock:
            self._since = None
            _away.discard(self)
