"""Report on a terminal while a question waits: its place, the votes, and the command to come back."""

from __future__ import annotations

__all__ = ["TerminalProgress"]

from collections.abc import Callable
from datetime import datetime
from shlex import quote

from askback.client.ask_and_wait import Progress
from askback.client.parameter_names import SHELL
from askback.client.request import Prepared
from askback.client.result import list_approving_labels
from askback.client.summary import describe_timeout, format_people, format_place
from askback.domain.ask import Ask
from askback.domain.outcome import Vote
from askback.internal.clock import utc_now
from askback.text.terminal import to_terminal_text


class TerminalProgress(Progress):
    """Report each event once, in a sentence."""

    terms = SHELL

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._key: str | None = None
        self._votes: tuple[Vote, ...] = ()
        self._is_posted = False
        self._place = ""

    def on_begin(self, ask: Ask, prepared: Prepared | None, *, again: bool) -> None:
        self._key = ask.key
        self._votes = ask.interview.votes
        self._is_posted = bool(ask.messages)
        was = "This question was asked before, and is still open" if again else "Stored the question"
        self._write(f"{was}. To wait for it again: askback ask --key {quote(ask.key or '')}")
        asked = None if prepared is None else prepared.asked
        self._place = format_place(ask) if prepared is None else to_terminal_text(prepared.found.name)
        then = describe_timeout(ask)
        self._write(
            f"Waiting for {_format_approvers(ask, asked)} {_format_deadline(ask.policy.deadline)}"
            f"{'' if then is None else f', {then}'}."
        )
        approval, options = ask.policy.approval, ask.interview.form.questions[0].options
        if approval is not None and approval.refusing and not list_approving_labels(ask):
            others = " and ".join(to_terminal_text(one.label) for one in options if not approval.is_refusing(one))
            self._write(f"No option is a “yes”, so {others} all exit with 0. Name those that approve with --yes.")

    def on_change(self, ask: Ask) -> None:
        if ask.messages and not self._is_posted:
            self._is_posted = True
            self._write(f"Posted the question in {self._place}.")
        for vote in ask.interview.votes:
            if vote not in self._votes:
                why = "" if not vote.reason else f" — {to_terminal_text(vote.reason)}"
                self._write(
                    f"{to_terminal_text(vote.by.name or vote.by.id)}: {to_terminal_text(vote.choice.label)}{why}"
                )
        self._votes = ask.interview.votes

    def note(self, sentence: str) -> None:
        self._write(sentence)

    def format_farewell(self) -> str:
        """Return the sentence for a wait that is interrupted."""
        if self._key is None:
            return "Nothing was asked."
        return f"The question stays open. To wait for it again: askback ask --key {quote(self._key)}"


def _format_approvers(ask: Ask, asked: str | None) -> str:
    who = format_people(ask.policy.who) if asked is None else to_terminal_text(asked)
    quorum = 1 if ask.policy.approval is None else ask.policy.approval.quorum
    return who if quorum == 1 else f"{quorum} of {who}"


def _format_deadline(deadline: datetime | None) -> str:
    if deadline is None:
        return "without a deadline"
    local = deadline.astimezone()
    same_day = local.date() == utc_now().astimezone().date()
    return f"until {local:%H:%M}" if same_day else f"until {local:%Y-%m-%d %H:%M}"
