"""Lays out content in messages. Nothing is cut: what does not fit continues in the next message."""

from __future__ import annotations

__all__ = ["CONTINUED", "GOES_ON", "Space", "split_pages"]

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from askback.text.literal import count_utf16_units
from askback.translations.catalogue import N_, _
from askback_discord import limits
from askback_discord.card_parts import Block, Part, Text, Unit
from askback_discord.components import Component, container, display

GOES_ON: Final = N_("-# Continues in the next message ↓")
CONTINUED: Final = N_("-# (continued)")
LEAST: Final = 300
"""Minimum number of free characters for a text to start in a message that already has content."""
TOGETHER: Final = 1_500
"""Maximum number of characters of a unit that stays in one message."""


@dataclass(slots=True)
class Space:
    """The space in a message, or the space that content takes."""

    characters: int = limits.TEXT
    octets: int = limits.MESSAGE_BYTES
    components: int = limits.COMPONENTS

    def take(self, taken: Space) -> None:
        self.characters -= taken.characters
        self.octets -= taken.octets
        self.components -= taken.components

    @property
    def is_enough(self) -> bool:
        return min(self.characters, self.octets, self.components) >= 0

    @classmethod
    def measure(cls, components: list[Component]) -> Space:
        """Return the space that the components take."""
        return cls(limits.count_characters([*components]), limits.measure([*components]), limits.count([*components]))


@dataclass
class _Page:
    """A message that is being filled."""

    room: Space = field(default_factory=Space)
    """The space that is still free."""
    done: list[Component] = field(default_factory=list[Component])
    written: str | None = None
    """The text of the display that is still open."""
    fresh: bool = True
    """True if it has no content yet; it may have a caption."""

    def fits(self, parts: Iterable[Part]) -> bool:
        """Return True if all parts fit."""
        left, fresh, is_open = replace(self.room), self.fresh, self.written is not None
        for part in parts:
            left.take(_measure(part, fresh=fresh, is_open=is_open))
            fresh, is_open = False, isinstance(part, Text)
        return left.is_enough

    def add(self, part: Part) -> None:
        """Append a part."""
        is_open = self.written is not None
        self.room.take(_measure(part, fresh=self.fresh, is_open=is_open))
        if isinstance(part, Block):
            self.close()
            self.done.append(part.component)
        else:
            joint = _get_separator(part, fresh=self.fresh, is_open=is_open)
            if joint is None:
                self.close()
            self.written = f"{self.written or ''}{joint or ''}{part.markdown}"
        self.fresh = False

    def split(self, part: Text) -> tuple[Text, Text]:
        """Split a text into as much as fits, and the rest."""
        around = _measure(replace(part, words=""), fresh=self.fresh, is_open=self.written is not None)
        return part.split(self.room.characters - around.characters, self.room.octets - around.octets)

    def can_begin(self, part: Text) -> bool:
        """Return True if there is enough space to start the text here."""
        if not part.can_be_split or self.room.components < 1:
            return False
        return self.fresh or (self.room.characters >= LEAST and self.room.octets >= 3 * LEAST)

    def close(self) -> list[Component]:
        """Close the open display and return the page's components."""
        if self.written is not None:
            self.done.append(display(self.written))
        self.written = None
        return self.done


def split_pages(units: list[Unit], reserved: Space) -> list[list[Component]]:
    """Return the content of each message.

    The first message leaves the space in `reserved`, and each message leaves space for the note that it continues.
    """
    first = _Page()
    first.room.take(reserved)
    first.room.take(_measure_note())
    first.room.take(_FRAME)
    filled = [first]
    for unit in units:
        if not filled[-1].fits(unit) and not filled[-1].fresh and _is_short(unit):
            filled.append(_open_page())
        for part in unit:
            _append(filled, part)
    return [page.close() for page in filled]


def _append(filled: list[_Page], part: Part) -> None:
    """Append a part. A part that does not fit as a whole is split or moved to a further message."""
    while not filled[-1].fits([part]):
        page = filled[-1]
        if isinstance(part, Text) and page.can_begin(part):
            head, part = page.split(part)
            page.add(head)
        filled.append(_open_page())
    filled[-1].add(part)


def _is_short(unit: Unit) -> bool:
    """Return True if the unit is short enough to be kept together in a further message."""
    whole = _open_page()
    whole.room.characters = min(whole.room.characters, TOGETHER)
    return whole.fits(unit)


def _open_page() -> _Page:
    """Return an empty further message with its caption."""
    page = _Page(written=_(CONTINUED))
    page.room.take(_measure(Text(_(CONTINUED)), fresh=False, is_open=False))
    page.room.take(_measure_note())
    page.room.take(_FRAME)
    return page


def _get_separator(part: Text, *, fresh: bool, is_open: bool) -> str | None:
    """Return the text between a part and the previous part of the same display.

    Return None if the part starts a new display.
    """
    if not is_open:
        return None
    if fresh:
        return "\n"  # below the caption
    return None if part.opens else part.before


def _measure(part: Part, *, fresh: bool, is_open: bool) -> Space:
    """Return the space that a part takes."""
    if isinstance(part, Block):
        return Space.measure([part.component])
    joint = _get_separator(part, fresh=fresh, is_open=is_open)
    if joint is None:
        return Space.measure([display(part.markdown)])
    words = joint + part.markdown
    return Space(count_utf16_units(words), len(words.encode()), 0)


def _measure_note() -> Space:
    return Space.measure([display(_(GOES_ON))])


_FRAME: Final = Space.measure([container([], 0)])
"""The space of the container around a message's content."""
