"""Connects bots whose platforms may be down. Nothing waits for them, and their failures end nothing else."""

from __future__ import annotations

__all__ = ["OptionalBots"]

import asyncio
import logging
from collections.abc import Callable, Sequence

from askback.errors import AskbackError
from askback.internal.clock import monotonic
from askback.internal.error_groups import unwrap_group
from askback.ports.bot import Bot, BotServices
from askback.runtime.connected_bots import ConnectedBots
from askback.runtime.worker import Worker

log = logging.getLogger("askback.host")

CONNECT_SECONDS = 30.0
"""Seconds that a platform may take to let a bot in."""
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Longest pause in seconds between two tries. Pauses double each time."""
STABLE_SECONDS = 60.0
"""Seconds after which a connection that ends counts as one that worked."""
LEAVE_SECONDS = 5.0
"""Seconds that running deliveries may take before their connection closes."""


class OptionalBots:
    """Keeps bots connected: each is tried again, after growing pauses."""

    def __init__(
        self,
        bots: Sequence[Bot],
        connected: ConnectedBots,
        worker: Worker,
        build_services: Callable[[str], BotServices],
        announce: Callable[[frozenset[str], dict[str, str]], None],
    ) -> None:
        """`announce` gets the platforms that are connected, and for each of the others the reason, or an empty one."""
        self._bots = bots
        self._connected = connected
        self._worker = worker
        self._build_services = build_services
        self._announce = announce
        self._reasons = {bot.name: "" for bot in bots}
        """The reason for each platform that is not connected. Empty until the first try has failed."""

    async def run(self) -> None:
        """Keep them connected until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for bot in self._bots:
                tasks.create_task(self._keep_connected(bot), name=f"askback {bot.name}")

    async def _keep_connected(self, bot: Bot) -> None:
        pause, told = FIRST_PAUSE, ""
        while True:
            began = monotonic()
            reason = await self._serve(bot)
            if monotonic() - began > CONNECT_SECONDS + STABLE_SECONDS:
                pause, told = FIRST_PAUSE, ""
            self._reasons[bot.name] = reason
            self._report()
            if reason != told:
                told = reason
                log.warning(
                    "The questions on %s are not served for now: %s askback tries again until it works, and serves "
                    "those on other platforms.",
                    bot.name,
                    reason,
                    extra={"action": "platform_away", "platform": bot.name},
                )
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _serve(self, bot: Bot) -> str:
        """Serve a platform as long as that works. Return the reason why it does not, or no longer does."""
        limit = asyncio.timeout(CONNECT_SECONDS)
        try:
            async with limit, bot.connect(self._build_services(bot.name)) as connection:
                limit.reschedule(None)
                self._connected.add(connection)
                self._reasons.pop(bot.name, None)
                self._report()
                self._worker.wake()
                try:
                    await connection.serve()
                finally:
                    self._connected.remove(bot.name)
                    self._reasons[bot.name] = ""
                    await self._worker.finish_deliveries(bot.name, LEAVE_SECONDS)
        except Exception as error:
            found = unwrap_group(error)
            if limit.expired():
                return f"it did not answer within {CONNECT_SECONDS:.0f} s. Check the network."
            if not isinstance(found, AskbackError):
                log.exception(
                    "A bug ended the bot for %s. Please report this.", bot.name, extra={"action": "bot_ended"}
                )
                return f"there is a bug in askback ({type(found).__name__})."
            return str(found)
        return "the connection ended."

    def _report(self) -> None:
        served = frozenset(bot.name for bot in self._bots) - self._reasons.keys()
        self._announce(served, self._reasons)
