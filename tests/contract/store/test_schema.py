"""The tables, and the ways in which a database gets them."""

from __future__ import annotations

import hashlib
import logging
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Boolean, CheckConstraint, Connection, Text, create_engine, event, inspect, select, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import CreateIndex, CreateTable

from askback.domain.identity import Place
from askback.errors import OperatorError
from askback.internal.clock import utc_now
from askback.store import schema
from askback.store.migrate import NEWEST, VERSION_TABLE, prepare
from askback.store.queries import (
    asks,
    conversations,
    hand_overs,
    inbox,
    offers,
    outbox,
    outbox_leases,
    retention,
    tool_calls,
    transcript,
    unserved_work,
    usage,
)
from askback.store.sqlite.database import SqliteDatabase


class NotingCursor(sqlite3.Cursor):
    """A cursor that records executed statements, from SQLAlchemy or around it."""

    def execute(self, statement: str, values: Any = (), /) -> NotingCursor:
        assert isinstance(self.connection, Noting)
        self.connection.done.append((statement, values))
        super().execute(statement, values)
        return self


class Noting(sqlite3.Connection):
    """A connection with that cursor."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.done: list[tuple[str, Any]] = []

    def cursor(self, factory: Any = NotingCursor) -> Any:
        return super().cursor(factory)

    def execute(self, statement: str, values: Any = (), /) -> sqlite3.Cursor:
        return self.cursor().execute(statement, values)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    engine = create_engine(f"sqlite:///{tmp_path / 'plain.db'}", poolclass=NullPool, connect_args={"factory": Noting})
    with engine.connect() as connection:
        yield connection


def scripts() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", "askback.store:migrations")
    return ScriptDirectory.from_config(config)


def test_the_newest_version_that_the_code_names_is_the_newest_migration():
    assert scripts().get_heads() == [NEWEST]


def test_an_empty_file_gets_every_table(connection: Connection, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO, logger="askback.store"):
        prepare(connection)
    connection.commit()
    tables = {row[0] for row in connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert tables - {"sqlite_sequence"} == set(schema.metadata.tables) | {VERSION_TABLE}
    assert [record.message for record in caplog.records if record.name == "askback.store"] == [
        f"Created a new database, version {NEWEST}."
    ]


def upgrade(connection: Connection, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", "askback.store:migrations")
    config.attributes["connection"] = connection
    with connection.begin_nested():
        command.upgrade(config, revision)


def test_the_migrations_and_the_tables_in_the_code_agree(connection: Connection):
    upgrade(connection, NEWEST)
    context = MigrationContext.configure(
        connection, opts={"version_table": VERSION_TABLE, "compare_server_default": True}
    )
    assert compare_metadata(context, schema.metadata) == []
    # The comparison above covers neither checks nor the WHERE of an index nor AUTOINCREMENT.
    migrated = definitions(connection)
    other = create_engine("sqlite://")
    with other.connect() as fresh:
        prepare(fresh)
        written = definitions(fresh)
    other.dispose()
    assert written.keys() > schema.metadata.tables.keys()
    assert migrated == written


def definitions(connection: Connection) -> dict[str, set[str]]:
    """Return SQLite's definition of each table and index, part by part, as a later column is always last."""
    rows = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {
        name: {" ".join(part.split()) for part in re.split(r",(?![^()]*\))|\n\)$|(?<!\n)\)$", sql) if part.strip()}
        for name, sql in rows
        if name != "sqlite_sequence"
    }


def test_a_migration_that_fails_leaves_nothing_behind(tmp_path: Path):
    path = tmp_path / "askback.db"

    def breaks(connection: Connection) -> None:
        prepare(connection)
        raise RuntimeError("the machine went away")

    with pytest.raises(RuntimeError, match="went away"):
        SqliteDatabase(path, prepare=breaks)
    with sqlite3.connect(path) as plain:
        assert plain.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    plain.close()


def test_a_database_of_a_newer_askback_is_refused_and_left_alone(connection: Connection):
    prepare(connection)
    connection.exec_driver_sql(f"UPDATE {VERSION_TABLE} SET version_num = '0099_from_tomorrow'")
    with pytest.raises(OperatorError) as refusal:
        prepare(connection)
    assert str(refusal.value) == (
        f"A newer askback wrote this database (version 0099_from_tomorrow), and this one supports up to {NEWEST}. "
        "Install the newer askback again, or restore a backup."
    )
    assert connection.exec_driver_sql(f"SELECT version_num FROM {VERSION_TABLE}").scalar() == "0099_from_tomorrow"


