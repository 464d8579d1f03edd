"""Lets in requests with a valid token, limits them, and turns errors into answers."""

from __future__ import annotations

__all__ = ["CALLER", "HttpAccess", "NotAllowed", "RequestProblem"]

import json
import logging
from http import HTTPStatus
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from askback.client.http_result import Problem
from askback.doors.caller_asks import StoppedWaiting
from askback.doors.caller_file import CallerFile
from askback.doors.caller_limits import CallerLimits, TooManyRequests
from askback.doors.callers import Caller
from askback.errors import AskbackError, CallerError, ModelError
from askback.internal.throttle import Throttle
from askback.network.connection_limits import mark_trusted

log = logging.getLogger("askback.door")

CALLER: Final = web.RequestKey("caller", Caller)
"""The caller of a request."""
OPEN: Final = frozenset({"/healthz", "/openapi.json"})
"""Paths that need no token."""
KEPT: Final = frozenset({"Allow", "Retry-After", "WWW-Authenticate"})
"""Headers of errors that an answer has, too."""
SAY_AGAIN: Final = 60.0
"""Seconds between two warnings about rejected requests, since anyone can send such requests."""


class RequestProblem(CallerError):
    """Raised for a request that cannot be answered. `status` is that of the response."""

    def __init__(self, status: int, problem: str) -> None:
        super().__init__(problem)
        self.status = status


class NotAllowed(RequestProblem):
    """Raised for a request without a valid token. It tells nothing, so that nobody can learn about callers."""

    def __init__(self) -> None:
        super().__init__(401, "Send a valid token: Authorization: Bearer TOKEN.")


class HttpAccess:
    """Checks each request before a route sees it."""

    def __init__(self, callers: CallerFile) -> None:
        self._callers = callers
        self._limits = CallerLimits()
        self._warnings: Throttle[None] = Throttle(SAY_AGAIN)

    @web.middleware
    async def handle(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer a request. Errors become problems in the format of RFC 9457."""
        try:
            return await self._handle(request, handler)
        except web.HTTPException as error:
            if error.status < 400:
                raise
            return _build_problem(error.status, _describe(error, request), dict(error.headers))
        except TooManyRequests as error:
            return _build_problem(429, str(error), {"Retry-After": str(error.seconds)})
        except RequestProblem as error:
            return _build_problem(
                error.status, str(error), {"WWW-Authenticate": "Bearer"} if error.status == 401 else {}
            )
        except (CallerError, ModelError) as error:
            return _build_problem(422, str(error))
        except StoppedWaiting:
            detail = "This server is ending, and the question stays open: make the same request again."
            return _build_problem(503, detail, {"Retry-After": "1"})
        except AskbackError as error:
            log.warning("A request failed: %s", error, extra={"action": "call_failed"})
            return _build_problem(503, "askback could not do this now. The operator finds the reason in its log.")

    async def _handle(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path in OPEN:
            return await handler(request)
        caller = self._find_caller(request)
        mark_trusted(request)
        request[CALLER] = caller
        with self._limits.count(caller.name):
            return await handler(request)

    def _find_caller(self, request: web.Request) -> Caller:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        caller = self._callers.find(token.strip()) if scheme.casefold() == "bearer" else None
        if caller is None:
            if self._warnings.try_allow(None):
                log.warning("Rejected a request without a valid token.", extra={"action": "request_rejected"})
            raise NotAllowed
        return caller


def _describe(error: web.HTTPException, request: web.Request) -> str:
    match error.status:
        case 404:
            return "This path does not exist: GET /openapi.json lists them."
        case 405:
            return f"{request.method} is not possible here: GET /openapi.json lists the methods."
        case 413:
            return "The body is too large: send at most a megabyte."
        case _:
            return error.reason


def _build_problem(status: int, detail: str, headers: dict[str, str] | None = None) -> web.Response:
    problem = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail)
    kept = {name: value for name, value in (headers or {}).items() if name in KEPT}
    return web.Response(
        status=status,
        text=json.dumps(problem.model_dump()),
        content_type="application/problem+json",
        headers=kept,
    )
