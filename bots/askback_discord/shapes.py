"""What ids look like in Discord, wherever somebody writes one. Names can be changed by whoever bears them."""

from __future__ import annotations

__all__ = ["SNOWFLAKE"]

from typing import Final

SNOWFLAKE: Final = "[0-9]{15,20}"
"""The id of anything: a person, a role, a server, a channel."""
