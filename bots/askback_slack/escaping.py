"""Makes the texts of models and people literal: nothing in them is mark-up, notifies people, hides or reorders text."""

from __future__ import annotations

__all__ = [
    "escape",
    "fit_line",
    "isolate_direction",
    "replace_controls",
    "split_isolated",
    "split_text",
    "to_literal",
    "to_notification",
    "to_single_line",
    "truncate",
]

from askback.text.literal import (
    fit_line,
    isolate_direction,
    replace_controls,
    split_isolated,
    split_text,
    to_literal,
    to_single_line,
    truncate,
)
from askback.translations.catalogue import _
from askback_slack.limits import MESSAGE_TEXT_BYTES


def escape(text: str) -> str:
    """Escape a text for `mrkdwn` and the notification text: the three characters that start anything active."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def to_notification(markdown: str) -> str:
    """Return the notification text of a message with this Markdown; a note says if it was shortened."""
    whole = escape(to_literal(markdown))
    if len(whole.encode()) <= MESSAGE_TEXT_BYTES:
        return whole
    more = _("… (continues in the message)")
    room = MESSAGE_TEXT_BYTES - len(more.encode())
    at = len(markdown)
    while (left := len(escape(isolate_direction(replace_controls(markdown[:at]))).encode()) - room) > 0:
        at -= max(left // 12, 1)
    return escape(isolate_direction(replace_controls(markdown[:at]))) + more
