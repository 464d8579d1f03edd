"""The gateway: delivers events and interactions to the bot, and resumes its session after a drop."""

import asyncio
import contextlib
import json

from aiohttp import WSMsgType, web
from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject, as_list, as_text, copied, json_list

from . import limits
from .connection import CloseError, Connection, frame
from .guild import Guild
from .guild_objects import app_flags, guild_create, me_object
from .objects import member_object, sees, without_content
from .sessions import Session
from .values import KNOWN_INTENTS, PRIVILEGED, Intent, Place, Post

DISPATCH, HEARTBEAT, IDENTIFY, PRESENCE, VOICE_STATE, RESUME = 0, 1, 2, 3, 4, 6
RECONNECT, REQUEST_MEMBERS, INVALID_SESSION, HELLO, HEARTBEAT_ACK = 7, 8, 9, 10, 11


class Gateway:
    """The bot's gateway connections and sessions."""

    def __init__(self, guild: Guild, *, heartbeat_seconds: float = limits.HEARTBEAT_SECONDS) -> None:
        self._guild = guild
        self._heartbeat_seconds = heartbeat_seconds
        self._url = ""
        self._connections: list[Connection] = []
        self._sessions: dict[str, Session] = {}
        self._ready = asyncio.Event()
        self.identified = 0
        self.resumed = 0
        self.heartbeats = 0

    @property
    def connections(self) -> int:
        """The number of sockets that are open, identified and not frozen."""
        return sum(connection.session is not None and not connection.frozen for connection in self._connections)

    async def connected(self) -> None:
        """Wait until a bot is connected and identified."""
        await self._ready.wait()

    def serve_at(self, url: str) -> None:
        """Set the URL of new sockets, which READY contains."""
        self._url = url

    # dispatching

    def dispatch(self, kind: str, data: JsonObject) -> None:
        """Send an event without a channel to every session that asked for it."""
        self._dispatch(kind, data, dm=None)

    def dispatch_in(self, place: Place, kind: str, data: JsonObject) -> None:
        """Send an event of a channel, if the bot sees the channel."""
        if sees(self._guild, place):
            self._dispatch(kind, data, dm=place.kind == "dm")

    def dispatch_post(self, kind: str, post: Post, data: JsonObject) -> None:
        """Send a message, if the bot sees its channel.

        Without the intent for content, messages that do not concern the bot arrive empty.
        """
        place = self._guild.places[post.channel]
        if not sees(self._guild, place):
            return
        self._dispatch(kind, data, dm=place.kind == "dm", emptied=without_content(self._guild, post, data))

    def _dispatch(self, kind: str, data: JsonObject, *, dm: bool | None, emptied: JsonObject | None = None) -> None:
        if self._guild.faults.take("lose", kind):
            return
        self._forget_old()
        # An interaction needs no intent, but its guild or direct message decides about the shard.
        private = "guild_id" not in data if kind == "INTERACTION_CREATE" else dm is True
        guild = None if private else self._guild.id
        times = 2 if self._guild.faults.take("replay", kind) else 1
        for session in self._sessions.values():
            if not session.spared and session.wants(kind, dm=dm) and session.serves(guild):
                whole = emptied is None or session.intents & Intent.MESSAGE_CONTENT
                for _ in range(times):
                    session.dispatch(kind, copied(data if whole or emptied is None else emptied))

    def _forget_old(self) -> None:
        now = self._guild.clock.time()
        for session in list(self._sessions.values()):
            if session.sink is None and now - session.left > limits.SESSION_SECONDS:
                del self._sessions[session.id]

    # faults

    def drop(self, *, resumable: bool = True) -> None:
        """Cut every socket; without `resumable` the sessions are dropped too."""
        for connection in list(self._connections):
            connection.cut()
            self._leave(connection)
        if not resumable:
            self._sessions.clear()

    def freeze(self) -> None:
        """Freeze every open socket; new ones work, and can resume the sessions."""
        for connection in self._connections:
            connection.freeze()

    def reconnect(self) -> None:
        """Ask every socket to reconnect (opcode 7), as Discord does when it deploys."""
        for connection in self._connections:
            connection.send(frame(RECONNECT))

    def invalidate(self, *, resumable: bool = False) -> None:
        """Tell every socket that its session is invalid (opcode 9)."""
        for connection in self._connections:
            connection.send(frame(INVALID_SESSION, resumable))
            if not resumable and connection.session is not None:
                self._sessions.pop(connection.session.id, None)

    def spare(self) -> None:
        """Send nothing more to the present sessions, as if their events were late."""
        for session in self._sessions.values():
            session.spared = True

    async def close_all(self, code: int) -> None:
        """Close every socket with a code."""
        for connection in list(self._connections):
            await connection.socket.close(code=code)

    # the bot's side

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Serve one connection until it closes."""
        # The library asks for compression in the query, but it accepts plain frames.
        socket = web.WebSocketResponse(max_msg_size=64 * 1024)
        await socket.prepare(request)
        connection = Connection(request, socket)
        self._connections.append(connection)
        writer = asyncio.create_task(self._write(connection))
        try:
            connection.send(frame(HELLO, {"heartbeat_interval": int(self._heartbeat_seconds * 1000), "_trace": []}))
            await self._read(connection)
        except CloseError as error:
            await socket.close(code=error.code, message=error.reason.encode())
        finally:
            self._leave(connection)
            connection.frames.put_nowait(None)
            await writer
            self._guild.touch()
        return socket

    async def _write(self, connection: Connection) -> None:
        while (queued := await connection.frames.get()) is not None:
            if connection.frozen:
                continue
            # The reader notices a lost socket; the session keeps the unsent events.
            with contextlib.suppress(ConnectionError, RuntimeError):
                await connection.socket.send_str(json.dumps(queued))

    async def _read(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        # The bot's heartbeats follow a real timer, so their timeout uses real time and not the guild's clock.
        beat = loop.time()
        while True:
            patience = beat + self._heartbeat_seconds * 1.5 - loop.time()
            try:
                message = await connection.socket.receive(timeout=max(patience, 0.001))
            except TimeoutError:
                raise CloseError(4000, "no heartbeat came") from None
            if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                return
            operation = self._take(connection, message.data, loop.time())
            if operation == HEARTBEAT:
                beat = loop.time()

    def _take(self, connection: Connection, data: str | bytes, now: float) -> int:
        operation, body = connection.read(data, now)
        if operation == HEARTBEAT:
            self.heartbeats += 1
            if not self._guild.faults.take("no_heartbeat_ack"):
                connection.send(frame(HEARTBEAT_ACK))
        elif operation == IDENTIFY:
            self._identify(connection, body)
        elif operation == RESUME:
            self._resume(connection, body)
        elif operation in (PRESENCE, VOICE_STATE, REQUEST_MEMBERS):
            if connection.session is None:
                raise CloseError(4003, "Not authenticated.")
            if operation == REQUEST_MEMBERS:
                self._members(connection.session, body)
        else:
            raise CloseError(4001, "Unknown opcode.")
        return operation

    def _identify(self, connection: Connection, body: JsonObject) -> None:
        if connection.session is not None:
            raise CloseError(4005, "Already authenticated.")
        if as_text(body.get("token")).removeprefix("Bot ") != self._guild.app.token:
            raise CloseError(4004, "Authentication failed.")
        if fault := self._guild.faults.take("close"):
            raise CloseError(fault.code, "On purpose.")
        if self._guild.faults.take("silent"):
            return
        shard = _shard(body.get("shard"))
        if shard is None:
            raise CloseError(4010, "Invalid shard.")
        if shard[1] < self._guild.app.least_shards:
            raise CloseError(4011, "Sharding required.")
        intents = body.get("intents")
        if not isinstance(intents, int) or intents < 0 or intents & ~KNOWN_INTENTS:
            raise CloseError(4013, "Invalid intent(s).")
        if intents & PRIVILEGED & ~self._guild.app.privileged:
            raise CloseError(4014, "Disallowed intent(s).")
        session = Session(intents, shard)
        self._sessions[session.id] = session
        self._enter(connection, session)
        self.identified += 1
        session.dispatch("READY", self._ready_object(session))
        if session.wants("GUILD_CREATE", dm=None) and session.serves(self._guild.id):
            everyone = [self._guild.bot, *self._guild.people.values()]
            members = everyone if intents & Intent.GUILD_MEMBERS else [self._guild.bot]
            session.dispatch("GUILD_CREATE", guild_create(self._guild, members))

    def _ready_object(self, session: Session) -> JsonObject:
        guilds: list[JsonValue] = [{"id": self._guild.id, "unavailable": True}]
        return {
            "v": 10,
            "user": me_object(self._guild),
            "guilds": guilds if session.serves(self._guild.id) else [],
            "session_id": session.id,
            "session_type": "normal",
            "resume_gateway_url": self._url,
            "shard": [*session.shard],
            "application": {"id": self._guild.app.id, "flags": app_flags(self._guild)},
            "private_channels": [],
            "presences": [],
            "relationships": [],
            "guild_join_requests": [],
            "user_settings": {},
            "geo_ordered_rtc_regions": [],
            "_trace": [],
        }

    def _resume(self, connection: Connection, body: JsonObject) -> None:
        if as_text(body.get("token")).removeprefix("Bot ") != self._guild.app.token:
            raise CloseError(4004, "Authentication failed.")
        self._forget_old()
        session = self._sessions.get(as_text(body.get("session_id")))
        sequence = body.get("seq")
        if session is not None and self._guild.faults.take("no_resume"):
            del self._sessions[session.id]
            session = None
        if session is None:
            connection.send(frame(INVALID_SESSION, False))
            return
        if not isinstance(sequence, int) or sequence > session.sequence:
            raise CloseError(4007, "Invalid seq.")
        missed = session.missed(sequence)
        if missed is None:
            connection.send(frame(INVALID_SESSION, False))
            return
        self._enter(connection, session)
        self.resumed += 1
        for event in missed:
            connection.send(event)
        session.dispatch("RESUMED", {"_trace": []})

    def _members(self, session: Session, body: JsonObject) -> None:
        if not session.intents & Intent.GUILD_MEMBERS and not body.get("user_ids") and not body.get("query"):
            raise CloseError(4014, "Disallowed intent(s).")
        wanted = [str(value) for value in as_list(body.get("user_ids"))]
        query = as_text(body.get("query")).lower()
        everyone = [self._guild.bot, *self._guild.people.values()]
        found = [m for m in everyone if (m.id in wanted if wanted else m.name.startswith(query))]
        chunk: JsonObject = {
            "guild_id": self._guild.id,
            "members": json_list([member_object(member) for member in found]),
            "chunk_index": 0,
            "chunk_count": 1,
            "not_found": [one for one in wanted if self._guild.member(one) is None],
        }
        if "nonce" in body:
            chunk["nonce"] = body["nonce"]
        session.dispatch("GUILD_MEMBERS_CHUNK", chunk)

    def _enter(self, connection: Connection, session: Session) -> None:
        connection.session = session
        if isinstance(session.sink, Connection) and session.sink.frozen:
            session.sink.cut()
        session.sink = connection
        self._ready.set()
        self._guild.touch()

    def _leave(self, connection: Connection) -> None:
        if connection in self._connections:
            self._connections.remove(connection)
        session = connection.session
        if session is not None and session.sink is connection:
            session.sink = None
            session.left = self._guild.clock.time()
        if not self.connections:
            self._ready.clear()

    async def close(self) -> None:
        """End every connection."""
        for connection in list(self._connections):
            if connection.frozen:
                connection.cut()
            else:
                await connection.socket.close(code=1001, message=b"the services end")


def _shard(told: JsonValue) -> tuple[int, int] | None:
    """Return the number and the count of a shard; None if they are invalid."""
    if told is None:
        return 0, 1
    numbers = [part for part in as_list(told) if isinstance(part, int) and not isinstance(part, bool)]
    return (numbers[0], numbers[1]) if len(numbers) == 2 and 0 <= numbers[0] < numbers[1] else None
