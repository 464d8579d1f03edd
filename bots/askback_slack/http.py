"""Receives Slack's requests over signed HTTP. Checks the signature of the raw body before parsing it."""

from __future__ import annotations

__all__ = ["BODY_BYTES", "PATHS", "SIGNED_SECONDS", "SignedEndpoint", "check_headers", "sign"]

import asyncio
import hashlib
import hmac
import json
import logging
import time
from collections.abc import Mapping, Sequence
from typing import cast
from urllib.parse import parse_qs

from aiohttp import web
from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest

from askback.internal.throttle import Throttle
from askback.network.body_limit import BodyLimiter, HeldBody
from askback.network.connection_limits import mark_trusted
from askback_slack.dispatch import dispatch, record_ack

log = logging.getLogger("askback.slack")

BODY_BYTES = 1_000_000
"""Maximum size of a body in bytes, larger than any that Slack sends."""
BODY_SECONDS = 3.0
"""Seconds in which a body must arrive. By then Slack itself has given up."""
RETRY_SECONDS = "1"
"""The seconds after which Slack sends a large body again that found no room."""
SIGNED_SECONDS = 300
"""Maximum age or lead of a signature's timestamp, in seconds.

See https://docs.slack.dev/authentication/verifying-requests-from-slack
"""
REPEAT_LOG_SECONDS = 60.0
"""Seconds between two warnings about rejected requests. Anyone can send such requests and fill the log."""
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
PATHS = ("/slack/events", "/slack/interactions", "/slack/options")


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """Return the signature that Slack computes for a request."""
    signed = b"v0:" + timestamp.encode() + b":" + body
    return "v0=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def check_headers(headers: Mapping[str, str], now: float) -> str | None:
    """Return the reason to reject a request before its body is read, or None if there is none."""
    timestamp, signed = headers.get("X-Slack-Request-Timestamp", ""), headers.get("X-Slack-Signature", "")
    if not timestamp or not signed:
        return "it is not signed"
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 16):
        return "its timestamp is not a number"
    if abs(now - int(timestamp)) > SIGNED_SECONDS:
        return "its timestamp is too far from this machine's clock"
    return None


def _is_signed(headers: Mapping[str, str], body: bytes, secret: str) -> bool:
    expected = sign(secret, headers["X-Slack-Request-Timestamp"], body)
    # Compare as bytes: compare_digest raises on text that is not ASCII.
    return hmac.compare_digest(expected.encode(), headers["X-Slack-Signature"].encode(errors="replace"))


class SignedEndpoint:
    """The HTTP routes that Slack sends requests to."""

    def __init__(self, app: AsyncApp, secret: str, routes: Sequence[web.RouteDef] = ()) -> None:
        """`routes` are further routes to serve at the same address."""
        self._app = app
        self._routes = routes
        self.is_closed = False
        """True if it rejects everything. Slack then sends an event again, and shows the person an error for a click."""
        self._secret = secret
        self._bodies = BodyLimiter()
        self._warnings: Throttle[None] = Throttle(REPEAT_LOG_SECONDS)

    def build_application(self) -> web.Application:
        """Return the application to serve. aiohttp automatically answers 404 and 405 for other paths and methods."""
        application = web.Application()
        application.add_routes([*(web.post(path, self._handle_request) for path in PATHS), *self._routes])
        return application

    async def _handle_request(self, request: web.Request) -> web.Response:
        if self.is_closed:
            return web.Response(status=503, text="This process is shutting down.\n")
        began = time.monotonic()
        if request.content_type not in (JSON, FORM):
            return web.Response(status=415, text="Unsupported content type: Slack sends JSON or a form.\n")
        wrong = check_headers(request.headers, time.time())
        if wrong is not None:
            return self._build_rejection(wrong)
        with self._bodies.hold() as held:
            body = await _read_body(request, held)
            if isinstance(body, web.Response):
                # aiohttp discards what follows for a moment, then closes the connection.
                body.force_close()
                return body
            if not _is_signed(request.headers, body, self._secret):
                return self._build_rejection("its signature is wrong. Check that SLACK_SIGNING_SECRET is this app's")
        mark_trusted(request)
        retry = request.headers.get("X-Slack-Retry-Num")
        if retry is not None:
            log.info("Slack has redelivered an event.", extra={"action": "event_retried", "attempt": retry[:8]})
        bolt = _build_request(body, request)
        if bolt is None:
            log.warning("Could not parse the body of Slack's request.", extra={"action": "payload_unreadable"})
            return web.Response(status=400, text="Could not parse the body.\n")
        wants_ack = request.content_type == FORM
        response = await dispatch(self._app, bolt, interactive=wants_ack)
        record_ack(bolt, began)  # the response is about to be sent
        kind = response.first_headers().get("content-type", "")
        return web.Response(
            status=response.status,
            text=response.body,
            content_type=JSON if kind.startswith(JSON) or response.body.startswith("{") else "text/plain",
        )

    def _build_rejection(self, why: str) -> web.Response:
        if self._warnings.try_allow(None):
            log.warning("Rejected a request that Slack did not sign: %s.", why, extra={"action": "request_rejected"})
        # Every unsigned request gets the same answer, so that attackers learn nothing.
        return web.Response(status=401, text="This is not signed by Slack.\n")


