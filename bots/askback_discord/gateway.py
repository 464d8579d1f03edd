"""Keeps the gateway connection open whenever possible, and detects a dead one.

`discord.Client.connect` waits a minute for a heartbeat, ten seconds for a dead peer's closing handshake, and up to a
minute for a hello. After an error it sleeps up to a second before its first retry. `python -m tests.bench --only
silence` measures how long a dead connection goes unnoticed: 57 s with discord.py's loop, 1.5 s with this one (two
cores, loopback).
"""

from __future__ import annotations

__all__ = ["UNREADABLE", "Gateway"]

import asyncio
import logging
import math
import random
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Protocol, cast

import aiohttp
import discord
from discord.gateway import DiscordWebSocket, KeepAliveHandler, ReconnectWebSocket

from askback.network.keepalive import KeepAlive

log = logging.getLogger("askback.discord")

OPEN_SECONDS = 15.0
"""Seconds that opening may take. discord.py may wait five of them before it identifies itself again."""
CLOSE_SECONDS = 1.0
HEARTBEAT_END_SECONDS = 1.0
"""Seconds to wait for a thread of discord.py that sends a heartbeat when the connection is cut."""
STEADY_SECONDS = 10.0
"""Seconds after which a connection counts as stable. The next one then opens without back-off."""
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 30.0
SHORTEST = 0.6
"""Minimum seconds between two heartbeats. Discord closes a connection that sends more than 120 frames per minute."""
PRIVILEGED, CLOSED_CLEANLY = 4014, 1000
UNREADABLE = (AttributeError, LookupError, TypeError, ValueError)
"""Errors from reading a payload if a part of it is missing or has another type."""


class _KeepAlive(Protocol):
    """The used part of `discord.gateway.KeepAliveHandler`.

    It records each heartbeat, its acknowledgement, and everything that came in.
    """

    latency: float
    _last_ack: float
    _last_recv: float

    def beat(self) -> dict[str, object]: ...


