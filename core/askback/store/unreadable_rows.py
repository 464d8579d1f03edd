"""Rows that only a newer release can read, during a rolling upgrade. They are left to its processes."""

from __future__ import annotations

__all__ = ["SkippedRows", "UnreadableRow", "mark_unreadable"]

import logging
from collections import defaultdict
from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Literal, TypeVar

from askback.store.errors import StoreUnavailable

log = logging.getLogger("askback.store")

Kind = Literal["outbox", "ask", "turn"]
Id = TypeVar("Id", bound=Hashable)

MOST = 1000
"""Largest number of remembered rows of a kind. Further ones are read again each time, which is harmless."""

_WHAT = {
    "outbox": "A delivery",
    "ask": "A question",
    "turn": "A conversation",
}


class UnreadableRow(StoreUnavailable):
    """Raised if a row contains something that this release does not know."""


def mark_unreadable(what: str) -> AbstractContextManager[None]:
    """Raise `UnreadableRow` if the block cannot build a value from a row.

    A partly understood value would be worse than none.
    """
    return _Mark(what)


class _Mark:
    """A context manager for each row that is read. One made of a generator takes several times as long."""

    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, ValueError | TypeError | KeyError):
            raise UnreadableRow(
                f"{self._what} has content that this version does not know. If a newer askback uses the same database, "
                "replace this process."
            ) from error


class SkippedRows:
    """The rows that this process could not read, remembered while it runs."""

    def __init__(self) -> None:
        self._ids: defaultdict[Kind, dict[Hashable, None]] = defaultdict(dict)
        self._logged: set[Kind] = set()

    def add(self, kind: Kind, id_: Hashable, error: UnreadableRow) -> None:
        """Leave a row to newer processes. Only the first row of its kind is logged."""
        known = self._ids[kind]
        known[id_] = None
        if len(known) > MOST:
            del known[next(iter(known))]
        if kind in self._logged:
            return
        self._logged.add(kind)
        log.warning(
            "%s waits for a newer askback, which has stored it: %s. Finish the upgrade by replacing this process. If "
            "you have rolled the upgrade back, run the newer version again until nothing waits.",
            _WHAT[kind],
            type(error.__cause__).__name__,
            extra={"action": "left_to_newer", "kind": kind, "id": str(id_)},
        )

    def get_ids(self, kind: Kind, of: type[Id]) -> Sequence[Id]:
        """Return the ids of the rows of a kind that were left."""
        return [one for one in self._ids[kind] if isinstance(one, of)]
