"""The languages of the people who click in Slack."""

from __future__ import annotations

__all__ = ["ReaderLanguages"]

import asyncio
from contextlib import suppress
from typing import Final

from askback.domain.identity import Actor
from askback.translations.catalogue import Language
from askback_slack.task_group import Background
from askback_slack.user_names import UserNames

SECONDS: Final = 0.8
"""Seconds that the first words to a person wait for their language. Slack opens a modal only within 3 s of a click."""


class ReaderLanguages:
    """Finds the languages of people. No payload tells it, and no ack waits for a look-up."""

    def __init__(self, names: UserNames, background: Background) -> None:
        self._names = names
        self._background = background
        self._running: dict[str, asyncio.Event] = {}
        """The look-ups that run now, by person."""

    def add(self, who: Actor) -> Actor:
        """Return the person with their language, if it is known here. Otherwise a look-up begins."""
        if self._names.is_look_up_due(who.id):
            self._running[who.id] = asyncio.Event()
            self._background.start_soon(self._look_up(who.id), "person")
        return self._names.add_language(who)

    async def find(self, who: Actor) -> Language | None:
        """Return the language of a person, after a moment for a look-up that runs. None if it is not known. Never
        raises.
        """
        ended = self._running.get(who.id)
        if ended is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(SECONDS):
                    await ended.wait()
        return self._names.get_language(who.id)

    async def _look_up(self, user: str) -> None:
        try:
            await self._names.look_up(user)
        finally:
            self._running.pop(user).set()
