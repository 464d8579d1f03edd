"""The valid values of ASKBACK_DATABASE_URL."""

from __future__ import annotations

from pathlib import Path

import pytest

from askback.errors import OperatorError
from askback.store.url import get_database_path


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///relative.db", "relative.db"),
        ("sqlite:///in/a/directory.db", "in/a/directory.db"),
        ("sqlite:////srv/askback/askback.db", "/srv/askback/askback.db"),
        ("sqlite+pysqlite:///relative.db", "relative.db"),
        ("SQLite:///Relative.db", "Relative.db"),
        (" askback.db\n", "askback.db"),
        ("/srv/askback.db", "/srv/askback.db"),
        ("./with space.db", "with space.db"),
    ],
)
def test_files(url: str, path: str):
    assert get_database_path(url) == Path(path)


def test_home(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", "/home/somebody")
    assert get_database_path("~/askback.db") == Path("/home/somebody/askback.db")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (
            "postgresql://askback:secret@db/askback",
            "names a PostgreSQL database, but this command needs an SQLite file",
        ),
        ("postgres://askback:secret@db/askback", "names a PostgreSQL database, but this command needs an SQLite file"),
        ("postgresql+psycopg://:secret@db", "names a PostgreSQL database, but this command needs an SQLite file"),
        ("mysql://askback:secret@db/askback", "starts with mysql://"),
        ("sqlite+aiosqlite:///a.db", "starts with sqlite+aiosqlite://"),
        ("sqlite://relative.db", "three slashes"),
        ("sqlite://", "has no file name"),
        ("sqlite:///", "has no file name"),
        ("", "has no file name"),
        ("a\0b", "has no file name"),
        (":memory:", "must survive a restart"),
        ("sqlite:///:memory:", "must survive a restart"),
        ("file:askback.db", "is an SQLite file: URI"),
        ("sqlite:///askback.db?mode=ro", "options after a ?"),
    ],
)
def test_what_is_refused_says_what_to_write_and_never_a_password(url: str, said: str):
    with pytest.raises(OperatorError) as refusal:
        get_database_path(url)
    assert said in str(refusal.value)
    assert "sqlite:///relative.db" in str(refusal.value)
    assert "secret" not in str(refusal.value)
