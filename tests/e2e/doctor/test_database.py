"""`askback doctor` with a broken database."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from askback.cli.doctor.database import check_space, examine_database

from .conftest import Ward


def is_there(name: str) -> bool:
    return Path(name).exists()


async def test_a_database_that_others_can_read(ward: Ward) -> None:
    ward.database.chmod(0o644)
    found = await ward.examined("discord")
    assert (found.code, found.one().cure) == (0, "Run: chmod 600 askback.db")
    assert "mode 0644" in found.one().summary


@pytest.mark.parametrize(
    ("version", "grade", "cure"),
    [
        ("9999_later", "broken", "Install the newer askback again, or restore a backup"),
        ("0001_first_release", "warning", "Back up askback.db (askback backup FILE), and start the bot once"),
    ],
)
async def test_a_database_of_another_version(ward: Ward, version: str, grade: str, cure: str) -> None:
    with closing(sqlite3.connect(ward.database)) as connection, connection:
        connection.execute("UPDATE askback_version SET version_num = ?", (version,))
    found = (await ward.examined("discord")).one()
    assert (found.grade, found.about, cure in found.cure) == (grade, "version", True), found


@contextmanager
def held(database: Path) -> Iterator[None]:
    """Hold a write transaction of another program open."""
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


def test_a_database_that_another_program_keeps_locked(tmp_path: Path, ward: Ward) -> None:
    with held(ward.database):
        found = [
            one for one in examine_database(ward.database, patience=0.05, stop=threading.Event()) if one.grade != "good"
        ]
    assert [(one.about, one.grade) for one in found] == [("commit", "broken")]
    assert "Another program has locked it" in found[0].summary
    assert found[0].cure == f"Find and stop that program: fuser -v {ward.database}"


async def test_a_database_that_cannot_be_made(ward: Ward) -> None:
    ward.set(ASKBACK_DATABASE_URL="/proc/askback.db")
    found = (await ward.examined("discord")).one()
    assert (found.grade, found.about) == ("broken", "file")
    assert found.cure == "Make /proc writable for this user, or set ASKBACK_DATABASE_URL."


@pytest.mark.skipif(os.geteuid() == 0, reason="for root, every file can be written")
async def test_a_database_that_cannot_be_written(ward: Ward) -> None:
    ward.database.chmod(0o400)
    found = (await ward.examined("discord")).bad[0]
    assert (found.grade, found.cure) == ("broken", "Run: chmod 600 askback.db")


async def test_a_database_that_is_damaged(ward: Ward) -> None:
    with closing(sqlite3.connect(ward.database)) as connection, connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.executemany("INSERT INTO meta VALUES (?, ?)", [(f"n{n}", "x" * 500) for n in range(200)])
    size = ward.database.stat().st_size
    with ward.database.open("r+b") as file:
        file.seek(size - 60_000)
        file.write(b"\xff" * 40_000)
    found = await ward.examined("discord")
    assert found.code == 1
    assert {one.about for one in found.bad} <= {"content", "commit"}
    worst = next(one for one in found.bad if one.about == "content")
    assert "The database is damaged" in worst.summary
    assert "restore a backup" in worst.cure


async def test_a_file_that_is_no_database(ward: Ward) -> None:
    ward.database.write_bytes(b"hello " * 2000)
    found = (await ward.examined("discord")).one()
    assert found.summary == "askback.db is not an SQLite database."
    assert "Set ASKBACK_DATABASE_URL" in found.cure


async def test_a_database_that_is_somebody_elses(ward: Ward) -> None:
    ward.database.unlink()
    with closing(sqlite3.connect(ward.database)) as connection, connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    ward.database.chmod(0o600)
    assert (await ward.examined("discord")).one().summary == "askback.db is a database of another program."


async def test_looking_at_a_database_that_is_not_there_makes_none(ward: Ward) -> None:
    ward.set(ASKBACK_DATABASE_URL="new/askback.db")
    assert not (await ward.examined("discord")).bad
    assert not is_there("new")


async def test_a_database_that_this_release_cannot_use_is_told_without_its_password(ward: Ward) -> None:
    ward.set(ASKBACK_DATABASE_URL="mysql://me:s3cret@host/db")
    found = await ward.examined("discord")
    assert "supports only SQLite and PostgreSQL" in found.one().summary
    assert "s3cret" not in found.text


def test_a_disk_that_is_nearly_full() -> None:
    assert check_space(10**9, Path("/data")).grade == "good"
    for free, grade in ((10**8, "warning"), (10**6, "broken")):
        found = check_space(free, Path("/data"))
        assert (found.grade, found.cure) == (grade, "Free space on the disk of /data.")
