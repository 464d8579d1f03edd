"""Access to a PostgreSQL database from outside its worker processes. It creates, upgrades and blocks nothing."""

from __future__ import annotations

__all__ = [
    "SignallingDatabase",
    "WorkerProcesses",
    "list_processes",
    "read_in",
    "run_read_only",
    "to_operator_error",
]

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import psycopg
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from askback.errors import OperatorError
from askback.internal.values import Value
from askback.store.external_access import check_version
from askback.store.notifications import LISTENING, Signal, send_signal
from askback.store.postgres.address import PostgresAddress
from askback.store.postgres.connection import ReconnectingConnection, create_shared_engine
from askback.store.postgres.database import PostgresDatabase
from askback.store.postgres.error_mapping import format_reason
from askback.store.queries.platform_claims import ServedPlatforms, list_served_platforms

T = TypeVar("T")

# pg_stat_activity keeps each connection's last query. The connection on which a process listens runs no other query.
_HEARING = text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query = :listening")
_KNOWN = text("SELECT count(*) FROM procrastinate_workers")
_HAS_JOBS = text("SELECT to_regclass('procrastinate_workers') IS NOT NULL")


class WorkerProcesses(Value):
    """The processes that work on a database."""

    hearing: int
    """Number of processes that listen for commits of others. They are the agent's bots and programs that only ask."""
    serving: tuple[ServedPlatforms, ...]
    """The platforms of each process that runs the agent's turns and has sent a heartbeat in the last seconds.

    None for a process that did not announce its platforms.
    """
    silent: int
    """Number of processes that ran turns and have sent no heartbeat since."""

    def serve(self, platform: str) -> bool:
        """Return True if a process has announced that it runs the turns of this platform."""
        return any(one is not None and platform in one for one in self.serving)

    def may_serve(self, platform: str) -> bool:
        """Return True if `serve` does, or if a process did not announce its platforms, such as one of an earlier
        release."""
        return self.serve(platform) or None in self.serving


def run_read_only(address: PostgresAddress, work: Callable[[Connection], T]) -> T:
    """Run `work` in a read-only transaction. Raises `OperatorError`."""
    link = ReconnectingConnection(create_shared_engine(address))
    try:
        return read_in(link, work)
    except (psycopg.Error, DBAPIError) as error:
        raise to_operator_error(address, error) from error
    finally:
        link.roll_back()
        link.close()


def read_in(link: ReconnectingConnection, work: Callable[[Connection], T], *, again: bool = False) -> T:
    """Run `work` in a read-only transaction, which the caller ends. `again`: the connection has read before.

    Raises the driver's errors and `OperatorError`.
    """
    connection = link.begin(read_only=True)
    check_version(connection, exists=again)
    return work(connection)


def to_operator_error(address: PostgresAddress, error: psycopg.Error | DBAPIError) -> OperatorError:
    """Return the error of a database that cannot be read."""
    return OperatorError(f"Could not read the database {address}: {format_reason(error)}.")


def list_processes(connection: Connection) -> WorkerProcesses:
    """Return the processes that work on the database now."""
    hearing = connection.execute(_HEARING, {"listening": LISTENING}).scalar_one()
    serving: tuple[ServedPlatforms, ...] = ()
    known = 0
    if connection.execute(_HAS_JOBS).scalar_one():
        serving, known = list_served_platforms(connection), connection.execute(_KNOWN).scalar_one()
    return WorkerProcesses(hearing=hearing, serving=serving, silent=known - len(serving))


class SignallingDatabase:
    """A `Database` for a process outside the workers. Each commit signals them to check everything."""

    def __init__(self, address: PostgresAddress, *, prepare: Callable[[Connection], None]) -> None:
        self._database = PostgresDatabase(address, connections=1, prepare=prepare)

    async def run(self, work: Callable[[Connection], T], *, within: float | None = None) -> T:
        @wraps(work)
        def work_and_signal(connection: Connection) -> T:
            result = work(connection)
            send_signal(connection, Signal(kind="look"))
            return result

        return await self._database.run(work_and_signal, within=within)

    async def read(self, work: Callable[[Connection], T]) -> T:
        return await self._database.read(work)

    @property
    def is_shared(self) -> bool:
        return True

    def find_defect(self) -> str | None:
        return self._database.find_defect()

    async def close(self) -> None:
        await self._database.close()
