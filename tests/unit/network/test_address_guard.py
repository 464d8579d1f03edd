"""Calls to addresses that a stranger may influence do not reach private networks."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from askback.network.address_guard import AddressGuard, is_public

PRIVATE = [
    "0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1", "192.0.0.1", "192.168.1.1",
    "198.18.0.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
    "::", "::1", "fe80::1", "fe80::1%2", "fec0::1", "fc00::1", "fd12::1", "ff02::1", "2001:db8::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::1", "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
]  # fmt: skip
PUBLIC = ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::1"]


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_is_no_public_one(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))
    assert not AddressGuard().allows(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_one(address: str) -> None:
    assert AddressGuard().allows(address)


class _Rebinding(AbstractResolver):
    """Resolves a name to a public address first, and to a private one afterwards."""

    def __init__(self, *answers: str) -> None:
        self.answers = [*answers]

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        address = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [ResolveResult(hostname=host, host=address, port=port, family=family or 2, proto=0, flags=0)]

    async def close(self) -> None:
        return None


@pytest.fixture
async def port(tmp_path: Path) -> AsyncIterator[int]:
    """A service in the private network."""
    application = web.Application()

    async def answer(request: web.Request) -> web.Response:
        return web.Response(text="private")

    application.router.add_get("/", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield runner.addresses[0][1]
    await runner.cleanup()


@pytest.mark.parametrize("host", ["127.0.0.1", "name.example"])
async def test_neither_a_literal_nor_a_name_reaches_a_service_on_this_machine(port: int, host: str) -> None:
    guard = AddressGuard()
    connector = guard.open_connector()
    connector._resolver = _Rebinding("127.0.0.1")  # pyright: ignore[reportPrivateUsage]
    async with aiohttp.ClientSession(connector=connector) as session:
        with pytest.raises(aiohttp.ClientConnectorError):
            await session.get(f"http://{host}:{port}/")
    assert guard.has_refused


async def test_an_allowed_network_is_reached(port: int) -> None:
    guard = AddressGuard([ipaddress.ip_network("127.0.0.0/8")])
    async with (
        aiohttp.ClientSession(connector=guard.open_connector()) as session,
        session.get(f"http://127.0.0.1:{port}/") as response,
    ):
        assert await response.text() == "private"
    assert not guard.has_refused
