"""Check a database on a PostgreSQL server: its settings, the bot's rights, and the processes that work on it."""

from __future__ import annotations

__all__ = ["check_clock", "check_connections", "check_durability", "check_server_version", "examine_postgres"]

import secrets
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import psycopg
from procrastinate.schema import SchemaManager
from psycopg import sql

from askback.internal.clock import now, utc_now
from askback.ports.clock_check import CURE as KEEP_TIME
from askback.ports.findings import Finding, report_broken, report_good, report_warning
from askback.store.external_access import is_older
from askback.store.migrate import NEWEST, VERSION_TABLE
from askback.store.notifications import CHANNEL
from askback.store.postgres.address import PostgresAddress
from askback.store.postgres.connection import connect
from askback.store.postgres.database import CONNECTIONS
from askback.store.postgres.error_mapping import find_remedy, format_message
from askback.store.queries.platform_claims import SERVING, decode_platforms
from askback.store.schema import metadata

OLDEST = 13
TESTED = 15
NEEDED = CONNECTIONS + 5
"""Connections of one process: those of the store, four for the jobs, and one for signals from other processes."""
HEARD_SECONDS = 1.0
"""Seconds within which a notification must reach another connection."""
CLOCK_WARN, CLOCK_BROKEN = timedelta(seconds=2), timedelta(seconds=10)
"""Limits for the clock difference. A lease lasts ten seconds by its holder's clock, so a larger difference lets other
processes take it too early.
"""
ANOTHER = "Set ASKBACK_DATABASE_URL to another database."
JOBS = ("procrastinate_jobs", "procrastinate_workers", "procrastinate_events")


def examine_postgres(address: PostgresAddress, *, stop: threading.Event) -> list[Finding]:
    """Check the server and the contents of the database. Blocks; `stop` ends it early. One small commit is made."""
    looks: tuple[Callable[[psycopg.Connection], list[Finding]], ...] = (
        lambda connection: [check_server_version(address, connection.info.server_version)],
        _examine_encoding,
        _examine_primary,
        lambda connection: [_examine_pooler(address, connection)],
        _examine_connections,
        _examine_clock,
        _examine_durability,
        lambda connection: _examine_content(address, connection),
        _examine_processes,
    )
    found: list[Finding] = []
    try:
        with closing(_connect_to_any(address)) as connection:
            connection.autocommit = True
            for look in looks:
                if stop.is_set():
                    break  # no one reads the findings any more
                found += look(connection)
    except psycopg.Error as error:
        found.append(_convert_error(address, error, begun=bool(found)))
    return found


def _connect_to_any(address: PostgresAddress) -> psycopg.Connection:
    """Connect to a server that takes commits, or else to any, so that the findings can say why it takes none."""
    try:
        return connect(address)
    except psycopg.OperationalError as error:
        try:
            return connect(address, target_session_attrs="any")
        except psycopg.OperationalError:
            raise error from None


def _convert_error(address: PostgresAddress, error: psycopg.Error, *, begun: bool) -> Finding:
    to_do = find_remedy(error) or "see the server's log"
    summary = f"{format_message(error)}."
    if begun:
        return report_broken("content", f"Could not finish the checks: {summary}", f"{to_do[0].upper()}{to_do[1:]}.")
    return report_broken("server", f"Could not connect to {address}: {summary}", f"{to_do[0].upper()}{to_do[1:]}.")


# The server


def check_server_version(address: PostgresAddress, number: int) -> Finding:
    """Return the finding for a server's version number, such as 150004."""
    version = f"{number // 10_000}.{number % 10_000}"
    if number // 10_000 < OLDEST:
        summary = f"{address} is PostgreSQL {version}, which is too old."
        return report_broken("server", summary, f"Upgrade it to PostgreSQL {OLDEST} or later.")
    tested = "" if number // 10_000 == TESTED else f" askback was tested with {TESTED}."
    return report_good("server", f"{address} answers: PostgreSQL {version}.{tested}")


