"""Socket Mode: delivers events and interactions to the bot, and receives its acks."""

import asyncio
import contextlib
import itertools
import json
import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import WSMsgType, web
from pydantic import JsonValue

from askback_sandbox.clock import done_within
from askback_sandbox.json_values import JsonObject, as_object, as_text

from . import limits
from .workspace import Workspace

NO_ANSWER = "{name} did not respond in time"
NOT_CONNECTED = "{name} is not connected"


@dataclass(frozen=True)
class Ack:
    """The answer to one envelope."""

    acked: bool
    ms: float | None = None
    payload: JsonObject | None = None
    error: str | None = None


@dataclass
class _Waiting:
    """An envelope that waits for its ack."""

    kind: str
    sent_at: float
    done: asyncio.Future[bool]
    payload: JsonObject | None = None
    acked_at: float = 0.0


@dataclass(eq=False)
class _Connection:
    """One socket of the bot."""

    number: int
    request: web.Request
    socket: web.WebSocketResponse
    sent: int = field(default=0)
    frozen: bool = field(default=False)
    spared: bool = field(default=False)

    async def send(self, message: JsonObject) -> bool:
        """Send a message; return False if the socket is closed."""
        if self.socket.closed:
            return False
        if self.frozen:
            return True  # never arrives
        try:
            await self.socket.send_str(json.dumps(message))
        except ConnectionError:
            return False
        self.sent += 1
        return True

    def freeze(self) -> None:
        """Stop reading, answering and closing, as if a network swallowed the packets."""
        self.frozen = True
        transport = self.request.transport
        if isinstance(transport, asyncio.ReadTransport):
            transport.pause_reading()

    def cut(self) -> None:
        """Cut the connection without a close frame."""
        transport = self.request.transport
        if transport is not None:
            transport.abort()


