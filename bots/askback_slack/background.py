"""What is done behind acks: it belongs to the connection, and does not outlive it for long."""

from __future__ import annotations

__all__ = ["Background"]

import asyncio
from collections.abc import Coroutine
from contextvars import Context
from typing import TypeVar

T = TypeVar("T")


class Background(asyncio.TaskGroup):
    """A task group that can be told to come to its end."""

    def __init__(self) -> None:
        super().__init__()
        self._going: set[asyncio.Task[object]] = set()

    def create_task(  # pyright: ignore[reportIncompatibleMethodOverride] - nobody here gives it a generator
        self, coro: Coroutine[object, object, T], *, name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[T]:
        task = super().create_task(coro, name=name, context=context)
        self._going.add(task)
        task.add_done_callback(self._going.discard)
        return task

    async def settle(self, seconds: float) -> None:
        """Wait for what goes on, so many seconds at most; what does not end then is the outbox's, or lost."""
        if self._going:
            _, late = await asyncio.wait(set(self._going), timeout=seconds)
            for task in late:
                task.cancel()
