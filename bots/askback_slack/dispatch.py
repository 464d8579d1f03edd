"""Handing what Slack sends to slack-bolt, whichever way it came."""

from __future__ import annotations

__all__ = ["acked", "answered"]

import logging
from typing import cast

from slack_bolt import BoltResponse
from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest

from askback.observability import telemetry
from askback_slack.payloads import PLATFORM, at

log = logging.getLogger("askback.slack")

_CLICKS = {"block_actions": "press", "block_suggestion": "search", "view_submission": "text", "view_closed": "close"}


async def answered(app: AsyncApp, request: AsyncBoltRequest, *, interactive: bool) -> BoltResponse:
    """What to answer: 200 acks it. Acks what slack-bolt leaves unacked: people would wait, and then see an error.

    An event that could not be taken is left unacked, so that Slack sends it again.
    """
    try:
        response = await app.async_dispatch(request)
    except Exception:
        log.exception("Something that Slack sent could not be read.", extra={"action": "payload_failed"})
        response = BoltResponse(status=500)
    if response.status != 200 and (interactive or response.status == 404):
        kind = at(cast("object", request.body), "type") or "of no type"  # pyright: ignore[reportUnknownMemberType] - a bare dict
        log.warning("Slack sent something that is not for here: %s.", kind, extra={"action": "unknown_payload"})
        return BoltResponse(status=200)
    return response


def acked(request: AsyncBoltRequest, began: float) -> None:
    """The ack of what came in at this `time.monotonic()` is sent: of a click, how long that took is measured."""
    kind = _CLICKS.get(at(cast("object", request.body), "type") or "")  # pyright: ignore[reportUnknownMemberType] - a bare dict
    if kind is not None:
        telemetry.acked(PLATFORM, kind, began)
