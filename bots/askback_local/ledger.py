"""What the tools of a demo really did: each says so here, once for each time that it ran."""

from __future__ import annotations

from typing import Final

from aiohttp import web
from pydantic import JsonValue, TypeAdapter, ValidationError

from .json_values import JsonObject

__all__ = ["Ledger"]

LONGEST: Final = 1_000
"""Entries that are kept."""

_ENTRY: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


class Ledger:
    """The list, and the two doors to it."""

    def __init__(self) -> None:
        self.entries: list[JsonObject] = []

    def routes(self) -> list[web.RouteDef]:
        """What to mount: tools write, players read."""
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
