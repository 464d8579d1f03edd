"""Texts of models and people, made literal: nothing in them is mark-up, pings, hides or reorders."""

from __future__ import annotations

__all__ = [
    "breaking",
    "cut",
    "escape",
    "fit",
    "harmless_markdown",
    "isolated",
    "literal",
    "notification",
    "one_line",
    "pieces",
    "prose_parts",
    "unfinished",
    "visible",
]

from askback.text.literal import breaking, cut, fit, isolated, literal, one_line, pieces, visible
from askback_slack.limits import MESSAGE_TEXT_BYTES
from askback_slack.markdown import harmless_markdown, prose_parts, unfinished


def escape(text: str) -> str:
    """For `mrkdwn` and the notification text: the three characters that begin anything active."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def notification(markdown: str) -> str:
    """The notification text of a message whose body is this Markdown; what does not fit is told."""
    whole = escape(literal(markdown))
    if len(whole.encode()) <= MESSAGE_TEXT_BYTES:
        return whole
    more = "… (goes on in the message)"
    room = MESSAGE_TEXT_BYTES - len(more.encode())
    at = len(markdown)
    while (left := len(escape(isolated(visible(markdown[:at]))).encode()) - room) > 0:
        at -= max(left // 12, 1)
    return escape(isolated(visible(markdown[:at]))) + more
