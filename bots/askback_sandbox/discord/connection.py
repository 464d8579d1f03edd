"""One gateway connection: its queue of frames, and the messages that it receives."""

import asyncio
import json
from collections import deque
from dataclasses import dataclass, field

from aiohttp import web
from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject, as_object

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
    """One socket of the bot; frames are queued, so that a dispatch never waits for the network."""

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
        """Stop reading, sending and closing, as if a network swallowed the packets."""
        self.frozen = True
        transport = self.request.transport
        if isinstance(transport, asyncio.ReadTransport):
            transport.pause_reading()

    def cut(self) -> None:
        """Cut the connection without a close frame."""
        if self.request.transport is not None:
            self.request.transport.abort()

    def read(self, data: str | bytes, now: float) -> tuple[int, JsonObject]:
        """Return the opcode and the body of a message from the bot.

        Raises:
            CloseError: there are too many messages, or this one is too large or not JSON.
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
    """Return a frame that is not an event."""
    return {"op": operation, "d": data, "s": None, "t": None}
