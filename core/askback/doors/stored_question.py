"""Stores a question so that it is served even if its caller gives up in that very moment."""

from __future__ import annotations

__all__ = ["store_question"]

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from askback.domain.ask import Ask
from askback.errors import AskbackError

log = logging.getLogger("askback.door")

FINISH_SECONDS: Final = 5.0
"""Seconds in which a commit ends that has begun. What has not begun by then does not begin."""


async def store_question(submit: Awaitable[Ask], serve: Callable[[Ask], None]) -> Ask:
    """Return the stored question. If the caller is cancelled meanwhile, `serve` gets a question that was stored."""
    storing = asyncio.ensure_future(submit)
    try:
        return await asyncio.shield(storing)
    except asyncio.CancelledError:
        asyncio.get_running_loop().call_later(FINISH_SECONDS, storing.cancel)
        storing.add_done_callback(lambda done: _serve_stored(done, serve))
        raise


def _serve_stored(storing: asyncio.Future[Ask], serve: Callable[[Ask], None]) -> None:
    if storing.cancelled():
        return
    error = storing.exception()
    if error is None:
        serve(storing.result())
    elif not isinstance(error, AskbackError):
        log.error("A bug kept a question from being stored.", exc_info=error, extra={"action": "not_stored"})
