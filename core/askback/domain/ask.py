"""The row of an ask: a form, its place, its policy and its progress."""

from __future__ import annotations

__all__ = ["AdmissionCheck", "Ask", "check_key", "create_ask_id"]

import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Literal

from askback.domain.answer_file import list_pending
from askback.domain.ask_policy import Denied, Policy
from askback.domain.caller_absence import Absence
from askback.domain.card import Card, build_card
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.interview import Interview
from askback.domain.outcome import Outcome, OutcomeStatus
from askback.domain.webhook import Webhook
from askback.errors import CallerError
from askback.internal.values import Value

AdmissionCheck = Callable[[Actor, Place], bool]
"""A function that returns True if the access rules let a person talk to the bot in a place. It does no I/O."""

LONGEST_KEY = 500
"""Maximum number of characters in a key. Every supported database can index that many."""


def create_ask_id() -> str:
    """Return 128 random bits as 22 characters, so that ids of asks cannot be guessed."""
    return secrets.token_urlsafe(16)


def check_key(key: str) -> None:
    """Raise `CallerError` if the database cannot store the key, or a person cannot type it."""
    if not key.strip():
        raise CallerError("The key is empty: give a name for the question, or leave out the key.")
    if len(key) > LONGEST_KEY:
        raise CallerError(f"The key has {len(key):,} characters: shorten it to {LONGEST_KEY}.")
    if not key.isprintable():
        raise CallerError("The key contains a line break or another unprintable character: remove it.")


class Ask(Value):
    """One form that was asked."""

    id: str
    place: Place
    policy: Policy
    interview: Interview
    created_at: datetime
    post_after: datetime
    """The earliest time to post its card."""
    posted_at: datetime | None = None
    """The time of its first posting. None if it is not posted yet, or if an earlier release posted it."""
    key: str | None = None
    """The caller's own name for it, with which a restarted caller finds it again."""
    conversation_id: str | None = None
    """The agent's conversation that waits for it. None if a library caller asked."""
    asked_by: Actor | None = None
    messages: tuple[MessageRef, ...] = ()
    """The messages of its card: the live message first, then the messages that continue it."""
    drawn_revision: int = -1
    """The newest revision that a platform confirmed; -1 if it was never rendered."""
    absence: Absence | None = None
    """The reason why its card says that no program waits for the answer, or has received it. None while a program
    waits or once one has received it, and if none ever waited."""
    trace: str | None = None
    """The W3C traceparent of the work that it belongs to."""
    participants: tuple[Actor, ...] = ()
    """Everyone who has written in its conversation, if the policy needs them. Loaded with the ask, not stored."""
    webhook: Webhook | None = None
    """An address that gets the outcome. Stored with a new ask, in a separate row, and not loaded with it."""
    only_key: tuple[str, str] | None = None
    """The beginning and the end of its key, if no other ask may have such a key. Not stored with it."""
    keeps_receipt: bool = False
    """True if the receipt of its outcome is recorded, under its key. Stored with a new ask, as `webhook` is."""

    def explain_denial(self, actor: Actor, is_admitted: AdmissionCheck) -> str | None:
        """Return the reason why this person may not act on it, in words for them. None means they may."""
        denied = self.find_denial(actor, is_admitted)
        return None if denied is None else self.policy.format_denial(denied)

    def find_denial(self, actor: Actor, is_admitted: AdmissionCheck) -> Denied | None:
        """Return the reason why this person may not act on it, for programs. None means they may."""
        admitted = self.policy.is_admission_needed and is_admitted(actor, self.place)
        return self.policy.find_denial(actor, self.participants, admitted=admitted)

    def add_participant(self, author: Actor) -> Ask:
        """Return the same ask after this person wrote in its conversation."""
        if not self.policy.is_for_participants:
            return self
        return self.evolve(participants=(*self.participants, author))

    @property
    def counts_from(self) -> datetime:
        """The time from which deadline, reminders and escalations count: its posting, or `post_after` until then."""
        return self.post_after if self.posted_at is None else self.posted_at

    def shift(self, by: timedelta) -> Ask:
        """Return it with all its times moved, to convert from the clock of one process to that of another."""
        return self.evolve(
            created_at=self.created_at + by, post_after=self.post_after + by, policy=self.policy.shift(by)
        )

    def postpone(self, until: datetime) -> Ask:
        """Return it with `until` as the earliest posting time. The times of its policy move later by the difference."""
        return self.evolve(post_after=until, policy=self.policy.postpone(until - self.post_after))

    def mark_posted(self, at: datetime) -> Ask:
        """Return the ask as first posted at `at`, so that people get the full time until the deadline.

        Until it is posted, its deadline counts from `post_after` and limits how long posting is retried.
        """
        if self.messages or self.posted_at is not None or self.outcome is not None:
            return self
        return self.evolve(posted_at=at, policy=self.policy.postpone(at - self.post_after))

    def is_visible(self, now: datetime) -> bool:
        """Return True if people may see its card: it was posted, or its posting is due.

        A platform shows a new card to people before the bot has recorded the message.
        """
        return bool(self.messages) or self.post_after <= now

    @property
    def status(self) -> Literal["open"] | OutcomeStatus:
        return self.interview.outcome.status if self.interview.outcome is not None else "open"

    @property
    def outcome(self) -> Outcome | None:
        return self.interview.outcome

    @property
    def is_complete(self) -> bool:
        """True if it has its outcome, and the contents of all files in its answers were read or cannot be."""
        return self.outcome is not None and not list_pending(self.interview)

    @property
    def time_taken(self) -> timedelta | None:
        """The time from the posting of the card to the end of the question. None while it is open."""
        return None if self.outcome is None else self.outcome.at - (self.posted_at or self.created_at)

    @property
    def typed_step(self) -> int:
        """The step that a message counts for.

        A message does not say which version of a tool call its author saw, so as a vote it counts only for the first.
        """
        return self.interview.step if self.policy.approval is None else 0

    @property
    def is_drawn(self) -> bool:
        """True if people see its newest state."""
        return self.drawn_revision >= self.interview.revision

    @property
    def next_due_at(self) -> datetime | None:
        """The next time at which it needs work without a click. None means never.

        Reminders do not count until its card is posted.
        """
        policy = self.policy
        if self.messages or not (policy.reminders or policy.personal_reminders):
            return policy.next_due_at
        return policy.evolve(reminders=(), personal_reminders=()).next_due_at

    def to_card(self) -> Card:
        """Return its card in the current state."""
        return build_card(self.id, self.interview, self.policy, self.absence)
