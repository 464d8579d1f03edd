"""The clocks of tests: time that a test controls, and a platform's clock that stops together with the bot."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier

from askback.internal import clock
from askback_sandbox.clock import SystemClock

_SERVER = """
    CREATE TABLE public.driven (ahead interval NOT NULL);
    INSERT INTO public.driven VALUES (interval '0');
    CREATE FUNCTION public.statement_timestamp() RETURNS timestamptz STABLE LANGUAGE sql
        AS 'SELECT pg_catalog.statement_timestamp() + ahead FROM public.driven';
"""


class DrivenTime:
    """Clocks that run normally, plus the offset that a test adds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, url: str | None = None) -> None:
        """Take the `url` of a PostgreSQL database that has no connections yet, if any."""
        self._url = url
        self.ahead = timedelta(0)
        now, monotonic = clock.now, clock.monotonic
        monkeypatch.setattr(clock, "now", lambda: now() + self.ahead // timedelta(microseconds=1))
        monkeypatch.setattr(clock, "monotonic", lambda: monotonic() + self.ahead.total_seconds(), raising=False)
        monkeypatch.setattr(SystemClock, "time", lambda _: clock.now() / clock.SECOND)
        if url is not None:
            name = Identifier(conninfo_to_dict(url)["dbname"] or "")
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(_SERVER)
                # Functions in `public` are found before the server's own.
                connection.execute(SQL("ALTER DATABASE {} SET search_path TO public, pg_catalog").format(name))

    def advance(self, seconds: float) -> None:
        """Move all clocks ahead by that many seconds."""
        self.ahead += timedelta(seconds=seconds)
        if self._url is not None:
            with psycopg.connect(self._url, autocommit=True) as connection:
                connection.execute("UPDATE public.driven SET ahead = %s", (self.ahead,))


TICK = 0.02
SUSPENDED = 0.05
"""Seconds without the processor from which the process counts as suspended."""


class SharedClock(SystemClock):
    """The clock of a platform that runs in the bot's process. It stops while the machine does not run the process.

    A busy machine may suspend a test for seconds. The platform and the bot lose them together, so they count for no
    limit of the platform. Seconds in which the process itself is busy do count.
    """

    def __init__(self) -> None:
        self._suspended = 0.0
        self.longest = 0.0
        """Seconds of the longest suspension so far."""
        self._last: tuple[float, float] | None = None
        """The time and the processor time of the last look, in seconds. None while nobody measures."""

    def time(self) -> float:
        self._look()  # what comes right after a suspension may run before `_watch`
        return super().time() - self._suspended

    async def sleep(self, seconds: float) -> None:
        until = self.monotonic() + seconds
        while (left := until - self.monotonic()) > 0:  # noqa: ASYNC110 - it may be suspended again
            await asyncio.sleep(left)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Measure how long the process is suspended, until the block ends."""
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            self._last = None

    async def _watch(self) -> None:
        self._last = time.monotonic(), time.process_time()
        while True:
            await asyncio.sleep(TICK)
            self._look()

    def monotonic(self) -> float:
        """Return seconds that only grow while the process runs."""
        self._look()
        return time.monotonic() - self._suspended

    def _look(self) -> None:
        if self._last is None:
            return
        since, before = self._last
        if time.monotonic() - since < TICK:
            return  # too short for a suspension; the processor time takes microseconds to read
        self._last = time.monotonic(), time.process_time()
        suspended = self._last[0] - since - TICK - (self._last[1] - before)
        if suspended > SUSPENDED:
            self._suspended += suspended
            self.longest = max(self.longest, suspended)
