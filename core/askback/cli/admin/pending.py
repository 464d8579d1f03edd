"""Run `askback pending`: list the questions that wait for people."""

from __future__ import annotations

__all__ = ["pending"]

import sys

from rich.console import Console
from rich.text import Text
from sqlalchemy import Connection

from askback.client.summary import ago, deciding, gist, people, standing, summary, until, where
from askback.domain.ask import Ask
from askback.internal.clock import utc_now
from askback.store.external_access import DatabaseLocation, DatabaseNotFound, read_snapshot
from askback.store.tables import asks, audit
from askback.text.terminal import to_json_line, to_terminal_text


def pending(where: DatabaseLocation, console: Console, *, as_json: bool) -> int:
    """Print the open asks, oldest first. Raises `OperatorError` if they cannot be read."""
    try:
        found = read_snapshot(where, _open)
    except DatabaseNotFound as error:
        found = ()
        none = str(error)
    else:
        none = "No question is open."
    if as_json:
        for ask, held_back in found:
            sys.stdout.write(to_json_line(summary(ask) | {"not_shown": held_back}) + "\n")
        return 0
    if not found:
        console.print(Text(none))
    for number, (ask, held_back) in enumerate(found):
        if number:
            console.print()
        _print(ask, held_back, console)
    return 0


def _open(connection: Connection) -> tuple[tuple[Ask, str | None], ...]:
    """Return the open asks, each with the platform's error if it was not posted yet."""
    found = asks.list_open(connection)
    return tuple((ask, None if ask.messages else _held_back(connection, ask)) for ask in found)


def _held_back(connection: Connection, ask: Ask) -> str | None:
    waiting = audit.get_pending_update(connection, ask.id)
    return None if waiting is None else waiting.error


def _print(ask: Ask, held_back: str | None, console: Console) -> None:
    now = utc_now()
    console.print(
        Text.assemble((ask.id, "bold"), f"  open {ago(ask.created_at, now)}, {until(ask.policy.deadline, now)}")
    )
    tally = standing(ask)
    so_far = () if tally is None else (deciding(tally),)
    unseen = () if held_back is None else (f"not shown yet: {to_terminal_text(held_back)}",)
    for line in (gist(ask), f"asked: {people(ask.policy.who)}", *so_far, where(ask), *unseen):
        console.print(Text(f"  {line}"))