def test_tables_of_somebody_else_are_not_taken_over(connection: Connection):
    connection.exec_driver_sql("CREATE TABLE outbox (id INTEGER)")
    with pytest.raises(OperatorError, match="already has tables named outbox that belong to another program"):
        prepare(connection)


def test_a_database_may_be_shared_with_another_program_that_uses_alembic(connection: Connection):
    connection.exec_driver_sql("CREATE TABLE alembic_version (version_num TEXT)")
    connection.exec_driver_sql("INSERT INTO alembic_version VALUES ('theirs')")
    prepare(connection)
    assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() == "theirs"


def test_a_new_or_current_database_does_not_import_alembic(tmp_path: Path):
    script = (
        "import asyncio, pathlib, sys\n"
        "from askback.store.sqlite.database import SqliteDatabase\n"
        "asyncio.run(SqliteDatabase(pathlib.Path(sys.argv[1])).close())\n"
        "print('alembic' in sys.modules)\n"
    )
    opened = [
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / "askback.db")], capture_output=True, text=True, check=True
        ).stdout.strip()
        for _ in range(2)
    ]
    assert opened == ["False", "False"]


def test_processes_that_open_a_new_database_at_once_all_get_it(tmp_path: Path):
    script = (
        "import asyncio, pathlib, sys\n"
        "from askback.store.sqlite.database import SqliteDatabase\n"
        "sys.stdin.readline()\n"
        "asyncio.run(SqliteDatabase(pathlib.Path(sys.argv[1])).close())\n"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path / "askback.db")],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    assert [process.communicate("go\n")[1] for process in processes] == [""] * 4
    assert {process.returncode for process in processes} == {0}


def test_every_table_can_be_written_for_postgresql_too():
    dialect = postgresql.dialect()
    written = [str(CreateTable(table).compile(dialect=dialect)) for table in schema.metadata.sorted_tables]
    written += [
        str(CreateIndex(index).compile(dialect=dialect))
        for table in schema.metadata.sorted_tables
        for index in table.indexes
    ]
    assert any("id BIGSERIAL NOT NULL" in statement for statement in written)
    assert any(statement.endswith("(updated_at) WHERE wants_turn") for statement in written)


RENAMED = {("asks", "deadline"): "attend_at"}


def test_on_postgresql_the_migrations_and_the_tables_in_the_code_agree_and_keep_what_is_there(empty_url: str):
    engine = create_engine(empty_url.replace("postgresql://", "postgresql+psycopg://"), poolclass=NullPool)
    with engine.connect() as connection:
        first = scripts().get_base()
        assert first is not None
        upgrade(connection, first)
        before = inspect(connection)
        kept = {}
        for table in schema.metadata.sorted_tables:
            if table.name not in before.get_table_names():
                continue
            columns = [
                column
                for column in before.get_columns(table.name)
                if not column["nullable"] or (table.name, column["name"]) in RENAMED
            ]
            values = {column["name"]: sample(table.name, column) for column in columns if column["default"] is None}
            names, marks = ", ".join(values), ", ".join(f":{name}" for name in values)
            connection.execute(text(f"INSERT INTO {table.name} ({names}) VALUES ({marks})"), values)
            kept[table.name] = connection.execute(text(f"SELECT * FROM {table.name}")).mappings().one()
        prepare(connection)
        context = MigrationContext.configure(
            connection, opts={"version_table": VERSION_TABLE, "compare_server_default": True}
        )
        assert compare_metadata(context, schema.metadata) == []
        assert checks(connection) == {
            (table.name, str(check.name))
            for table in schema.metadata.tables.values()
            for check in table.constraints
            if isinstance(check, CheckConstraint)
        }
        for name, row in kept.items():
            found = connection.execute(text(f"SELECT * FROM {name}")).mappings().one()
            assert {column: found[RENAMED.get((name, column), column)] for column in row} == dict(row)
        assert context.get_current_revision() == NEWEST
    engine.dispose()


def sample(table: str, column: Mapping[str, Any]) -> object:
    """Return a valid value for a column."""
    if column["name"] in {"role", "status", "state"}:
        return {"role": "user", "status": "open", "state": "open"}[column["name"]]
    return "x" if isinstance(column["type"], Text) else False if isinstance(column["type"], Boolean) else 1


