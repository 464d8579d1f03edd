"""Run `askback pending`: list the questions that wait for people."""

from __future__ import annotations

__all__ = ["print_pending"]

import sys

from rich.console import Console
from rich.text import Text
from sqlalchemy import Connection

from askback.client.summary import (
    describe_timeout,
    format_age,
    format_people,
    format_place,
    format_question,
    format_time_left,
    format_vote_state,
    get_tally,
    to_json,
)
from askback.domain.ask import Ask
from askback.internal.clock import utc_now
from askback.store.external_access import DatabaseLocation, DatabaseNotFound, read_snapshot
from askback.store.queries import asks, audit
from askback.text.terminal import to_json_line, to_terminal_text


def print_pending(where: DatabaseLocation, console: Console, *, as_json: bool) -> int:
    """Print the open asks, oldest first. Raises `OperatorError` if they cannot be read."""
    try:
        found = read_snapshot(where, _list_open)
    except DatabaseNotFound as error:
        found = ()
        none = str(error)
    else:
        none = "There are no open questions."
    if as_json:
        for ask, held_back in found:
            sys.stdout.write(to_json_line(to_json(ask) | {"not_shown": held_back}) + "\n")
        return 0
    if not found:
        console.print(Text(none))
    for number, (ask, held_back) in enumerate(found):
        if number:
            console.print()
        _print(ask, held_back, console)
    return 0


def _list_open(connection: Connection) -> tuple[tuple[Ask, str | None], ...]:
    """Return the open asks, each with the platform's error if it was not posted yet."""
    found = asks.list_open(connection)
    return tuple((ask, None if ask.messages else _get_post_error(connection, ask)) for ask in found)


def _get_post_error(connection: Connection, ask: Ask) -> str | None:
    waiting = audit.get_pending_update(connection, ask.id)
    return None if waiting is None else waiting.error


def _print(ask: Ask, held_back: str | None, console: Console) -> None:
    now = utc_now()
    until, then = format_time_left(ask.policy.deadline, now), describe_timeout(ask)
    console.print(
        Text.assemble(
            (ask.id, "bold"),
            f"  open {format_age(ask.created_at, now)}, {until}{'' if then is None else f', {then}'}",
        )
    )
    tally = get_tally(ask)
    so_far = () if tally is None else (format_vote_state(tally),)
    unseen = () if held_back is None else (f"not shown yet: {to_terminal_text(held_back)}",)
    for line in (format_question(ask), f"asked: {format_people(ask.policy.who)}", *so_far, format_place(ask), *unseen):
        console.print(Text(f"  {line}"))
