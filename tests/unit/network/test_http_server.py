"""A listener closes only connections that do not send a whole request."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from askback.network import busy_answer, connection_limits, http_server
from askback.network.http_server import serve_http
from askback.settings.address import Address

TCP_REPAIR = 19
"""An option of Linux for connections that move to another machine."""
HERE = Address(host="127.0.0.1", port=0)


class Served:
    """A listener with one page, and its connections."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.go_on = asyncio.Event()
        self.asked = asyncio.Event()
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def ask(self, path: str = "/", *, signed: bool = False) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a connection, get an answer, and keep it open."""
        reader, writer = await self.open()
        writer.write(f"GET {path}{'?signed' if signed else ''} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert await answer(reader) == "HTTP/1.1 200 OK"
        return reader, writer

    async def page(self, request: web.Request) -> web.Response:
        if request.query_string == "signed":
            connection_limits.mark_trusted(request)
        return web.Response(text="here")

    async def slow(self, request: web.Request) -> web.Response:
        del request
        self.asked.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.ended.set_result("cancelled")
            raise
        self.ended.set_result("finished")
        return web.Response(text="here")


async def answer(reader: asyncio.StreamReader) -> str:
    """Return the first line of an answer, and read the rest as well."""
    async with asyncio.timeout(20):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        await reader.readexactly(len("here"))
    return head.splitlines()[0]


async def closed(reader: asyncio.StreamReader) -> bytes:
    """Return all bytes until the connection is closed."""
    async with asyncio.timeout(20):
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""


@asynccontextmanager
async def served(*, cancels_handlers: bool = False, refuses: bool = False) -> AsyncGenerator[Served]:
    one = Served(0)
    application = web.Application()
    application.add_routes([web.route("*", "/", one.page), web.get("/slow", one.slow)])
    async with serve_http(application, HERE, cancels_handlers=cancels_handlers, refuses=refuses) as address:
        one.port = address.port
        yield one


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other options")
async def test_a_client_that_vanishes_without_a_word_ends_its_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that loses its power or its network closes no connection."""
    monkeypatch.setattr(connection_limits, "PROBE_SECONDS", 1)
    async with served(cancels_handlers=True) as one:
        _, writer = await one.open()
        writer.write(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        async with asyncio.timeout(20):
            await one.asked.wait()
        line = writer.get_extra_info("socket")
        try:
            line.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)  # its end sends nothing from now on
        except PermissionError:
            pytest.skip("The system lets this user take no connection away silently.")
        writer.transport.abort()
        async with asyncio.timeout(20):
            assert await one.ended == "cancelled"


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nX-A: ", b"GET / HTTP/1.1\r\n" * 2])
async def test_a_request_that_does_not_arrive_is_closed(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(connection_limits, "REQUEST_SECONDS", 0.05)
    async with served() as one:
        reader, writer = await one.open()
        writer.write(sent)
        assert (await closed(reader)).partition(b"\r\n")[0] in (b"", b"HTTP/1.0 400 Bad Request")
        writer.close()


async def test_a_second_request_has_the_same_time_as_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    async with served() as one:
        reader, writer = await one.ask()
        monkeypatch.setattr(connection_limits, "REQUEST_SECONDS", 0.05)
        writer.write(b"GET /")
        assert await closed(reader) == b""
        writer.close()


async def test_a_kept_connection_is_closed_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "KEEP_SECONDS", 0.05)
    async with served() as one:
        reader, writer = await one.ask()
        assert await closed(reader) == b""
        writer.close()


