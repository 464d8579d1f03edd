"""Bring a database to the schema of this askback, or reject it."""

from __future__ import annotations

__all__ = ["NEWEST", "VERSION_TABLE", "prepare"]

import logging
import threading
from functools import cache
from typing import TYPE_CHECKING

from sqlalchemy import Column, Connection, Dialect, MetaData, String, Table, insert, inspect, text
from sqlalchemy.schema import CreateIndex, CreateTable

from askback.errors import OperatorError
from askback.store.schema import metadata

if TYPE_CHECKING:
    from alembic.config import Config

NEWEST = "0015_kept_answers"
"""Revision of the newest migration. It is a constant so that a start without one need not import alembic (0.2 s)."""

VERSION_TABLE = "askback_version"
"""Name of askback's version table. It differs from alembic's default, since other programs with alembic may share the
database."""

_versions = Table(
    VERSION_TABLE,
    MetaData(naming_convention={"pk": "%(table_name)s_pkc"}),
    Column("version_num", String(32), primary_key=True),
)
"""The table as alembic creates it."""

log = logging.getLogger("askback.store")

# alembic keeps the running migration in module globals.
_one_at_a_time = threading.Lock()


def prepare(connection: Connection) -> None:
    """Create or upgrade the tables in the transaction of `connection`, which the caller commits.

    If this raises, a rollback by the caller undoes everything. On SQLite, foreign keys must be off, since altering a
    table there means copying it. They cannot be switched within a transaction.
    """
    tables = set(inspect(connection).get_table_names())
    stored = _read_version(connection) if VERSION_TABLE in tables else None
    if stored == NEWEST:
        return
    if stored is None and (taken := sorted(tables & set(metadata.tables))):
        raise OperatorError(
            f"This database already has tables named {', '.join(taken)} that belong to another program. "
            "Set ASKBACK_DATABASE_URL to a database that only askback uses."
        )
    if stored is None:
        _create(connection)
    else:
        _upgrade(connection, stored)


def _create(connection: Connection) -> None:
    """Create the newest tables in an empty database. This needs no migration, and so no alembic."""
    for statement in _compile_schema(type(connection.dialect)):
        connection.exec_driver_sql(statement)
    connection.execute(insert(_versions).values(version_num=NEWEST))
    log.info("Created a new database, version %s.", NEWEST, extra={"action": "database_migrated", "to_version": NEWEST})


@cache
def _compile_schema(kind: type[Dialect]) -> tuple[str, ...]:
    """Return the statements that create the newest tables. Compiling them takes longer than running them."""
    dialect = kind()
    statements: list[str] = []
    for table in (*metadata.sorted_tables, _versions):
        indexes = sorted(table.indexes, key=lambda index: str(index.name))
        elements = [CreateTable(table), *(CreateIndex(index) for index in indexes)]
        statements += [str(element.compile(dialect=dialect)) for element in elements]
    return tuple(statements)


def _read_version(connection: Connection) -> str | None:
    return connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608


def _build_config(connection: Connection | None = None) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "askback.store:migrations")
    config.attributes["connection"] = connection
    return config


def _upgrade(connection: Connection, stored: str) -> None:
    from alembic import command
    from alembic.script import ScriptDirectory

    with _one_at_a_time:
        config = _build_config(connection)
        known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
        if stored not in known:
            raise OperatorError(
                f"A newer askback wrote this database (version {stored}), and this one supports up to {NEWEST}. "
                "Install the newer askback again, or restore a backup."
            )
        # The savepoint opens SQLAlchemy's transaction, so that alembic finds one and commits nothing.
        with connection.begin_nested():
            command.upgrade(config, NEWEST)
    extra = {"action": "database_migrated", "from_version": stored, "to_version": NEWEST}
    log.info("Upgraded the database from version %s to %s.", stored, NEWEST, extra=extra)