def _examine_encoding(connection: psycopg.Connection) -> list[Finding]:
    name = str(_fetch_value(connection, "SHOW server_encoding"))
    if name == "UTF8":
        return []
    summary = f"The database's encoding is {name}, which cannot store every character that people write."
    return [report_broken("encoding", summary, "Create another: createdb --encoding=UTF8 --template=template0 askback")]


def _examine_primary(connection: psycopg.Connection) -> list[Finding]:
    if _fetch_value(connection, "SELECT pg_is_in_recovery()"):
        cure = "Put the primary, or all servers (host1,host2), in ASKBACK_DATABASE_URL. askback then finds the primary."
        return [report_broken("primary", "The server is a standby: it rejects commits.", cure)]
    if _fetch_value(connection, "SHOW default_transaction_read_only") == "on":
        cure = "ALTER SYSTEM RESET default_transaction_read_only; SELECT pg_reload_conf(); (or ALTER DATABASE … RESET)"
        return [report_broken("primary", "The server is set to read-only: it rejects commits.", cure)]
    return [report_good("primary", "The server is the primary.")]


def _examine_pooler(address: PostgresAddress, connection: psycopg.Connection) -> Finding:
    """Check that a connection is one session: a notification sent on one must arrive on another."""
    channel = f"{CHANNEL}_doctor_{secrets.token_hex(4)}"
    with closing(connect(address, target_session_attrs="any")) as listener:
        listener.autocommit = True
        listener.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
        connection.execute("SELECT pg_notify(%s, '')", (channel,))
        is_received = any(True for _ in listener.notifies(timeout=HEARD_SECONDS, stop_after=1))
    if is_received:
        return report_good(
            "sessions", "Each connection has its own session, so notifications between processes arrive."
        )
    return report_broken(
        "sessions",
        "Notifications between processes do not arrive: a pooler in between probably uses transaction pooling.",
        "Connect to the server directly, or set the pooler to session pooling (PgBouncer: pool_mode = session).",
    )


def _examine_connections(connection: psycopg.Connection) -> list[Finding]:
    row = connection.execute(
        """
        SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
                 - (SELECT coalesce(sum(numbackends), 0) FROM pg_stat_database),
               CASE WHEN rolconnlimit < 0 OR rolsuper THEN NULL ELSE rolconnlimit
                 - (SELECT count(*) FROM pg_stat_activity WHERE usesysid = role.oid) END,
               CASE WHEN datconnlimit < 0 OR rolsuper THEN NULL ELSE datconnlimit
                 - (SELECT numbackends FROM pg_stat_database WHERE datid = base.oid) END,
               quote_ident(rolname), quote_ident(datname)
        FROM pg_roles role, pg_database base WHERE rolname = current_user AND datname = current_database()
        """
    ).fetchone()
    assert row is not None
    server, of_role, of_database, role, database = row
    limits = [
        (server, "Raise max_connections and restart the server, or close other connections."),
        (of_role, f"Allow the user more: ALTER ROLE {role} CONNECTION LIMIT -1;"),
        (of_database, f"Allow the database more: ALTER DATABASE {database} CONNECTION LIMIT -1;"),
    ]
    left, cure = min(((int(count), cure) for count, cure in limits if count is not None), key=lambda one: one[0])
    # Add the connection of this check, which is closed afterwards.
    return [check_connections(left + 1, cure)]


def check_connections(left: int, cure: str) -> Finding:
    """Return the finding for this number of free connections."""
    summary = f"{max(left, 0)} connections are free, and a process needs up to {NEEDED}"
    if left < NEEDED:
        return report_warning("connections", f"{summary}: another process would have to wait, and reject clicks.", cure)
    return report_good("connections", f"{summary}.")


def _examine_clock(connection: psycopg.Connection) -> list[Finding]:
    before = utc_now()
    theirs = _fetch_value(connection, "SELECT clock_timestamp()")
    after = utc_now()
    assert isinstance(theirs, datetime)
    return [check_clock(theirs, before, after)]


