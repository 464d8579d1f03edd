"""Parse ASKBACK_DATABASE_URL."""

from __future__ import annotations

__all__ = ["get_database_path", "parse_database_url", "resolve_url"]

import re
from pathlib import Path

from askback.errors import OperatorError
from askback.store.postgres.address import SCHEMES, UNREADABLE, PostgresAddress

_FORMS = (
    "Use a file (askback.db), sqlite:///relative.db, sqlite:////absolute/path.db or "
    "postgresql://user:password@host/database."
)
# A URL without its slashes, or libpq's keyword form. Treated as a file name, it would be shown with its password.
_NEARLY = re.compile(
    r"postgres(?:ql)?(?:\+psycopg)?:(?!//)|(?:host|hostaddr|port|user|password|dbname)\s*=", re.IGNORECASE
)


def parse_database_url(url: str) -> Path | PostgresAddress:
    """Return the database that the URL names: an SQLite file or a PostgreSQL database. Raises `OperatorError`."""
    if _NEARLY.match(url.strip()):
        raise OperatorError(UNREADABLE)
    scheme, separator, _ = url.strip().partition("://")
    if separator and scheme.lower() in SCHEMES:
        return PostgresAddress.read(url.strip())
    return get_database_path(url)


def get_database_path(url: str) -> Path:
    """Return the SQLite file of a plain path, `sqlite:///relative.db` or `sqlite:////absolute.db`.

    Raises `OperatorError`. It quotes at most the scheme of a URL that is not understood, since the rest may contain a
    password.
    """
    url = url.strip()
    scheme, separator, rest = url.partition("://")
    if not separator:
        return _to_path(url)
    scheme = scheme.lower()
    if scheme.partition("+")[0] in {"postgres", "postgresql"}:
        raise OperatorError(
            "ASKBACK_DATABASE_URL names a PostgreSQL database, but this command needs an SQLite file. " + _FORMS
        )
    if scheme not in {"sqlite", "sqlite+pysqlite"}:
        raise OperatorError(
            f"ASKBACK_DATABASE_URL starts with {scheme}://, but askback supports only SQLite and PostgreSQL. " + _FORMS
        )
    if rest and not rest.startswith("/"):
        raise OperatorError(
            "ASKBACK_DATABASE_URL needs three slashes for a relative file and four for an absolute one. " + _FORMS
        )
    return _to_path(rest[1:])


def resolve_url(url: str, folder: Path) -> str:
    """Return the URL of the same database, with a relative file resolved against `folder` and not the working
    directory."""
    scheme, separator, rest = url.strip().partition("://")
    name = rest[1:] if separator else scheme
    if separator and (scheme.lower().partition("+")[0] != "sqlite" or not rest.startswith("/")):
        return url
    if not name or name.startswith(("~", ":memory:", "file:")):
        return url
    return f"{scheme}:///{folder / name}" if separator else str(folder / name)


def _to_path(name: str) -> Path:
    if name == ":memory:":
        raise OperatorError(
            "ASKBACK_DATABASE_URL names an in-memory database, but questions must survive a restart. " + _FORMS
        )
    if not name or "\0" in name:
        raise OperatorError("ASKBACK_DATABASE_URL has no file name. " + _FORMS)
    if name.startswith("file:"):
        raise OperatorError("ASKBACK_DATABASE_URL is an SQLite file: URI, which askback does not support. " + _FORMS)
    if "?" in name:
        raise OperatorError("ASKBACK_DATABASE_URL has options after a ?, which askback does not support. " + _FORMS)
    try:
        path = Path(name).expanduser()
    except RuntimeError:
        raise OperatorError("ASKBACK_DATABASE_URL starts with ~ and an unknown user. Give the full path.") from None
    try:
        is_folder = not path.name or path.is_dir()
    except OSError as error:
        raise OperatorError(f"ASKBACK_DATABASE_URL has an invalid path: {error.strerror}. " + _FORMS) from None
    if is_folder:
        raise OperatorError("ASKBACK_DATABASE_URL names a folder, but it must name a file. " + _FORMS)
    return path
