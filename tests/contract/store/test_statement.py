"""Statements that bypass SQLAlchemy find, change and fail like those that do not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, DateTime, bindparam, insert, literal, select, update
from sqlalchemy.exc import IntegrityError

from askback.store.schema import calls, metadata, outbox
from askback.store.sqlite.connections import create_file_engine
from askback.store.statement import Statement

KEPT = Statement(insert(outbox))
FOUND = Statement(select(outbox).where(outbox.c.target == bindparam("of"), outbox.c.kind == "card"))
CHANGED = Statement(update(outbox).where(outbox.c.target == bindparam("of")))


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    with create_file_engine(tmp_path / "a.db").connect() as opened:
        metadata.create_all(opened)
        yield opened


def test_a_row_is_what_sqlalchemy_finds(connection: Connection) -> None:
    assert FOUND.fetch_rows(connection, of="a") == []
    KEPT.change(connection, target="a", kind="card", due_at=1)
    KEPT.change(connection, target="b", kind="say", due_at=2, payload="{}")
    assert FOUND.fetch_rows(connection, of="b") == []
    rows = connection.execute(select(outbox).where(outbox.c.target == "a")).mappings().all()
    assert FOUND.fetch_rows(connection, of="a") == [dict(row) for row in rows]


def test_other_columns_are_another_statement(connection: Connection) -> None:
    KEPT.change(connection, target="a", kind="card", due_at=1)
    assert CHANGED.change(connection, of="a", due_at=5) == 1
    assert CHANGED.change(connection, of="a", revision=7, last_error=None) == 1
    assert CHANGED.change(connection, of="b", due_at=6) == 0
    (row,) = FOUND.fetch_rows(connection, of="a")
    assert (row["due_at"], row["revision"], row["last_error"]) == (5, 7, None)


def test_an_error_of_the_database_is_sqlalchemys_and_quotes_nobody(connection: Connection) -> None:
    KEPT.change(connection, target="private words", kind="card", due_at=1)
    with pytest.raises(IntegrityError) as raised:
        KEPT.change(connection, target="private words", kind="card", due_at=1)
    assert "private words" not in str(raised.value)


def test_a_flag_is_true_or_false_as_sqlalchemy_finds_it(connection: Connection) -> None:
    started = Statement(insert(calls))
    for position, failed in enumerate((True, False)):
        started.change(
            connection, conversation_id="c", seq=1, position=position, tool_use_id="t", tool="t", input="{}",
            is_error=failed,
        )  # fmt: skip
    found = Statement(select(calls).order_by(calls.c.position)).fetch_rows(connection)
    assert [row["is_error"] for row in found] == [True, False]
    assert [type(row["is_error"]) for row in found] == [bool, bool]
    assert found == [dict(row) for row in connection.execute(select(calls).order_by(calls.c.position)).mappings()]


def test_columns_that_only_sqlalchemy_translates_are_refused() -> None:
    with pytest.raises(TypeError, match="moment"):
        Statement(select(literal(None, DateTime).label("moment")))
