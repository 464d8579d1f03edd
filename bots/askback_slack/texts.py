"""Makes the texts of models and people literal: nothing in them is mark-up, notifies people, hides or reorders text."""

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
    """Escape a text for `mrkdwn` and the notification text: the three characters that start anything active."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def notification(markdown: str) -> str:
    """Return the notification text of a message with this Markdown; a note says if it was shortened."""
    whole = escape(literal(markdown))
    if len(whole.encode()) <= MESSAGE_TEXT_BYTES:
        return whole
    more = "… (goes on in the message)"
    room = MESSAGE_TEXT_BYTES - len(more.encode())
    at = len(markdown)
    while (left := len(escape(isolated(visible(markdown[:at]))).encode()) - room) > 0:
        at -= max(left // 12, 1)
    return escape(isolated(visible(markdown[:at]))) + more
