"""Connections that detect a server that disappeared silently, for example behind a proxy that keeps them open.

No time limit can tell that from a slow statement. So a second connection asks the server if it still works on the
statement.
"""

from __future__ import annotations

__all__ = ["PULSE_SECONDS", "QUIET_SECONDS", "BoundedConnection", "MonitoredConnection"]

import time
from collections.abc import AsyncGenerator, Mapping
from datetime import datetime
from typing import Any, TypeVar

import psycopg
from psycopg import Notify
from psycopg.abc import PQGen
from psycopg.waiting import Ready

from askback.store.postgres.error_mapping import ServerSilent

RV = TypeVar("RV")

QUIET_SECONDS = 2.0
"""Seconds for which a statement runs before the server is first asked about it."""
AGAIN_SECONDS, SELDOM_SECONDS = 1.0, 8.0
"""Minimum and maximum pause between two such checks, in seconds.

The long pause spares a server that is only slow. If the server has sent the result of the statement, it arrives before
the next check.
"""
UNREACHABLE_SECONDS = 5.0
"""Seconds for which the server may be unreachable for the second connection."""
CONNECT_SECONDS = 2
LONGEST_SECONDS = 4.0
"""Maximum seconds for a statement of a `BoundedConnection`, or of a connection that is not monitored yet."""
PULSE_SECONDS = 2.0
"""Seconds for which a `BoundedConnection` listens before its user should check that the server still answers."""

_WHO = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
_WORKS = (
    "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND backend_start = %s "
    "AND coalesce(state, '') NOT IN ('idle', 'idle in transaction', 'idle in transaction (aborted)')"
)


class MonitoredConnection(psycopg.Connection[Any]):
    """A connection that raises `ServerSilent` if the server no longer works on its statement and sent no answer.

    Before `start_monitoring`, it raises `ServerSilent` if a statement takes longer than `LONGEST_SECONDS`.
    """

    _parameters: Mapping[str, Any] | None = None
    """Connection options for the second connection. None means that monitoring has not started."""
    _who: tuple[int, datetime] | None = None

    def start_monitoring(self, parameters: Mapping[str, Any]) -> None:
        """Start to ask the server about statements that take long."""
        # Not monitored yet, so these statements have a time limit.
        found = self.execute(_WHO).fetchone()
        # A pooler in between reports its own number in the greeting, so ask the server for the process id.
        self._who = None if found is None else (found[0], found[1])
        self._parameters = parameters

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        if self._parameters is None and timeout is None:
            try:
                return super().wait(gen, interval, LONGEST_SECONDS)
            except psycopg.errors._WaitTimeout:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - it has no public name
                self.pgconn.finish()
                raise ServerSilent from None
        if self._parameters is not None and self._who is not None:
            gen = _watch_connection(gen, _Inquiry(self._parameters, self._who))
        return super().wait(gen, interval, timeout)


class BoundedConnection(psycopg.AsyncConnection[Any]):
    """A connection for short statements and for listening. It raises `ServerSilent` if a statement takes too long."""

    async def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:  # noqa: ASYNC109 - the driver's own
        if timeout is not None:
            return await super().wait(gen, interval, timeout)
        try:
            # Do not cancel the statement, since the driver would then send a cancel request to a server that may be
            # gone.
            return await super().wait(gen, interval, LONGEST_SECONDS)
        except psycopg.errors._WaitTimeout:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - it has no public name
            self.pgconn.finish()
            raise ServerSilent from None

    def notifies(self, *, timeout: float | None = None, stop_after: int | None = None) -> AsyncGenerator[Notify]:
        """End after some seconds, so that the listener then sends a query to the server."""
        return super().notifies(timeout=PULSE_SECONDS if timeout is None else timeout, stop_after=stop_after)


class _Inquiry:
    """The checks of one running statement."""

    def __init__(self, parameters: Mapping[str, Any], who: tuple[int, datetime]) -> None:
        self._parameters = parameters
        self._who = who
        self._next = time.monotonic() + QUIET_SECONDS
        self._pause = AGAIN_SECONDS
        self._unreachable_since: float | None = None
        self._is_doubtful = False

    def record_data(self) -> None:
        """Record that data has arrived."""
        self._next = time.monotonic() + QUIET_SECONDS
        self._unreachable_since, self._is_doubtful = None, False

    def is_over(self) -> bool:
        """Return True if no answer will come. Asks the server if the next check is due."""
        now = time.monotonic()
        if now < self._next:
            return False
        works = self._is_server_working()
        self._pause = min(self._pause * 2, SELDOM_SECONDS) if works else AGAIN_SECONDS
        self._next = time.monotonic() + self._pause
        if works is None:
            self._unreachable_since = self._unreachable_since or now
            return now - self._unreachable_since >= UNREACHABLE_SECONDS
        self._unreachable_since = None
        # A single negative reply is not enough, since the answer may be on its way.
        was_doubtful, self._is_doubtful = self._is_doubtful, not works
        return was_doubtful and not works

    def _is_server_working(self) -> bool | None:
        """Return True if the server works on the statement. None if it cannot be asked."""
        parameters: dict[str, Any] = {**self._parameters, "connect_timeout": str(CONNECT_SECONDS)}
        try:
            with MonitoredConnection.connect(**parameters, autocommit=True) as other:
                return other.execute(_WORKS, self._who).fetchone() is not None
        except psycopg.Error:
            return None


def _watch_connection(gen: PQGen[RV], inquiry: _Inquiry) -> PQGen[RV]:
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if ready != Ready.NONE:
                inquiry.record_data()
            elif inquiry.is_over():
                gen.close()
                raise ServerSilent
            wanted = gen.send(ready)
    except StopIteration as done:
        return done.value
