"""A proxy that adds a token to each request: the suite cannot send one, and `askback mcp` demands it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import aiohttp
from aiohttp import web

HOP_BY_HOP = frozenset({"connection", "content-length", "keep-alive", "transfer-encoding"})
"""Headers about one connection, which a proxy does not pass on."""


@asynccontextmanager
async def add_token(address: str, token: str) -> AsyncGenerator[str]:
    """Yield the address of a proxy to this address, with the same path."""
    url = aiohttp.client.URL(address)

    async def forward(request: web.Request) -> web.StreamResponse:
        headers = [(name, value) for name, value in request.headers.items() if name.lower() not in HOP_BY_HOP]
        # The host stays as it was sent: a test sends that of another site.
        headers.append(("Authorization", f"Bearer {token}"))
        target = url.with_path(request.path).with_query(request.query_string)
        async with session.request(
            request.method, target, headers=headers, data=await request.read(), allow_redirects=False
        ) as answer:
            kept = [(name, value) for name, value in answer.headers.items() if name.lower() not in HOP_BY_HOP]
            response = web.StreamResponse(status=answer.status, headers=kept)
            await response.prepare(request)
            with suppress(ConnectionResetError):  # the client has gone
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
                await response.write_eof()
            return response

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", forward)
    runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=1.0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(timeout=timeout, auto_decompress=False) as session:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        try:
            # The suite recognizes a server of this machine by this name.
            yield str(url.with_host("localhost").with_port(port))
        finally:
            await runner.cleanup()
