"""Limits the connections of `askback mcp --http`, as `network/connection_limits.py` does for aiohttp."""

from __future__ import annotations

__all__ = ["McpConnections"]

import asyncio
from collections.abc import Callable
from typing import Final, cast

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from askback.network.connection_limits import ConnectionLimiter, LimitedConnection

_BODY: Final = frozenset({b"content-length", b"transfer-encoding"})
"""The headers of a request with a body."""

_Client = tuple[str, int]


class McpConnections:
    """The connections of one listener. If there are too many, those without a request are closed first."""

    def __init__(self, most: int) -> None:
        self._limiter = ConnectionLimiter(most)
        self._by_client: dict[_Client, LimitedConnection] = {}

    def build_protocol(self, **given: object) -> asyncio.Protocol:
        """Return the protocol of one connection. uvicorn calls this in place of its own class."""
        inner = cast("Callable[..., asyncio.Protocol]", AutoHTTPProtocol)(**given)
        return _Connection(inner, self._limiter, self._by_client)

    def close(self) -> None:
        """Close all connections, each once it has sent what was written."""
        for one in tuple(self._by_client.values()):
            one.close()

    def track(self, app: ASGIApp) -> ASGIApp:
        """Return the application, such that each connection learns when a request has arrived and was answered."""

        async def tracked(scope: Scope, receive: Receive, send: Send) -> None:
            client = cast("_Client | None", scope.get("client"))
            one = None if client is None else self._by_client.get((client[0], client[1]))
            if scope["type"] != "http" or one is None:
                await app(scope, receive, send)
                return
            if not any(name in _BODY for name, _ in scope["headers"]):
                one.on_request_received()

            async def receive_and_look() -> Message:
                message = await receive()
                if message["type"] == "http.request" and not message.get("more_body", False):
                    # The middleware has put the principal of a valid token there, before anything reads the body.
                    is_trusted = isinstance(scope.get("user"), AuthenticatedUser)
                    (one.on_request_trusted if is_trusted else one.on_request_received)()
                return message

            try:
                await app(scope, receive_and_look, send)
            finally:
                one.on_response_sent()

        return tracked


class _Connection(LimitedConnection):
    """A connection that its client's address finds."""

    def __init__(
        self, inner: asyncio.Protocol, limiter: ConnectionLimiter, by_client: dict[_Client, LimitedConnection]
    ) -> None:
        super().__init__(inner, limiter)
        self._limiter = limiter
        self._by_client = by_client
        self._client: _Client | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self._limiter.is_full:
            self._limiter.close_one()
        address = cast("tuple[str, int] | None", transport.get_extra_info("peername"))
        if address is not None:
            self._client = (address[0], address[1])
            self._by_client[self._client] = self
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._client is not None and self._by_client.get(self._client) is self:
            del self._by_client[self._client]
        super().connection_lost(exc)
