"""The local Messages API: `POST /v1/messages`, streaming or not, answered by the script of a `Model`.

Point the anthropic client at the service's root (`base_url=` or `ANTHROPIC_BASE_URL`). There are two more routes:
`GET /log/model` lists every request and answer, and `POST /model/script` takes
`{"scripts": [...], "faults": [...], "reset": true}` (see `script.py` for the shapes).
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace

from aiohttp import web
from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError

from .model import Answer, Exchange, Model
from .request import ReceivedRequest, tokens
from .rules import Refused, check
from .script import Fault, Script

__all__ = ["routes"]

Object = dict[str, JsonValue]

_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)
_SECRET = ("authorization", "x-api-key", "cookie", "proxy-authorization")
_LARGEST = 32 * 2**20
_LOOK = 0.05
_LONGEST_WAIT = 30.0
_GLANCE = 0.2  # seconds until a reader that disconnected is noticed; new entries are sent at once


@dataclass(frozen=True)
class _Error:
    status: int
    type: str
    message: str
    headers: Mapping[str, str]

    def body(self, request_id: str) -> Object:
        return {
            "type": "error",
            "error": {"type": self.type, "message": self.message, "details": None},
            "request_id": request_id,
        }


_FAULTS: dict[str, _Error] = {
    "overloaded": _Error(529, "overloaded_error", "Overloaded", {"x-should-retry": "true"}),
    "rate_limited": _Error(
        429,
        "rate_limit_error",
        "This request would exceed the rate limit for your organization. Please try again later.",
        {"x-should-retry": "true"},
    ),
    "bad_key": _Error(401, "authentication_error", "invalid x-api-key", {"x-should-retry": "false"}),
    "no_permission": _Error(
        403,
        "permission_error",
        "Your API key does not have permission to use the specified resource.",
        {"x-should-retry": "false"},
    ),
    "prompt_too_long": _Error(
        400,
        "invalid_request_error",
        "prompt is too long: 1203417 tokens > 1000000 maximum",
        {"x-should-retry": "false"},
    ),
    "bad_request": _Error(400, "invalid_request_error", "invalid request", {"x-should-retry": "false"}),
    "request_too_large": _Error(
        413, "request_too_large", "Request exceeds the maximum size", {"x-should-retry": "false"}
    ),
    "server_error": _Error(500, "api_error", "Internal server error", {"x-should-retry": "true"}),
}


class _Orders(BaseModel):
    """The body of `POST /model/script`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scripts: tuple[Script, ...] = ()
    faults: tuple[Fault, ...] = ()
    reset: bool = False


def routes(model: Model) -> list[web.RouteDef]:
    """Return the routes of the Messages API, to be mounted at the root of a service."""
    api = _Api(model)
    return [
        web.post("/v1/messages", api.messages),
        web.post("/v1/messages/count_tokens", api.count),
        web.get("/v1/models/{name}", api.describe),
        web.get("/log/model", api.log),
        web.post("/model/script", api.orders),
    ]


