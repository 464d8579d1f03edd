"""The address of a PostgreSQL database. It is never shown whole, since it may contain a password."""

from __future__ import annotations

__all__ = ["UNREADABLE", "PostgresAddress"]

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from askback.errors import OperatorError
from askback.text.redaction import register_secrets

UNREADABLE = (
    "ASKBACK_DATABASE_URL is not a valid URL, or has an option that PostgreSQL does not know. Use "
    "postgresql://user:password@host/database. In the password, percent-encode characters such as @, %, /, ?, #, : "
    "and spaces."
)
# libpq accepts several hosts, for example a primary and its standbys.
_HOSTS = re.compile(r"(?:(?:\[[^]]*\]|[^][:,]*)(?::\d*)?(?:,|$))*")
_NO_URL = re.compile(r"[\s\x00-\x20\x7f\\]")
_NO_ESCAPE = re.compile(r"%(?:00|(?![0-9A-Fa-f]{2}))")
SCHEMES = frozenset({"postgres", "postgresql", "postgresql+psycopg"})


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """The address of a database on a PostgreSQL server."""

    url: str = field(repr=False)
    """The URL for libpq, with any password."""
    shown: str
    """The URL without user, password and options."""

    @classmethod
    def read(cls, url: str) -> PostgresAddress:
        """Parse a URL. Raises `OperatorError`, which never quotes the URL."""
        try:
            parts = urlsplit(url)
            password = parts.password
        except ValueError:
            raise OperatorError(UNREADABLE) from None
        user, _, host = parts.netloc.rpartition("@")
        if not _HOSTS.fullmatch(host) or parts.fragment or any("@" in part for part in (user, parts.path, parts.query)):
            # The password contains a character that should be escaped, so part of it looks like the host or an option.
            raise OperatorError(UNREADABLE)
        if _NO_URL.search(url) or _NO_ESCAPE.search(url):
            raise OperatorError(UNREADABLE)
        if password:
            register_secrets(password, unquote(password))
        register_secrets(*(value for name, value in parse_qsl(parts.query) if "password" in name))
        return cls(url=f"postgresql:{url.partition(':')[2]}", shown=f"postgresql://{host}{parts.path}")

    def __str__(self) -> str:
        return self.shown
