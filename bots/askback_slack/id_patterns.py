"""The name of the platform, and patterns of its ids. Settings use ids because people can change their names."""

from __future__ import annotations

__all__ = ["CHANNEL", "DIRECT", "GROUP", "PERSON", "PLATFORM", "PROGRAM", "SLACKBOT"]

from typing import Final

PLATFORM: Final = "slack"
PROGRAM: Final = "B[A-Z0-9]{6,}"
PERSON: Final = "[UW][A-Z0-9]{6,}"
GROUP: Final = "S[A-Z0-9]{6,}"
CHANNEL: Final = "[CG][A-Z0-9]{6,}"
DIRECT: Final = "D[A-Z0-9]{6,}"
SLACKBOT: Final = "USLACKBOT"
"""Slack's own user. Slack does not mark it as a bot, and anyone can make it write, for example with a reminder."""
