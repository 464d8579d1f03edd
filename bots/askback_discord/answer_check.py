"""Makes discord.py fail on answers that are not Discord's, which it would take for a success or follow elsewhere.

Something in between may answer instead of Discord: a load balancer, a proxy, a login page.
"""

from __future__ import annotations

__all__ = ["ForeignAnswer", "build_answer_check"]

from types import SimpleNamespace

import aiohttp


class ForeignAnswer(aiohttp.ClientError):
    """An answer that is not Discord's. Discord may have executed the call all the same."""

    def __init__(self, status: int) -> None:
        super().__init__(f"Something other than Discord answered (HTTP {status}).")


def build_answer_check() -> aiohttp.TraceConfig:
    """Return the `http_trace` of a client whose calls raise `ForeignAnswer`.

    It checks redirects and successes. discord.py itself raises the other answers.
    """

    async def reject_redirect(
        session: aiohttp.ClientSession, context: SimpleNamespace, redirect: aiohttp.TraceRequestRedirectParams
    ) -> None:
        del session, context
        redirect.response.close()
        raise ForeignAnswer(redirect.response.status)

    async def check_success(
        session: aiohttp.ClientSession, context: SimpleNamespace, end: aiohttp.TraceRequestEndParams
    ) -> None:
        del session, context
        response = end.response
        is_empty = response.status == 204
        if 200 <= response.status < 300 and not is_empty and response.content_type != "application/json":
            response.close()
            raise ForeignAnswer(response.status)

    trace = aiohttp.TraceConfig()
    trace.on_request_redirect.append(reject_redirect)
    trace.on_request_end.append(check_success)
    return trace
