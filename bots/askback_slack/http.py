"""Slack over signed HTTP: whether a request is Slack's is decided over its raw body, before anything reads it."""

from __future__ import annotations

__all__ = ["BODY_BYTES", "PATHS", "SIGNED_SECONDS", "SignedDoor", "signature", "trouble"]

import asyncio
import hashlib
import hmac
import json
import logging
import time
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qs

from aiohttp import web
from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest

from askback.internal.throttle import Throttle
from askback.runtime.gate import trusted
from askback_slack.dispatch import acked, answered

log = logging.getLogger("askback.slack")

BODY_BYTES = 1_000_000
"""More than Slack ever sends."""
BODY_SECONDS = 3.0
"""How long a body may take to come in: by then Slack itself has given up."""
SIGNED_SECONDS = 300
"""How old a signature may be, and how far ahead: https://docs.slack.dev/authentication/verifying-requests-from-slack"""
SAY_AGAIN = 60.0
"""Seconds between two warnings of refused requests: anybody can send them, and fill a log."""
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
PATHS = ("/slack/events", "/slack/interactions", "/slack/options")


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """What Slack writes under a request."""
    signed = b"v0:" + timestamp.encode() + b":" + body
    return "v0=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def trouble(headers: Mapping[str, str], now: float) -> str | None:
    """What speaks against a request before its body is read."""
    timestamp, signed = headers.get("X-Slack-Request-Timestamp", ""), headers.get("X-Slack-Signature", "")
    if not timestamp or not signed:
        return "it is not signed"
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 16):
        return "its timestamp is no time"
    if abs(now - int(timestamp)) > SIGNED_SECONDS:
        return "its timestamp is too far from this machine's clock"
    return None


def _is_signed(headers: Mapping[str, str], body: bytes, secret: str) -> bool:
    expected = signature(secret, headers["X-Slack-Request-Timestamp"], body)
    # As bytes: compare_digest raises on a text that is not ASCII.
    return hmac.compare_digest(expected.encode(), headers["X-Slack-Signature"].encode(errors="replace"))


class SignedDoor:
    """The routes that Slack sends to."""

    def __init__(self, app: AsyncApp, secret: str, routes: Sequence[web.RouteDef] = ()) -> None:
        """`routes`: what else is served there."""
        self._app = app
        self._routes = routes
        self.is_closed = False
        """Whether nothing is taken any more: Slack sends an event again, and shows the person an error for a click."""
        self._secret = secret
        self._said: Throttle[None] = Throttle(SAY_AGAIN)

    def application(self) -> web.Application:
        """What is to be served. aiohttp answers 404 and 405 for every other path and method by itself."""
        application = web.Application()
        application.add_routes([*(web.post(path, self._take) for path in PATHS), *self._routes])
        return application

    async def _take(self, request: web.Request) -> web.Response:
        if self.is_closed:
            return web.Response(status=503, text="This process is ending.\n")
        began = time.monotonic()
        if request.content_type not in (JSON, FORM):
            return web.Response(status=415, text="Slack sends JSON or a form.\n")
        wrong = trouble(request.headers, time.time())
        if wrong is not None:
            return self._refused(wrong)
        body = await _body(request)
        if body is None:
            # What follows is thrown away, for a moment, and the connection with it.
            response = web.Response(status=413, text=f"No request of Slack's is larger than {BODY_BYTES} bytes.\n")
            response.force_close()
            return response
        if not _is_signed(request.headers, body, self._secret):
            return self._refused("its signature is wrong: SLACK_SIGNING_SECRET may be another app's")
        trusted(request)
        retry = request.headers.get("X-Slack-Retry-Num")
        if retry is not None:
            log.info("Slack sends an event again.", extra={"action": "event_retried", "attempt": retry[:8]})
        bolt = _read(body, request)
        if bolt is None:
            log.warning("Slack sent a body that cannot be read.", extra={"action": "payload_unreadable"})
            return web.Response(status=400, text="The body cannot be read.\n")
        wants_ack = request.content_type == FORM
        response = await answered(self._app, bolt, interactive=wants_ack)
        acked(bolt, began)  # all but sent
        kind = response.first_headers().get("content-type", "")
        return web.Response(
            status=response.status,
            text=response.body,
            content_type=JSON if kind.startswith(JSON) or response.body.startswith("{") else "text/plain",
        )

    def _refused(self, why: str) -> web.Response:
        if self._said.allows(None):
            log.warning("A request was refused as not Slack's: %s.", why, extra={"action": "request_refused"})
        # To whoever sent it, one answer for all: it helps nobody to get nearer.
        return web.Response(status=401, text="This is not signed by Slack.\n")


async def _body(request: web.Request) -> bytes | None:
    """The body as it came, None where it is too large. Raises `HTTPException` where it does not come."""
    if request.content_length is not None and request.content_length > BODY_BYTES:
        return None
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            # Counted, since a body without a length may be of any.
            async for chunk in request.content.iter_any():
                body += chunk
                if len(body) > BODY_BYTES:
                    return None
    except TimeoutError:
        raise web.HTTPRequestTimeout(text="The body did not come in time.\n") from None
    except (ConnectionError, web.RequestPayloadError):
        # Whoever sent it has gone, or sends no HTTP. aiohttp would log a traceback for each.
        raise web.HTTPBadRequest(text="The body did not come whole.\n") from None
    return bytes(body)


def _read(body: bytes, request: web.Request) -> AsyncBoltRequest | None:
    """The request for slack-bolt; None where that could not read it."""
    text = _text(body, request.content_type)
    if text is None:
        return None
    headers: dict[str, str | Sequence[str]] = {name.lower(): value for name, value in request.headers.items()}
    try:
        return AsyncBoltRequest(body=text, headers=headers)
    except (AttributeError, TypeError, KeyError, IndexError, ValueError):
        # It looks there for whose installation it is, and takes it for granted that lists and objects are some.
        return None


def _text(body: bytes, kind: str) -> str | None:
    """The body as slack-bolt takes it; None where that could not read it."""
    try:
        text = body.decode()
        inner = text
        if kind == FORM:
            form = parse_qs(text, keep_blank_values=True, strict_parsing=True, max_num_fields=100)
            # A slash command, or Slack's look at the certificate, has no payload.
            inner = form["payload"][-1] if "payload" in form else "{}"
        return text if isinstance(json.loads(inner), dict) else None
    except (ValueError, RecursionError):
        return None
