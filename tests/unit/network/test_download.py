"""Files are read only from the hosts of the platform, up to a limit, and no redirect is followed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web

from askback.network import download as module
from askback.network.download import download, is_from_host
from askback.ports.files import FileTooLarge, TransferTooSlow
from askback.ports.platform import RetryableError

HOSTS = frozenset({"slack.com"})
API = "https://slack.com/api/"


@pytest.mark.parametrize(
    ("address", "api"),
    [
        ("https://files.slack.com/files-pri/T-F/a.png", API),
        ("https://FILES.SLACK.COM/a", API),
        ("https://slack.com:443/a", API),
        ("http://127.0.0.1:8800/files-pri/a", "http://127.0.0.1:8800/api/"),
        ("https://proxy.example.com/files", "https://proxy.example.com/slack/api/"),
    ],
)
def test_the_platform_and_the_address_of_the_settings_are_trusted(address: str, api: str) -> None:
    assert is_from_host(address, HOSTS, api)


@pytest.mark.parametrize(
    "address",
    [
        "http://files.slack.com/a",
        "https://files.slack.com:8443/a",
        "https://slack.com.example.com/a",
        "https://evilslack.com/a",
        "https://slack.com@example.com/a",
        "https://user:word@files.slack.com/a",
        "https://example.com/?files.slack.com",
        "https://example.com#.slack.com",
        "https://example.com\\.slack.com/a",
        "http://127.0.0.1:8801/files-pri/a",
        "http://127.0.0.1/a",
        "//files.slack.com/a",
        "file:///etc/passwd",
        "https://[::1/a",
        "",
    ],
)
def test_every_other_address_is_not(address: str) -> None:
    assert not is_from_host(address, HOSTS, "http://127.0.0.1:8800/api/")


class Server:
    """A server that sends what a test wants, and notes what it was asked."""

    def __init__(self) -> None:
        self.requests: list[web.Request] = []
        self.headers: dict[str, str] = {}
        self.status = 200
        self.pieces: list[bytes] = [b"words"]
        self.pause = 0.0
        self.sent = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        response = web.StreamResponse(status=self.status, headers=self.headers)
        await response.prepare(request)
        try:
            for piece in self.pieces:
                await asyncio.sleep(self.pause)
                await response.write(piece)
                self.sent += len(piece)
        except ConnectionError:
            return response  # the client has enough
        return response


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
async def address(server: Server) -> AsyncIterator[str]:
    application = web.Application()
    application.router.add_get("/{name:.*}", server.answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/file"
    await runner.cleanup()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened


async def test_the_content_arrives_with_its_type(server: Server, address: str, session: aiohttp.ClientSession) -> None:
    server.headers = {"Content-Type": "text/csv"}
    found = await download(session, address, 5, {"Authorization": "Bearer me"}, "Slack")
    assert found == (200, "text/csv", None, b"words")
    assert server.requests[0].headers["Authorization"] == "Bearer me"


async def test_more_than_the_limit_is_not_read(server: Server, address: str, session: aiohttp.ClientSession) -> None:
    server.pieces = [bytes(100_000)] * 1_000
    with pytest.raises(FileTooLarge):
        await download(session, address, 150_000, {}, "Slack")
    assert server.sent < 50_000_000


async def test_a_stated_length_over_the_limit_is_enough(
    server: Server, address: str, session: aiohttp.ClientSession
) -> None:
    server.headers = {"Content-Length": "6"}
    server.pieces = []
    with pytest.raises(FileTooLarge):
        await download(session, address, 5, {}, "Slack")


async def test_a_redirect_is_not_followed(server: Server, address: str, session: aiohttp.ClientSession) -> None:
    server.status, server.headers, server.pieces = 302, {"Location": address}, []
    found = await download(session, address, 5, {"Authorization": "Bearer me"}, "Slack")
    assert (found.status, found.location, found.content) == (302, address, b"")
    assert len(server.requests) == 1


async def test_a_slow_file_is_tried_again_later(
    server: Server, address: str, session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.2)
    server.pause = 5.0
    with pytest.raises(TransferTooSlow):
        await download(session, address, 5, {}, "Slack")


async def test_an_error_does_not_tell_the_address(session: aiohttp.ClientSession) -> None:
    with pytest.raises(RetryableError) as raised:
        await download(session, "http://127.0.0.1:9/secret-path", 5, {}, "Slack")
    assert "secret-path" not in str(raised.value)
    assert raised.value.__cause__ is None
