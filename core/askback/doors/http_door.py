"""The routes of `askback serve`: programs that speak HTTP ask people, and wait for their answers."""

from __future__ import annotations

__all__ = ["HttpDoor"]

import asyncio
import json
import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final, NoReturn, TypeVar

from aiohttp import web
from pydantic import BaseModel, JsonValue, ValidationError

from askback.client.ask_result import AskResult, WebhookResult
from askback.client.serving_process import check_bots
from askback.domain.ask import Ask
from askback.domain.ask_page import MOST_LISTED, Cursor
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
from askback.doors.http_access import CALLER, HttpAccess, RequestProblem, RulesChanged, TokenRevoked
from askback.doors.http_bodies import (
    LONGEST_KEY,
    MAX_BODY,
    MAX_WAIT,
    AskBody,
    AskList,
    CancelBody,
    build_question,
)
from askback.doors.http_health import HttpHealth
from askback.doors.openapi import build_document
from askback.doors.tool_inputs import EXAMPLE, PermitInput, repair_texts
from askback.errors import AskbackError, CallerError, OperatorError, to_problems

log = logging.getLogger("askback.door")

CHECK_SECONDS: Final = 20.0
"""Longest time in which the names of all callers are looked up before the server starts."""
EVENT_SECONDS: Final = 15.0
"""Seconds between two comments of a stream, which keep proxies from closing it."""

LONGEST_LIMIT: Final = 10
"""Maximum number of digits of a limit."""

BodyT = TypeVar("BodyT", bound=BaseModel)