async def _read_body(request: web.Request, held: HeldBody) -> bytes | web.Response:
    """Return the raw body, or the rejection of one that is too large. Raises `HTTPException` if it does not arrive."""
    if request.content_length is not None and request.content_length > BODY_BYTES:
        return _reject_size()
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            # Count the bytes: a body without a Content-Length may be of any size.
            async for chunk in request.content.iter_any():
                body += chunk
                if len(body) > BODY_BYTES:
                    return _reject_size()
                if not held.has_room(len(body)):
                    text = "Other large requests are being read. Send this one again.\n"
                    return web.Response(status=503, text=text, headers={"Retry-After": RETRY_SECONDS})
    except TimeoutError:
        raise web.HTTPRequestTimeout(text="The body did not arrive in time.\n") from None
    except (ConnectionError, web.RequestPayloadError):
        # The sender has gone or does not speak HTTP. aiohttp would log a traceback for each such request.
        raise web.HTTPBadRequest(text="The body is incomplete.\n") from None
    return bytes(body)


def _reject_size() -> web.Response:
    return web.Response(status=413, text=f"No request of Slack's is larger than {BODY_BYTES} bytes.\n")


def _build_request(body: bytes, request: web.Request) -> AsyncBoltRequest | None:
    """Return the request for slack-bolt, or None if the body cannot be read.

    slack-bolt gets the payload as an object, as over Socket Mode. It would parse a text a second time, which takes a
    sixth of the time until the ack.
    """
    payload = _read_payload(body, request.content_type)
    if payload is None:
        return None
    headers: dict[str, str | Sequence[str]] = {name.lower(): value for name, value in request.headers.items()}
    try:
        return AsyncBoltRequest(mode="socket_mode", body=payload, headers=headers)
    except (AttributeError, TypeError, KeyError, IndexError, ValueError):
        # slack-bolt looks for the installation in the payload, and assumes the types of lists and objects.
        return None


def _read_payload(body: bytes, kind: str) -> dict[str, object] | None:
    """Return the payload of a request: JSON, alone or in a form's field. None if it lacks that object.

    Slash commands and Slack's certificate checks have no payload: their fields are returned.
    """
    try:
        text = body.decode()
        if kind == FORM:
            form = parse_qs(text, keep_blank_values=True, strict_parsing=True, max_num_fields=100)
            if "payload" not in form:
                return {name: values[-1] for name, values in form.items()}
            text = form["payload"][-1]
        payload: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, object]", payload) if isinstance(payload, dict) else None
