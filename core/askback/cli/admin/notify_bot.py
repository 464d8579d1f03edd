"""Notify the running bot of a command's changes."""

from __future__ import annotations

__all__ = ["notify"]

from pathlib import Path

from askback.runtime.wakeup import wake_worker
from askback.store.external_access import DatabaseLocation, find_worker_pid, read_snapshot
from askback.store.postgres.address import PostgresAddress


def notify(where: DatabaseLocation, does: str, is_done: str) -> str:
    """Notify the process that works on the database, and return a sentence about the consequence.

    `does` is what a running bot then does. `is_done` says the same for a bot that starts later.
    """
    nobody = f"No bot is running on this database. When one starts, {is_done}."
    return (
        _describe_postgres_workers(where, does, nobody)
        if isinstance(where, PostgresAddress)
        else _wake_sqlite_worker(where, does, nobody)
    )


def _wake_sqlite_worker(path: Path, does: str, nobody: str) -> str:
    if wake_worker(path):
        return f"Notified the running bot: it {does}."
    worker = find_worker_pid(path)
    if worker is None:
        return nobody
    return f"Could not notify the running bot (process {worker}). It notices the change within 30 seconds."


def _describe_postgres_workers(address: PostgresAddress, does: str, nobody: str) -> str:
    from askback.store.postgres.external_access import list_processes

    there = read_snapshot(address, list_processes)
    if there.hearing:
        return f"Notified the running bot: it {does}."
    if there.serving:
        return "The running bot does not listen for notifications now. It notices the change within some seconds."
    return nobody
