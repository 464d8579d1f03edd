"""Limit the bytes of request bodies that are held before anybody knows who sent them.

A signature covers the whole body, so a stranger's body is held until it has arrived. Many of them together could take
all memory.
"""

from __future__ import annotations

__all__ = ["BodyLimiter", "HeldBody"]

from collections.abc import Generator
from contextlib import contextmanager

MOST_BYTES = 16_000_000
"""Most bytes of large bodies that are held together."""
SMALL_BYTES = 100_000
"""A body of at most this size always has room, within the limit of connections. Clicks are smaller, so that large
bodies of strangers keep none out."""


class BodyLimiter:
    """The unverified bodies of one listener."""

    def __init__(self) -> None:
        self._held = 0

    @contextmanager
    def hold(self) -> Generator[HeldBody]:
        """Count one body until the block ends: it is verified then, or rejected."""
        body = HeldBody(self)
        try:
            yield body
        finally:
            self._held -= body.counted

    def try_take(self, size: int) -> bool:
        """Count further bytes of a large body. Return False if they exceed the limit."""
        if self._held + size > MOST_BYTES:
            return False
        self._held += size
        return True


class HeldBody:
    """One body that is being read."""

    def __init__(self, limiter: BodyLimiter) -> None:
        self._limiter = limiter
        self.counted = 0
        """The bytes of this body that count towards the limit."""

    def has_room(self, size: int) -> bool:
        """Count the body's size so far. Return False if the body must be rejected."""
        more = size - self.counted
        if size <= SMALL_BYTES or more <= 0:
            return True
        if not self._limiter.try_take(more):
            return False
        self.counted = size
        return True
