"""Log the outages of a database: their start, their end, and a reminder now and then while they last."""

from __future__ import annotations

__all__ = ["REPEAT_SECONDS", "Outage", "is_outage_logged"]

import logging
import threading
import time

log = logging.getLogger("askback.store")

REPEAT_SECONDS = 30.0
"""Seconds between two log entries of an outage that lasts."""
QUIET_SECONDS = 5.0
"""Shortest time, in seconds, between two log entries of a database that fails and recovers repeatedly."""

LATE_SECONDS = 5.0
"""Seconds after an outage in which errors that it caused may still be logged."""

_away: set[Outage] = set()
"""The current outages. Only single operations change and read the set, so it needs no lock."""
_back_at = float("-inf")
"""Monotonic time at which the last outage ended."""


def is_outage_logged() -> bool:
    """Return True if there is an outage, or one has just ended. It is already in the log."""
    return bool(_away) or time.monotonic() - _back_at < LATE_SECONDS


class Outage:
    """The outages of one database, as its threads report them."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()
        self._since: float | None = None
        self._logged = float("-inf")
        self._is_known = False
        """True if the current outage was logged."""

    def record_failure(self, reason: str) -> None:
        """Record that a read or a commit failed, and why."""
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
                "%s does not accept commits: %s. Retrying until it does; the bot rejects clicks meanwhile.",
                self._what,
                reason,
                extra={"action": "database_away"},
            )
        else:
            log.error(
                "%s has accepted no commits for %.0f s: %s. Still retrying.",
                self._what,
                seconds,
                reason,
                extra={"action": "database_away", "seconds": round(seconds)},
            )

    def record_success(self) -> None:
        """Record that the database reads and commits again."""
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
                "%s accepts commits again, after %.0f s.",
                self._what,
                seconds,
                extra={"action": "database_back", "seconds": round(seconds)},
            )

    def clear(self) -> None:
        """Forget the outage of a database that is closed."""
        with self._lock:
            self._since = None
            _away.discard(self)
