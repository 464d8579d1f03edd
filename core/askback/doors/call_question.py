"""Values of the doors for agent frameworks: the question about a call, and the lack of an answer. Pure."""

from __future__ import annotations

__all__ = ["CallQuestion", "Unanswered", "get_answered"]

from dataclasses import dataclass
from typing import Literal

from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval
from askback.domain.edit_rules import EditRules
from askback.domain.form import Form
from askback.domain.outcome import Outcome
from askback.errors import AskbackError
from askback.tools.base import describe_unanswered


class Unanswered(AskbackError):
    """Raised if people gave no answer, and the framework has no way to learn that.

    `outcome.status` is `timed_out`, `declined`, `cancelled` or `undeliverable`. To ask again, continue the run.
    """

    def __init__(self, ask: Ask, outcome: Outcome) -> None:
        self.ask = ask
        self.outcome = outcome
        super().__init__(describe_unanswered(outcome, is_vote=ask.policy.approval is not None))


@dataclass(frozen=True, slots=True)
class CallQuestion:
    """The question about one call of a framework."""

    kind: Literal["ask", "permit"]
    """`permit` asks approvers if a tool may run, by the rules for approvals."""
    form: Form
    digest: str
    """A digest of what is shown."""
    vote: Approval | None = None
    """The rules of the vote. For an `ask`, None means that the first answer decides.

    For a `permit`, only its options count; None means “Approve” and “Deny”. The operator has the other rules.
    """
    edits: EditRules | None = None
    """The arguments that people may change first. None means that the framework does not allow it."""
    notes: tuple[str, ...] = ()
    """Sentences for the operator's log that say why people cannot change the others."""


def get_answered(ask: Ask) -> Outcome:
    """Return the outcome of a settled ask that people answered. Raises `Unanswered`."""
    assert ask.outcome is not None
    if ask.outcome.status != "answered":
        raise Unanswered(ask, ask.outcome)
    return ask.outcome
