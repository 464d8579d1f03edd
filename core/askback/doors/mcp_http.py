"""Serves MCP over streamable HTTP, with a bearer token for each principal."""

from __future__ import annotations

__all__ = ["build_http_principal", "find_http_principal", "serve_http"]

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Final

import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import Request

from askback.doors.tokens import Tokens
from askback.errors import OperatorError
from askback.network.listeners import listen
from askback.settings.address import Address, is_loopback

log = logging.getLogger("askback.door")

PATH: Final = "/mcp"
MAX_BODY: Final = 4 * 1024 * 1024
"""Largest body of a request, in bytes. A body without a valid token is not read at all."""
MAX_SESSIONS: Final = 200
SESSION_SECONDS: Final = 1800.0
"""Seconds after which a session without a request ends. A call that waits is a request."""
MAX_CONNECTIONS: Final = 1000
END_SECONDS: Final = 3
"""Seconds that open requests get at the end."""


class _Verifier:
    """Finds the principal of a token, for the library."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def verify_token(self, token: str) -> AccessToken | None:
        principal = self._tokens.find_principal(token)
        return None if principal is None else AccessToken(token="", client_id=principal, scopes=[])


def find_http_principal(request: object) -> str:
    """Return the principal of a request. Raises `OperatorError` if it has none, which the middleware prevents."""
    user = request.scope.get("user") if isinstance(request, Request) else None
    if not isinstance(user, AuthenticatedUser):
        raise OperatorError("The request has no principal.")
    return build_http_principal(user.access_token.client_id)


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
        max_sessions=MAX_SESSIONS,
        session_idle_timeout=SESSION_SECONDS,
        transport_security=_build_security(hosts),
        token_verifier=_Verifier(tokens),
    )
    app.add_middleware(AuthenticationMiddleware, backend=BearerAuthBackend(_Verifier(tokens)))
    with ExitStack() as stack:
        sockets = [stack.enter_context(one) for one in await listen(address)]
        bound = address.evolve(port=int(sockets[0].getsockname()[1]))
        log.info("Serving MCP at http://%s%s.", bound, PATH, extra={"action": "mcp"})
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=END_SECONDS,
        )
        await uvicorn.Server(config).serve(sockets=sockets)


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
