"""The routes of `askback serve`: programs that speak HTTP ask people, and wait for their answers."""

from __future__ import annotations

__all__ = ["HttpDoor"]

import json
import logging
import math
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from aiohttp import web
from pydantic import BaseModel, JsonValue, ValidationError

from askback.client.http_result import AskResult, WebhookResult
from askback.domain.ask import Ask
from askback.domain.file_kinds import MEDIA_TYPES
from askback.domain.webhook import Webhook, WebhookDelivery
from askback.doors.caller_asks import CallerAsks
from askback.doors.caller_file import CallerFile
from askback.doors.callers import Caller, Scope
from askback.doors.claude_hooks import (
    ElicitationBody,
    HookRequest,
    answer_elicitation,
    answer_hook,
    build_call_id,
    build_elicitation,
)
from askback.doors.door import Call, Door
from askback.doors.http_access import CALLER, HttpAccess, NotAllowed, RequestProblem
from askback.doors.http_bodies import LONGEST_KEY, MAX_WAIT, AskBody, AskList, CancelBody, PendingAsk, build_question
from askback.doors.openapi import build_document
from askback.doors.tool_inputs import PermitInput, repair_texts
from askback.errors import AskbackError, CallerError, to_problems

log = logging.getLogger("askback.door")

MAX_BODY: Final = 1_000_000
"""Largest body in bytes. A body without a valid token is not read."""
EVENT_SECONDS: Final = 15.0
"""Seconds between two comments of a stream, which keep proxies from closing it."""

BodyT = TypeVar("BodyT", bound=BaseModel)


class HttpDoor:
    """Answers the requests of all callers."""

    def __init__(self, callers: CallerFile, asks: CallerAsks, version: str) -> None:
        self._callers = callers
        self._asks = asks
        self._document = build_document(version)
        self._doors: dict[str, tuple[Caller, Door]] = {}
        """The door of each caller by its name, with the caller's rules at that time."""

    def create_application(self) -> web.Application:
        """Return the application to serve."""
        access = HttpAccess(self._callers)
        application = web.Application(middlewares=[access.handle], client_max_size=MAX_BODY)
        application.add_routes(
            [
                web.get("/healthz", self._report_health),
                web.get("/openapi.json", self._describe),
                web.get("/v1/asks", self._list),
                web.post("/v1/asks", self._create),
                web.get("/v1/asks/{id}", self._get),
                web.get("/v1/asks/{id}/events", self._stream),
                web.get("/v1/asks/{id}/files/{file}", self._send_file),
                web.post("/v1/asks/{id}/cancel", self._cancel),
                web.post("/v1/hooks/claude-code", self._answer_hook),
            ]
        )
        application.on_shutdown.append(self._end_waits)
        return application

    async def _end_waits(self, application: web.Application) -> None:
        del application
        await self._asks.close()

    async def _report_health(self, request: web.Request) -> web.Response:
        del request
        return web.json_response({"status": "ok"})

    async def _describe(self, request: web.Request) -> web.Response:
        del request
        return web.json_response(self._document)

    async def _create(self, request: web.Request) -> web.Response:
        caller = _get_caller(request, "ask")
        seconds = _read_wait(request)
        body = await _read_body(request, AskBody)
        kind, form, vote = build_question(body)
        call = self._build_call(caller, seconds, _read_key(request))
        result = await self._get_door(caller).ask(
            call,
            kind,
            form,
            vote,
            body.place,
            limit=body.timeout,
            on_timeout=body.on_timeout,
            webhook=_find_webhook(caller, body.webhook),
        )
        return _answer(result, is_new=True)

    async def _get(self, request: web.Request) -> web.Response:
        caller = _get_caller(request)
        call = self._build_call(caller, _read_wait(request))
        ask = await self._find(caller, request)
        result = await self._get_door(caller).wait_for(call, ask)
        return _answer(result, await self._asks.list_webhooks(ask))

    async def _list(self, request: web.Request) -> web.Response:
        caller = _get_caller(request)
        found = await self._get_door(caller).list_pending(caller.name)
        listed = AskList(asks=[PendingAsk.model_validate(one) for one in found])
        return web.json_response(listed.model_dump(mode="json"))

    async def _cancel(self, request: web.Request) -> web.Response:
        caller = _get_caller(request, "cancel")
        body = await _read_body(request, CancelBody) if request.can_read_body else CancelBody()
        ask = await self._find(caller, request)
        return _answer(await self._get_door(caller).cancel(self._build_call(caller, 0), ask, body.reason))

    async def _send_file(self, request: web.Request) -> web.Response:
        caller = _get_caller(request)
        found = await self._asks.read_file(await self._find(caller, request), request.match_info["file"])
        if found is None or found[0].kind is None:
            raise RequestProblem(404, "The answers have no file with this id whose contents were read.")
        # A browser must not show what a person sent as a page of this server.
        headers = {
            "Content-Type": MEDIA_TYPES[found[0].kind],
            "Content-Disposition": "attachment",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        }
        return web.Response(body=found[1], headers=headers)

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        caller = _get_caller(request)
        door, ask = self._get_door(caller), await self._find(caller, request)
        call = self._build_call(caller, EVENT_SECONDS)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        await response.prepare(request)
        try:
            result = await door.wait_for(self._build_call(caller, 0), ask)
            await response.write(_build_event(result))
            while result["status"] == "open":
                result = await door.wait_for(call, ask)
                still = result["status"] == "open"
                await response.write(b": nobody has answered yet\n\n" if still else _build_event(result))
        except AskbackError as error:
            # The status of the response is sent already. The question stays open.
            log.warning("A stream ended early: %s", error, extra={"action": "call_failed"})
            await response.write(b"event: error\ndata: {}\n\n")
        await response.write_eof()
        return response

    async def _answer_hook(self, request: web.Request) -> web.Response:
        caller = _get_caller(request, "permit")
        body = (await _read_body(request, HookRequest)).root
        # Claude Code ends the request after the time that its settings give the hook.
        call = self._build_call(caller, math.inf, build_call_id(body))
        if isinstance(body, ElicitationBody):
            result = await self._get_door(caller).ask(call, *build_elicitation(body))
            return web.json_response(answer_elicitation(result))
        given = PermitInput(tool_name=body.tool_name, input=body.tool_input, tool_use_id=call.id)
        answer = await self._get_door(caller).request_permission(call, given)
        return web.json_response(answer_hook(body, answer))

    async def build_document(self, caller: Caller, ask: Ask) -> bytes:
        """Return the outcome of an ask as a webhook sends it: the document that the caller gets by the ask's id."""
        return json.dumps(_to_result(await self._get_door(caller).describe(ask))).encode()

    def note_received(self, caller: Caller, ask: Ask) -> None:
        """Record that the caller has received the outcome of an ask."""
        self._get_door(caller).note_received(ask)

    async def _find(self, caller: Caller, request: web.Request) -> Ask:
        ask = await self._get_door(caller).find(caller.name, request.match_info["id"])
        if ask is None:
            # Another caller's question gets the same answer.
            raise RequestProblem(404, "You have no question with this id: use one that POST /v1/asks returned.")
        return ask

    def _get_door(self, caller: Caller) -> Door:
        known = self._doors.get(caller.name)
        if known is None or known[0] != caller:
            known = caller, Door(caller.rules, self._asks, quotes_names=False)
            self._doors[caller.name] = known
        return known[1]

    def _build_call(self, caller: Caller, seconds: float, key: str | None = None) -> Call:
        async def check(_: str) -> None:
            if not self._callers.has(caller):
                raise NotAllowed

        return Call(principal=caller.name, id=key, seconds=seconds, report=check)