def checks(connection: Connection) -> set[tuple[str, str]]:
    found = inspect(connection)
    return {
        (table, str(check["name"])) for table in schema.metadata.tables for check in found.get_check_constraints(table)
    }


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (
            select(schema.conversations.c.id)
            .where(schema.conversations.c.wants_turn)
            .order_by(schema.conversations.c.updated_at),
            "ix_conversations_wants_turn",
        ),
        (
            select(schema.asks.c.id).where(schema.asks.c.status == "open", schema.asks.c.attend_at <= 1),
            "ix_asks_status_attend_at",
        ),
        (select(schema.asks.c.id).where(schema.asks.c.status == "open"), "ix_asks_status_attend_at"),
        (select(schema.outbox.c.id).where(schema.outbox.c.due_at <= 1), "ix_outbox_due_at"),
        (
            select(schema.inbox).where(schema.inbox.c.conversation_id == "c", schema.inbox.c.taken_seq.is_(None)),
            "ix_inbox_conversation_id_taken_seq",
        ),
    ],
)
def test_what_is_looked_up_all_the_time_has_an_index(connection: Connection, query: object, index: str):
    prepare(connection)
    statement = str(query.compile(connection, compile_kwargs={"literal_binds": True}))  # type: ignore[attr-defined]
    plan = " ".join(str(row[-1]) for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}"))
    assert index in plan
    assert "TEMP B-TREE" not in plan


NOW = utc_now()
HERE = Place(platform="slack", channel="C1")
ONE = frozenset({"slack"})