def check_clock(theirs: datetime, before: datetime, after: datetime) -> Finding:
    """Return the finding for the server's time, which was read between two local times."""
    ahead = before - theirs if before > theirs else after - theirs if after < theirs else timedelta()
    off = f"{abs(ahead).total_seconds():.0f} s {'ahead of' if ahead > timedelta() else 'behind'}"
    summary = f"The clock of this machine is {off} that of the server"
    if abs(ahead) >= CLOCK_BROKEN:
        return report_broken("clock", f"{summary}: two processes may deliver the same message.", KEEP_TIME)
    if abs(ahead) >= CLOCK_WARN:
        return report_warning("clock", f"{summary}: deadlines pass at wrong times.", KEEP_TIME)
    return report_good("clock", "The clock of this machine agrees with that of the server.")


def _examine_durability(connection: psycopg.Connection) -> list[Finding]:
    return [
        check_durability(*(str(_fetch_value(connection, f"SHOW {name}")) for name in ("fsync", "synchronous_commit")))
    ]


def check_durability(fsync: str, synchronous_commit: str) -> Finding:
    """Return the finding for these two settings."""
    summary = "A crash of the server's machine may lose an acknowledged answer"
    if fsync == "off":
        return report_warning(
            "durability", f"{summary}: fsync is off.", "ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf();"
        )
    if synchronous_commit == "off":
        cure = "Remove synchronous_commit=off from the URL's options. askback then turns it on for its own connections."
        return report_warning("durability", f"{summary}: synchronous_commit is off.", cure)
    return report_good("durability", "The server writes each commit to disk before it confirms it.")


# The contents


def _examine_content(address: PostgresAddress, connection: psycopg.Connection) -> list[Finding]:
    schema = _fetch_value(connection, "SELECT quote_ident(current_schema())")
    role = _fetch_value(connection, "SELECT quote_ident(current_user)")
    if schema is None:
        summary = "The user has no schema in this database in which it could create tables."
        return [report_broken("rights", summary, f"Run in the database: CREATE SCHEMA AUTHORIZATION {role};")]
    if _fetch_value(connection, f"SELECT to_regclass('{VERSION_TABLE}')") is None:
        summary = f"{address} has no tables of askback yet; the first start creates them."
        return [report_good("version", summary), _may_make(connection, str(schema), str(role))]
    rights = _may_use(connection, str(schema), str(role))
    if rights.grade != "good":
        return [rights]
    version = str(_fetch_value(connection, f"SELECT version_num FROM {VERSION_TABLE}"))  # noqa: S608
    if version == NEWEST:
        summary = f"The schema is current (version {version})."
        return [report_good("version", summary), rights, *_examine_jobs(connection), _examine_commit(connection)]
    if is_older(version):
        summary = f"An older askback wrote it (schema version {version})."
        cure = "Back it up (askback backup FILE says how), and start the bot once: it upgrades the database."
        return [report_warning("version", summary, cure), _may_make(connection, str(schema), str(role))]
    summary = f"A newer askback wrote it (schema version {version}); this one supports up to {NEWEST}."
    return [report_broken("version", summary, "Install the newer askback again, or restore a backup of the database.")]


def _may_make(connection: psycopg.Connection, schema: str, role: str) -> Finding:
    if not _fetch_value(connection, "SELECT has_schema_privilege(current_schema(), 'CREATE')"):
        cure = f"Run in the database, as its owner: GRANT CREATE ON SCHEMA {schema} TO {role};"
        return report_broken("rights", f"The user {role} may not create tables in the schema {schema}.", cure)
    owners = _select_tables(connection, "NOT pg_has_role(relowner, 'USAGE')", "quote_ident(pg_get_userbyid(relowner))")
    if owners:
        cure = f"Start the bot once as the user {owners[0]}, or grant that role: GRANT {owners[0]} TO {role};"
        return report_broken("rights", f"The user {role} may not upgrade the tables, which another role owns.", cure)
    return report_good("rights", f"The user {role} may create and upgrade the tables.")


