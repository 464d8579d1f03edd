"""Circuit breaker for each platform: one that does not answer is probed with one delivery at a time."""

from __future__ import annotations

__all__ = ["AT_ONCE", "CircuitBreaker"]

import logging

from askback.internal import clock

log = logging.getLogger("askback.worker")

AT_ONCE = 16
"""Maximum number of deliveries in flight on one platform."""
FAILURES = 5
"""Number of failures in a row, without an answer, that open the circuit."""
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
"""First and longest pause between two probes, in seconds."""

NEWS_SECONDS = 1.0
"""Seconds after a recovery during which the success of a failed delivery does not count as another recovery."""


class CircuitBreaker:
    """Count one platform's failures, and limit the deliveries that it may be given."""

    def __init__(self, platform: str) -> None:
        self._platform = platform
        self._failures = 0
        self._open_since: float | None = None
        self._pause = FIRST_PAUSE
        self._probe_at = 0.0
        self._recovered_at: float | None = None
        """The last time at which `record_success` returned True; monotonic."""

    @property
    def is_open(self) -> bool:
        """True if the platform counts as down."""
        return self._open_since is not None

    def count_free(self, in_flight: int) -> int:
        """Return the number of further deliveries that may begin now."""
        if not self.is_open:
            return AT_ONCE - in_flight
        return 1 if in_flight == 0 and clock.monotonic() >= self._probe_at else 0

    def get_seconds_to_probe(self) -> float:
        """Return the seconds until the next probe may begin."""
        return max(self._probe_at - clock.monotonic(), 0.0)

    def record_failure(self, error: str) -> None:
        """Count a delivery that the platform did not answer, or answered with an error of its server."""
        now = clock.monotonic()
        self._failures += 1
        if self._open_since is not None:
            if now < self._probe_at:
                return  # it began before the circuit opened
            self._pause = min(self._pause * 2, LONGEST_PAUSE)
        elif self._failures >= FAILURES:
            self._open_since, self._pause = now, FIRST_PAUSE
            log.warning(
                "%s does not answer (%s): keeping its deliveries, and trying one at increasing intervals until it "
                "answers.",
                self._platform.capitalize(),
                error,
                extra={"action": "platform_down", "platform": self._platform},
            )
        self._probe_at = now + self._pause

    def record_success(self, *, after_failure: bool = False) -> bool:
        """Note that the platform answered. Return True if it may have been down before.

        That is so for the first answer, since an earlier process may have seen it down. It is also so for an answer to
        a delivery that had failed (`after_failure`), perhaps in another process.
        """
        now, since = clock.monotonic(), self._open_since
        is_news = self._recovered_at is None or (after_failure and now - self._recovered_at >= NEWS_SECONDS)
        self._failures, self._open_since = 0, None
        if since is not None:
            log.warning(
                "%s answers again after %.0f s: delivering what was kept.",
                self._platform.capitalize(),
                now - since,
                extra={"action": "platform_back", "platform": self._platform},
            )
        if since is None and not is_news:
            return False
        self._recovered_at = now
        return True
