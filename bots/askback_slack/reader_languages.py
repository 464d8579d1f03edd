"""The languages of the people who click in Slack."""

from __future__ import annotations

__all__ = ["ReaderLanguages"]

from askback.domain.identity import Actor
from askback_slack.task_group import Background
from askback_slack.user_names import UserNames


class ReaderLanguages:
    """Adds their language to people. No payload tells it, and no ack waits for a look-up."""

    def __init__(self, names: UserNames, behind: Background) -> None:
        self._names = names
        self._behind = behind

    def add(self, who: Actor) -> Actor:
        """Return the person with their language, if it is known here. Otherwise look it up for their next click."""
        if self._names.is_look_up_due(who.id):
            self._behind.start_soon(self._names.look_up(who.id), "person")
        return self._names.add_language(who)
