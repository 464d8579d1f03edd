"""The row of an ask: a form that was asked, where, under which policy, and how far it has come."""

from __future__ import annotations

__all__ = ["Admits", "Ask", "check_key", "new_ask_id"]

import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Literal

from askback.domain.card import Card, draw
from askback.domain.form import Outcome, OutcomeStatus
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.interview import Interview
from askback.domain.policy import Denied, Policy
from askback.errors import CallerError
from askback.internal.values import Value

Admits = Callable[[Actor, Place], bool]
"""Says whether the access rules let somebody talk to the bot in a place. Pure."""

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
    posted_at: datetime | None = None
    """When its card was posted first. None: it was not yet, or by an earlier release."""
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
    participants: tuple[Actor, ...] = ()
    """Everybody who has written in its conversation, where that matters to the policy. Read with the ask, not kept."""

    def refusal(self, actor: Actor, admits: Admits) -> str | None:
        """Return why this person may not act on it, in words for them. None means they may."""
        denied = self.denial(actor, admits)
        return None if denied is None else self.policy.words(denied)

    def denial(self, actor: Actor, admits: Admits) -> Denied | None:
        """Return why this person may not act on it, for programs. None means they may."""
        admitted = self.policy.is_admission_needed and admits(actor, self.place)
        return self.policy.denial(actor, self.participants, admitted=admitted)

    def joined_by(self, author: Actor) -> Ask:
        """Return the same ask after this person wrote in its conversation."""
        if not self.policy.is_for_participants:
            return self
        return self.evolve(participants=(*self.participants, author))

    @property
    def counts_from(self) -> datetime:
        """From when on its deadline, reminders and escalations count: its posting, or before that, when it is due."""
        return self.post_after if self.posted_at is None else self.posted_at

    def shifted(self, by: timedelta) -> Ask:
        """Return it with all its times moved, from the clock of a process to another one."""
        return self.evolve(
            created_at=self.created_at + by, post_after=self.post_after + by, policy=self.policy.shifted(by)
        )

    def postponed(self, until: datetime) -> Ask:
        """Return it as posted then at the earliest; its times count from then on."""
        return self.evolve(post_after=until, policy=self.policy.later(until - self.post_after))

    def posted(self, at: datetime) -> Ask:
        """Return it as first posted at that time: people get all of the time that the caller gave them.

        Before that, the deadline that counts from the asking bounds how long the posting is tried.
        """
        if self.messages or self.posted_at is not None or self.outcome is not None:
            return self
        return self.evolve(posted_at=at, policy=self.policy.later(at - self.post_after))

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
