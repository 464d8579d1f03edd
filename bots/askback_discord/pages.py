"""Content laid out in messages: nothing is cut, what does not fit goes on in a further message."""

from __future__ import annotations

__all__ = ["CONTINUED", "GOES_ON", "Room", "pages"]

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from askback.text.literal import size
from askback_discord import limits
from askback_discord.components import Component, display
from askback_discord.parts import Block, Part, Text, Unit

GOES_ON: Final = "-# Goes on in the next message ↓"
CONTINUED: Final = "-# (continued)"
LEAST: Final = 300
"""Characters of room below which a text is not begun in a message that holds something already."""
TOGETHER: Final = 1_500
"""Characters up to which a unit is kept together."""


@dataclass(slots=True)
class Room:
    """What a message has room for, or something takes."""

    characters: int = limits.TEXT
    octets: int = limits.MESSAGE_BYTES
    components: int = limits.COMPONENTS

    def take(self, taken: Room) -> None:
        self.characters -= taken.characters
        self.octets -= taken.octets
        self.components -= taken.components

    @property
    def is_enough(self) -> bool:
        return min(self.characters, self.octets, self.components) >= 0

    @classmethod
    def of(cls, components: list[Component]) -> Room:
        """What these take."""
        return cls(limits.shown([*components]), limits.weight([*components]), limits.count([*components]))


@dataclass
class _Page:
    """One message being filled."""

    room: Room = field(default_factory=Room)
    """What is still free."""
    done: list[Component] = field(default_factory=list[Component])
    written: str | None = None
    """The display that is being written."""
    fresh: bool = True
    """Whether nothing of the content stands in it; a caption may."""

    def takes(self, parts: Iterable[Part]) -> bool:
        """Whether all of it fits."""
        left, fresh, is_open = replace(self.room), self.fresh, self.written is not None
        for part in parts:
            left.take(_needs(part, fresh=fresh, is_open=is_open))
            fresh, is_open = False, isinstance(part, Text)
        return left.is_enough

    def add(self, part: Part) -> None:
        """Put it at the end."""
        is_open = self.written is not None
        self.room.take(_needs(part, fresh=self.fresh, is_open=is_open))
        if isinstance(part, Block):
            self.close()
            self.done.append(part.component)
        else:
            joint = _joint(part, fresh=self.fresh, is_open=is_open)
            if joint is None:
                self.close()
            self.written = f"{self.written or ''}{joint or ''}{part.markdown}"
        self.fresh = False

    def split(self, part: Text) -> tuple[Text, Text]:
        """As much of a text as fits, and the rest."""
        around = _needs(replace(part, words=""), fresh=self.fresh, is_open=self.written is not None)
        return part.split(self.room.characters - around.characters, self.room.octets - around.octets)

    def can_begin(self, part: Text) -> bool:
        """Whether there is room enough for its beginning to stand here."""
        if not part.can_be_split or self.room.components < 1:
            return False
        return self.fresh or (self.room.characters >= LEAST and self.room.octets >= 3 * LEAST)

    def close(self) -> list[Component]:
        """End the display that is being written."""
        if self.written is not None:
            self.done.append(display(self.written))
        self.written = None
        return self.done


def pages(units: list[Unit], reserved: Room) -> list[list[Component]]:
    """The content of each message; the first leaves `reserved` free, and each a place to say that it goes on."""
    first = _Page()
    first.room.take(reserved)
    first.room.take(_NOTE)
    filled = [first]
    for unit in units:
        if not filled[-1].takes(unit) and not filled[-1].fresh and _is_short(unit):
            filled.append(_further())
        for part in unit:
            _flow(filled, part)
    return [page.close() for page in filled]


def _flow(filled: list[_Page], part: Part) -> None:
    """Put a part at the end, in pieces where it does not fit as a whole."""
    while not filled[-1].takes([part]):
        page = filled[-1]
        if isinstance(part, Text) and page.can_begin(part):
            head, part = page.split(part)
            page.add(head)
        filled.append(_further())
    filled[-1].add(part)


def _is_short(unit: Unit) -> bool:
    """Whether it is better kept together in a further message than begun in this one."""
    whole = _further()
    whole.room.characters = min(whole.room.characters, TOGETHER)
    return whole.takes(unit)


def _further() -> _Page:
    """A further message."""
    page = _Page(written=CONTINUED)
    page.room.take(_needs(Text(CONTINUED), fresh=False, is_open=False))
    page.room.take(_NOTE)
    return page


def _joint(part: Text, *, fresh: bool, is_open: bool) -> str | None:
    """What stands between a text and the one before it in the same display. None: it begins a display."""
    if not is_open:
        return None
    if fresh:
        return "\n"  # below the caption
    return None if part.opens else part.before


def _needs(part: Part, *, fresh: bool, is_open: bool) -> Room:
    """What it takes."""
    if isinstance(part, Block):
        return Room.of([part.component])
    joint = _joint(part, fresh=fresh, is_open=is_open)
    if joint is None:
        return Room.of([display(part.markdown)])
    words = joint + part.markdown
    return Room(size(words), len(words.encode()), 0)


_NOTE: Final = Room.of([display(GOES_ON)])
