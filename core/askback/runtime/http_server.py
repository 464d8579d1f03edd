"""Listening for HTTP at one address, until a block ends."""

from __future__ import annotations

__all__ = ["listening"]

import asyncio
import logging
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager

from aiohttp import web

from askback.errors import OperatorError
from askback.internal.throttle import Throttle
from askback.runtime.gate import Gate, most_connections, watched
from askback.settings.address import Address

log = logging.getLogger("askback.listen")

LINGER_SECONDS = 1.0
"""How long what is left of a refused body is thrown away, so that whoever sends it can still read why."""
CLOSE_SECONDS = 2.0
"""How long requests that are under way may take when the block ends."""
QUEUED = 2
"""Connections that the system keeps until they are taken, for each that is served: those wait for half a second."""
PAUSE_SECONDS = 0.1
"""How long nothing is taken after the system refused to hand a connection over."""
SAY_AGAIN = 60.0
"""Seconds between two warnings of the same: anybody can open connections, and fill a log."""


@asynccontextmanager
async def listening(application: web.Application, address: Address) -> AsyncGenerator[Address]:
    """Serve it there; gives the address that it came to be. Raises `OperatorError` where nobody can listen.

    When the block ends, no further connection is taken, and requests under way are still answered.
    """
    application.middlewares.insert(0, watched)
    runner = web.AppRunner(
        application,
        access_log=None,
        shutdown_timeout=CLOSE_SECONDS,
        lingering_time=LINGER_SECONDS,
        # A small body may unpack to a huge one, and a signature is over what was sent.
        auto_decompress=False,
    )
    await runner.setup()
    try:
        with ExitStack() as stack:
            gate = Gate(most_connections())
            try:
                sockets = [stack.enter_context(one) for one in await _bound(address, QUEUED * gate.most)]
            except OSError as error:
                why = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else "no such host"
                raise OperatorError(f"Nobody can listen at {address} ({why}): choose another address.") from None
            taking = [asyncio.create_task(_take(one, runner, gate), name="askback listen") for one in sockets]
            try:
                yield address.evolve(port=int(sockets[0].getsockname()[1]))
            finally:
                for task in taking:
                    task.cancel()
                await asyncio.wait(taking)
    finally:
        await runner.cleanup()


async def _bound(address: Address, backlog: int) -> list[socket.socket]:
    """Listen at everything that a host's name stands for. Raises `OSError`."""
    found = await asyncio.get_running_loop().getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    with ExitStack() as stack:
        sockets: list[socket.socket] = []
        for family, *_, where in dict.fromkeys(found):
            one = socket.create_server((str(where[0]), int(where[1])), family=family, backlog=backlog)
            one.setblocking(False)
            sockets.append(stack.enter_context(one))
        stack.pop_all()
        return sockets


async def _take(listener: socket.socket, runner: web.AppRunner, gate: Gate) -> None:
    """Take connections until cancelled. A server of asyncio's would take all that come, and log each that it cannot."""
    loop, serve = asyncio.get_running_loop(), runner.server
    said: Throttle[str] = Throttle(SAY_AGAIN)

    def say(what: str, sentence: str, error: OSError | None = None) -> None:
        if said.allows(what):
            log.warning(sentence, error or gate.most, extra={"action": what})

    while serve is not None:
        try:
            connection, _ = await loop.sock_accept(listener)
        except ConnectionError:
            continue  # gone before it was taken
        except OSError as error:
            say("accept_failed", "A connection could not be taken, trying again: %s", error)
            gate.close_one()
            await asyncio.sleep(PAUSE_SECONDS)
            continue
        try:
            if await gate.make_room():
                say(
                    "connections_closed",
                    "More than %d connections are open, so those that wait longest for a request are closed. Let a "
                    "proxy in front of the bot take connections from the internet.",
                )
            await loop.connect_accepted_socket(lambda: gate.wrap(serve()), connection)
        except OSError as error:
            connection.close()
            say("accept_failed", "A connection could not be taken, trying again: %s", error)
        except BaseException:
            connection.close()
            raise
