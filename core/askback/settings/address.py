"""An address to listen at, HOST:PORT. The default host is this machine only."""

from __future__ import annotations

__all__ = ["Address", "check_address", "is_address", "is_loopback"]

import re
from urllib.parse import urlsplit

from askback.internal.values import Value

LOOPBACK = "127.0.0.1"
_LOOPBACK_HOSTS = frozenset({LOOPBACK, "localhost", "::1"})
_FORM = re.compile(r"(?:(?:\[(?P<six>[0-9A-Fa-f:.%a-z]+)\]|(?P<host>[A-Za-z0-9._-]*)):)?(?P<port>[0-9]{1,5})")


class Address(Value):
    """A host and a port. Port 0 means any free port."""

    host: str
    port: int

    @classmethod
    def read(cls, text: str) -> Address:
        """Read `127.0.0.1:3000`, `[::1]:3000`, `:3000` or `3000`. Raises `ValueError` with the problem."""
        match = _FORM.fullmatch(text.strip())
        if match is None or int(match["port"]) > 65535:
            raise ValueError("is not HOST:PORT")
        return cls(host=match["six"] or match["host"] or LOOPBACK, port=int(match["port"]))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def check_address(value: str | None) -> str | None:
    """Return HOST:PORT in full; None for None. Raises `ValueError` if the text is not an address."""
    return None if value is None else str(Address.read(value))


def is_address(text: str, *schemes: str) -> bool:
    """Return True if a text is a URL with one of these schemes and a host."""
    try:
        parts = urlsplit(text)
        return parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid port, or a bracket that is not closed
        return False


def is_loopback(host: str | None) -> bool:
    """Return True if only programs on this machine reach this host."""
    return host in _LOOPBACK_HOSTS