class _Api:
    def __init__(self, model: Model) -> None:
        self._model = model

    async def log(self, request: web.Request) -> web.Response:
        """Return the whole log, or with `?after=N&wait=S` the entries recorded after N.

        The second form waits up to S seconds (30 at most) for the first such entry.
        """
        if "after" not in request.query:
            return web.json_response([exchange.json() for exchange in self._model.log])
        try:
            after, wait = int(request.query["after"]), float(request.query.get("wait", "0"))
        except ValueError:
            raise web.HTTPBadRequest(text="after and wait are numbers") from None
        found = await self._model.since(after, 0)
        for _ in range(int(min(wait, _LONGEST_WAIT) / _GLANCE)):
            if found or request.transport is None or request.transport.is_closing():
                break
            found = await self._model.since(after, _GLANCE)
        return web.json_response([exchange.json() for exchange in found])

    async def orders(self, request: web.Request) -> web.Response:
        try:
            orders = _Orders.model_validate_json(await request.content.read())
        except ValidationError as error:
            return web.json_response({"ok": False, "error": str(error)}, status=400)
        if orders.reset:
            self._model.reset()
        for script in orders.scripts:
            self._model.add(script)
        self._model.fail(*orders.faults)
        return web.json_response({"ok": True})

    async def count(self, request: web.Request) -> web.StreamResponse:
        exchange, body = await self._begin(request)
        error = self._refusal(request, body, counting=True)
        if error is not None:
            return self._refuse(exchange, error)
        count: Object = {"input_tokens": tokens(body)}
        if isinstance(body, dict) and "context_management" in body:
            count = {
                "input_tokens": ReceivedRequest(body).tokens,
                "context_management": {"original_input_tokens": tokens(body)},
            }
        self._model.record(replace(exchange, status=200, answer=count))
        return web.json_response(count, headers={"request-id": _request_id()})

    async def describe(self, request: web.Request) -> web.StreamResponse:
        """Describe one model [sdk types.ModelInfo]."""
        name = request.match_info["name"]
        if (error := self._stranger(request)) is None and name in self._model.unknown:
            error = _Error(404, "not_found_error", f"model: {name}", {"x-should-retry": "false"})
        request_id = _request_id()
        if error is not None:
            headers = {**error.headers, "request-id": request_id}
            return web.json_response(error.body(request_id), status=error.status, headers=headers)
        described: Object = {
            "type": "model",
            "id": name,
            "display_name": name,
            "created_at": "2026-01-01T00:00:00Z",
            "lifecycle": self._model.lifecycle,
            "deprecated_at": None,
            "retires_at": None,
            "max_input_tokens": 1_000_000,
            "max_tokens": 128_000,
        }
        return web.json_response(described, headers={"request-id": request_id})

    async def messages(self, request: web.Request) -> web.StreamResponse:
        exchange, body = await self._begin(request)
        error = self._refusal(request, body, counting=False)
        if error is not None or not isinstance(body, dict):
            return self._refuse(exchange, error or _invalid("expected an object"))
        asked = ReceivedRequest(body)
        answer = self._model.answer(asked)
        fault = answer.fault
        exchange = replace(
            exchange,
            script=answer.script,
            turn=answer.turn,
            fault=fault.kind if fault else None,
            beyond=answer.beyond,
        )
        if fault is not None and not (fault.in_stream and body.get("stream")):
            if fault.in_stream:
                # Without a stream, nothing can break in the middle, so the connection is closed instead.
                self._model.record(replace(exchange, status=0, delivered=False))
                _hang_up(request)
                return web.Response(status=500)
            return self._refuse(exchange, _error(fault))
        if body.get("stream"):
            return await self._stream(request, exchange, asked, answer)
        self._model.heard(asked, answer)
        self._model.record(replace(exchange, status=200, answer=answer.message))
        return web.json_response(answer.message, headers={"request-id": _request_id()})

    async def _begin(self, request: web.Request) -> tuple[Exchange, JsonValue]:
        # Not request.read(), which applies the application's size limit: histories grow long.
        raw = await request.content.read()
        number, at = self._model.number()
        headers = {name.lower(): value for name, value in request.headers.items()}
        try:
            body = _JSON.validate_json(raw) if len(raw) <= _LARGEST else None
        except ValidationError:
            body = None
        safe = {name: value for name, value in headers.items() if name not in _SECRET}
        exchange = Exchange(number, at, request.path, safe, body, status=0, answer=None)
        return exchange, body

    def _stranger(self, request: web.Request) -> _Error | None:
        """Return the error for missing or bad credentials or a missing version; None if there is none."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else ""
        key = request.headers.get("x-api-key", "")
        if not bearer and not key:
            return _denied("x-api-key header is required")
        if key in self._model.bad_keys:
            return _denied("invalid x-api-key")
        if bearer in self._model.bad_keys:
            return _denied("Invalid bearer token")
        if "anthropic-version" not in request.headers:
            return _invalid("anthropic-version: header is required")
        return None

    def _refusal(self, request: web.Request, body: JsonValue, *, counting: bool) -> _Error | None:
        if (stranger := self._stranger(request)) is not None:
            return stranger
        if body is None:
            return _invalid("The request body is not valid JSON")
        try:
            betas = frozenset(beta.strip() for beta in request.headers.get("anthropic-beta", "").split(","))
            check(body, counting=counting, paused=self._model.paused, betas=betas)
        except Refused as refused:
            return _invalid(str(refused))
        return None

    def _refuse(self, exchange: Exchange, error: _Error) -> web.Response:
        request_id = _request_id()
        body = error.body(request_id)
        self._model.record(replace(exchange, status=error.status, answer=body, delivered=False))
        headers = {**error.headers, "request-id": request_id}
        return web.json_response(body, status=error.status, headers=headers)

    async def _stream(
        self, request: web.Request, exchange: Exchange, asked: ReceivedRequest, answer: Answer
    ) -> web.StreamResponse:
        request_id = _request_id()
        response = web.StreamResponse(
            headers={
                "content-type": "text/event-stream; charset=utf-8",
                "cache-control": "no-cache",
                "request-id": request_id,
            }
        )
        delivered = False
        log: JsonValue = answer.message
        try:
            await response.prepare(request)
            fault = answer.fault
            async for event in self._events(answer):
                if event is None:
                    assert fault is not None
                    log = await self._break(request, response, fault, request_id)
                    break
                await response.write(_sse(event))
            else:
                delivered = True
                # Before the end of the stream: a client that has read it all may read the log at once.
                self._model.heard(asked, answer)
            self._model.record(replace(exchange, status=200, answer=log, delivered=delivered))
            if request.transport is not None and not request.transport.is_closing():
                await response.write_eof()
        except ConnectionResetError:
            if not delivered:
                self._model.record(replace(exchange, status=200, answer=log, delivered=False))
        return response

    async def _events(self, answer: Answer) -> AsyncIterator[Object | None]:
        """Yield the events of an answer, and None at the point where its fault occurs."""
        message = answer.message
        left = answer.fault.after if answer.fault is not None else None
        usage = message["usage"]
        assert isinstance(usage, dict)
        assert isinstance(message["content"], list)
        first: Object = {
            **message,
            "content": [],
            "stop_reason": None,
            "stop_details": None,
            "usage": {**{name: value for name, value in usage.items() if name != "iterations"}, "output_tokens": 1},
        }
        first.pop("context_management", None)
        yield {"type": "message_start", "message": first}
        yield {"type": "ping"}
        for index, block in enumerate(message["content"]):
            assert isinstance(block, dict)
            if block["type"] == "compaction":
                empty: Object = {"type": "compaction", "content": None, "encrypted_content": None}
                yield {"type": "content_block_start", "index": index, "content_block": empty}
                # A summary arrives in one piece [docs build-with-claude/compaction].
                yield {"type": "content_block_delta", "index": index, "delta": {**block, "type": "compaction_delta"}}
                yield {"type": "content_block_stop", "index": index}
                continue
            text = block["type"] == "text"
            begun = {**block, "text": ""} if text else {**block, "input": {}}
            yield {"type": "content_block_start", "index": index, "content_block": begun}
            written = None if text else answer.raw.get(str(block["id"]))
            whole = str(block["text"]) if text else written or json.dumps(block["input"], ensure_ascii=False)
            pieces = [whole[at : at + self._model.chunk] for at in range(0, len(whole), self._model.chunk)]
            for piece in pieces if text else ["", *pieces]:
                if left is not None and left < len(piece):
                    yield None
                    return
                if self._model.delay:
                    await asyncio.sleep(self._model.delay)
                delta: Object = (
                    {"type": "text_delta", "text": piece}
                    if text
                    else {"type": "input_json_delta", "partial_json": piece}
                )
                yield {"type": "content_block_delta", "index": index, "delta": delta}
                left = left if left is None else left - len(piece)
            yield {"type": "content_block_stop", "index": index}
        if answer.fault is not None:
            yield None
            return
        yield {
            "type": "message_delta",
            "delta": {key: message[key] for key in ("stop_reason", "stop_sequence", "stop_details")},
            "usage": {name: usage[name] for name in ("output_tokens", "iterations") if name in usage},
            **({"context_management": message["context_management"]} if "context_management" in message else {}),
        }
        yield {"type": "message_stop"}

    async def _break(
        self, request: web.Request, response: web.StreamResponse, fault: Fault, request_id: str
    ) -> JsonValue:
        match fault.kind:
            case "disconnect":
                _hang_up(request)
            case "malformed":
                await response.write(b'event: content_block_delta\ndata: {"type": "content_blo\n\n')
            case "stall":
                await _stall(request, fault.seconds)
                _hang_up(request)
            case _:
                body = _error(fault).body(request_id)
                await response.write(_sse(body))
                return body
        return {"broken": fault.kind}


def _error(fault: Fault) -> _Error:
    error = _FAULTS[fault.kind]
    if fault.message is not None:
        error = replace(error, message=fault.message)
    if fault.retry_after is not None:
        error = replace(error, headers={**error.headers, "retry-after": f"{fault.retry_after:g}"})
    return error


def _invalid(message: str) -> _Error:
    return _Error(400, "invalid_request_error", message, {"x-should-retry": "false"})


def _denied(message: str) -> _Error:
    return _Error(401, "authentication_error", message, {"x-should-retry": "false"})


def _request_id() -> str:
    return "req_011" + secrets.token_hex(10)


def _sse(event: Object) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


def _hang_up(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.close()


async def _stall(request: web.Request, seconds: float) -> None:
    """Stay silent until the time has passed or the client has disconnected.

    It polls the connection, because aiohttp reports a disconnect only on a write.
    """
    for _ in range(int(seconds / _LOOK) + 1):
        if request.transport is None or request.transport.is_closing():
            return
        await asyncio.sleep(_LOOK)