class SlackSocket:
    """The sockets of the bot; each payload goes to one of them, in turn.

    An event without an ack is sent again (`retry_attempt` counts). An interaction never is: the person sees an error.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        ack_seconds: float = limits.ACK_SECONDS,
        event_retries: tuple[float, ...] = limits.EVENT_RETRIES,
    ) -> None:
        self._workspace = workspace
        self._ack_seconds = ack_seconds
        self._event_retries = event_retries
        self._tickets: set[str] = set()
        self.ticket_count = 0
        self.pings = 0
        self._connections: list[_Connection] = []
        self._numbers = itertools.count(1)
        self._turn = itertools.count()
        self._connected = asyncio.Event()
        self._waiting: dict[str, _Waiting] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False
        self._refusal = ""

    @property
    def connections(self) -> int:
        """The number of open sockets that are not frozen."""
        return sum(not connection.frozen for connection in self._connections)

    # the bot's side

    async def connected(self) -> None:
        """Wait until a bot is connected."""
        await self._connected.wait()

    def ticket(self) -> str:
        """Return a ticket for one connection."""
        ticket = secrets.token_urlsafe(18)
        self._tickets.add(ticket)
        self.ticket_count += 1
        return ticket

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Serve one connection until it closes."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.json_response({"ok": False, "error": "invalid_ticket"}, status=403)
        self._tickets.discard(ticket)
        fault = self._workspace.faults.take("socket", "socket")
        if fault is not None and fault.error == "refused":
            return web.json_response({"ok": False, "error": "forbidden"}, status=403)
        socket = web.WebSocketResponse(autoping=False)
        await socket.prepare(request)
        connection = _Connection(next(self._numbers), request, socket)
        crowded = "too_many_websockets" if len(self._connections) >= limits.CONNECTIONS else ""
        if reason := self._refusal or crowded:
            await connection.send(self._disconnect_message(reason))
            await socket.close()
            return socket
        if fault is not None:
            if fault.error != "silent":
                await connection.send(self._disconnect_message(fault.error))
            async for _ in socket:
                pass
            return socket
        self._connections.append(connection)
        try:
            await connection.send(self._hello())
            self._connected.set()
            self._workspace.touch()
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    self._read(message.data)
                elif message.type is WSMsgType.PING:
                    self.pings += 1
                    await socket.pong(message.data)
        finally:
            self._connections.remove(connection)
            if not self._connections:
                self._connected.clear()
            self._workspace.touch()
        return socket

    def _hello(self) -> JsonObject:
        return {
            "type": "hello",
            "num_connections": len(self._connections),
            "debug_info": {
                "host": "applink-local",
                "build_number": 1,
                "approximate_connection_time": 18060,
            },
            "connection_info": {"app_id": self._workspace.bot.app_id},
        }

    @staticmethod
    def _disconnect_message(reason: str) -> JsonObject:
        return {"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-local"}}

    def _read(self, data: str) -> None:
        try:
            decoded: JsonValue = json.loads(data)
        except ValueError:
            return
        message = as_object(decoded)
        waiting = self._waiting.get(as_text(message.get("envelope_id")))
        # Late acks come on another socket after a reconnect: any socket may ack any envelope.
        if waiting is None or waiting.done.done():
            return
        if self._workspace.faults.take("swallow_ack", waiting.kind):
            return
        payload = message.get("payload")
        waiting.payload = as_object(payload) if payload is not None else None
        waiting.acked_at = self._workspace.clock.time()
        waiting.done.set_result(True)

    # Slack's side

    async def disconnect(self, reason: str = "refresh_requested") -> None:
        """Ask every socket to reconnect, as Slack does every few hours."""
        for connection in list(self._connections):
            await connection.send(self._disconnect_message(reason))

    def drop(self) -> None:
        """Cut every socket."""
        for connection in list(self._connections):
            connection.cut()

    def freeze(self) -> None:
        """Freeze every open socket: messages to it are lost. New sockets work."""
        for connection in self._connections:
            connection.freeze()

    def spare(self) -> None:
        """Send nothing to the present sockets while there are others: Slack does not document its choice."""
        for connection in self._connections:
            connection.spared = True

    def refuse(self, reason: str) -> None:
        """Answer every new socket with a disconnect instead of hello; an empty reason ends that."""
        self._refusal = reason

    async def interact(self, payload: JsonObject, *, wants_answer: bool) -> Ack:
        """Send an interaction and wait for its ack, three seconds at most."""
        name = self._workspace.bot.name
        envelope: JsonObject = {
            "envelope_id": str(uuid.uuid4()),
            "type": "interactive",
            "accepts_response_payload": wants_answer,
            "payload": payload,
        }
        waiting = await self._send(envelope, "interactive")
        if waiting is None:
            return Ack(acked=False, error=NOT_CONNECTED.format(name=name))
        if self._workspace.faults.take("duplicate_events", "interactive"):
            await self._pass_on(envelope)
        acked = await self._acked(envelope, waiting)
        if not acked:
            return Ack(acked=False, error=NO_ANSWER.format(name=name))
        return Ack(acked=True, ms=(waiting.acked_at - waiting.sent_at) * 1000, payload=waiting.payload)

    def tell(self, payload: JsonObject, done: Callable[[Ack], None] | None = None) -> None:
        """Send an event, now or when the bot connects, until it is acked or Slack gives up."""
        if self._closing:
            return
        task = asyncio.create_task(self._deliver(payload, done))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _deliver(self, payload: JsonObject, done: Callable[[Ack], None] | None) -> None:
        faults, clock = self._workspace.faults, self._workspace.clock
        for attempt in range(len(self._event_retries) + 1):
            if attempt:
                await clock.sleep(self._event_retries[attempt - 1])
            envelope: JsonObject = {
                "envelope_id": str(uuid.uuid4()),
                "type": "events_api",
                "accepts_response_payload": False,
                "payload": payload,
                "retry_attempt": attempt,
                "retry_reason": "timeout" if attempt else "",
            }
            waiting = None
            while waiting is None:
                await faults.until_off("hold_events")
                await self._connected.wait()
                waiting = await self._send(envelope, "events_api")
            if faults.take("duplicate_events", "events_api"):
                await self._pass_on(envelope)
            if await self._acked(envelope, waiting):
                if done:
                    done(Ack(acked=True, ms=(waiting.acked_at - waiting.sent_at) * 1000))
                return
        if done:
            done(Ack(acked=False, error=NO_ANSWER.format(name=self._workspace.bot.name)))

    async def _send(self, envelope: JsonObject, kind: str) -> _Waiting | None:
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        waiting = _Waiting(kind, self._workspace.clock.time(), future)
        envelope_id = str(envelope["envelope_id"])
        self._waiting[envelope_id] = waiting
        if await self._pass_on(envelope):
            return waiting
        del self._waiting[envelope_id]
        return None

    async def _pass_on(self, envelope: JsonObject) -> bool:
        """Send an envelope to one of the sockets; return False if none accepts it."""
        start = next(self._turn)
        # With another socket open, Slack has noticed which one is frozen.
        awake = [one for one in self._connections if not one.frozen] or list(self._connections)
        open_now = [one for one in awake if not one.spared] or awake
        for offset in range(len(open_now)):
            if await open_now[(start + offset) % len(open_now)].send(envelope):
                return True
        # The handlers of lost sockets run next and take them off the list; without this the caller would spin.
        await asyncio.sleep(0)
        return False

    async def _acked(self, envelope: JsonObject, waiting: _Waiting) -> bool:
        try:
            return await done_within(self._workspace.clock, waiting.done, self._ack_seconds)
        finally:
            self._waiting.pop(str(envelope["envelope_id"]), None)

    async def close(self) -> None:
        """End every delivery and every connection."""
        self._closing = True
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in list(self._connections):
            if connection.frozen:
                connection.cut()
                continue
            with contextlib.suppress(ConnectionError):
                await connection.socket.close(code=1001)
