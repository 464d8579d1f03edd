"""Patterns of Discord's ids. Settings use ids because people can change their names."""

from __future__ import annotations

__all__ = ["SNOWFLAKE"]

from typing import Final

SNOWFLAKE: Final = "[0-9]{15,20}"
"""The id of a person, a role, a server or a channel."""