@pytest.mark.parametrize(
    ("look", "indexes"),
    [
        # A received message, a question, a turn: their cost must not depend on the number of rows elsewhere.
        (lambda connection: asks.list_open(connection, HERE), ["ix_asks_place_key_status"]),
        (lambda connection: asks.count_open_in(connection, HERE), ["ix_asks_place_key_status"]),
        (lambda connection: asks.get_latest_post_time(connection, HERE), ["ix_asks_place_key_post_after"]),
        (lambda connection: asks.list_open_of(connection, "c"), ["ix_asks_conversation_id_status"]),
        (lambda connection: asks.get_by_key(connection, "k"), ["sqlite_autoindex_asks_2"]),
        (lambda connection: asks.has_key_between(connection, "a:", ":z"), ["ix_asks_key"]),
        (asks.count_open, ["ix_asks_status_attend_at"]),
        (
            lambda connection: asks.get_time_until_due(connection, timedelta(seconds=30), ONE),
            ["ix_asks_status_attend_at"],
        ),
        (lambda connection: asks.list_due(connection, 100, ONE), ["ix_asks_status_attend_at"]),
        (
            lambda connection: unserved_work.list_unserved_platforms(connection, timedelta(seconds=30), ONE),
            ["ix_asks_status_attend_at", "ix_outbox_due_at", "ix_conversations_wants_turn"],
        ),
        (lambda connection: inbox.is_received(connection, HERE, "k"), ["ix_inbox_dedupe_key"]),
        (lambda connection: conversations.list_runnable(connection, NOW, ONE), ["ix_conversations_wants_turn"]),
        (lambda connection: conversations.get_next_turn_at(connection, NOW, ONE), ["ix_conversations_wants_turn"]),
        (lambda connection: inbox.has_unread(connection, "c"), ["ix_inbox_conversation_id_taken_seq"]),
        (lambda connection: transcript.get_last(connection, "c"), ["sqlite_autoindex_transcript_1"]),
        (lambda connection: transcript.list_visible(connection, "c"), ["sqlite_autoindex_transcript_1"]),
        (lambda connection: tool_calls.list_of_message(connection, "c", 1), ["sqlite_autoindex_calls_1"]),
        (lambda connection: tool_calls.find_first_of_ask(connection, "c", "a"), ["sqlite_autoindex_calls_1"]),
        (lambda connection: transcript.list_authors(connection, "c"), ["sqlite_autoindex_transcript_1"]),
        (lambda connection: inbox.list_authors_by_seq(connection, "c"), ["ix_inbox_conversation_id_taken_seq"]),
        (lambda connection: tool_calls.list_all(connection, "c"), ["sqlite_autoindex_calls_1"]),
        (lambda connection: asks.list_text_authors(connection, "a"), ["ix_actions_ask_id"]),
        (lambda connection: asks.list_answered_of(connection, "c"), ["ix_asks_conversation_id_status"]),
        (lambda connection: tool_calls.start(connection, "c", 1, "t"), ["sqlite_autoindex_calls_1"]),
        (
            lambda connection: usage.get_usage(connection, "c", NOW),
            ["sqlite_autoindex_usage_1", "ix_usage_day", "ix_reservations_day"],
        ),
        (
            lambda connection: usage.reserve_call(connection, "c", "r", lambda _: 0),
            ["ix_reservations_conversation_id", "sqlite_autoindex_usage_1", "ix_usage_day", "ix_reservations_day"],
        ),
        (lambda connection: offers.find(connection, "o"), ["sqlite_autoindex_offers_1"]),
        (lambda connection: hand_overs.expire(connection, "f", "r"), ["ix_hand_overs_framework_state"]),
        (lambda connection: hand_overs.acknowledge(connection, "h"), ["ix_hand_overs_holder"]),
        (
            lambda connection: hand_overs.list_answered_runs(connection, "f"),
            ["ix_hand_overs_framework_state", "sqlite_autoindex_asks_1"],
        ),
        (
            lambda connection: outbox_leases.lease(connection, timedelta(seconds=10), 16, ONE),
            ["ix_outbox_due_at", "sqlite_autoindex_asks_1", "sqlite_autoindex_conversations_1"],
        ),
        (
            lambda connection: outbox_leases.get_time_until_due(connection, ONE),
            ["ix_outbox_leased_until_due_at", "sqlite_autoindex_asks_1", "sqlite_autoindex_conversations_1"],
        ),
        (lambda connection: outbox.has_earlier_text(connection, "c", "prose:c:1"), ["ix_outbox_conversation_id"]),
        # It runs before the clicks that arrive meanwhile.
        (
            lambda connection: retention.prune(connection, NOW, 20),
            [
                "ix_conversations_updated_at", "ix_asks_conversation_id_status", "ix_outbox_conversation_id",
                "ix_asks_conversation_id_settled_at", "sqlite_autoindex_outbox_1", "ix_actions_ask_id",
                "ix_offers_conversation_id", "ix_hand_overs_ask_id",
            ],
        ),
    ],
)  # fmt: skip
def test_what_the_store_does_all_the_time_reads_no_table_through(
    connection: Connection, look: Callable[[Connection], object], indexes: list[str]
):
    prepare(connection)
    raw = connection.connection.driver_connection
    assert isinstance(raw, Noting)
    raw.done.clear()
    look(connection)
    plan = [
        str(row[-1])
        for statement, values in raw.done.copy()
        for row in raw.execute(f"EXPLAIN QUERY PLAN {statement}", values)
    ]
    used = {word for step in plan for word in step.split()}
    assert used.issuperset(indexes), plan
    tables = set(schema.metadata.tables)
    # "SCAN conversations USING INDEX …" reads an index that holds only the wanted rows.
    assert not [step for step in plan if step.split()[:1] == ["SCAN"] and tables & {step.split()[-1]}], plan


def test_on_postgresql_a_new_key_of_a_caller_is_found_free_without_reading_the_keys_of_others(empty_url: str):
    engine = create_engine(empty_url.replace("postgresql://", "postgresql+psycopg://"), poolclass=NullPool)
    done: list[tuple[str, Any]] = []

    @event.listens_for(engine, "before_cursor_execute")
    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        done.append((statement, values))

    with engine.connect() as connection:
        prepare(connection)
        connection.execute(
            text(
                "INSERT INTO asks (id, key, place, place_key, form, policy, interview, status, post_after, created_at) "
                "SELECT i, 'http:' || i % 200 || ':ask:' || i || ':' || md5(i::text), 'p', 'p', '{}', '{}', '{}', "
                "'answered', i, i FROM generate_series(1, 20000) i"
            )
        )
        connection.execute(text("ANALYZE asks"))
        known = hashlib.md5(b"7").hexdigest()
        assert asks.has_key_between(connection, "http:7:", f":{known}")
        assert not asks.has_key_between(connection, "http:8:", f":{known}")
        done.clear()
        asks.has_key_between(connection, "http:7:", ":free")
        ((statement, values),) = done
        plan = "\n".join(connection.exec_driver_sql(f"EXPLAIN {statement}", values).scalars())
        assert "ix_asks_key" in plan, plan
        assert "Seq Scan" not in plan, plan
    engine.dispose()
