"""`askback pending`: the questions that wait for people."""

from __future__ import annotations

__all__ = ["pending"]

import sys

from rich.console import Console
from rich.text import Text

from askback.asks import Ask
from askback.clock import utc_now
from askback.operate.asked import ago, deciding, gist, people, standing, summary, until, where
from askback.store import asks
from askback.store.beside import NoDatabase, Where, look
from askback.text.terminal import json_line


def pending(where: Where, console: Console, *, as_json: bool) -> int:
    """Print the open asks, oldest first. Raises `OperatorError` where they cannot be read."""
    try:
        found = look(where, asks.pending)
    except NoDatabase as error:
        found = ()
        none = str(error)
    else:
        none = "No question is open."
    if as_json:
        for ask in found:
            sys.stdout.write(json_line(summary(ask)) + "\n")
        return 0
    if not found:
        console.print(Text(none))
    for number, ask in enumerate(found):
        if number:
            console.print()
        _print(ask, console)
    return 0


def _print(ask: Ask, console: Console) -> None:
    now = utc_now()
    console.print(
        Text.assemble((ask.id, "bold"), f"  open {ago(ask.created_at, now)}, {until(ask.policy.deadline, now)}")
    )
    tally = standing(ask)
    so_far = () if tally is None else (deciding(tally),)
    for line in (gist(ask), f"asked: {people(ask.policy.who)}", *so_far, where(ask)):
        console.print(Text(f"  {line}"))
