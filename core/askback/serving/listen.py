"""Listening for HTTP at one address, until a block ends."""

from __future__ import annotations

__all__ = ["listening"]

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from aiohttp import web

from askback.errors import OperatorError
from askback.settings.address import Address

LINGER_SECONDS = 1.0
"""How long what is left of a refused body is thrown away, so that whoever sends it can still read why."""
CLOSE_SECONDS = 2.0
"""How long requests that are under way may take when the block ends."""


@asynccontextmanager
async def listening(application: web.Application, address: Address) -> AsyncGenerator[Address]:
    """Serve it there; gives the address that it came to be. Raises `OperatorError` where nobody can listen.

    When the block ends, no further connection is taken, and requests under way are still answered.
    """
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
        try:
            await web.TCPSite(runner, address.host, address.port).start()
        except OSError as error:
            why = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else "no such host"
            raise OperatorError(f"Nobody can listen at {address} ({why}): choose another address.") from None
        yield address.evolve(port=int(runner.addresses[0][1]))
    finally:
        await runner.cleanup()