class Gateway:
    """Keeps a client connected."""

    def __init__(self, client: discord.Client) -> None:
        self._client = client
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._up = False
        self._draining = False
        self._failures = 0
        connect = cast("Callable[..., Awaitable[aiohttp.ClientWebSocketResponse]]", client.http.ws_connect)

        async def connect_and_keep(url: str, **more: object) -> aiohttp.ClientWebSocketResponse:
            # discord.py holds no reference to a socket before its hello. If the hello never arrives, only this
            # reference can close it.
            self._socket = await connect(url, **more)
            return self._socket

        client.http.ws_connect = connect_and_keep  # pyright: ignore[reportAttributeAccessIssue] - replaces a method

    @property
    def is_connected(self) -> bool:
        """Return True if the gateway is responsive and the session is ready."""
        return self._up and self._client.is_ready()

    async def run(self) -> None:
        """Stay connected until cancelled. Raises `discord.ConnectionClosed` if Discord closes the gateway permanently.

        Raises `discord.PrivilegedIntentsRequired` if Discord does not grant the intents.
        """
        session: dict[str, object] = {"initial": True, "shard_id": self._client.shard_id}
        try:
            while not self._draining:
                await self._pause()
                began = time.monotonic()
                ws: DiscordWebSocket | None = None
                try:
                    async with asyncio.timeout(OPEN_SECONDS):
                        ws = self._client.ws = await DiscordWebSocket.from_client(self._client, **session)  # pyright: ignore[reportArgumentType] - as discord.py
                    session["initial"] = False
                    await self._poll(ws, time.monotonic() - began)
                except ReconnectWebSocket as ended:
                    session["resume"] = ended.resume
                    log.info("Reconnecting to Discord's gateway.", extra={"action": "gateway_reconnect"})
                except discord.ConnectionClosed as closed:
                    if closed.code == PRIVILEGED:
                        raise discord.PrivilegedIntentsRequired(closed.shard_id) from None
                    if closed.code != CLOSED_CLEANLY:
                        raise
                    session["resume"] = True
                except (OSError, TimeoutError, aiohttp.ClientError, discord.HTTPException) as error:
                    session["resume"] = True
                    log.warning(
                        "Could not reach Discord's gateway; trying again: %s",
                        type(error).__name__,
                        extra={"action": "no_gateway"},
                    )
                finally:
                    self._up = False
                    self._cut()
                known = cast("DiscordWebSocket | None", self._client.ws)
                # Resume only a session that has an id.
                session["resume"] = bool(session.get("resume")) and known is not None and known.session_id is not None
                if known is not None:
                    session |= {"sequence": known.sequence, "session": known.session_id, "gateway": known.gateway}
                steady = ws is not None and time.monotonic() - began >= STEADY_SECONDS
                self._failures = 0 if steady else self._failures + 1
                if not self._draining:
                    self._client.dispatch("disconnect")
            await asyncio.Event().wait()  # drained: the work that has begun continues in other tasks
        finally:
            self._cut()
            await self._end_heartbeats()

    async def drain(self) -> None:
        """Close the connection, and open no new one."""
        self._draining = True
        ws = cast("DiscordWebSocket | None", self._client.ws)
        if ws is None:
            return
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await ws.close(CLOSED_CLEANLY)
        except (TimeoutError, OSError):
            log.info(
                "Closed the gateway connection without a handshake: Discord did not answer.",
                extra={"action": "gateway_cut"},
            )
        self._cut()

    async def _pause(self) -> None:
        # Retry at once after the first failure. Discord itself causes most disconnects, and missed events wait to be
        # replayed.
        if self._failures > 1:
            longest = min(FIRST_PAUSE * 2 ** min(self._failures - 2, 16), LONGEST_PAUSE)
            await asyncio.sleep(longest * random.uniform(0.5, 1.0))

    async def _poll(self, ws: DiscordWebSocket, opening: float) -> None:
        self._up = True
        watch = asyncio.create_task(self._watch(ws, opening), name="askback discord pulse")
        try:
            while True:
                try:
                    await ws.poll_event()
                except UNREADABLE:
                    if ws.socket.closed:
                        raise
                    # Skip a frame that discord.py cannot parse; otherwise its error would end the connection.
                    log.exception("Skipped a payload that discord.py cannot parse.", extra={"action": "payload_failed"})
        finally:
            watch.cancel()

    async def _watch(self, ws: DiscordWebSocket, opening: float) -> None:
        """Close the connection as soon as it is silent. It is then resumed, so that no event is lost."""
        keep_alive = _keep_alive(ws)
        if keep_alive is None:
            return
        pulse = KeepAlive(opening, shortest=SHORTEST)
        acked = keep_alive._last_ack  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001 - no public API has it
        greeted = keep_alive._last_recv  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001 - no public API has it

        async def ask() -> None:
            await ws.send_heartbeat(keep_alive.beat())

        def count_acked() -> float:
            nonlocal acked
            if keep_alive._last_ack != acked:  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001 - no public API has it
                acked = keep_alive._last_ack  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001 - no public API has it
                pulse.record_round_trip(keep_alive.latency)
            return keep_alive._last_recv  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001 - no public API has it

        await pulse.wait_until_silent(ask, count_acked)
        # discord.py sends the first heartbeat before it identifies itself, and Discord acknowledges it before READY.
        if math.isinf(keep_alive.latency) and count_acked() != greeted:
            log.warning(
                "The gateway acknowledges no heartbeat, so a dead connection is noticed only after a minute. "
                "Check ASKBACK_DISCORD_GATEWAY_URL.",
                extra={"action": "no_heartbeat_ack"},
            )
            return
        self._up = False
        log.warning("Discord's gateway is silent; reconnecting.", extra={"action": "gateway_silent"})
        self._cut()

    def _cut(self) -> None:
        """Close it without the closing handshake, which would wait for a dead peer."""
        if self._socket is None:
            return
        response = self._socket._response  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001 - aiohttp has no public API
        if response.connection is not None and response.connection.transport is not None:
            response.connection.transport.abort()
        response.close()
        for heartbeat in self._find_heartbeats():
            heartbeat.stop()

    async def _end_heartbeats(self) -> None:
        """Wait for the threads that send heartbeats: one that outlives the event loop ends with a traceback."""
        for heartbeat in self._find_heartbeats():
            await asyncio.to_thread(heartbeat.join, HEARTBEAT_END_SECONDS)

    def _find_heartbeats(self) -> list[KeepAliveHandler]:
        # discord.py gives the thread of a connection that was cut while opening to no one.
        threads = [one for one in threading.enumerate() if isinstance(one, KeepAliveHandler)]
        return [one for one in threads if one.ws.socket is self._socket]


def _keep_alive(ws: DiscordWebSocket) -> _KeepAlive | None:
    return cast("_KeepAlive | None", ws._keep_alive)  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001 - no public API has it
