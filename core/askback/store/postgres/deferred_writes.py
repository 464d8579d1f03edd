"""Connections that send writes together, since each round trip to the server costs more than a write.

A write whose result no one needs waits for the next statement that has a result, or for the end of the transaction.
Then all of them are sent at once, in order.
"""

from __future__ import annotations

__all__ = ["WritingConnection"]

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any, Self, TypeAlias, TypeVar

import psycopg
from psycopg.abc import Params, PQGen, Query
from psycopg.errors import Diagnostic
from psycopg.pq.abc import PGconn

from askback.store.postgres.dead_connections import MonitoredConnection

RV = TypeVar("RV")

Parameters: TypeAlias = Sequence[object] | Mapping[str, object]


class WritingConnection(MonitoredConnection):
    """A connection that defers writes once its pipeline is open. The statement that sends them raises their errors."""

    def __init__(self, pgconn: PGconn) -> None:
        super().__init__(pgconn)
        self.cursor_factory = _SendingCursor
        self._deferred: list[tuple[bytes, Parameters]] = []
        self._stack = ExitStack()
        self._open_pipeline: psycopg.Pipeline | None = None
        self._last_error: psycopg.Error | None = None
        """The error with which the server ended the session. None if it did not, or if the statement got it."""
        self.add_notice_handler(self._record_last_error)

    def open_pipeline(self) -> None:
        """Begin to defer writes. From now on, a text may hold one statement only.

        The pipeline stays open until the connection is closed. The driver ends a pipeline with a message after which
        the server no longer counts the session as idle in its transaction. Then a process that stops in the middle of a
        transaction would keep its locks.
        """
        self._open_pipeline = self._stack.enter_context(self.pipeline())

    def defer(self, query: str, parameters: Parameters = ()) -> None:
        """Run a statement before the next one that is executed, or before the commit."""
        self._deferred.append((query.encode(), parameters))

    def send_deferred(self) -> None:
        """Send the deferred writes. Raises the first error of them."""
        if self._deferred:
            self.queue_deferred()
            self.receive()

    def queue_deferred(self) -> None:
        """Put the deferred writes into the pipeline."""
        writes, self._deferred = self._deferred, []
        for query, parameters in writes:
            psycopg.Cursor(self).execute(query, parameters)

    def receive(self) -> None:
        """Wait for the results of what is in the pipeline. Raises the first error."""
        if self._open_pipeline is not None:
            self._open_pipeline.sync()

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        try:
            return super().wait(gen, interval, timeout)
        except psycopg.OperationalError as error:
            if self._last_error is None:
                raise
            raise self._last_error from error

    def _record_last_error(self, notice: Diagnostic) -> None:
        # In a pipeline, the driver treats the server's last error as a notice, and then reports a lost connection only.
        if notice.severity_nonlocalized in ("FATAL", "PANIC") and notice.sqlstate is not None:
            self._last_error = psycopg.errors.lookup(notice.sqlstate)(str(notice.message_primary))

    def commit(self) -> None:
        self.send_deferred()
        super().commit()

    def rollback(self) -> None:
        self._deferred.clear()
        super().rollback()

    def close(self) -> None:
        super().close()
        # The pipeline ends with messages that a closed connection cannot send.
        with suppress(psycopg.Error):
            self._stack.close()


class _SendingCursor(psycopg.Cursor[Any]):
    """A cursor that sends the deferred writes of its connection before its own statement, in the same round trip."""

    def execute(
        self, query: Query, params: Params | None = None, *, prepare: bool | None = None, binary: bool | None = None
    ) -> Self:
        connection = self.connection
        assert isinstance(connection, WritingConnection)
        connection.queue_deferred()
        super().execute(
            query,  # pyright: ignore[reportArgumentType] - its overloads split this type in two
            params,
            prepare=prepare,
            binary=binary,
        )
        connection.receive()
        return self

    def executemany(self, query: Query, params_seq: Iterable[Params], *, returning: bool = False) -> None:
        connection = self.connection
        assert isinstance(connection, WritingConnection)
        connection.queue_deferred()
        super().executemany(query, params_seq, returning=returning)
        connection.receive()
