"""Checks if people on a platform can be asked, for `/readyz`."""

from __future__ import annotations

__all__ = ["PlatformCheck"]

import asyncio
import logging
from collections.abc import Iterable
from typing import Final

from askback.client.serving_process import is_served
from askback.errors import AskbackError
from askback.internal.clock import monotonic
from askback.ports.installed_bots import get_bot
from askback.runtime.shutdown import end_tasks
from askback.store.external_access import DatabaseLocation

log = logging.getLogger("askback.door")

CHECK_SECONDS: Final = 10.0
"""Seconds in which a platform has to answer."""
FRESH_SECONDS: Final = 5.0
"""Seconds for which a result counts, however many ask."""
WAIT_SECONDS: Final = 0.5
"""Seconds that a caller waits for new results. Then it gets the earlier ones."""


class PlatformCheck:
    """Checks platforms in the background. Nothing waits long for one that does not answer."""

    def __init__(self, where: DatabaseLocation) -> None:
        self._where = where
        self._reasons: dict[str, str] = {}
        """The reason for each platform that was checked and cannot be asked. Empty for one that can."""
        self._checked: dict[str, float] = {}
        self._checking: dict[str, asyncio.Task[None]] = {}

    async def list_away(self, platforms: Iterable[str]) -> tuple[str, ...]:
        """Return those of the platforms on which nobody can be asked, or that were never checked."""
        wanted = frozenset(platforms)
        now = monotonic()
        for name in wanted - self._checking.keys():
            checked = self._checked.get(name)
            if checked is None or now - checked >= FRESH_SECONDS:
                task = self._checking[name] = asyncio.create_task(self._check(name), name=f"askback check {name}")
                task.add_done_callback(lambda _, name=name: self._checking.pop(name))
        running = [task for name, task in self._checking.items() if name in wanted]
        if running:
            await asyncio.wait(running, timeout=WAIT_SECONDS)
        return tuple(sorted(name for name in wanted if self._reasons.get(name, "not checked yet")))

    async def close(self) -> None:
        """Stop checking."""
        await end_tasks(tuple(self._checking.values()))

    async def _check(self, name: str) -> None:
        reason = ""
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                bot = get_bot(name)
                if not await asyncio.to_thread(is_served, self._where, name):
                    bot.check()
                async with bot.open_directory():
                    pass
        except TimeoutError:
            reason = f"it did not answer within {CHECK_SECONDS:.0f} s. Check the network."
        except AskbackError as error:
            reason = str(error)
        except Exception as error:
            log.exception("A bug made a check of %s fail. Please report this.", name, extra={"action": "check_failed"})
            reason = f"there is a bug in askback ({type(error).__name__})."
        before = self._reasons.get(name, "")
        self._reasons[name], self._checked[name] = reason, monotonic()
        if reason and reason != before:
            log.warning(
                "Nobody on %s can be asked for now: %s", name, reason,
                extra={"action": "platform_away", "platform": name},
            )  # fmt: skip
        elif before and not reason:
            log.info("People on %s can be asked again.", name, extra={"action": "platform_back", "platform": name})
