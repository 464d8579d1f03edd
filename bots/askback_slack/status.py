"""Shows in Slack that the agent works, waits or is idle.

It sets the state of the agent session, which has Slack's own Stop button, and a status line below the thread. Neither
exists everywhere: sessions need an app that is declared as an agent. A method that is missing is not called again for
an hour.
"""

from __future__ import annotations

__all__ = ["StatusIndicator"]

import asyncio
import logging
import time
from dataclasses import dataclass, field
from typing import Final

from cachetools import TTLCache

from askback.domain.identity import Place
from askback.ports.platform import AgentStatus, DeliveryError, MessageNotFound, RetryableError
from askback.translations.catalogue import N_, _
from askback_slack.api_calls import SlackApi, SlackRejection

log = logging.getLogger("askback.slack")

# https://docs.slack.dev/reference/methods/agents.sessions.setStatus
SESSION: Final = "agents.sessions.setStatus"
SESSIONS: Final[dict[AgentStatus, str]] = {"working": "processing", "waiting": "suspended", "idle": "active"}
# https://docs.slack.dev/reference/methods/assistant.threads.setStatus
LINE: Final = "assistant.threads.setStatus"
LINES: Final[dict[AgentStatus, str]] = {
    "working": N_("is working…"),
    "waiting": N_("is waiting for an answer"),
    "idle": "",
}
LINE_SECONDS = 90.0
"""Seconds between two calls that set the line while the agent works, since Slack removes a line after two minutes."""
MISSING: Final = frozenset(
    {"unknown_method", "missing_scope", "not_allowed_token_type", "feature_not_enabled", "not_an_agent",
     "access_denied", "no_permission", "team_access_not_granted"}
)  # fmt: skip
"""Rejections that apply to every thread."""
MISSING_SECONDS = 3600.0
"""Seconds for which the bot does not call a missing method again."""
SETTLE_SECONDS = 0.3
"""Seconds before "idle" is shown. The next turn usually starts at once, and the display must not flicker."""
AGAIN_SECONDS = 5.0
TRIES = 3
"""Maximum number of tries to show one status."""
LONGEST_PAUSE = 60.0
MAX_THREADS = 2000
CLOSE_SECONDS = 1.0
"""Seconds to wait at shutdown for running calls."""


@dataclass(slots=True)
class _Thread:
    """The status to show in one thread, and the status that is shown there."""

    place: Place
    status: AgentStatus
    shown: AgentStatus | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class StatusIndicator:
    """One task per thread that has something to show. Only the newest status counts. Never raises."""

    def __init__(self, api: SlackApi) -> None:
        self._api = api
        self._threads: dict[str, _Thread] = {}
        self._missing: TTLCache[str, None] = TTLCache(MAX_THREADS, MISSING_SECONDS, time.monotonic)
        self._closed = False

    def set_status(self, place: Place, status: AgentStatus) -> None:
        """Show this status to people as soon as the running call has ended."""
        if place.thread is None or self._closed:
            return
        thread = self._threads.get(place.key)
        if thread is None:
            thread = self._threads[place.key] = _Thread(place, status)
            self._forget()
        thread.status = status
        self._begin(thread)

    def refresh(self, place: Place, *, nothing: bool) -> None:
        """Show the true status again, because people may see an old one of a process that ended.

        `nothing` is True if no process works there. Otherwise only the process that works there knows its status.
        """
        thread = self._threads.get(place.key)
        if thread is not None and (nothing or thread.status == "working"):
            thread.shown = None
            self.set_status(place, "idle" if nothing else thread.status)
        elif nothing:
            self.set_status(place, "idle")

    async def close(self) -> None:
        """Stop all tasks; running calls get `CLOSE_SECONDS` to finish."""
        self._closed = True
        tasks = [thread.task for thread in self._threads.values() if thread.task is not None]
        for thread in self._threads.values():
            thread.changed.set()
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, thread: _Thread) -> None:
        thread.changed.set()
        if thread.task is None or thread.task.done():
            thread.task = asyncio.create_task(self._show_status(thread), name="askback slack status")

    def _forget(self) -> None:
        """Forget the oldest threads that have nothing left to show."""
        for key in [key for key, one in self._threads.items() if one.task is not None and one.task.done()]:
            if len(self._threads) <= MAX_THREADS:
                return
            del self._threads[key]

    async def _show_status(self, thread: _Thread) -> None:
        tries = 0
        while True:
            thread.changed.clear()
            status = thread.status
            pause: float | None = None
            if status == "idle" and thread.shown == "working":
                await self._wait(thread, SETTLE_SECONDS)
                thread.changed.clear()
                status = thread.status
            if status != thread.shown:
                tries += 1
                pause = await self._set_status(thread.place, status)
                if pause is None or tries >= TRIES:
                    thread.shown, tries, pause = status, 0, None
            elif status == "working":
                await self._set_line(thread.place, status)  # Slack would otherwise remove a line that lasts long
            if thread.status != status or thread.shown is None:
                tries = 0
            elif pause is None and (status != "working" or self._closed):
                return
            await self._wait(thread, LINE_SECONDS if pause is None else pause)

    async def _wait(self, thread: _Thread, seconds: float) -> None:
        if self._closed:
            return
        try:
            async with asyncio.timeout(seconds):
                await thread.changed.wait()
        except TimeoutError:
            return

    async def _set_status(self, place: Place, status: AgentStatus) -> float | None:
        """Show a status. Return the seconds until the next try; None means that no further try is needed."""
        pauses = [await self._set_session(place, status), await self._set_line(place, status)]
        return max((pause for pause in pauses if pause is not None), default=None)

    async def _set_session(self, place: Place, status: AgentStatus) -> float | None:
        return await self._call(SESSION, channel_id=place.channel, thread_ts=place.thread, status=SESSIONS[status])

    async def _set_line(self, place: Place, status: AgentStatus) -> float | None:
        return await self._call(
            LINE, channel_id=place.channel, thread_ts=place.thread, status=_(LINES[status]) if LINES[status] else ""
        )

    async def _call(self, method: str, **arguments: str | None) -> float | None:
        if method in self._missing:
            return None
        try:
            await self._api.write(method, **arguments)
        except RetryableError as later:
            log.debug("Could not call %s; trying again: %s", method, later)
            return min(AGAIN_SECONDS if later.seconds is None else later.seconds, LONGEST_PAUSE)
        except (MessageNotFound, DeliveryError) as rejection:
            if isinstance(rejection, SlackRejection) and rejection.code in MISSING:
                self._missing[method] = None
                log.debug("%s does not exist (%s); not calling it for an hour.", method, rejection.code)
            else:
                log.debug("%s failed in this thread: %s", method, rejection)
        return None
