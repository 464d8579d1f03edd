"""One gateway connection: what is sent on it, and what comes in."""

import asyncio
import json
from collections import deque
from dataclasses import dataclass, field

from aiohttp import web
from pydantic import JsonValue

from askback_local.json_values import JsonObject, as_object

from . import limits
from .sessions import Session


class CloseError(Exception):
    """The gateway closes a connection with one of its codes."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"{code} {reason}")
        self.code = code
        self.reason = reason


@dataclass(eq=False)
class Connection:
    """One socket of the bot. Frames are queued, so that whoever dispatches never waits for the network."""

    request: web.Request
    socket: web.WebSocketResponse
    session: Session | None = None
    frames: asyncio.Queue[JsonObject | None] = field(default_factory=lambda: asyncio.Queue[JsonObject | None]())
    frozen: bool = False
    received: deque[float] = field(default_factory=deque[float])

    def send(self, frame: JsonObject) -> None:
        """Queue a frame."""
        self.frames.put_nowait(frame)

    def freeze(self) -> None:
        """Fall silent: nothing is read, sent or closed any more, as where a network swallows the packets."""
        self.frozen = True
        transport = self.request.transport
        if isinstance(transport, asyncio.ReadTransport):
            transport.pause_reading()

    def cut(self) -> None:
        """Lose the connection without a goodbye."""
        if self.request.transport is not None:
            self.request.transport.abort()

    def read(self, data: str | bytes, now: float) -> tuple[int, JsonObject]:
        """The opcode and the body of what the bot sent.

        Raises:
            CloseError: too often, too large, or no JSON.
        """
        self.received.append(now)
        while self.received[0] < now - limits.GATEWAY_WINDOW:
            self.received.popleft()
        if len(self.received) > limits.GATEWAY_SENDS:
            raise CloseError(4008, "Rate limited.")
        if len(data) > limits.GATEWAY_BYTES:
            raise CloseError(4002, "Payload too large.")
        try:
            decoded: JsonValue = json.loads(data)
        except ValueError:
            raise CloseError(4002, "Error while decoding payload.") from None
        sent = as_object(decoded)
        operation = sent.get("op")
        return operation if isinstance(operation, int) else -1, as_object(sent.get("d"))


def frame(operation: int, data: JsonValue = None) -> JsonObject:
    """A frame that is no event."""
    return {"op": operation, "d": data, "s": None, "t": None}