def _get_caller(request: web.Request, scope: Scope | None = None) -> Caller:
    caller = request[CALLER]
    if scope is not None and scope not in caller.scopes:
        raise RequestProblem(403, f"Your token does not allow this: the operator has to add the scope {scope!r} to it.")
    return caller


def _read_wait(request: web.Request) -> float:
    given = request.query.get("wait", "0")
    try:
        seconds = float(given)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= MAX_WAIT:
        raise RequestProblem(422, f"wait={given[:20]} is not a number of seconds from 0 to {MAX_WAIT:g}.")
    return seconds


def _read_key(request: web.Request) -> str | None:
    key = request.headers.get("Idempotency-Key")
    if key is not None and not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
        raise RequestProblem(422, f"The Idempotency-Key is not a text of 1 to {LONGEST_KEY} ASCII characters.")
    return key


async def _read_body(request: web.Request, kind: type[BodyT]) -> BodyT:
    if request.content_type != "application/json":
        raise RequestProblem(415, "The body is not JSON: send it with Content-Type: application/json.")
    text = await request.read()
    try:
        given: JsonValue = repair_texts(json.loads(text))
    except (ValueError, RecursionError):
        raise RequestProblem(400, "The body is not JSON, or is nested too deeply: correct it.") from None
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        raise RequestProblem(422, "; ".join(map(str, to_problems(error)[:10]))) from None


def _find_webhook(caller: Caller, url: str | None) -> Webhook | None:
    """Return the webhook that a body names. Raises `CallerError` if the operator does not allow it."""
    if url is None:
        return None
    if caller.webhooks is None:
        raise CallerError(
            "Your token allows no webhooks: the operator has to list some. Leave it out, and wait for the outcome."
        )
    return Webhook(caller=caller.name, url=caller.webhooks.find_url(url))


def _answer(
    result: Mapping[str, JsonValue], deliveries: Sequence[WebhookDelivery] = (), *, is_new: bool = False
) -> web.Response:
    found = _to_result(result)
    if deliveries:
        found["webhooks"] = [_to_webhook_result(one) for one in deliveries]
    status = 202 if is_new and found["status"] == "open" else 200
    headers = {"Location": f"/v1/asks/{found['id']}"} if is_new else None
    return web.json_response(found, status=status, headers=headers)


def _to_result(result: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return AskResult.model_validate(result).model_dump(mode="json", exclude_none=True)


def _to_webhook_result(delivery: WebhookDelivery) -> JsonValue:
    result = WebhookResult(
        id=delivery.id,
        url=delivery.url.partition("?")[0],
        state=delivery.state,
        attempts=delivery.attempts,
        error=delivery.error,
    )
    return result.model_dump(mode="json", exclude_none=True)


def _build_event(result: Mapping[str, JsonValue]) -> bytes:
    name = "open" if result["status"] == "open" else "settled"
    return f"event: {name}\ndata: {json.dumps(_to_result(result))}\n\n".encode()
