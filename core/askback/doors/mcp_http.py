"""Serves MCP over streamable HTTP, with a bearer token for each principal."""

from __future__ import annotations

__all__ = ["build_http_principal", "find_http_name", "find_http_principal", "serve_http"]

import asyncio
import logging
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final, cast

import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import Request

from askback.doors.mcp_connections import McpConnections
from askback.doors.mcp_responses import McpResponses
from askback.doors.mcp_sessions import SessionLimiter
from askback.doors.tokens import Tokens
from askback.errors import OperatorError
from askback.network.connection_limits import compute_connection_limit
from askback.network.listeners import listen
from askback.settings.address import Address, is_loopback

log = logging.getLogger("askback.door")

PATH: Final = "/mcp"
MAX_BODY: Final = 4 * 1024 * 1024
"""Largest body of a request, in bytes. A body without a valid token is not read at all."""
SESSION_SECONDS: Final = 1800.0
"""Seconds after which a session without a request ends. A call that waits is a request."""
MAX_CONNECTIONS: Final = 1000
SPARE_FILES: Final = 256
"""Files that the process may open besides its connections."""
BUSY: Final = 20
"""Connections beyond the limit that get an answer, if all others wait for answers to their requests."""


class _Server(uvicorn.Server):
    """A server that leaves the signals to the command, which cancels it."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class _Verifier:
    """Finds the principal of a token, for the library."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def verify_token(self, token: str) -> AccessToken | None:
        principal = self._tokens.find_principal(token)
        return None if principal is None else AccessToken(token="", client_id=principal, scopes=[])


def find_http_principal(request: object) -> str:
    """Return the principal of a request. Raises `OperatorError` if it has none, which the middleware prevents."""
    return build_http_principal(find_http_name(request))


def find_http_name(request: object) -> str:
    """Return the name of a request's token. Raises `OperatorError` if it has none, which the middleware prevents."""
    user = request.scope.get("user") if isinstance(request, Request) else None
    if not isinstance(user, AuthenticatedUser):
        raise OperatorError("The request has no principal.")
    return user.access_token.client_id


def build_http_principal(name: str) -> str:
    """Return the principal of the token with this name."""
    return f"token:{name}"


async def serve_http(server: Server[dict[str, Any]], address: Address, tokens: Tokens, hosts: Sequence[str]) -> None:
    """Serve MCP at an address until cancelled. `hosts` are the names by which clients reach it from elsewhere.

    Raises `OperatorError` if it cannot listen there.
    """
    if not is_loopback(address.host) and not hosts:
        raise OperatorError(
            f"{address} can be reached from other machines. Name the host that clients use, with --allow-host NAME, "
            "and put a proxy with TLS in front: the tokens travel in the clear otherwise."
        )
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_BODY,
        max_sessions=None,  # each token has a limit of its own
        session_idle_timeout=SESSION_SECONDS,
        transport_security=_build_security(hosts),
        token_verifier=_Verifier(tokens),
    )
    app.add_middleware(SessionLimiter)
    app.add_middleware(AuthenticationMiddleware, backend=BearerAuthBackend(_Verifier(tokens)))
    with ExitStack() as stack:
        sockets = [stack.enter_context(one) for one in await listen(address)]
        bound = address.evolve(port=int(sockets[0].getsockname()[1]))
        log.info("Serving MCP at http://%s%s.", bound, PATH, extra={"action": "mcp"})
        most = compute_connection_limit(MAX_CONNECTIONS, SPARE_FILES)
        connections = McpConnections(most)
        responses = McpResponses(app)
        config = uvicorn.Config(
            connections.track(responses),
            http=cast("type[asyncio.Protocol]", connections.build_protocol),
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=most + BUSY,
            lifespan="off",
        )
        # The server would tell of a cancellation here as of an error.
        async with app.router.lifespan_context(app):
            try:
                await _Server(config).serve(sockets=sockets)
            finally:
                ending = asyncio.create_task(responses.end(connections.close), name="askback end")
                while not ending.done():
                    with suppress(asyncio.CancelledError):  # the command repeats its cancellation every second
                        await asyncio.wait({ending})


def _build_security(hosts: Sequence[str]) -> TransportSecuritySettings:
    """Return the hosts and origins that requests may name, so that no web page can reach a server on this machine."""
    local = ("127.0.0.1", "localhost", "[::1]")
    names = (*local, *hosts)
    return TransportSecuritySettings(
        allowed_hosts=[form for name in names for form in (name, f"{name}:*")],
        allowed_origins=[
            form
            for scheme in ("http", "https")
            for name in names
            for form in (f"{scheme}://{name}", f"{scheme}://{name}:*")
        ],
    )
