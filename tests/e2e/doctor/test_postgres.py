"""`askback doctor` on PostgreSQL, with each thing broken in turn, on the real server if possible."""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from sqlalchemy import make_url

from askback.cli.doctor.postgres import (
    check_clock,
    check_connections,
    check_durability,
    check_server_version,
    examine_postgres,
)
from askback.ports.findings import Finding
from askback.ports.installed_bots import get_bot
from askback.runtime.app import open_host
from askback.store.postgres.address import PostgresAddress
from askback.store.postgres.external_access import list_processes, run_read_only
from support.stores import server

from .conftest import Ward, until
from .pooler import pooler


def examined(url: str) -> dict[str, Finding]:
    found = examine_postgres(PostgresAddress.read(url), stop=threading.Event())
    assert len({finding.about for finding in found}) == len(found)
    return {finding.about: finding for finding in found}


def bad(url: str) -> dict[str, Finding]:
    return {about: finding for about, finding in examined(url).items() if finding.grade != "good"}


def one(url: str) -> Finding:
    """Return the only finding that is not good."""
    (found,) = bad(url).values()
    return found


def execute(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


@contextmanager
def somebody(url: str, more: str = "") -> Iterator[tuple[str, str]]:
    """Yield a user without superuser rights, and the URL with which they connect."""
    name = f"askback_test_{secrets.token_hex(4)}"
    execute(url, f"CREATE ROLE {name} LOGIN {more}")
    try:
        yield name, make_url(url).set(username=name).render_as_string(hide_password=False)
    finally:
        execute(url, f"DROP OWNED BY {name}", f"DROP ROLE {name}")


def name_of(url: str) -> str:
    return make_url(url).database or ""


async def test_where_all_is_well_it_says_so_and_shows_no_password(ward: Ward, postgres_url: str) -> None:
    url = make_url(postgres_url).set(password="geheim99").render_as_string(hide_password=False)
    ward.set(ASKBACK_DATABASE_URL=url)
    found = await ward.examined()
    assert (found.code, found.bad) == (0, []), found.text
    assert "geheim" not in found.text
    assert found.good("Database", "processes") == "No bot is using the database now."
    assert found.good("Slack", "socket") == "A socket opened, and Slack sent its hello."


async def test_beside_a_running_bot_it_disturbs_nothing(ward: Ward, postgres_url: str) -> None:
    ward.set(ASKBACK_DATABASE_URL=postgres_url)
    async with open_host([get_bot("slack")]):
        await ward.services.socket.connected()
        address = PostgresAddress.read(postgres_url)
        await until(lambda: run_read_only(address, list_processes).serving == (frozenset({"slack"}),))
        found = await ward.examined()
        assert found.good("Database", "processes") == "1 process is using the database now, for slack."
        assert "the check did not open another." in found.good("Slack", "socket")
        # No process is connected there.
        assert "did not open another session" not in found.good("Discord", "gateway")


def test_one_that_is_not_begun_is_no_trouble(empty_url: str) -> None:
    found = examined(empty_url)
    assert {finding.grade for finding in found.values()} == {"good"}
    assert "has no tables of askback yet; the first start creates them" in found["version"].summary


def test_a_server_that_cannot_be_reached() -> None:
    found = one("postgresql://me:geheim99@127.0.0.1:9/askback")
    assert (found.grade, found.about, found.cure) == (
        "broken",
        "server",
        "Check that the server runs and is reachable.",
    )
    assert "geheim" not in found.summary


def test_a_database_that_is_not_there(empty_url: str) -> None:
    found = one(make_url(empty_url).set(database="askback_nowhere").render_as_string(hide_password=False))
    assert found.cure == "Create the database, or set ASKBACK_DATABASE_URL to an existing one."


def test_a_server_that_is_too_old() -> None:
    address = PostgresAddress.read("postgresql://db/askback")
    assert check_server_version(address, 150004).grade == check_server_version(address, 130000).grade == "good"
    assert "tested with" in check_server_version(address, 170002).summary
    old = check_server_version(address, 120022)
    assert (old.grade, old.cure) == ("broken", "Upgrade it to PostgreSQL 13 or later.")


def test_an_encoding_that_cannot_hold_everything() -> None:
    name = f"askback_test_{secrets.token_hex(4)}"
    execute(server().url, f"CREATE DATABASE {name} ENCODING LATIN1 LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    try:
        found = one(server().database_url(name))
        assert (found.about, found.grade) == ("encoding", "broken")
    finally:
        execute(server().url, f"DROP DATABASE {name} WITH (FORCE)")


def test_a_user_who_may_make_no_tables(empty_url: str) -> None:
    execute(empty_url, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    with somebody(empty_url) as (role, url):
        found = one(url)
        assert (found.grade, found.about) == ("broken", "rights")
        assert found.cure == f"Run in the database, as its owner: GRANT CREATE ON SCHEMA public TO {role};"
        execute(empty_url, found.cure.partition(": ")[2])
        assert not bad(url)


def test_a_user_who_may_not_use_the_tables(postgres_url: str) -> None:
    with somebody(postgres_url) as (_, url):
        found = one(url)
        assert (found.grade, found.about) == ("broken", "rights")
        execute(postgres_url, *found.cure.partition(": ")[2].rstrip(";").split("; "))
        assert not bad(url)


def test_a_user_who_may_not_bring_them_up_to_date(postgres_url: str) -> None:
    execute(postgres_url, "UPDATE askback_version SET version_num = '0001_first_release'")
    grants = "GRANT CREATE ON SCHEMA public TO", "GRANT ALL ON ALL TABLES IN SCHEMA public TO"
    with somebody(postgres_url) as (role, url):
        execute(postgres_url, *(f"{grant} {role}" for grant in grants))
        found = bad(url)
        assert found["rights"].summary == f"The user {role} may not upgrade the tables, which another role owns."
        assert found["version"].grade == "warning"


def test_one_of_a_newer_askback(postgres_url: str) -> None:
    execute(postgres_url, "UPDATE askback_version SET version_num = '9999_later'")
    found = one(postgres_url)
    assert (found.grade, found.about) == ("broken", "version")


def test_without_the_tables_of_the_jobs(postgres_url: str) -> None:
    execute(postgres_url, "DROP TABLE procrastinate_jobs CASCADE")
    found = one(postgres_url)
    assert (found.grade, found.about, found.cure) == ("broken", "jobs", "Restore a backup of the database.")


def test_jobs_that_are_another_programs(postgres_url: str) -> None:
    execute(postgres_url, "DELETE FROM meta WHERE name = 'procrastinate'")
    assert (one(postgres_url).grade, one(postgres_url).about) == ("warning", "jobs")


def test_one_that_takes_no_commit(postgres_url: str) -> None:
    execute(postgres_url, f"ALTER DATABASE {name_of(postgres_url)} SET default_transaction_read_only = on")
    found = bad(postgres_url)
    assert set(found) == {"primary", "commit"}
    assert found["primary"].cure.startswith("ALTER SYSTEM RESET default_transaction_read_only")
    assert found["commit"].cure == "Check that it is the primary, and is not set to read-only."


def test_one_that_somebody_keeps_locked(postgres_url: str) -> None:
    with closing(psycopg.connect(postgres_url)) as other:
        other.execute("LOCK TABLE meta IN EXCLUSIVE MODE")
        found = one(postgres_url)
        assert (found.about, found.grade, found.cure) == ("commit", "broken", "Another session has locked it.")


def test_too_few_connections(postgres_url: str) -> None:
    execute(postgres_url, "GRANT ALL ON ALL TABLES IN SCHEMA public TO PUBLIC")
    with somebody(postgres_url, "CONNECTION LIMIT 6") as (_, url):
        found = one(url)
        assert (found.grade, found.about) == ("warning", "connections")
        # A connection that was closed a moment ago may still be counted.
        assert re.match("[456] connections are free, and a process needs up to 13", found.summary)
        execute(postgres_url, found.cure.partition(": ")[2])
        assert not bad(url)
    assert check_connections(13, "x").grade == "good"
    assert check_connections(12, "x").grade == "warning"


def test_a_pooler_that_lends_a_session_for_one_transaction(postgres_url: str) -> None:
    with pooler(postgres_url) as port:
        found = bad(f"postgresql://postgres@127.0.0.1:{port}/{name_of(postgres_url)}")
    assert set(found) == {"sessions"}
    assert found["sessions"].grade == "broken"
    assert "pool_mode = session" in found["sessions"].cure


def test_answers_that_may_be_lost(postgres_url: str) -> None:
    options = {"options": "-csynchronous_commit=off"}
    found = one(make_url(postgres_url).update_query_dict(options).render_as_string(hide_password=False))
    assert (found.grade, found.about) == ("warning", "durability")
    assert check_durability("off", "on").cure.startswith("ALTER SYSTEM SET fsync = on")
    assert {check_durability("on", level).grade for level in ("on", "local", "remote_write", "remote_apply")} == {
        "good"
    }


@pytest.mark.parametrize(
    ("seconds", "grade"), [(0, "good"), (1, "good"), (3, "warning"), (-3, "warning"), (11, "broken"), (-11, "broken")]
)
def test_clocks_that_differ(seconds: float, grade: str) -> None:
    before = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    after = before + timedelta(seconds=1)
    theirs = (after if seconds < 0 else before) - timedelta(seconds=seconds)
    found = check_clock(theirs, before, after)
    assert found.grade == grade
    if grade != "good":
        assert ("ahead of" if seconds > 0 else "behind") in found.summary


def test_a_process_that_ended_without_a_word(postgres_url: str) -> None:
    execute(
        postgres_url,
        "INSERT INTO procrastinate_workers DEFAULT VALUES",
        "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '20 s')",
    )
    assert examined(postgres_url)["processes"].summary == (
        "1 process is using the database now; 1 died, and the others take over their work."
    )
