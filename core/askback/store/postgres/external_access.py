"""A PostgreSQL database, seen from a process beside those that work on it: nothing is created, upgraded or held up."""

from __future__ import annotations

__all__ = ["Processes", "Telling", "look", "processes"]

from collections.abc import Callable
from typing import TypeVar

import psycopg
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from askback.errors import OperatorError
from askback.internal.values import Value
from askback.store.external_access import check_version
from askback.store.notifications import LISTENING, Signal, tell
from askback.store.platform_claims import Served, serving
from askback.store.postgres.address import PostgresAddress
from askback.store.postgres.database import PostgresDatabase
from askback.store.postgres.error_mapping import reason
from askback.store.postgres.link import Link, engine_for

T = TypeVar("T")

# What a connection asked last stays there: the one on which a process hears asks for nothing else.
_HEARING = text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query = :listening")
_KNOWN = text("SELECT count(*) FROM procrastinate_workers")
_HAS_JOBS = text("SELECT to_regclass('procrastinate_workers') IS NOT NULL")


class Processes(Value):
    """Those that work on a database."""

    hearing: int
    """How many hear of what others commit: the agent's bots, and programs that only ask."""
    serving: tuple[Served, ...]
    """Of which platforms each takes turns of the agent that told of itself within the last seconds; None: it did not
    say."""
    silent: int
    """How many took turns and have not told of themselves since."""

    def serve(self, platform: str) -> bool:
        """Whether one of them has said that it takes the turns of this platform."""
        return any(one is not None and platform in one for one in self.serving)

    def may_serve(self, platform: str) -> bool:
        """The same, or that one has not said of which it does, such as one of an earlier release."""
        return self.serve(platform) or None in self.serving


def look(address: PostgresAddress, work: Callable[[Connection], T]) -> T:
    """Run `work` in a transaction that only reads. Raises `OperatorError`."""
    link = Link(engine_for(address))
    try:
        connection = link.begin(read_only=True)
        check_version(connection)
        return work(connection)
    except (psycopg.Error, DBAPIError) as error:
        raise OperatorError(f"The database {address} cannot be read: {reason(error)}.") from error
    finally:
        link.roll_back()
        link.close()


def processes(connection: Connection) -> Processes:
    """Who works on the database now."""
    hearing = connection.execute(_HEARING, {"listening": LISTENING}).scalar_one()
    told: tuple[Served, ...] = ()
    known = 0
    if connection.execute(_HAS_JOBS).scalar_one():
        told, known = serving(connection), connection.execute(_KNOWN).scalar_one()
    return Processes(hearing=hearing, serving=told, silent=known - len(told))


class Telling:
    """A `Database` beside those that work on it, who are told with each commit to look at everything."""

    def __init__(self, address: PostgresAddress, *, prepare: Callable[[Connection], None]) -> None:
        self._database = PostgresDatabase(address, connections=1, prepare=prepare)

    async def run(self, work: Callable[[Connection], T], *, within: float | None = None) -> T:
        def and_tell(connection: Connection) -> T:
            result = work(connection)
            tell(connection, Signal(kind="look"))
            return result

        return await self._database.run(and_tell, within=within)

    async def read(self, work: Callable[[Connection], T]) -> T:
        return await self._database.read(work)

    def defect(self) -> str | None:
        return self._database.defect()

    async def close(self) -> None:
        await self._database.close()
