"""The row of an ask: a form that was asked, where, under which policy, and how far it has come."""

from __future__ import annotations

__all__ = ["Ask", "check_key", "new_ask_id"]

import secrets
from datetime import datetime
from typing import Literal

from askback.card import Card, draw
from askback.errors import CallerError
from askback.identity import Actor, MessageRef, Place
from askback.interview import Interview
from askback.policy import Policy
from askback.questions import Outcome, OutcomeStatus
from askback.values import Value

LONGEST_KEY = 500
"""What every database has an index for."""


def new_ask_id() -> str:
    """128 random bits as 22 characters: nobody can guess the id of an ask."""
    return secrets.token_urlsafe(16)


def check_key(key: str) -> None:
    """Raises `CallerError` where this could not be written down, or typed again."""
    if not key.strip():
        raise CallerError("The key is empty: give the question a name of its own, or leave the key out.")
    if len(key) > LONGEST_KEY:
        raise CallerError(f"The key has {len(key):,} characters: shorten it to {LONGEST_KEY}.")
    if not key.isprintable():
        raise CallerError("The key has a line break, or another character that cannot be shown: take it out.")


class Ask(Value):
    """One form that was asked."""

    id: str
    place: Place
    policy: Policy
    interview: Interview
    created_at: datetime
    post_after: datetime
    """When its card may be posted at the earliest."""
    key: str | None = None
    """The caller's own name for it, by which a restarted caller finds it again."""
    conversation_id: str | None = None
    """The agent's conversation that waits for it; None for a library caller."""
    asked_by: Actor | None = None
    messages: tuple[MessageRef, ...] = ()
    """Where its card stands: the live message first, what goes on below it after that."""
    drawn_revision: int = -1
    """The newest revision that a platform confirmed; -1: never drawn."""
    trace: str | None = None
    """The W3C traceparent of what it belongs to."""

    @property
    def status(self) -> Literal["open"] | OutcomeStatus:
        return self.interview.outcome.status if self.interview.outcome is not None else "open"

    @property
    def outcome(self) -> Outcome | None:
        return self.interview.outcome

    @property
    def is_drawn(self) -> bool:
        """Whether people see its newest state."""
        return self.drawn_revision >= self.interview.revision

    @property
    def next_moment(self) -> datetime | None:
        """When there is something to do about it without anybody's click. None: never.

        Reminders wait for a card that does not stand anywhere yet.
        """
        policy = self.policy
        return policy.next_moment if self.messages or not policy.reminders else policy.evolve(reminders=()).next_moment

    def card(self) -> Card:
        """Its card as it stands."""
        return draw(self.id, self.interview, self.policy)
