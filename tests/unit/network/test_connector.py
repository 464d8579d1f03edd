"""Connections to a platform stay open between calls, and a dead one is noticed."""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import aiohttp.connector
import pytest
from aiohttp import web

from askback.network.connector import open_connector


class Server:
    """Answers each request with the number of the connection that it came over."""

    def __init__(self) -> None:
        self.connections: list[object] = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        if request.transport not in self.connections:
            self.connections.append(request.transport)
        return web.Response(text=str(self.connections.index(request.transport)))


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server, application = Server(), web.Application()
    application.router.add_post("/", server.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    yield server
    await runner.cleanup()


@pytest.mark.parametrize(("quiet", "connection"), [(200, "0"), (400, "1")])
async def test_a_connection_is_used_again_after_minutes_but_not_without_limit(
    server: Server, monkeypatch: pytest.MonkeyPatch, quiet: int, connection: str
) -> None:
    async with aiohttp.ClientSession(connector=open_connector()) as session:
        for expected in ("0", connection):
            async with session.post(server.url) as response:
                assert await response.text() == expected
            monkeypatch.setattr(aiohttp.connector, "monotonic", lambda: time.monotonic() + quiet)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other options")
async def test_the_kernel_looks_after_an_idle_connection(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    connect = loop.sock_connect
    opened: list[socket.socket] = []

    async def connecting(sock: socket.socket, address: Any) -> None:
        opened.append(sock)
        await connect(sock, address)

    monkeypatch.setattr(loop, "sock_connect", connecting)
    async with aiohttp.ClientSession(connector=open_connector()) as session:
        async with session.post(server.url):
            pass
        (one,) = opened
        assert one.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert one.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30
        assert one.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 10_000
