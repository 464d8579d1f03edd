"""PostgreSQL databases that tests use one after another, since to create and drop one takes a tenth of a second.

A database returns to the pool only if the next test cannot tell that it was used: it has no connections left, no row of
the catalogues has changed, and its tables are small. Its rows are then those of the template again. All other databases
are dropped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import LiteralString

import psycopg
from psycopg import sql

PATIENCE = 0.5
"""Seconds in which the connections of a test must have ended."""

FINGERPRINT = """
WITH catalogue (entry) AS (
    SELECT concat('class', oid, ' ', xmin) FROM pg_class WHERE oid >= 16384
    UNION ALL SELECT concat('attribute', attrelid, ' ', attnum, ' ', xmin) FROM pg_attribute WHERE attrelid >= 16384
    UNION ALL SELECT concat('default', oid, ' ', xmin) FROM pg_attrdef
    UNION ALL SELECT concat('index', indexrelid, ' ', xmin) FROM pg_index WHERE indexrelid >= 16384
    UNION ALL SELECT concat('constraint', oid, ' ', xmin) FROM pg_constraint WHERE oid >= 16384
    UNION ALL SELECT concat('trigger', oid, ' ', xmin) FROM pg_trigger
    UNION ALL SELECT concat('function', oid, ' ', xmin) FROM pg_proc WHERE oid >= 16384
    UNION ALL SELECT concat('type', oid, ' ', xmin) FROM pg_type WHERE oid >= 16384
    UNION ALL SELECT concat('schema', oid, ' ', xmin) FROM pg_namespace
    UNION ALL SELECT concat('extension', oid, ' ', xmin) FROM pg_extension
    UNION ALL SELECT concat('policy', oid, ' ', xmin) FROM pg_policy
    UNION ALL SELECT concat('grants', oid, ' ', xmin) FROM pg_default_acl
    UNION ALL SELECT concat('analysed', starelid, ' ', staattnum) FROM pg_statistic WHERE starelid >= 16384
    UNION ALL SELECT concat('database', oid, ' ', xmin) FROM pg_database WHERE datname = current_database()
    UNION ALL SELECT concat('setting', setrole, ' ', setconfig) FROM pg_db_role_setting
        WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
    UNION ALL SELECT concat('prepared', gid) FROM pg_prepared_xacts WHERE database = current_database()
)
SELECT sum(hashtextextended(entry, 0)) FROM catalogue
"""

OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""

IS_SMALL = "SELECT sum(pg_relation_size(oid)) <= 2000000 FROM pg_class WHERE oid >= 16384"
"""Plans depend on sizes. The tables and indexes of a new database have 0.6 MB."""

TABLES = """
SELECT nspname, relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE relkind = 'r' AND pg_class.oid >= 16384 ORDER BY 1, 2
"""

SEQUENCES = (
    "SELECT schemaname, sequencename, coalesce(last_value, start_value), last_value IS NOT NULL FROM pg_sequences"
)


@dataclass(frozen=True, slots=True)
class Used:
    """A database that a test may use."""

    url: str
    fingerprint: object
    """It changes with every change of a table, a function, a right or a setting."""


class DatabasePool:
    """The databases of one test process that have the tables of one template."""

    def __init__(self, template_url: str, create: Callable[[], AbstractContextManager[str]]) -> None:
        self._create = create
        self._free: list[Used] = []
        self._owned: dict[str, ExitStack] = {}
        """The stack that drops each database."""
        with psycopg.connect(template_url) as template:
            self._restore = _build_restore(template)

    @contextmanager
    def database(self) -> Generator[str]:
        """Yield the URL of a database with the rows of the template."""
        used = self._free.pop() if self._free else self._make()
        try:
            yield used.url
        finally:
            if self._is_restored(used):
                self._free.append(used)
            else:
                self._owned.pop(used.url).close()

    def close(self) -> None:
        """Drop all databases."""
        with ExitStack() as all_of_them:
            for owned in self._owned.values():
                all_of_them.push(owned)
        self._owned.clear()
        self._free.clear()

    def _make(self) -> Used:
        drop = ExitStack()
        url = drop.enter_context(self._create())
        self._owned[url] = drop
        with psycopg.connect(url, autocommit=True) as connection:
            return Used(url, _read(connection, FINGERPRINT))

    def _is_restored(self, used: Used) -> bool:
        """Bring back the rows of the template. Return False if the database must be dropped."""
        # A test may have closed it to everybody, or taken our rights away: then it is dropped.
        with suppress(psycopg.Error), psycopg.connect(used.url, autocommit=True) as connection:
            is_unchanged = _is_left_alone(connection) and _read(connection, FINGERPRINT) == used.fingerprint
            if is_unchanged and _read(connection, IS_SMALL):
                connection.execute(self._restore)
                return True
        return False


def _is_left_alone(connection: psycopg.Connection) -> bool:
    """Wait until it has no other connections left. Return False if one stays."""
    until = time.monotonic() + PATIENCE
    while _read(connection, OTHERS):
        if time.monotonic() > until:
            return False
        time.sleep(0.005)  # PostgreSQL tells nobody when a connection has ended
    return True


def _build_restore(template: psycopg.Connection) -> sql.Composed:
    """Return statements that give every table and sequence the contents that it has now."""
    # Without the triggers, rows may go in any order.
    statements = [sql.SQL("BEGIN; SET LOCAL session_replication_role = replica")]
    for schema, name in template.execute(TABLES).fetchall():
        table = sql.Identifier(schema, name)
        statements.append(sql.SQL("DELETE FROM {}").format(table))
        if rows := _read(template, sql.SQL("SELECT json_agg(t)::text FROM {} t").format(table)):
            back = "INSERT INTO {0} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::{0}, {1})"
            statements.append(sql.SQL(back).format(table, sql.Literal(rows)))
    for schema, name, value, called in template.execute(SEQUENCES).fetchall():
        sequence = sql.Literal(sql.Identifier(schema, name).as_string(template))
        statements.append(sql.SQL("SELECT setval({}, {}, {})").format(sequence, value, called))
    return sql.SQL("; ").join([*statements, sql.SQL("COMMIT")])


def _read(connection: psycopg.Connection, query: sql.Composed | LiteralString) -> object:
    row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]
