"""The calls of the model's message that Claude Code receives now, and the tasks that run next to them.

Claude Code begins a call while the rest of the message is still on its way. And of several calls that it defers, only
the last survives. So a call must not be deferred before the message has ended.

A task in the background, such as a subagent, continues the session when it ends. A call that was deferred before
vanishes then, so no call must be deferred while a task runs.
"""

from __future__ import annotations

__all__ = ["BackgroundTasks", "ModelTurn"]

import asyncio
from typing import Final, cast

from claude_agent_sdk import (
    TERMINAL_TASK_STATUSES,
    StreamEvent,
    TaskNotificationMessage,
    TaskStartedMessage,
    TaskUpdatedMessage,
)

LONGEST_DELAY: Final = 10.0
"""Seconds until a call is not deferred, because the stream does not have it. A slow reader can cause a delay."""
LONGEST_MESSAGE: Final = 300.0
"""Seconds until a call is not deferred, because the message that contains it has not ended."""


class ModelTurn:
    """Counts the calls of the newest message."""

    def __init__(self) -> None:
        self._calls: list[str] = []
        self._has_ended = False
        self._changed = asyncio.Event()

    def note(self, event: StreamEvent) -> None:
        """Read an event of the stream. Those of a subagent are ignored."""
        if event.parent_tool_use_id is not None:
            return
        match event.event:
            case {"type": "message_start"}:
                self._calls, self._has_ended = [], False
            case {"type": "content_block_start", "content_block": {"type": "tool_use", "id": identifier}}:
                self._calls.append(cast("str", identifier))
            case {"type": "message_stop"}:
                self._has_ended = True
            case _:
                return
        self._changed.set()
        self._changed = asyncio.Event()

    async def has_only(self, call: str) -> bool:
        """Wait for the end of the message with this call. Return True if it has no other call."""
        try:
            async with asyncio.timeout(LONGEST_DELAY):
                while call not in self._calls:
                    await self._changed.wait()
            async with asyncio.timeout(LONGEST_MESSAGE):
                while not self._has_ended:
                    await self._changed.wait()
        except TimeoutError:
            return False
        return self._calls == [call]


class BackgroundTasks:
    """Counts the tasks of Claude Code that have begun and not ended."""

    def __init__(self) -> None:
        self._running: set[str] = set()

    @property
    def are_running(self) -> bool:
        return bool(self._running)

    def note(self, message: TaskStartedMessage | TaskUpdatedMessage | TaskNotificationMessage) -> None:
        """Read a message about a task. Only one of the last two kinds may tell that a task has ended."""
        if isinstance(message, TaskStartedMessage):
            self._running.add(message.task_id)
        elif message.status in TERMINAL_TASK_STATUSES:
            self._running.discard(message.task_id)
