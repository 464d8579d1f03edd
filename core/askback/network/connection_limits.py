"""Limit the connections that a listener keeps, and the time that each has for its request. Notice dead ones.

aiohttp and uvicorn do neither. Clients that only connect could otherwise use up every file descriptor of the
process. Its health answers and its own calls would then fail, too.
"""

from __future__ import annotations

__all__ = [
    "ConnectionLimiter",
    "LimitedConnection",
    "ListenerBusy",
    "compute_connection_limit",
    "mark_trusted",
    "track_requests",
]

import asyncio
import resource
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import cast

from aiohttp import web
from aiohttp.typedefs import Handler

from askback.network.socket_probes import enable_probes

REQUEST_SECONDS = 5.0
"""Seconds until a request must have arrived whole, from its first byte or from the start of the connection."""
KEEP_SECONDS = 75.0
"""Seconds that a connection stays open for the next request after an answer."""
PATIENCE_SECONDS = 0.25
"""Seconds that each connection may wait for its request, even if others need its slot."""
PROBE_SECONDS = 60
"""Seconds without a packet after which the kernel probes a connection. A request that waits for people is quiet."""
UNANSWERED_SECONDS = 60
"""Seconds after which a connection has failed whose client acknowledges nothing."""
MOST = 256
"""Maximum number of connections that one listener keeps at a time, unless it asks for more."""
SHARE = 4
"""A listener uses at most one in this many file descriptors. The others are for the database and outgoing calls."""
FEWEST = 8


def compute_connection_limit(most: int | None = None, spare_files: int | None = None) -> int:
    """Return the number of connections that a listener may keep. `most` is what it asks for, by default `MOST`.

    A listener that is the main purpose of its process leaves only `spare_files` file descriptors to the rest.
    """
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST if most is None else most
    share = files // SHARE if spare_files is None else max(files // SHARE, files - spare_files)
    return most if files == resource.RLIM_INFINITY else max(FEWEST, min(most, share))


class ListenerBusy(Exception):
    """Raised if a listener can take no more connections now."""


class ConnectionLimiter:
    """The open connections of one listener, at most `most` at a time."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._open: set[LimitedConnection] = set()
        # Start of each connection's wait for a request, oldest first. Strangers have shown no good signature yet.
        self._strangers: dict[LimitedConnection, float] = {}
        self._known: dict[LimitedConnection, float] = {}
        self._changed = asyncio.Event()

    async def make_room(self, *, waits: bool = True) -> bool:
        """Wait until there is room for one more connection. Return True if this closed another one.

        Unless it `waits`, raise `ListenerBusy` if all connections wait for the answers to their requests.

        First close the connection that has waited longest for a request, and last those that have sent a valid
        signature. Close none before `PATIENCE_SECONDS`. Otherwise a flood would close honest connections before their
        requests arrive.
        """
        closed = False
        while self.is_full:
            oldest = self._find_oldest()
            if oldest is None and not waits:
                raise ListenerBusy
            wait = None if oldest is None else oldest[1] + PATIENCE_SECONDS - asyncio.get_running_loop().time()
            if oldest is not None and wait is not None and wait <= 0:
                oldest[0].abort()
                closed, wait = True, None
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._changed.wait()
        return closed

    def close_one(self) -> None:
        """Close the connection that has waited longest for a request, if there is one."""
        oldest = self._find_oldest()
        if oldest is not None:
            oldest[0].abort()

    def _find_oldest(self) -> tuple[LimitedConnection, float] | None:
        return next((next(iter(waiting.items())) for waiting in (self._strangers, self._known) if waiting), None)

    def wrap(self, protocol: asyncio.Protocol) -> asyncio.Protocol:
        """Return the protocol for one connection, which passes everything on to `protocol`."""
        return LimitedConnection(protocol, self)

    @property
    def is_full(self) -> bool:
        """True if there is no room for one more connection."""
        return len(self._open) >= self.most

    # Called by the connections

    def add(self, one: LimitedConnection) -> None:
        self._open.add(one)

    def mark_waiting(self, one: LimitedConnection, *, is_known: bool) -> None:
        self.mark_working(one)
        (self._known if is_known else self._strangers)[one] = asyncio.get_running_loop().time()
        self._changed.set()  # one more that could be closed

    def mark_working(self, one: LimitedConnection) -> None:
        self._strangers.pop(one, None)
        self._known.pop(one, None)

    def remove(self, one: LimitedConnection) -> None:
        self.mark_working(one)
        self._open.discard(one)
        self._changed.set()


class LimitedConnection(asyncio.Protocol):
    """Pass a connection on to its server, and close it if a request does not arrive in time."""

    def __init__(self, inner: asyncio.Protocol, gate: ConnectionLimiter) -> None:
        self._inner = inner
        self._gate = gate
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._is_idle = False
        self._is_known = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        with suppress(OSError):  # the client has gone, which the transport notices by itself
            opened = cast("socket.socket", transport.get_extra_info("socket"))
            enable_probes(opened, after=PROBE_SECONDS, unanswered=UNANSWERED_SECONDS)
        self._gate.add(self)
        self._gate.mark_waiting(self, is_known=False)
        self._close_after(REQUEST_SECONDS, self.abort)
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self._is_idle:
            self._is_idle = False
            self._close_after(REQUEST_SECONDS, self.abort)
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel()
        self._gate.remove(self)
        self._inner.connection_lost(exc)

    def on_request_received(self) -> None:
        """Note that the request has arrived whole. Answering it has no time limit."""
        self._cancel()
        self._is_idle = False
        self._gate.mark_working(self)

    def on_request_trusted(self) -> None:
        """Note that a complete request has arrived with a valid signature or token."""
        self._is_known = True
        self.on_request_received()

    def on_response_sent(self) -> None:
        """Note that the request has been answered. Another one may follow."""
        if self._transport is None or self._transport.is_closing():
            return
        self._is_idle = True
        self._gate.mark_waiting(self, is_known=self._is_known)
        self._close_after(KEEP_SECONDS, self._transport.close)

    def abort(self) -> None:
        """Close the connection at once and discard any unsent data."""
        self._cancel()
        self._gate.mark_working(self)
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """Close the connection once it has sent what was written."""
        self._cancel()
        self._gate.mark_working(self)
        if self._transport is not None:
            self._transport.close()

    def _close_after(self, seconds: float, close: Callable[[], None]) -> None:
        self._cancel()
        self._deadline = asyncio.get_running_loop().call_later(seconds, close)

    def _cancel(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def mark_trusted(request: web.BaseRequest) -> None:
    """Note that the whole request has arrived, and that its signature is good."""
    if (one := _get_connection(request)) is not None:
        one.on_request_trusted()


@web.middleware
async def track_requests(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Notify the connection when a request without a body has arrived, and when any request is answered."""
    one = _get_connection(request)
    if one is not None and not request.body_exists:
        one.on_request_received()
    try:
        return await handler(request)
    finally:
        if one is not None:
            one.on_response_sent()


def _get_connection(request: web.BaseRequest) -> LimitedConnection | None:
    """Return the connection of a request. None means that it is closed, or has no `LimitedConnection` protocol."""
    protocol = None if request.transport is None else request.transport.get_protocol()
    return protocol if isinstance(protocol, LimitedConnection) else None
