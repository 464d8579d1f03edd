"""Handles clicks before slack-bolt looks for a listener."""

from __future__ import annotations

__all__ = ["ClickMiddleware"]

from collections.abc import Awaitable, Callable
from typing import cast

from slack_bolt import BoltResponse
from slack_bolt.middleware.async_middleware import AsyncMiddleware
from slack_bolt.request.async_request import AsyncBoltRequest

from askback_slack.json_access import Json, get_text


class ClickMiddleware(AsyncMiddleware):
    """Commits a click, and then acks it.

    For each listener, slack-bolt builds thirty arguments twice, and authorizes the request. A person waits meanwhile.
    """

    def __init__(self, commit: Callable[[Json], Awaitable[None]]) -> None:
        """`commit` handles the payload of a click. It raises nothing, so that each click is acked."""
        self._commit = commit

    async def async_process(
        self,
        *,
        req: AsyncBoltRequest,
        resp: BoltResponse,
        next: Callable[[], Awaitable[BoltResponse]],  # noqa: A002 - slack-bolt's own name
    ) -> BoltResponse | None:
        body = cast("Json", req.body)  # pyright: ignore[reportUnknownMemberType] - a bare dict
        if get_text(body, "type") != "block_actions":
            return await next()
        await self._commit(body)
        return BoltResponse(status=200, body="")
