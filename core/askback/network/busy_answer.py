"""Answers connections beyond the limit of a listener whose requests wait for people: come again later."""

from __future__ import annotations

__all__ = ["BusyAnswers"]

import asyncio
import json
from typing import Final, cast

RETRY_SECONDS: Final = 5
"""Seconds after which a client may come again."""
MOST: Final = 64
"""Maximum number of connections that get this answer at the same time. Others are closed."""
LINGER_SECONDS: Final = 1.0
"""Seconds for reading and discarding what the client still sends, so that it can read the answer."""
REQUEST_SECONDS: Final = 5.0
"""Seconds until a client must have begun its request."""

_BODY: Final = json.dumps(
    {
        "title": "Service Unavailable",
        "status": 503,
        "detail": "This server waits for people on behalf of as many requests as it can: try again later.",
    }
)
_ANSWER: Final = (
    "HTTP/1.1 503 Service Unavailable\r\n"
    f"Retry-After: {RETRY_SECONDS}\r\n"
    "Content-Type: application/problem+json\r\n"
    f"Content-Length: {len(_BODY)}\r\n"
    "Connection: close\r\n\r\n"
    f"{_BODY}"
).encode()


class BusyAnswers:
    """The connections of one listener that get the answer now."""

    def __init__(self) -> None:
        self._open: set[asyncio.Protocol] = set()

    @property
    def is_full(self) -> bool:
        """True if no more connections can get the answer."""
        return len(self._open) >= MOST

    def create_protocol(self) -> asyncio.Protocol:
        """Return the protocol for one connection."""
        protocol = _BusyAnswer(self._open)
        self._open.add(protocol)
        return protocol


class _BusyAnswer(asyncio.Protocol):
    def __init__(self, open_now: set[asyncio.Protocol]) -> None:
        self._open = open_now
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._is_answered = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._close_after(REQUEST_SECONDS)

    def data_received(self, data: bytes) -> None:
        if self._transport is None or self._is_answered:
            return
        self._is_answered = True
        self._transport.write(_ANSWER)
        self._transport.write_eof()
        self._close_after(LINGER_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.discard(self)
        if self._deadline is not None:
            self._deadline.cancel()

    def _close_after(self, seconds: float) -> None:
        assert self._transport is not None
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = asyncio.get_running_loop().call_later(seconds, self._transport.abort)
