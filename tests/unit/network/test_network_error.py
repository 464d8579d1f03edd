"""A failed connection is reported in the words of the system, and without what the library's error contains."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import httpx
import pytest
from aiohttp import web
from aiohttp.test_utils import unused_port

from askback.network.network_error import get_failure_reason
from support.certificates import create_self_signed


async def fail(address: str) -> BaseException:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientError) as caught:
            await session.get(address)
    return caught.value


async def test_a_refused_connection_and_an_unknown_name_have_reasons() -> None:
    nowhere = f"http://127.0.0.1:{unused_port()}/"
    assert get_failure_reason(await fail(nowhere)) == "Connection refused"
    assert get_failure_reason(await fail("http://nowhere.invalid/s3cret")).startswith("its name ")
    async with httpx.AsyncClient() as client:
        with pytest.raises(httpx.ConnectError) as caught:
            await client.get(nowhere)
    assert get_failure_reason(caught.value) == "Connection refused"


async def test_a_failure_of_tls_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    runner = web.AppRunner(web.Application())
    await runner.setup()
    secret, plain = unused_port(), unused_port()
    try:
        await web.TCPSite(runner, "127.0.0.1", secret, ssl_context=create_self_signed(tmp_path, "127.0.0.1")).start()
        await web.TCPSite(runner, "127.0.0.1", plain).start()
        reason = get_failure_reason(await fail(f"https://127.0.0.1:{secret}/"))
        assert reason == "its TLS certificate is not trusted: self-signed certificate"
        assert get_failure_reason(await fail(f"https://127.0.0.1:{plain}/")).startswith("TLS failed: ")
    finally:
        await runner.cleanup()


def test_another_error_has_its_type_and_not_its_text() -> None:
    assert get_failure_reason(aiohttp.ClientPayloadError("s3cret")) == "ClientPayloadError"
