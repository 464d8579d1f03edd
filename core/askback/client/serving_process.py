"""Finds out if another process serves a platform's questions, so that this one need not run a bot."""

from __future__ import annotations

__all__ = ["check_bots", "is_connecting", "is_served"]

from pathlib import Path

from askback.errors import OperatorError
from askback.store.external_access import (
    DatabaseLocation,
    find_worker_pid,
    list_away_platforms,
    list_worker_platforms,
    read_snapshot,
)
from askback.store.postgres.address import PostgresAddress


def is_served(where: DatabaseLocation, platform: str, *, surely: bool = False) -> bool:
    """Return True if another process can deliver the questions and receive their answers.

    On PostgreSQL, that process must serve the platform. With `surely`, one that has not announced its platforms
    does not count. One that is still connecting to the platform counts. Raises `OperatorError` if the only process
    that may open the file does not serve the platform.
    """
    if not isinstance(where, PostgresAddress):
        return find_worker_pid(where) is not None and _is_platform_served(where, platform)
    from askback.store.postgres.external_access import list_processes

    try:
        there = read_snapshot(where, list_processes)
    except OperatorError:
        return False  # nothing exists yet, or opening the database reports the error
    return there.serve(platform) if surely else there.may_serve(platform)


def is_connecting(where: DatabaseLocation, platform: str) -> bool:
    """Return True if the process that uses a file is still connecting to the platform. Raises as `is_served` does."""
    if isinstance(where, PostgresAddress) or not is_served(where, platform):
        return False
    return platform in list_away_platforms(where)


def check_bots(where: DatabaseLocation, platform: str) -> None:
    """Raise `OperatorError` if the only process that may open the file was started without the platform's bot.

    A platform that is away for now raises nothing.
    """
    if isinstance(where, PostgresAddress) or find_worker_pid(where) is None:
        return
    if platform not in list_away_platforms(where):
        _is_platform_served(where, platform)


def _is_platform_served(path: Path, platform: str) -> bool:
    served, away = list_worker_platforms(path), list_away_platforms(path).get(platform)
    if served is None or platform in served or away == "":
        return True
    if away is not None:
        raise OperatorError(f"The process that uses this SQLite database cannot serve {platform}: {away}")
    if not served:
        raise OperatorError(
            f"Another process uses this SQLite database and runs no bot. Let that process run the {platform} "
            "bot (the first argument of `running`), or use PostgreSQL, where several processes can work."
        )
    raise OperatorError(
        f"The process that uses this SQLite database serves {' and '.join(sorted(served))}, not {platform}. "
        "Run both bots in one process (`askback run`), or use PostgreSQL."
    )
