"""The results that the model got for its questions, as the local Messages API saw them, for the page.

A bot names each message that it posts: Slack keeps the name in the message's metadata, Discord at the start of its
nonce. The name of a card is the id of the ask. The process behind the bot knows the model's call for that ask, and the
log of the Messages API has the `tool_result` for that call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from aiohttp import web

from askback_sandbox.guard import read_object
from askback_sandbox.json_values import JsonObject, as_object, as_text, copied, objects, texts
from askback_sandbox.model.model import Exchange, Model

__all__ = ["FindCalls", "Results"]

MOST_NAMES = 1_000

FindCalls = Callable[[Sequence[str]], Awaitable[Mapping[str, str | None]]]
"""Returns those of these names that are ids of asks, each with the id of the model's call; None if a program asked."""


@dataclass
class _Seen:
    """The blocks of one call in the log."""

    call: JsonObject | None = None
    result: JsonObject | None = None


class Results:
    """The route with the results."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.find_calls: FindCalls | None = None
        """None while no process that knows the asks runs."""

    def routes(self) -> list[web.RouteDef]:
        """Return the routes to mount."""
        return [web.post("/people/results", self._results)]

    async def _results(self, request: web.Request) -> web.StreamResponse:
        """Answer with the asks among these names of messages; null if no process that knows them runs."""
        names = texts((await read_object(request)).get("names"))[:MOST_NAMES]
        if self.find_calls is None:
            return web.json_response({"asks": None})
        found: Mapping[str, str | None] = await self.find_calls(names)
        seen = _search(self._model.log, [call for call in found.values() if call is not None])
        asks: JsonObject = {name: _describe(call, seen) for name, call in found.items()}
        return web.json_response({"asks": asks})


def _describe(call: str | None, seen: Mapping[str, _Seen]) -> JsonObject:
    if call is None:
        return {"by": "program"}
    return {"by": "model", "id": call, "call": seen[call].call, "result": seen[call].result}


def _search(log: Sequence[Exchange], calls: Sequence[str]) -> dict[str, _Seen]:
    """Return the blocks of these calls: the `tool_use` that was delivered, and the first `tool_result` after it."""
    seen = {call: _Seen() for call in calls}
    if not seen:
        return seen
    for exchange in log:
        if exchange.status != 200:
            continue
        for message in objects(as_object(exchange.request).get("messages")):
            for block in objects(message.get("content")):
                known = seen.get(as_text(block.get("tool_use_id")))
                if known is not None and known.result is None and block.get("type") == "tool_result":
                    known.result = copied(block)
        for block in objects(as_object(exchange.answer).get("content")) if exchange.delivered else ():
            known = seen.get(as_text(block.get("id")))
            if known is not None and block.get("type") == "tool_use":
                known.call = copied(block)
    return seen
