"""Of which platforms a process takes work, and which of them others serve. Runs inside a caller's transaction."""

from __future__ import annotations

__all__ = [
    "SERVING", "STALLED_SECONDS", "Served", "announce", "is_served", "key_of", "platform_of", "read_served", "serving",
    "written_served",
]  # fmt: skip

from typing import TypeAlias
from urllib.parse import quote, unquote

from sqlalchemy import ColumnElement, Connection, false, func, or_, text, true

Served: TypeAlias = frozenset[str] | None
"""Names of platforms; None: every one."""

STALLED_SECONDS = 4.0
"""A process whose heart did not beat for so long has died, or cannot reach the database."""

# Beside the heart of a process, as procrastinate keeps it.
_ANNOUNCE = text("INSERT INTO meta (name, value) VALUES (:name, :value) ON CONFLICT (name) DO NOTHING")
_FORGET = text(
    "DELETE FROM meta WHERE name LIKE 'worker %' "
    "AND NOT EXISTS (SELECT 1 FROM procrastinate_workers WHERE meta.name = 'worker ' || procrastinate_workers.id)"
)
SERVING = (
    "SELECT meta.value FROM procrastinate_workers worker LEFT JOIN meta ON meta.name = 'worker ' || worker.id "  # noqa: S608 - a constant
    f"WHERE worker.last_heartbeat >= now() - make_interval(secs => {STALLED_SECONDS})"
)
"""What each process has written whose heart beats, for `read_served`."""


def is_served(place_key: ColumnElement[str], served: Served) -> ColumnElement[bool]:
    """Whether a place is on one of these platforms."""
    if served is None:
        return true()
    begins = [f"{key_of(name)}:" for name in sorted(served)]
    return or_(false(), *(func.substr(place_key, 1, len(begin)) == begin for begin in begins))


def key_of(platform: str) -> str:
    """What the key of every place on a platform has before its first colon (`Place.key`)."""
    return quote(platform, safe="")


def platform_of(place_key: str) -> str:
    """The platform of a place, by its key."""
    return unquote(place_key.partition(":")[0])


def announce(connection: Connection, worker_id: int, served: frozenset[str]) -> None:
    """Tell the others of which platforms this process takes work, while its heart beats."""
    connection.execute(_ANNOUNCE, {"name": f"worker {worker_id}", "value": written_served(served)})
    connection.execute(_FORGET)


def serving(connection: Connection) -> tuple[Served, ...]:
    """Of which platforms each process takes work whose heart beats. None: it has not said so, such as one of an
    earlier release, and may do so for every one."""
    return tuple(map(read_served, connection.exec_driver_sql(SERVING).scalars()))


def written_served(served: frozenset[str]) -> str:
    """For others to read."""
    return " ".join(sorted(map(key_of, served)))


def read_served(written: str | None) -> Served:
    return None if written is None else frozenset(map(unquote, written.split()))
