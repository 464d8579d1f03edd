"""Rows that a newer release wrote, in an upgrade of one process after the other: they are left to its processes."""

from __future__ import annotations

__all__ = ["Left", "Unreadable", "reading"]

import logging
from collections import defaultdict
from collections.abc import Generator, Hashable, Sequence
from contextlib import contextmanager
from typing import Literal, TypeVar

from askback.store.errors import StoreUnavailable

log = logging.getLogger("askback.store")

Kind = Literal["outbox", "ask", "turn"]
Id = TypeVar("Id", bound=Hashable)

MOST = 1000
"""How many rows of a kind are remembered; further ones are read again and again, without harm."""

_WHAT = {
    "outbox": "Something that people are to see",
    "ask": "A question",
    "turn": "A conversation",
}


class Unreadable(StoreUnavailable):
    """A row has something in it that this release does not know."""


@contextmanager
def reading(what: str) -> Generator[None]:
    """Raise `Unreadable` where the block cannot build a value of a row. Rather no value than one by half its rules."""
    try:
        yield
    except (ValueError, TypeError, KeyError) as error:
        raise Unreadable(
            f"{what} cannot be read: replace this process where a newer askback works on the same database, too."
        ) from error


class Left:
    """What this process has met and cannot read, for as long as it lives."""

    def __init__(self) -> None:
        self._ids: defaultdict[Kind, dict[Hashable, None]] = defaultdict(dict)
        self._logged: set[Kind] = set()

    def add(self, kind: Kind, id_: Hashable, error: Unreadable) -> None:
        """Leave a row to others. The log says so for the first of its kind."""
        known = self._ids[kind]
        known[id_] = None
        if len(known) > MOST:
            del known[next(iter(known))]
        if kind in self._logged:
            return
        self._logged.add(kind)
        log.warning(
            "%s was stored by a newer askback and waits for a process of it: %s. Finish the upgrade: replace this "
            "process. Where the newer release was taken away again, start it once more until nothing waits.",
            _WHAT[kind],
            type(error.__cause__).__name__,
            extra={"action": "left_to_newer", "kind": kind, "id": str(id_)},
        )

    def ids(self, kind: Kind, of: type[Id]) -> Sequence[Id]:
        """Return the rows of a kind that are left."""
        return [one for one in self._ids[kind] if isinstance(one, of)]
