"""A log of the demo's tool runs: each tool adds one entry every time it runs."""

from __future__ import annotations

from typing import Final

from aiohttp import web
from pydantic import JsonValue, TypeAdapter, ValidationError

from .json_values import JsonObject

__all__ = ["Ledger"]

LONGEST: Final = 1_000
"""Maximum number of entries; further ones are refused."""

_ENTRY: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


class Ledger:
    """The entries, and the routes to write and read them."""

    def __init__(self) -> None:
        self.entries: list[JsonObject] = []

    def routes(self) -> list[web.RouteDef]:
        """Return the routes to mount: tools write, players read."""
        return [web.post("/ran", self._write), web.get("/log/ran", self._read)]

    async def _write(self, request: web.Request) -> web.Response:
        try:
            entry = _ENTRY.validate_json(await request.read())
        except ValidationError:
            raise web.HTTPBadRequest(text="An entry is a JSON object: the tool, and its input.") from None
        if len(self.entries) >= LONGEST:
            raise web.HTTPInsufficientStorage(text=f"The ledger is full: it has {LONGEST} entries.")
        self.entries.append(entry)
        return web.json_response({"number": len(self.entries)})

    async def _read(self, request: web.Request) -> web.Response:
        del request
        return web.json_response(self.entries)
