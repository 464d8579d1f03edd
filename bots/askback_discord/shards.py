"""Divides Discord's events between several processes."""

from __future__ import annotations

__all__ = ["Shard"]

import re
from dataclasses import dataclass
from typing import Self

_WRITTEN = re.compile(r"([0-9]{1,5})/([0-9]{1,5})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `count` gateway sessions, numbered from 0. Only listening is divided: any process can post anywhere."""

    number: int = 0
    count: int = 1

    @classmethod
    def read(cls, text: str) -> Self:
        """Read `NUMBER/COUNT`. Raises `ValueError` with the required form."""
        match = _WRITTEN.fullmatch(text.strip())
        number, count = (int(match[1]), int(match[2])) if match else (0, 0)
        if number >= count:
            raise ValueError(
                "is not a shard: write NUMBER/COUNT, counted from 0, such as 0/2 and 1/2 for two processes"
            )
        return cls(number, count)

    def contains(self, guild: str | None) -> bool:
        """Return True if the shard receives the events of a server.

        None means direct messages, all of which go to the first shard.
        """
        # https://docs.discord.com/developers/events/gateway#sharding-sharding-formula
        return self.number == (0 if guild is None or not guild.isdigit() else (int(guild) >> 22) % self.count)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"
