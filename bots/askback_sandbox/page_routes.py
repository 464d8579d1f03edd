"""The part of the people's routes that both platforms share: changes as a stream, files, and answers to mistakes."""

import json
from typing import Protocol

from aiohttp import web

from askback_sandbox.person_error import PersonError

from .attached import Attached, NoFileError, read_attached
from .guard import Handler
from .json_values import JsonObject


class Changing(Protocol):
    """A workspace or a guild, whose revision grows with each change."""

    @property
    def revision(self) -> int: ...
    @property
    def closed(self) -> bool: ...
    async def changed_since(self, revision: int) -> int: ...


async def stream_revisions(request: web.Request, changing: Changing) -> web.StreamResponse:
    """Send each new revision, so that the page reads the state again, until the page or the service is closed."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
    await response.prepare(request)
    revision = changing.revision
    try:
        while not changing.closed:
            await response.write(f"data: {json.dumps({'revision': revision})}\n\n".encode())
            revision = await changing.changed_since(revision)
    except ConnectionError:
        pass  # the page was closed
    return response


def attached(body: JsonObject) -> tuple[Attached, ...]:
    """Return the files that a person wants to attach.

    Raises:
        PersonError: a file is invalid, or there are too many.
    """
    try:
        return read_attached(body.get("files"))
    except NoFileError as error:
        raise PersonError("invalid_file", str(error)) from error


def polite(handler: Handler) -> Handler:
    """Answer a person's mistake with its error and code instead of failing the request."""

    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except PersonError as error:
            return web.json_response({"ok": False, "error": str(error), "code": error.code})

    return handle
