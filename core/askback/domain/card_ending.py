"""The end of an ask, as its settled card says it. No I/O."""

from __future__ import annotations

__all__ = ["ENDINGS", "REVOKED", "Ending", "build_ending"]

from collections.abc import Mapping
from typing import Final

from pydantic import AwareDatetime

from askback.domain.identity import Actor
from askback.domain.interview import Interview, start_interview
from askback.domain.outcome import Outcome, OutcomeStatus, Revocation
from askback.domain.timeout_words import Consequence, build_consequence
from askback.internal.values import Value
from askback.translations.catalogue import N_, _

ENDINGS: Final[Mapping[OutcomeStatus, str]] = {
    "answered": N_("✓ Answered"),
    "cancelled": N_("Cancelled"),
    "declined": N_("Not now"),
    "timed_out": N_("Nobody answered in time"),
    "undeliverable": N_("Could not be delivered"),
}
"""First line of a settled card without an answer of one line."""
DISCUSS = N_("To be discussed first")
"""That line if somebody wants to discuss the question before anybody answers it."""
REVOKED = N_("Revoked by my operator: each call needs approval again.")
"""The note of a settled card whose approval of later calls no longer holds."""


class Ending(Value):
    """The end of the ask, as people read it."""

    status: OutcomeStatus
    at: AwareDatetime
    by: Actor | None
    reason: str | None
    discuss: bool = False
    consequence: Consequence | None = None
    """The sentence about its timeout, such as a default that applies."""
    falls_back: bool = False
    """True if the lines of the card hold defaults that apply, and no answers."""
    has_unused_drafts: bool = False
    """True if people had begun to answer, and the defaults apply all the same."""

    revoked: Revocation | None = None
    """The end of what it allowed for later calls, by the operator."""

    @property
    def lists_defaults(self) -> bool:
        """True if the settled card lists the defaults that apply."""
        return self.consequence is not None and self.consequence.lists_defaults

    @property
    def title(self) -> str:
        """The first line of a settled card without an answer of one line."""
        return _(DISCUSS if self.discuss else ENDINGS[self.status])


def build_ending(interview: Interview, outcome: Outcome) -> Ending:
    """Return the end of an ask."""
    falls_back = bool(outcome.fallback)
    return Ending(
        status=outcome.status,
        at=outcome.at,
        by=outcome.by,
        reason=outcome.reason,
        discuss=outcome.discuss,
        consequence=build_consequence(interview.form, outcome),
        falls_back=falls_back,
        revoked=outcome.revoked,
        has_unused_drafts=falls_back and _has_changed_drafts(interview),
    )


def _has_changed_drafts(interview: Interview) -> bool:
    before = start_interview(interview.form).drafts
    return any(
        draft.evolve(marks=(), seen=False, sender=None) != first.evolve(marks=(), seen=False, sender=None)
        for draft, first in zip(interview.drafts, before, strict=True)
    )