class HttpDoor:
    """Answers the requests of all callers."""

    def __init__(self, callers: CallerFile, asks: CallerAsks, version: str) -> None:
        self._callers = callers
        self._asks = asks
        self._health = HttpHealth(callers, asks)
        self._document = build_document(version)
        self._doors: dict[str, tuple[Caller, Door]] = {}
        """The door of each caller by its name, with the caller's rules at that time."""

    def create_application(self) -> web.Application:
        """Return the application to serve."""
        access = HttpAccess(self._callers)
        application = web.Application(middlewares=[access.handle], client_max_size=MAX_BODY)
        application.add_routes(
            [
                *self._health.list_routes(),
                web.get("/openapi.json", self._describe),
                # The answer to HEAD has no outcome, and must not count as its receipt.
                web.get("/v1/asks", self._list, allow_head=False),
                web.post("/v1/asks", self._create),
                web.get("/v1/asks/{id}", self._get, allow_head=False),
                web.get("/v1/asks/{id}/events", self._stream, allow_head=False),
                web.get("/v1/asks/{id}/files/{file}", self._send_file, allow_head=False),
                web.post("/v1/asks/{id}/cancel", self._cancel),
                web.post("/v1/hooks/claude-code", self._answer_hook),
            ]
        )
        application.on_response_prepare.append(access.note_begun)
        application.on_shutdown.append(self._end_waits)
        return application

    async def check_names(self) -> None:
        """Look up the names in the rules of all callers. Raises `OperatorError` for the first that cannot work.

        Nor can a place whose platform has no bot in the process that uses the file. What takes too long is looked up
        when a program asks.
        """
        await self._check_callers(self._check_caller)

    async def check_changes(self, changed: asyncio.Event) -> None:
        """Look up the names again after each change of the file, until cancelled. Those that cannot work are logged."""
        while True:
            await changed.wait()
            changed.clear()
            await self._check_callers(self._try_check_caller)

    async def _check_callers(self, check: Callable[[str], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                for name in self._callers.list_names():
                    await check(name)
        except TimeoutError:
            log.warning(
                "Could not check all names in %g seconds. A question with a wrong one is refused.", CHECK_SECONDS,
                extra={"action": "name_unknown"},
            )  # fmt: skip

    async def _try_check_caller(self, name: str) -> None:
        try:
            await self._check_caller(name)
        except OperatorError as error:
            log.warning("%s", error, extra={"action": "name_unknown"})

    async def _check_caller(self, name: str) -> None:
        caller = self._callers.get(name)
        if caller is None:
            return
        try:
            await self._get_door(caller).check_names()
            for platform in caller.rules.list_platforms():
                await asyncio.to_thread(check_bots, self._asks.location, platform)
        except (CallerError, OperatorError) as error:
            raise OperatorError(f"[{name}] in the file of callers cannot work: {error}") from error

    async def _end_waits(self, application: web.Application) -> None:
        del application
        await self._health.close()
        await self._asks.close()

    async def _describe(self, request: web.Request) -> web.Response:
        del request
        return web.json_response(self._document)

    async def _create(self, request: web.Request) -> web.Response:
        caller = _get_caller(request, "ask")
        seconds = _read_wait(request)
        body = await _read_body(request, AskBody)
        with caller.rules.use_language():
            kind, form, vote = build_question(body)
        limit = body.timeout if body.deadline is None else body.deadline
        caller.rules.check_default(limit, body.on_timeout, "`timeout` in seconds, or a moment as `deadline`")
        key = _read_key(request)
        call = replace(self._build_call(caller, seconds, key), is_key=key is not None)
        result = await self._get_door(caller).ask(
            call,
            kind,
            form,
            vote,
            body.place,
            limit=limit,
            on_timeout=body.on_timeout,
            webhook=_find_webhook(caller, body.webhook),
        )
        return _answer(result, is_new=True)

    async def _get(self, request: web.Request) -> web.Response:
        caller = _get_caller(request)
        call = self._build_call(caller, _read_wait(request))
        ask = await self._find(caller, request)
        result = await self._get_door(caller).wait_for(call, ask)
        return _answer(result, await self._asks.reader.list_webhooks(ask))

    async def _list(self, request: web.Request) -> web.Response:
        caller = _get_caller(request)
        after, at_most = _read_page(request)
        found, page = await self._get_door(caller).list_pending(caller.name, after, at_most)
        listed = AskList(asks=found)
        if page.next is not None:
            listed.next_cursor = str(page.next)
        return web.json_response(listed.model_dump(mode="json", exclude_unset=True))

    async def _cancel(self, request: web.Request) -> web.Response:
        caller = _get_caller(request, "cancel")
        body = await _read_body(request, CancelBody) if await request.read() else CancelBody()
        ask = await self._find(caller, request)
        return _answer(await self._get_door(caller).cancel(self._build_call(caller, 0), ask, body.reason))

    async def _send_file(self, request: web.Request) -> web.Response:
        caller = _get_caller(request)
        found = await self._asks.reader.read_file(await self._find(caller, request), request.match_info["file"])
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
        if request.headers.get("Last-Event-ID") == ask.id:
            # Clients of this protocol open an ended stream again, unless they get this status.
            return web.Response(status=204)
        call = self._build_call(caller, EVENT_SECONDS)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        await response.prepare(request)
        try:
            result = await door.wait_for(self._build_call(caller, 0), ask)
            await response.write(_build_event(result))
            while result.status == "open":
                result = await door.wait_for(call, ask)
                still = result.status == "open"
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
            with caller.rules.use_language():
                question = build_elicitation(body)
            result = await self._get_door(caller).ask(call, *question)
            return web.json_response(answer_elicitation(result))
        given = PermitInput(tool_name=body.tool_name, input=body.tool_input, tool_use_id=call.id)
        answer = await self._get_door(caller).request_permission(call, given)
        return web.json_response(answer_hook(body, answer))

    async def build_document(self, caller: Caller, ask: Ask) -> bytes:
        """Return the outcome of an ask as a webhook sends it: the document that the caller gets by the ask's id."""
        return json.dumps(_dump(await self._get_door(caller).describe(ask))).encode()

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
            known = caller, Door(caller.rules, self._asks, for_model=False)
            self._doors[caller.name] = known
        return known[1]

    def _build_call(self, caller: Caller, seconds: float, key: str | None = None) -> Call:
        async def check(_: str) -> None:
            if self._callers.has(caller):
                return
            newest = self._callers.get(caller.name)
            if self._callers.is_readable and (newest is None or newest.digest != caller.digest):
                raise TokenRevoked
            raise RulesChanged

        return Call(principal=caller.name, id=key, seconds=seconds, report=check, caller=caller.name)


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


def _read_page(request: web.Request) -> tuple[Cursor | None, int]:
    """Return the cursor of a request for a list, and the number of questions that it wants."""
    cursor, limit = request.query.get("cursor"), request.query.get("limit", str(MOST_LISTED))
    at_most = int(limit) if limit.isascii() and limit.isdigit() and len(limit) <= LONGEST_LIMIT else 0
    if not 1 <= at_most <= MOST_LISTED:
        raise RequestProblem(422, f"limit={limit[:20]} is not a number of questions from 1 to {MOST_LISTED}.")
    return None if cursor is None else Cursor.parse(cursor), at_most


def _read_key(request: web.Request) -> str | None:
    given = request.headers.getall("Idempotency-Key", [])
    if len(given) > 1:
        raise RequestProblem(422, "There are several Idempotency-Keys: send one.")
    key = next(iter(given), None)
    if key is not None and not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
        raise RequestProblem(422, f"The Idempotency-Key is not a text of 1 to {LONGEST_KEY} ASCII characters.")
    return key


async def _read_body(request: web.Request, kind: type[BodyT]) -> BodyT:
    if request.content_type != "application/json":
        raise RequestProblem(415, "The body is not JSON: send it with Content-Type: application/json.")
    if request.headers.get("Content-Encoding", "identity").casefold() != "identity":
        raise RequestProblem(415, "The body is compressed: send it without Content-Encoding.")
    text = await request.read()
    try:
        given: JsonValue = repair_texts(json.loads(text, parse_constant=_refuse_number, parse_float=_read_float))
    except (ValueError, RecursionError):
        raise RequestProblem(400, "The body is not JSON, or is nested too deeply: correct it.") from None
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        problems = "; ".join(map(str, to_problems(error)[:10]))
        example = f". Write it like this: {EXAMPLE}" if issubclass(kind, AskBody) else ""
        raise RequestProblem(422, f"{problems}{example}") from None


def _read_float(text: str) -> float:
    """Return a number. No program could read one that is infinite in the answer."""
    value = float(text)
    return value if math.isfinite(value) else _refuse_number(text)


def _refuse_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number of JSON")


def _find_webhook(caller: Caller, url: str | None) -> Webhook | None:
    """Return the webhook that a body names. Raises `CallerError` if the operator does not allow it."""
    if url is None:
        return None
    if caller.webhooks is None:
        raise CallerError(
            "Your token allows no webhooks: the operator has to list some. Leave it out, and wait for the outcome."
        )
    return Webhook(caller=caller.name, url=caller.webhooks.find_url(url))


def _answer(result: AskResult, deliveries: Sequence[WebhookDelivery] = (), *, is_new: bool = False) -> web.Response:
    if deliveries:
        result = result.model_copy(update={"webhooks": tuple(map(_to_webhook_result, deliveries))})
    status = 202 if is_new and result.status == "open" else 200
    headers = {"Location": f"/v1/asks/{result.id}"} if is_new else None
    return web.json_response(_dump(result), status=status, headers=headers)


def _dump(result: AskResult) -> dict[str, JsonValue]:
    return result.model_dump(mode="json", exclude_none=True)


def _to_webhook_result(delivery: WebhookDelivery) -> WebhookResult:
    return WebhookResult(
        id=delivery.id,
        url=delivery.url.partition("?")[0],
        state=delivery.state,
        attempts=delivery.attempts,
        error=delivery.error,
    )


def _build_event(result: AskResult) -> bytes:
    # Only the last event has an id, so a client that comes again with it has received the outcome.
    name = "event: open" if result.status == "open" else f"event: settled\nid: {result.id}"
    return f"{name}\ndata: {json.dumps(_dump(result))}\n\n".encode()