def _may_use(connection: psycopg.Connection, schema: str, role: str) -> Finding:
    privileges = ("SELECT", "INSERT", "UPDATE", "DELETE")
    lacking = " OR ".join(f"NOT has_table_privilege(oid, '{privilege}')" for privilege in privileges)
    closed = _select_tables(connection, lacking, "relname")
    if not closed:
        return report_good("rights", f"The user {role} may read and write the tables.")
    cure = (
        f"Run in the database, as the tables' owner: GRANT {', '.join(privileges)} ON ALL TABLES IN SCHEMA {schema} "
        f"TO {role}; GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role};"
    )
    return report_broken("rights", f"The user {role} may not read and write {', '.join(closed)}.", cure)


def _select_tables(connection: psycopg.Connection, condition: str, what: str) -> list[str]:
    """Return those of askback's and procrastinate's tables for which a condition is true."""
    names = [*metadata.tables, VERSION_TABLE, *JOBS]
    statement = (
        f"SELECT {what} FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' "  # noqa: S608
        f"AND relname = ANY(%s) AND ({condition}) ORDER BY relname"
    )
    return [str(row[0]) for row in connection.execute(statement.encode(), (names,))]


def _examine_jobs(connection: psycopg.Connection) -> list[Finding]:
    there = [name for name in JOBS if _fetch_value(connection, f"SELECT to_regclass('{name}')") is not None]
    stored = _fetch_value(connection, "SELECT value FROM meta WHERE name = 'procrastinate'")
    if len(there) < len(JOBS):
        summary = f"procrastinate lacks {len(JOBS) - len(there)} of its {len(JOBS)} tables: the agent cannot work."
        if there or stored is None:
            return [report_broken("jobs", summary, "Restore a backup of the database.")]
        cure = "Run in the database: DELETE FROM meta WHERE name = 'procrastinate'; the next start creates the tables."
        return [report_broken("jobs", summary, cure)]
    if stored is None:
        cure = "Give askback its own database, or use the same version of procrastinate in both programs."
        return [report_warning("jobs", "askback shares procrastinate's tables with another program.", cure)]
    newest = max(path.name for path in Path(SchemaManager.get_migrations_path()).glob("*.sql"))
    if str(stored) < newest:
        cure = "Restart the bot: it upgrades them."
        return [report_warning("jobs", "procrastinate's tables are older than the installed procrastinate.", cure)]
    return [report_good("jobs", "procrastinate's tables exist.")]


def _examine_commit(connection: psycopg.Connection) -> Finding:
    try:
        connection.execute(
            "INSERT INTO meta (name, value) VALUES ('examined_at', %s) ON CONFLICT (name) DO UPDATE "
            "SET value = excluded.value",
            (str(now()),),
        )
    except psycopg.Error as error:
        to_do = find_remedy(error) or "see the server's log"
        return report_broken("commit", f"A commit failed: {format_message(error)}.", f"{to_do[0].upper()}{to_do[1:]}.")
    return report_good("commit", "A test commit succeeded.")


# The processes


def _examine_processes(connection: psycopg.Connection) -> list[Finding]:
    tables = ("procrastinate_workers", "meta")
    if any(_fetch_value(connection, f"SELECT to_regclass('{name}')") is None for name in tables):
        return [report_good("processes", "No bot is using the database now.")]
    if not all(_fetch_value(connection, f"SELECT has_table_privilege('{name}', 'SELECT')") for name in tables):
        return []  # another finding reports the missing rights
    known = int(str(_fetch_value(connection, "SELECT count(*) FROM procrastinate_workers")))
    there = [decode_platforms(one) for (one,) in connection.execute(SERVING.encode())]
    if not there:
        return [report_good("processes", "No bot is using the database now.")]
    running = "1 process is" if len(there) == 1 else f"{len(there)} processes are"
    platforms = sorted({platform for one in there if one is not None for platform in one})
    serving = f", for {' and '.join(platforms)}" if platforms else ""
    gone = known - len(there)
    ended = f"; {gone} died, and the others take over their work" if gone else ""
    return [report_good("processes", f"{running} using the database now{serving}{ended}.")]


def _fetch_value(connection: psycopg.Connection, statement: str) -> object:
    row = connection.execute(statement.encode()).fetchone()
    return None if row is None else row[0]
