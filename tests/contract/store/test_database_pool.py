"""The pool of PostgreSQL databases: what one test leaves behind, the next one never finds."""

from __future__ import annotations

import psycopg
import pytest

from support.database_pool import DatabasePool

META = "SELECT name, value FROM meta ORDER BY name"
ADD = (
    "INSERT INTO asks (id, place, place_key, policy, form, interview, revision, status, messages, drawn_revision, "
    "created_at, post_after) VALUES ('a', '{}', 'k', '{}', '{}', '{}', 0, 'open', '[]', 0, 0, 0)"
)
ADD_ACTION = (
    "INSERT INTO actions (ask_id, actor, action, verdict, revision, at) "
    "VALUES ('a', '{}', '{}', '-', 0, 0) RETURNING id"
)
CHANGES = {
    "table": "CREATE TABLE left_behind (id int)",
    "column": "ALTER TABLE asks ADD COLUMN left_behind int",
    "index": "CREATE INDEX left_behind ON asks (status, id)",
    "function": "CREATE FUNCTION left_behind() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "right": "GRANT SELECT ON asks TO PUBLIC",
    "setting": "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET work_mem = ''8MB''', current_database()); END $$",
    "statistics": f"{ADD}; ANALYZE asks",
    "size": "INSERT INTO meta (name, value) SELECT 'left ' || n, repeat('-', 1000) FROM generate_series(1, 3000) n",
}


def run(url: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def test_rows_and_sequences_are_those_of_the_template_again(postgres_pool: DatabasePool) -> None:
    with postgres_pool.database() as url:
        before = run(url, META)
        run(url, ADD)
        number = run(url, ADD_ACTION)
        run(url, "UPDATE meta SET value = 'changed'")
        run(url, "INSERT INTO meta (name, value) VALUES ('left behind', '')")
    with postgres_pool.database() as again:
        assert again == url, "it is used again"
        assert run(again, "SELECT id FROM asks UNION ALL SELECT ask_id FROM actions") == []
        assert run(again, META) == before
        run(again, ADD)
        assert run(again, ADD_ACTION) == number


@pytest.mark.parametrize("change", CHANGES)
def test_a_database_that_a_test_could_tell_from_a_new_one_is_dropped(postgres_pool: DatabasePool, change: str) -> None:
    with postgres_pool.database() as url:
        run(url, CHANGES[change])
    assert_dropped(url)


def test_a_database_to_which_somebody_is_still_connected_is_dropped(postgres_pool: DatabasePool) -> None:
    with postgres_pool.database() as url:
        staying = psycopg.connect(url)
    with staying:
        assert_dropped(url)


def assert_dropped(url: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(url)
