"""Handles clicks and submitted modals before slack-bolt looks for a listener."""

from __future__ import annotations

__all__ = ["ClickMiddleware"]

from collections.abc import Awaitable, Callable
from typing import cast

from slack_bolt import BoltResponse
from slack_bolt.context.ack.async_ack import AsyncAck
from slack_bolt.middleware.async_middleware import AsyncMiddleware
from slack_bolt.request.async_request import AsyncBoltRequest

from askback_slack import text_modal
from askback_slack.json_access import Json, get_text


class ClickMiddleware(AsyncMiddleware):
    """Commits a click or a submitted modal, and then acks it.

    For each listener, slack-bolt builds thirty arguments twice, and authorizes the request. A person waits meanwhile.
    It also fails on a modal without a field that askback does not need, and the person's text would be lost.
    """

    def __init__(
        self, commit: Callable[[Json], Awaitable[None]], submit: Callable[[AsyncAck, Json], Awaitable[None]]
    ) -> None:
        """`commit` handles the payload of a click, and `submit` that of one of askback's modals, which it acks.

        They raise nothing, so that each is acked.
        """
        self._commit = commit
        self._submit = submit

    async def async_process(
        self,
        *,
        req: AsyncBoltRequest,
        resp: BoltResponse,
        next: Callable[[], Awaitable[BoltResponse]],  # noqa: A002 - slack-bolt's own name
    ) -> BoltResponse | None:
        body = cast("Json", req.body)  # pyright: ignore[reportUnknownMemberType] - a bare dict
        match get_text(body, "type"):
            case "block_actions":
                await self._commit(body)
                return BoltResponse(status=200, body="")
            case "view_submission" if get_text(body, "view", "callback_id") == text_modal.CALLBACK:
                ack = AsyncAck()
                await self._submit(ack, body)
                return ack.response
            case _:
                return await next()
