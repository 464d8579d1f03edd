"""Read a file over HTTP, up to a limit, and only from hosts that the caller trusts.

A token for one host must not reach another one, so redirects are not followed.
"""

from __future__ import annotations

__all__ = ["Download", "download", "is_from_host"]

from collections.abc import Mapping
from typing import NamedTuple

import aiohttp
import yarl

from askback.ports.files import FileTooLarge, TransferTooSlow
from askback.ports.platform import RetryableError

SECONDS = 60.0
"""Seconds that reading one file may take."""
SILENT_SECONDS = 15.0
"""Seconds without a byte after which the connection counts as broken."""
CHUNK_BYTES = 65_536


class Download(NamedTuple):
    """The response to a request for a file."""

    status: int
    content_type: str
    location: str | None
    """The address to which the response refers."""
    content: bytes
    """Empty unless the status is 200."""


def is_from_host(address: str, hosts: frozenset[str], own: str) -> bool:
    """Return True if an address is on one of these hosts, or below one, over https; or if it has the origin of `own`.

    `own` is the address of the platform's API from the settings, such as that of a service on this machine.
    """
    try:
        url, api = yarl.URL(address), yarl.URL(own)
        if url.user is not None or url.password is not None or url.host is None:
            return False
        host = url.host.lower()
        if url.scheme == "https" and url.port == 443 and any(host == one or host.endswith(f".{one}") for one in hosts):
            return True
        return url.origin() == api.origin()
    except ValueError:
        return False


async def download(
    session: aiohttp.ClientSession, address: str, at_most: int, headers: Mapping[str, str], platform: str
) -> Download:
    """Read a file. Raises `FileTooLarge` if it has more than `at_most` bytes, and `RetryableError`.

    `platform` is its name for errors. Errors never contain the address, which may be as good as a key.
    """
    timeout = aiohttp.ClientTimeout(total=SECONDS, sock_read=SILENT_SECONDS, sock_connect=SILENT_SECONDS)
    try:
        async with session.get(
            yarl.URL(address),
            # Without compression, the limit holds for what is transferred, too.
            headers={**headers, "Accept-Encoding": "identity"},
            timeout=timeout,
            allow_redirects=False,
            middlewares=(),
        ) as response:
            content = await _read(response, at_most) if response.status == 200 else b""
            return Download(response.status, response.content_type, response.headers.get("Location"), content)
    except TimeoutError:
        raise TransferTooSlow(f"{platform} did not send the file in time.") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise RetryableError(f"Could not get the file from {platform} ({type(error).__name__}).") from None


async def _read(response: aiohttp.ClientResponse, at_most: int) -> bytes:
    if response.content_length is not None and response.content_length > at_most:
        raise FileTooLarge("The file is larger than I read.")
    content = bytearray()
    async for chunk in response.content.iter_chunked(CHUNK_BYTES):
        content += chunk
        if len(content) > at_most:
            raise FileTooLarge("The file is larger than I read.")
    return bytes(content)
