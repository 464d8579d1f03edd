"""Passes Slack's payloads to slack-bolt, from Socket Mode and from HTTP."""

from __future__ import annotations

__all__ = ["dispatch", "record_ack"]

import logging
from typing import cast

from slack_bolt import BoltResponse
from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest

from askback.observability import telemetry
from askback_slack.id_patterns import PLATFORM
from askback_slack.json_access import get_text

log = logging.getLogger("askback.slack")

_CLICKS = {"block_actions": "press", "block_suggestion": "search", "view_submission": "text", "view_closed": "close"}


async def dispatch(app: AsyncApp, request: AsyncBoltRequest, *, interactive: bool) -> BoltResponse:
    """Dispatch a request and return the response; status 200 acks it.

    Acks interactive payloads even if slack-bolt fails. Otherwise the person would wait and then see an error. Also
    acks payloads that no listener handles. Does not ack an event that failed, so that Slack redelivers it.
    """
    try:
        response = await app.async_dispatch(request)
    except Exception:
        log.exception(
            "Could not handle a payload from Slack because of a bug. Please report this.",
            extra={"action": "payload_failed"},
        )
        response = BoltResponse(status=500)
    if response.status != 200 and (interactive or response.status == 404):
        kind = get_text(cast("object", request.body), "type") or "of no type"  # pyright: ignore[reportUnknownMemberType] - a bare dict
        log.warning("Ignored a payload of an unknown type from Slack: %s.", kind, extra={"action": "unknown_payload"})
        return BoltResponse(status=200)
    return response


def record_ack(request: AsyncBoltRequest, began: float) -> None:
    """Record how long the ack of a click took. `began` is the `time.monotonic()` when the payload arrived."""
    kind = _CLICKS.get(get_text(cast("object", request.body), "type") or "")  # pyright: ignore[reportUnknownMemberType] - a bare dict
    if kind is not None:
        telemetry.record_ack(PLATFORM, kind, began)
