"""What ids look like in Slack, wherever somebody writes one. Names can be changed by whoever bears them."""

from __future__ import annotations

__all__ = ["CHANNEL", "DIRECT", "GROUP", "PERSON", "SLACKBOT"]

from typing import Final

PERSON: Final = "[UW][A-Z0-9]{6,}"
GROUP: Final = "S[A-Z0-9]{6,}"
CHANNEL: Final = "[CG][A-Z0-9]{6,}"
DIRECT: Final = "D[A-Z0-9]{6,}"
SLACKBOT: Final = "USLACKBOT"
"""Slack's own, which it does not call a bot, and which writes what anybody has it write, such as a reminder."""
