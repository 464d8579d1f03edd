"""Faults that tests can cause by name."""

import asyncio
from dataclasses import dataclass
from typing import Literal, get_args

from askback_sandbox.active_faults import ActiveFaults, AnyFault

FaultKind = Literal[
    "error",  # the method answers {"ok": false, "error": <error>}, with `status` and Retry-After
    "drop",  # the connection is cut before anything is done
    "lost_answer",  # everything is done, then the connection is cut instead of an answer
    "foreign",  # something in between answers with `status` and `body`; with `done`, after everything is done
    "ignore",  # the answer is ok and nothing is done (a card update that never shows up)
    "delay",  # the method waits `seconds` first
    "swallow_ack",  # the bot's ack is thrown away; `method` may be "events_api" or "interactive"
    "duplicate_events",  # each is sent twice with the same envelope id; `method` as above
    "hold_events",  # events wait until the fault is removed
    "socket",  # a socket is not served: `error` is "refused", "silent", or the reason of a disconnect
]
KINDS: tuple[str, ...] = get_args(FaultKind)


@dataclass(frozen=True, kw_only=True)
class Fault(AnyFault):
    """One fault. `method` is an API method, "response_url", an envelope type, or "*" for any."""

    kind: FaultKind
    method: str = "*"
    error: str = "internal_error"
    status: int = 200
    retry_after: int | None = None


class Faults(ActiveFaults[Fault]):
    """The active faults of Slack."""

    def __init__(self) -> None:
        super().__init__()
        self._waiters: list[asyncio.Future[None]] = []

    def ratelimit(self, method: str, *, retry_after: int = 1, times: int = 1) -> int:
        """Let a method answer as Slack does when an app calls too often: HTTP 429 with Retry-After in seconds."""
        return self.add(
            Fault(
                kind="error",
                method=method,
                times=times,
                error="ratelimited",
                status=429,
                retry_after=retry_after,
            )
        )

    def fail(self, method: str, error: str, *, times: int | None = 1) -> int:
        """Let a method answer with an error code of Slack."""
        return self.add(Fault(kind="error", method=method, error=error, times=times))

    def take(self, kind: FaultKind, method: str) -> Fault | None:
        """Return the first fault that applies and use it up once; None if there is none."""
        return self._use_up(lambda fault: fault.kind == kind and fault.method in ("*", method))

    async def until_gone(self, fault_id: int) -> None:
        """Return when a fault is used up or removed."""
        while fault_id in self._active:
            await self._change()

    async def until_off(self, kind: FaultKind) -> None:
        """Return when no fault of that kind is active."""
        while any(fault.kind == kind for fault in self._active.values()):
            await self._change()

    async def _change(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter

    def _on_removal(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()
