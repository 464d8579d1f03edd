"""The name of the platform, and patterns of its ids. Settings use ids because people can change their names."""

from __future__ import annotations

__all__ = ["PLATFORM", "SNOWFLAKE"]

from typing import Final

PLATFORM: Final = "discord"
SNOWFLAKE: Final = "[0-9]{15,20}"
"""The id of a person, a role, a server or a channel."""
