"""The platforms that each process serves. Functions with a `Connection` run inside a caller's transaction."""

from __future__ import annotations

__all__ = [
    "SERVING",
    "STALLED_SECONDS",
    "ServedPlatforms",
    "announce_platforms",
    "decode_platforms",
    "encode_platforms",
    "is_served",
    "list_served_platforms",
    "parse_platform",
    "to_key_prefix",
]  # fmt: skip

from typing import TypeAlias
from urllib.parse import quote, unquote

from sqlalchemy import ColumnElement, Connection, false, func, or_, text, true

ServedPlatforms: TypeAlias = frozenset[str] | None
"""Names of platforms. None means every platform."""

STALLED_SECONDS = 4.0
"""Seconds after which a process without a heartbeat counts as dead or cut off from the database."""

# Stored next to the heartbeat of a process, which procrastinate keeps.
_ANNOUNCE = text("INSERT INTO meta (name, value) VALUES (:name, :value) ON CONFLICT (name) DO NOTHING")
_FORGET = text(
    "DELETE FROM meta WHERE name LIKE 'worker %' "
    "AND NOT EXISTS (SELECT 1 FROM procrastinate_workers WHERE meta.name = 'worker ' || procrastinate_workers.id)"
)
SERVING = (
    "SELECT meta.value FROM procrastinate_workers worker LEFT JOIN meta ON meta.name = 'worker ' || worker.id "  # noqa: S608 - a constant
    f"WHERE worker.last_heartbeat >= now() - make_interval(secs => {STALLED_SECONDS})"
)
"""Query for the platforms, as `decode_platforms` reads them, of each process with a recent heartbeat."""


def is_served(place_key: ColumnElement[str], served: ServedPlatforms) -> ColumnElement[bool]:
    """Return an SQL condition that is true if a place is on one of these platforms."""
    if served is None:
        return true()
    begins = [f"{to_key_prefix(name)}:" for name in sorted(served)]
    return or_(false(), *(func.substr(place_key, 1, len(begin)) == begin for begin in begins))


def to_key_prefix(platform: str) -> str:
    """Return the part before the first colon in the key of every place on a platform (`Place.key`)."""
    return quote(platform, safe="")


def parse_platform(place_key: str) -> str:
    """Return the platform of a place, by the place's key."""
    return unquote(place_key.partition(":")[0])


def announce_platforms(connection: Connection, worker_id: int, served: frozenset[str]) -> None:
    """Announce the platforms that this process serves, to be valid while it has a heartbeat."""
    connection.execute(_ANNOUNCE, {"name": f"worker {worker_id}", "value": encode_platforms(served)})
    connection.execute(_FORGET)


def list_served_platforms(connection: Connection) -> tuple[ServedPlatforms, ...]:
    """Return the platforms of each process with a recent heartbeat.

    None for a process that did not announce them, such as one of an earlier release. It may serve every platform.
    """
    return tuple(map(decode_platforms, connection.exec_driver_sql(SERVING).scalars()))


def encode_platforms(served: frozenset[str]) -> str:
    """Return platforms as text for other processes, which `decode_platforms` parses."""
    return " ".join(sorted(map(to_key_prefix, served)))


def decode_platforms(written: str | None) -> ServedPlatforms:
    return None if written is None else frozenset(map(unquote, written.split()))
