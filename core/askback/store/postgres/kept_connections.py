"""Connections that stay open between the reads of a process that reads often from outside the workers."""

from __future__ import annotations

__all__ = ["KeptConnections"]

import threading
from collections.abc import Callable
from typing import Final, TypeVar

import psycopg
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from askback.internal.clock import monotonic
from askback.store.postgres.address import PostgresAddress
from askback.store.postgres.connection import ReconnectingConnection, create_shared_engine
from askback.store.postgres.external_access import read_in, to_operator_error

T = TypeVar("T")

KEPT: Final = 4
"""Maximum number of connections that stay open."""
IDLE_SECONDS: Final = 60.0
"""Seconds for which an unused connection counts as good. What is in between may drop it silently."""


class KeptConnections:
    """Connections to a database, for any number of threads."""

    def __init__(self, address: PostgresAddress) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._idle: list[tuple[ReconnectingConnection, float]] = []
        """Each with the time of its last use, the newest last."""
        self._closed = False

    def run_read_only(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a read-only transaction. Raises `OperatorError`."""
        while (kept := self._take()) is not None:
            try:
                return self._read(kept, work, again=True)
            except (psycopg.Error, DBAPIError):
                continue  # the server may have restarted since its last use
        try:
            return self._read(ReconnectingConnection(create_shared_engine(self._address)), work)
        except (psycopg.Error, DBAPIError) as error:
            raise to_operator_error(self._address, error) from error

    def close(self) -> None:
        """Close the connections. One that is in use is closed after its read."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for link, _ in idle:
            link.close()

    def _take(self) -> ReconnectingConnection | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                link, used = self._idle.pop()
            if monotonic() - used < IDLE_SECONDS:
                return link
            link.close()

    def _read(self, link: ReconnectingConnection, work: Callable[[Connection], T], *, again: bool = False) -> T:
        is_kept = False
        try:
            result = read_in(link, work, again=again)
            link.end_reading()
            with self._lock:
                is_kept = not self._closed and len(self._idle) < KEPT
                if is_kept:
                    self._idle.append((link, monotonic()))
            return result
        finally:
            if not is_kept:
                link.close()
