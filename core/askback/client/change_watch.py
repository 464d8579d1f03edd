"""Finds changes of all asks for which a session waits with one query, and wakes those that wait for them.

What this process changes, and an answer that the database announces, wake them earlier. So the watch finds what another
process changes on SQLite, and what is not announced by its id.
"""

from __future__ import annotations

__all__ = ["ChangeWatch"]

import asyncio
from collections.abc import Generator
from contextlib import contextmanager, suppress

from askback.domain.ask import Ask
from askback.errors import OperatorError
from askback.manager.callers import Callers
from askback.runtime.shutdown import end_tasks
from askback.store.queries.ask_changes import AskVersion, get_version, list_changed
from askback.store.snapshot_reader import SnapshotReader

LOOK_SECONDS = 0.5
"""Seconds between two looks, unless a signal asks for one."""
SIGNAL_SECONDS = 0.05
"""Minimum number of seconds between two looks."""
LOOKED_A_SECOND = 10_000
"""Asks that are compared in a second. With more asks that wait, each is compared less often."""


class Waiting:
    """One wait for an ask."""

    def __init__(self, changed: asyncio.Event, known: dict[str, AskVersion | None], callers: Callers) -> None:
        self._changed = changed
        self._known = known
        self._callers = callers

    def begin_read(self) -> None:
        """Forget changes until now, since the ask is about to be read."""
        self._changed.clear()

    async def wait(self, ask: Ask) -> None:
        """Wait until an ask may differ from what was read."""
        # A settled ask that is not complete changes in parts that have no version.
        version = get_version(ask) if ask.outcome is None else None
        if self._known.setdefault(ask.id, version) != version:
            self._known[ask.id] = version
            self._callers.wake(ask.id)  # another wait has read another state
        await self._changed.wait()


class ChangeWatch:
    """The asks for which a session waits."""

    def __init__(self, reader: SnapshotReader) -> None:
        self._reader = reader
        self._callers = Callers()
        self._known: dict[str, AskVersion | None] = {}
        """The newest version that was read of each ask. None if its changes have no version."""
        self._uses: dict[str, int] = {}
        self._signalled = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.create_task(self._run(), name="askback changes")

    async def close(self) -> None:
        """Stop looking."""
        if self._task is not None:
            await end_tasks([self._task])

    @contextmanager
    def register(self, ask_id: str) -> Generator[Waiting]:
        """Watch an ask until the block ends."""
        self._uses[ask_id] = self._uses.get(ask_id, 0) + 1
        try:
            with self._callers.register(ask_id) as changed:
                yield Waiting(changed, self._known, self._callers)
        finally:
            self._uses[ask_id] -= 1
            if not self._uses[ask_id]:
                del self._uses[ask_id]
                self._known.pop(ask_id, None)

    def wake(self, ask_id: str | None = None) -> None:
        """Wake those that wait for an ask, or all if it is None."""
        self._callers.wake(ask_id)

    def look(self) -> None:
        """Look soon, because another process has changed something."""
        self._signalled.set()

    async def _run(self) -> None:
        while True:
            await self._sleep()
            watched = dict(self._known)
            if not watched:
                continue
            known = {ask_id: version for ask_id, version in watched.items() if version is not None}
            try:
                changed = await self._reader.read(lambda connection, known=known: list_changed(connection, known))
            except OperatorError:
                self._callers.wake()  # each reads for itself, and raises what is wrong
                continue
            for ask_id in changed.union(watched.keys() - known.keys()):
                self._callers.wake(ask_id)

    async def _sleep(self) -> None:
        """Sleep until the next look. All signals until then share it."""
        pause = max(SIGNAL_SECONDS, len(self._known) / LOOKED_A_SECOND)
        await asyncio.sleep(pause)
        with suppress(TimeoutError):
            async with asyncio.timeout(max(LOOK_SECONDS - pause, 0.0)):
                await self._signalled.wait()
        self._signalled.clear()
