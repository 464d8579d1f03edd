"""Time that a test controls: the process's clocks, the platforms' clock, and that of a PostgreSQL database."""

from __future__ import annotations

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
