"""Watches the responses of `askback mcp --http`: which were written, and which are missing when the server ends."""

from __future__ import annotations

__all__ = ["McpResponses"]

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askback.doors.receipts import Receipts, responding

END_SECONDS: Final = 3.0
"""Seconds that open requests get at the end."""


class McpResponses:
    """Confirms the receipts of each response that was written to its end.

    If the client closes the connection first, its call ends. In a session, the library would let it run on.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._calls: dict[asyncio.Task[Any] | None, Receipts] = {}
        self._listening: set[asyncio.Task[Any] | None] = set()
        """The requests that only receive the server's own messages. They have no end."""
        self._is_ending = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._is_ending:
            busy = PlainTextResponse("This server is ending: try again later.", 503, {"Retry-After": "1"})
            await busy(scope, receive, send)
            return
        is_written = False

        async def send_and_look(message: Message) -> None:
            nonlocal is_written
            await send(message)
            is_written = message["type"] == "http.response.body" and not message.get("more_body", False)

        task = asyncio.current_task()
        with responding() as receipts:
            if scope.get("method") == "GET":
                self._listening.add(task)
            else:
                self._calls[task] = receipts
            try:
                await self._app(scope, receive, send_and_look)
                if is_written:
                    receipts.confirm()
            finally:
                receipts.close()
                self._calls.pop(task, None)
                self._listening.discard(task)

    async def end(self, close_connections: Callable[[], None]) -> None:
        """Let each call that waits return its open question. Afterwards, close the connections of those that listen."""
        self._is_ending = True
        for receipts in self._calls.values():
            receipts.close()
        await _wait(self._calls)
        close_connections()
        await _wait((*self._calls, *self._listening))


async def _wait(tasks: Iterable[asyncio.Task[Any] | None]) -> None:
    if found := [task for task in tasks if task is not None]:
        await asyncio.wait(found, timeout=END_SECONDS)
