"""Callers that wait for the outcome of an ask."""

from __future__ import annotations

__all__ = ["Callers"]

import asyncio
from collections.abc import Generator
from contextlib import contextmanager


class Callers:
    """Wakes callers when the ask that they wait for may have changed."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = {}

    @contextmanager
    def register(self, ask_id: str) -> Generator[asyncio.Event]:
        """Register a caller. The event is set whenever the ask may have changed."""
        event = asyncio.Event()
        self._waiting.setdefault(ask_id, set()).add(event)
        try:
            yield event
        finally:
            events = self._waiting.get(ask_id, set())
            events.discard(event)
            if not events:
                self._waiting.pop(ask_id, None)

    def wake(self, ask_id: str | None = None) -> None:
        """Make callers read the store again: those that wait for this ask, or all if it is None."""
        if ask_id is not None:
            for event in self._waiting.get(ask_id, set()):
                event.set()
            return
        for events in self._waiting.values():
            for event in events:
                event.set()
