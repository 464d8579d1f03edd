"""The orders for stories, and what was counted of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

GONE = "gone"
"""The end of a process whose framework no longer waits for the call."""


@dataclass(frozen=True)
class Order:
    """A round: stories that are played one after the other, on one database and one platform."""

    platform: str
    store: str
    seed: int
    stories: tuple[tuple[str, str], ...]
    """The door of each story, and the window of its first kill."""
    with_bot: bool
    """True if a bot runs on the same database all the time."""


@dataclass
class Story:
    """One call that waits for people, and the kills of the processes that made it or served it."""

    number: int
    door: str
    site: str
    run: str
    answer: str = ""
    """The answers of people, as soon as the platform has acknowledged them."""
    kills: list[str] = field(default_factory=list[str])
    """The windows of its kills."""
    missed: list[str] = field(default_factory=list[str])
    """The windows that no process reached."""
    ends: list[str] = field(default_factory=list[str])
    """The ends of the last processes, or the results that the client has received."""
    again: int = 0
    """The number of times that somebody decided to hand the answer over once more."""

    @property
    def name(self) -> str:
        """Return a description for a report."""
        return f"{self.door}, {self.site}, killed at {', '.join(self.kills) or 'no window'}"


@dataclass
class Cell:
    """The figures of one door and one window."""

    kills: int = 0
    doubled: int = 0
    lost: int = 0
    unknown: int = 0
    needless: int = 0
    """Outcomes told as unknown without a kill between claim and ack: the process was too slow to renew its claim."""


@dataclass
class Tally:
    """The figures of one or more rounds."""

    cells: dict[tuple[str, str], Cell] = field(default_factory=dict[tuple[str, str], Cell])
    """By the door, and the window of the story's last kill. Each kill counts in the cell of its own window."""
    missed: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """The door and the window of each kill that no process reached."""
    wrong: list[str] = field(default_factory=list[str])
    """Each violation in words."""
    circumstances: Counter[str] = field(default_factory=Counter[str])
    """Kills by platform and store."""

    def cell(self, door: str, window: str) -> Cell:
        return self.cells.setdefault((door, window), Cell())

    def add(self, other: Tally) -> None:
        for key, cell in other.cells.items():
            mine = self.cell(*key)
            for name, value in vars(cell).items():
                setattr(mine, name, getattr(mine, name) + value)
        self.missed += other.missed
        self.wrong += other.wrong
        self.circumstances.update(other.circumstances)

    def sum(self) -> Cell:
        total = Cell()
        for cell in self.cells.values():
            for name, value in vars(cell).items():
                setattr(total, name, getattr(total, name) + value)
        return total
