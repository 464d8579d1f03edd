"""The HTTP session for calls to Slack. It accepts only answers that can be Slack's own.

Something in between may answer instead: a load balancer, a proxy, a login page. Its answer says nothing about the call,
which may have reached Slack all the same. slack_sdk would follow its redirects, and fail on its pages.
"""

from __future__ import annotations

__all__ = ["ForeignAnswer", "open_session"]

import aiohttp
from aiohttp.client_middlewares import ClientHandlerType

from askback.network.connector import open_connector
from askback.ports.platform import RetryableError


class ForeignAnswer(RetryableError):
    """An answer that is not Slack's. Slack may have executed the call all the same."""

    def __init__(self, status: int) -> None:
        super().__init__(f"Something other than Slack answered (HTTP {status}).", in_doubt=True)


def open_session(api_url: str, seconds: float) -> aiohttp.ClientSession:
    """Open a session whose calls raise `ForeignAnswer`. `seconds` is the time limit of a call."""

    async def check_answer(request: aiohttp.ClientRequest, handler: ClientHandlerType) -> aiohttp.ClientResponse:
        response = await handler(request)
        is_api_call = str(request.url).startswith(api_url)
        # A rate limit of something in between is a rate limit, too.
        if response.status != 429 and (300 <= response.status < 400 or (is_api_call and not await _is_json(response))):
            response.close()
            raise ForeignAnswer(response.status)
        return response

    timeout = aiohttp.ClientTimeout(total=seconds)
    return aiohttp.ClientSession(connector=open_connector(), timeout=timeout, middlewares=(check_answer,))


async def _is_json(response: aiohttp.ClientResponse) -> bool:
    """Return True if the body begins as a JSON object. slack_sdk parses the rest."""
    return response.content_type == "application/json" and (await response.read()).lstrip().startswith(b"{")
