"""Limits the sessions that each token of `askback mcp --http` keeps.

The library only limits all of them together, so one agent could use up those of the others. A client that ends without
a word leaves its session behind.
"""

from __future__ import annotations

__all__ = ["SESSIONS_EACH", "SessionLimiter"]

import logging
from dataclasses import dataclass
from typing import Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger("askback.door")

SESSIONS_EACH: Final = 100
"""Largest number of sessions of one token. One more ends the session that was used longest ago."""


@dataclass(slots=True)
class _Session:
    requests: int = 0
    """Its requests that have no answer yet, such as a call that waits for people."""


class SessionLimiter:
    """Ends the oldest idle session of a token that opens too many."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._sessions: dict[str, dict[str, _Session]] = {}
        """The sessions of each token by their ids, the one that was used longest ago first."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        user = scope.get("user")
        if scope["type"] != "http" or not isinstance(user, AuthenticatedUser):
            await self._app(scope, receive, send)
            return
        name = user.access_token.client_id
        owned = self._sessions.setdefault(name, {})
        known = Headers(scope=scope).get(MCP_SESSION_ID_HEADER)
        if known is None and _may_open_session(scope) and len(owned) >= SESSIONS_EACH:
            oldest = next((one for one, session in owned.items() if session.requests == 0), None)
            if oldest is None:
                log.warning(
                    "The token %s has %d sessions with open requests, so it gets no other one. Give programs that run "
                    "at the same time a token each.",
                    name,
                    len(owned),
                    extra={"action": "mcp_sessions", "caller": name},
                )
                busy = PlainTextResponse("This token has too many open sessions: try again later.", 503)
                await busy(scope, receive, send)
                return
            await self._end(scope, oldest)
            owned.pop(oldest, None)
        await self._follow(owned, known, scope, receive, send)

    async def _follow(
        self, owned: dict[str, _Session], known: str | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Serve a request, and note the session that it opens, uses or ends."""
        session = None if known is None else owned.pop(known, None)
        if known is not None and session is not None:
            owned[known] = session  # as the one that was used last
            session.requests += 1

        async def send_and_look(message: Message) -> None:
            if message["type"] == "http.response.start":
                opened = Headers(raw=message["headers"]).get(MCP_SESSION_ID_HEADER)
                if known is None and opened is not None and message["status"] < 400:
                    owned[opened] = _Session()
                is_ended = message["status"] == 404 or (scope["method"] == "DELETE" and message["status"] < 400)
                if known is not None and is_ended:
                    owned.pop(known, None)
            await send(message)

        try:
            await self._app(scope, receive, send_and_look)
        finally:
            if session is not None:
                session.requests -= 1

    async def _end(self, scope: Scope, session: str) -> None:
        """End a session as its own client would, with the token of this request."""
        kept = [(key, value) for key, value in scope["headers"] if key in (b"host", b"authorization")]
        headers = [*kept, (MCP_SESSION_ID_HEADER.encode(), session.encode())]

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def ignore(_: Message) -> None:
            """A session that has ended meanwhile needs nothing more."""

        await self._app({**scope, "method": "DELETE", "headers": headers, "state": {}}, receive, ignore)


def _may_open_session(scope: Scope) -> bool:
    """Return True for a request of a protocol with sessions. Newer versions of MCP have none."""
    version = Headers(scope=scope).get(MCP_PROTOCOL_VERSION_HEADER)
    return scope["method"] == "POST" and (version is None or version in HANDSHAKE_PROTOCOL_VERSIONS)
