"""Runs `askback serve`: the listener, the webhooks, and the look-out for changes of the callers."""

from __future__ import annotations

__all__ = ["serve"]

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from askback.doors.caller_asks import CallerAsks
from askback.doors.caller_file import CallerFile
from askback.doors.http_door import HttpDoor
from askback.doors.webhook_worker import WebhookWorker
from askback.network.http_server import serve_http
from askback.settings.address import Address, is_loopback

log = logging.getLogger("askback.door")

MAX_CONNECTIONS: Final = 12_000
"""Largest number of connections. Most of them wait for people."""
SPARE_FILES: Final = 256
"""Files that the process may open besides its connections: the database, the platforms, and clients that are refused.
"""


async def serve(
    address: Address, callers: CallerFile, asks: CallerAsks, version: str, ready: Callable[[], None]
) -> None:
    """Serve until cancelled, and answer the open questions of an earlier process. Raises `OperatorError`.

    `ready` is called once it listens.
    """
    door = HttpDoor(callers, asks, version)
    await door.check_names()
    webhooks = WebhookWorker(asks.location, callers, door, version)
    asks.subscribe(webhooks.wake)
    async with (
        asyncio.TaskGroup() as tasks,
        serve_http(
            door.create_application(),
            address,
            max_connections=MAX_CONNECTIONS,
            spare_files=SPARE_FILES,
            refuses=True,
            cancels_handlers=True,
        ) as bound,
    ):
        log.info("Serving HTTP at http://%s/v1/asks.", bound, extra={"action": "http"})
        if not is_loopback(address.host):
            log.warning(
                "%s can be reached from other machines. Put a proxy with TLS in front: the tokens travel in the clear "
                "otherwise.",
                bound,
                extra={"action": "http"},
            )
        tasks.create_task(webhooks.run(), name="askback webhooks")
        await asks.resume(callers.list_names(), callers.list_platforms())
        ready()
        changed = asyncio.Event()
        tasks.create_task(door.check_changes(changed), name="askback names")
        await callers.watch(changed.set)