async def test_a_request_that_has_arrived_may_take_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "REQUEST_SECONDS", 0.05)
    async with served() as one:
        reader, writer = await one.open()
        writer.write(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        await one.asked.wait()
        # A later one is closed meanwhile: its time has passed, and the first one's does not count.
        late, other = await one.open()
        assert await closed(late) == b""
        one.go_on.set()
        assert await answer(reader) == "HTTP/1.1 200 OK"
        writer.close()
        other.close()


@pytest.mark.parametrize(("cancels_handlers", "end"), [(True, "cancelled"), (False, "finished")])
async def test_a_client_that_goes_away_ends_its_handler_only_if_the_server_says_so(
    cancels_handlers: bool, end: str
) -> None:
    async with served(cancels_handlers=cancels_handlers) as one:
        _, writer = await one.open()
        writer.write(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        await one.asked.wait()
        writer.close()
        await writer.wait_closed()
        if cancels_handlers:
            async with asyncio.timeout(20):
                await asyncio.shield(one.ended)
        _, other = await one.ask()  # the server has noticed by now that the first client has gone
        other.close()
        one.go_on.set()
        async with asyncio.timeout(20):
            assert await one.ended == end


async def test_whoever_waits_longest_gives_way_and_whoever_is_known_last(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connection_limits, "MOST", 4)
    monkeypatch.setattr(connection_limits, "FEWEST", 1)
    monkeypatch.setattr(connection_limits, "PATIENCE_SECONDS", 0)
    with caplog.at_level(logging.WARNING, logger="askback.listen"):
        async with served() as one:
            known, to_known = await one.ask(signed=True)
            under_way, to_way = await one.open()
            to_way.write(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            await one.asked.wait()
            strangers = [await one.ask() for _ in range(10)]
            for reader, _ in strangers[:8]:
                assert await closed(reader) == b""
            to_known.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert await answer(known) == "HTTP/1.1 200 OK"
            one.go_on.set()
            assert await answer(under_way) == "HTTP/1.1 200 OK"
            for writer in (to_known, to_way, *(writer for _, writer in strangers)):
                writer.close()
    assert [record.action for record in caplog.records] == ["connections_closed"]  # type: ignore[attr-defined]


async def test_where_all_are_being_answered_the_next_one_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "MOST", 1)
    monkeypatch.setattr(connection_limits, "FEWEST", 1)
    async with served() as one:
        first, to_first = await one.open()
        to_first.write(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        await one.asked.wait()
        second = asyncio.create_task(one.ask())
        one.go_on.set()
        assert await answer(first) == "HTTP/1.1 200 OK"
        _, to_second = await second
        to_first.close()
        to_second.close()


async def test_where_requests_wait_for_people_the_next_one_is_told_to_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection_limits, "MOST", 1)
    monkeypatch.setattr(connection_limits, "FEWEST", 1)
    monkeypatch.setattr(busy_answer, "MOST", 1)
    for name in ("LINGER_SECONDS", "REQUEST_SECONDS"):
        monkeypatch.setattr(busy_answer, name, 0.5)
    async with served(refuses=True) as one:
        first, to_first = await one.open()
        to_first.write(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        await one.asked.wait()
        second, to_second = await one.open()
        to_second.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + b"x" * 100000)
        said = (await closed(second)).decode()
        assert said.startswith("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\n")
        # The answer is not cut off, although the rest of the body was never asked for.
        assert json.loads(said.partition("\r\n\r\n")[2])["status"] == 503
        third, to_third = await one.open()
        assert await closed(third) == b"", "one that says nothing is closed in the end, too"
        one.go_on.set()
        assert await answer(first) == "HTTP/1.1 200 OK"
        to_first.close()
        _, to_fourth = await one.ask()
        for writer in (to_second, to_third, to_fourth):
            writer.close()


@pytest.mark.parametrize(
    ("files", "spare", "most"), [(1024, None, 256), (1024, 256, 768), (20_000, 256, 12_000), (300, 256, 75)]
)
def test_a_listener_leaves_files_to_the_rest_of_its_process(
    monkeypatch: pytest.MonkeyPatch, files: int, spare: int | None, most: int
) -> None:
    monkeypatch.setattr(connection_limits.resource, "getrlimit", lambda _: (files, files))
    assert connection_limits.compute_connection_limit(12_000, spare) == most


async def test_no_descriptor_left_is_one_warning_and_no_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(http_server, "PAUSE_SECONDS", 0.001)
    loop = asyncio.get_running_loop()
    accept, refusals = loop.sock_accept, iter(range(50))

    async def refuse(listener: socket.socket) -> tuple[socket.socket, object]:
        if next(refusals, None) is not None:
            raise OSError(24, "Too many open files")
        return await accept(listener)

    monkeypatch.setattr(loop, "sock_accept", refuse)
    with caplog.at_level(logging.WARNING, logger="askback.listen"):
        async with served() as one:
            _, writer = await one.ask()
            writer.close()
    assert [record.getMessage() for record in caplog.records] == [
        "Could not accept a connection; trying again: [Errno 24] Too many open files"
    ]
