"""The calls of which an ACP agent has told its client. A later message about a call has only what has changed."""

from __future__ import annotations

__all__ = ["CallUpdates"]

from typing import Final

from acp.schema import ToolCallProgress, ToolCallStart, ToolCallUpdate
from cachetools import FIFOCache

MAX_CALLS: Final = 1000
"""Maximum number of calls that are kept. The oldest are forgotten first."""
_DONE: Final = frozenset({"completed", "failed"})
"""States after which the agent asks nothing about a call."""


class CallUpdates:
    """The newest state of each call, by its session and its id."""

    def __init__(self) -> None:
        self._calls: FIFOCache[tuple[str, str], ToolCallUpdate] = FIFOCache(MAX_CALLS)

    def note(self, session_id: str, update: ToolCallStart | ToolCallProgress) -> None:
        """Keep what an update says about a call."""
        key = session_id, update.tool_call_id
        told = ToolCallUpdate.model_validate(update.model_dump(exclude={"session_update"}))
        if told.status in _DONE:
            self._calls.pop(key, None)
        else:
            self._calls[key] = self.complete(session_id, told)

    def complete(self, session_id: str, call: ToolCallUpdate) -> ToolCallUpdate:
        """Return a call with what the agent has said about it before, where it says nothing new."""
        known = self._calls.get((session_id, call.tool_call_id))
        if known is None:
            return call
        changed = {name: value for name in type(call).model_fields if (value := getattr(call, name)) is not None}
        return known.model_copy(update=changed)
