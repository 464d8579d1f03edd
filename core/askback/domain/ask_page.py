"""A page of a long list of questions, and the cursor with which a caller gets the next one."""

from __future__ import annotations

__all__ = ["MOST_LISTED", "AskPage", "Cursor"]

import re
from dataclasses import dataclass
from typing import Final

from askback.domain.ask import Ask
from askback.errors import CallerError

MOST_LISTED: Final = 100
"""Maximum number of questions that a caller gets at a time."""
_CURSOR: Final = re.compile(r"([0-9]{1,16})-([A-Za-z0-9_-]{1,64})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last question of a page: the next page has those that were asked after it, even if it has ended."""

    created_at: int
    """The time of asking, in microseconds since the epoch."""
    id: str

    def __str__(self) -> str:
        return f"{self.created_at}-{self.id}"

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """Return the cursor that a caller sends back. Raises `CallerError`."""
        found = _CURSOR.fullmatch(text)
        if found is None:
            raise CallerError(f"cursor={text[:20]!r} is not a cursor: use a `next_cursor` as it is, or leave it out.")
        return cls(int(found[1]), found[2])


@dataclass(frozen=True, slots=True)
class AskPage:
    """Questions of a list, and what it leaves out."""

    asks: tuple[Ask, ...] = ()
    more: int = 0
    """The number of questions beyond this page."""
    next: Cursor | None = None
    """None on the last page, and for a list that has no other page."""
