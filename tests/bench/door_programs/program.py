"""A program behind a door, and what all of them ask."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Any, Final

OPTIONS: Final = ("Green", "Blue")
PROMPT: Final = "Which colour shall it have?"
TO, WHO = "slack:#general", "anyone"
SCHEMA: Final[dict[str, Any]] = {"type": "string", "enum": [*OPTIONS]}
QUESTION: Final[dict[str, Any]] = {"question": PROMPT, "options": [*OPTIONS]}
QUIET_SECONDS: Final = 0.02
"""Seconds for which a bare counterpart waits before it is resumed, as for people."""


class Program(ABC):
    """A program behind a door. `went_on` is the time at which it last went on with an answer."""

    went_on = 0.0

    @abstractmethod
    async def once(self) -> None:
        """Ask, and continue with the answer."""

    async def bare(self) -> float:
        """Wait and go on without askback; return the time at which it was resumed."""
        raise NotImplementedError

    def go_on(self) -> None:
        self.went_on = time.time()
