"""Lets in requests with a valid token, limits them, and turns errors into answers."""

from __future__ import annotations

__all__ = ["CALLER", "HttpAccess", "NotAllowed", "RequestProblem", "RulesChanged", "TokenRevoked"]

import asyncio
import json
import logging
from http import HTTPStatus
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from askback.client.http_result import Problem
from askback.doors.caller_file import CallerFile
from askback.doors.caller_limits import CallerLimits, TooManyRequests
from askback.doors.callers import Caller
from askback.doors.http_health import HEALTH_PATHS
from askback.doors.new_ask import StoppedWaiting
from askback.doors.receipts import responding
from askback.errors import AskbackError, CallerError, ModelError, OperatorError
from askback.internal.throttle import Throttle
from askback.network.connection_limits import mark_trusted
from askback.ports.directory import UnknownName
from askback.ports.platform import DeliveryError

log = logging.getLogger("askback.door")

CALLER: Final = web.RequestKey("caller", Caller)
"""The caller of a request."""
BEGUN: Final = web.RequestKey("begun", bool)
"""True once the answer to a request began."""
OPEN: Final = HEALTH_PATHS | {"/openapi.json"}
"""Paths that need no token."""
KEPT_HEADERS: Final = frozenset({"Allow", "Retry-After", "WWW-Authenticate"})
"""Headers of errors that an answer has, too."""
BODY_SECONDS: Final = 30.0
"""Seconds in which the body of a request with a valid token must arrive."""
REPEAT_LOG_SECONDS: Final = 60.0
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


class TokenRevoked(OperatorError):
    """Raised for a waiting request whose token became invalid. Its answer is that of `NotAllowed`."""

    def __init__(self) -> None:
        super().__init__("The token was revoked while the request waited. The question stays open.")


class RulesChanged(OperatorError):
    """Raised for a waiting request if the operator's rules for its caller are not known, or no longer the same."""

    def __init__(self) -> None:
        super().__init__(
            "The operator changed the rules for your token meanwhile. The question stays open: make the same request "
            "again."
        )


class HttpAccess:
    """Checks each request before a route sees it."""

    def __init__(self, callers: CallerFile) -> None:
        self._callers = callers
        self._limits = CallerLimits()
        self._warnings: Throttle[None] = Throttle(REPEAT_LOG_SECONDS)

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
        except TokenRevoked:
            return _build_request_problem(NotAllowed())
        except RequestProblem as error:
            return _build_request_problem(error)
        except (CallerError, ModelError) as error:
            return _build_problem(422, str(error))
        except (UnknownName, DeliveryError) as error:
            log.warning("The rules of a caller cannot work: %s", error, extra={"action": "call_failed"})
            return _build_problem(422, f"The operator's rules for your token cannot work: {error}")
        except RulesChanged as error:
            return _build_problem(503, str(error), {"Retry-After": "1"})
        except StoppedWaiting:
            detail = "This server is ending, and the question stays open: make the same request again."
            return _build_problem(503, detail, {"Retry-After": "1"})
        except AskbackError as error:
            log.warning("A request failed: %s", error, extra={"action": "call_failed"})
            return _build_problem(503, "askback could not do this now. The operator finds the reason in its log.")
        except ConnectionError:
            raise  # the client has gone
        except Exception:
            if request.get(BEGUN):
                raise  # the connection is closed, so the client does not take this for a whole answer
            log.exception("A bug made a request fail.", extra={"action": "request_failed"})
            return _build_problem(500, "There is a bug in askback. The operator finds it in its log.")

    async def note_begun(self, request: web.Request, response: web.StreamResponse) -> None:
        """Note that the answer to a request begins."""
        del response
        request[BEGUN] = True

    async def _handle(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path in OPEN:
            return await handler(request)
        caller = self._find_caller(request)
        mark_trusted(request)
        request[CALLER] = caller
        with self._limits.count(caller.name), responding() as receipts:
            await _receive_body(request)
            response = await handler(request)
            # Written here, since what it contains counts as received only then.
            await response.prepare(request)
            await response.write_eof()
            receipts.confirm()
            return response

    def _find_caller(self, request: web.Request) -> Caller:
        # Of two tokens, a proxy in front may have checked the other one.
        given = request.headers.getall("Authorization", [])
        scheme, _, token = "".join(given[:1]).partition(" ")
        is_bearer = scheme.casefold() == "bearer" and len(given) == 1
        caller = self._callers.find(token.strip()) if is_bearer else None
        if caller is None:
            if self._warnings.try_allow(None):
                log.warning("Rejected a request without a valid token.", extra={"action": "request_rejected"})
            raise NotAllowed
        return caller


async def _receive_body(request: web.Request) -> None:
    """Read the body, so that no slow or broken connection stays longer than a request that waits for people."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            await request.read()
    except web.RequestPayloadError:
        raise RequestProblem(400, "The body is not valid HTTP: send it again.") from None
    except TimeoutError:
        raise RequestProblem(408, f"The body did not arrive within {BODY_SECONDS:g} seconds: send it again.") from None


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


def _build_request_problem(error: RequestProblem) -> web.Response:
    return _build_problem(error.status, str(error), {"WWW-Authenticate": "Bearer"} if error.status == 401 else {})


def _build_problem(status: int, detail: str, headers: dict[str, str] | None = None) -> web.Response:
    problem = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail)
    kept = {name: value for name, value in (headers or {}).items() if name in KEPT_HEADERS}
    return web.Response(
        status=status,
        text=json.dumps(problem.model_dump()),
        content_type="application/problem+json",
        headers=kept,
    )
