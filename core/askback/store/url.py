"""Reads ASKBACK_DATABASE_URL."""

from __future__ import annotations

__all__ = ["database_of", "database_path"]

from pathlib import Path

from askback.errors import OperatorError
from askback.store.postgres.address import SCHEMES, PostgresAddress

_FORMS = (
    "Write a file (askback.db), sqlite:///relative.db, sqlite:////absolute/path.db or "
    "postgresql://user:password@host/database."
)


def database_of(url: str) -> Path | PostgresAddress:
    """The database that is meant: an SQLite file, or one of a PostgreSQL server. Raises `OperatorError`."""
    scheme, separator, _ = url.strip().partition("://")
    if separator and scheme.lower() in SCHEMES:
        return PostgresAddress.read(url.strip())
    return database_path(url)


def database_path(url: str) -> Path:
    """The SQLite file that is meant: a plain path, `sqlite:///relative.db` or `sqlite:////absolute.db`.

    What is not understood is never quoted back beyond its scheme: it may hold a password.
    """
    url = url.strip()
    scheme, separator, rest = url.partition("://")
    if not separator:
        return _path(url)
    scheme = scheme.lower()
    if scheme.partition("+")[0] in {"postgres", "postgresql"}:
        raise OperatorError(
            "ASKBACK_DATABASE_URL names a PostgreSQL database; this is about a file of SQLite. " + _FORMS
        )
    if scheme not in {"sqlite", "sqlite+pysqlite"}:
        raise OperatorError(
            f"ASKBACK_DATABASE_URL starts with {scheme}://, but askback stores in SQLite and PostgreSQL only. " + _FORMS
        )
    if rest and not rest.startswith("/"):
        raise OperatorError(
            "ASKBACK_DATABASE_URL needs three slashes for a relative file and four for an absolute one. " + _FORMS
        )
    return _path(rest[1:])


def _path(name: str) -> Path:
    if name == ":memory:":
        raise OperatorError(
            "ASKBACK_DATABASE_URL names a database in memory, but questions must outlive a restart. " + _FORMS
        )
    if not name or "\0" in name:
        raise OperatorError("ASKBACK_DATABASE_URL names no file. " + _FORMS)
    if name.startswith("file:"):
        raise OperatorError(
            "ASKBACK_DATABASE_URL is one of SQLite's file: URIs, which askback does not read. " + _FORMS
        )
    if "?" in name:
        raise OperatorError("ASKBACK_DATABASE_URL has options after a ?, which askback does not read. " + _FORMS)
    try:
        path = Path(name).expanduser()
    except RuntimeError:
        raise OperatorError("ASKBACK_DATABASE_URL names the home of somebody who is not known here.") from None
    if not path.name or path.is_dir():
        raise OperatorError("ASKBACK_DATABASE_URL names a folder, but a file is wanted. " + _FORMS)
    return path
