"""Listen for HTTP at one address until a block ends."""

from __future__ import annotations

__all__ = ["serve_http"]

import asyncio
import logging
import socket
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from askback.internal.throttle import Throttle
from askback.network.busy_answer import BusyAnswers
from askback.network.connection_limits import ConnectionLimiter, ListenerBusy, compute_connection_limit, track_requests
from askback.network.listeners import listen
from askback.settings.address import Address

log = logging.getLogger("askback.listen")
http_log = logging.getLogger("askback.listen.http")
"""The log of aiohttp's server."""

LINGER_SECONDS = 1.0
"""Seconds for reading and discarding the rest of a rejected body, so that the sender can still read the response."""
CLOSE_SECONDS = 2.0
"""Seconds that running requests may take when the block ends."""
QUEUED = 2
"""Backlog of the listening socket, per served connection. With a full queue, clients wait for 0.5 seconds."""
PAUSE_SECONDS = 0.1
"""Pause in seconds after the system failed to hand a connection over."""
REPEAT_LOG_SECONDS = 60.0
"""Seconds between two equal warnings: anyone can open connections, and so fill a log."""


class _MalformedRequests(logging.Filter):
    """Reports requests that are not HTTP now and then, and without a traceback. Anyone can send them."""

    def __init__(self) -> None:
        super().__init__()
        self._throttle: Throttle[None] = Throttle(REPEAT_LOG_SECONDS)

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info is None or not isinstance(record.exc_info[1], HttpProcessingError):
            return True
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        record.msg, record.args, record.exc_info = "Rejected a request that is not valid HTTP.", (), None
        return self._throttle.try_allow(None)


http_log.addFilter(_MalformedRequests())


@asynccontextmanager
async def serve_http(
    application: web.Application,
    address: Address,
    *,
    max_connections: int | None = None,
    spare_files: int | None = None,
    refuses: bool = False,
    cancels_handlers: bool = False,
) -> AsyncGenerator[Address]:
    """Serve the application at this address, and yield the address with its actual port.

    When the block ends, stop accepting connections, and finish running requests. `cancels_handlers` cancels the handler
    of a request whose client has gone. `refuses` answers 503 to connections beyond the limit while all others wait for
    their answers. Otherwise these connections wait. Raises `OperatorError` if the address cannot be used.
    """
    application.middlewares.insert(0, track_requests)
    runner = web.AppRunner(
        application,
        access_log=None,
        shutdown_timeout=CLOSE_SECONDS,
        lingering_time=LINGER_SECONDS,
        # A small body may unpack to a huge one, and a signature covers the bytes as they were sent.
        auto_decompress=False,
        handler_cancellation=cancels_handlers,
        logger=http_log,
    )
    await runner.setup()
    try:
        with ExitStack() as stack:
            gate = ConnectionLimiter(compute_connection_limit(max_connections, spare_files))
            sockets = [stack.enter_context(one) for one in await listen(address, QUEUED * gate.most)]
            taking = [
                asyncio.create_task(
                    _accept_connections(one, runner, gate, BusyAnswers() if refuses else None), name="askback listen"
                )
                for one in sockets
            ]
            try:
                yield address.evolve(port=int(sockets[0].getsockname()[1]))
            finally:
                for task in taking:
                    task.cancel()
                await asyncio.wait(taking)
    finally:
        await runner.cleanup()


async def _accept_connections(
    listener: socket.socket, runner: web.AppRunner, gate: ConnectionLimiter, refusals: BusyAnswers | None
) -> None:
    """Accept connections until cancelled. An asyncio server would accept all of them, and log each failure."""
    loop, serve = asyncio.get_running_loop(), runner.server
    warnings: Throttle[str] = Throttle(REPEAT_LOG_SECONDS)

    def log_once(what: str, sentence: str, error: OSError | None = None) -> None:
        if warnings.try_allow(what):
            log.warning(sentence, error or gate.most, extra={"action": what})

    while serve is not None:
        try:
            connection, _ = await loop.sock_accept(listener)
        except ConnectionError:
            continue  # closed before it was accepted
        except OSError as error:
            log_once("accept_failed", "Could not accept a connection; trying again: %s", error)
            gate.close_one()
            await asyncio.sleep(PAUSE_SECONDS)
            continue
        try:
            if await gate.make_room(waits=refusals is None):
                log_once(
                    "connections_closed",
                    "More than %d connections are open; closing those that have waited longest for a request. Put a "
                    "proxy between the bot and the internet.",
                )
            await loop.connect_accepted_socket(lambda: gate.wrap(serve()), connection)
        except ListenerBusy:
            log_once("connections_refused", "%d requests wait for answers, which is the limit; refusing more.")
            await _refuse(connection, refusals)
        except OSError as error:
            connection.close()
            log_once("accept_failed", "Could not accept a connection; trying again: %s", error)
        except BaseException:
            connection.close()
            raise


async def _refuse(connection: socket.socket, refusals: BusyAnswers | None) -> None:
    if refusals is None or refusals.is_full:
        connection.close()
        return
    try:
        await asyncio.get_running_loop().connect_accepted_socket(refusals.create_protocol, connection)
    except OSError:
        connection.close()  # the client has gone
