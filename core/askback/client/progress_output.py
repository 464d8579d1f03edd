"""Report on a terminal while a question waits: its place, the votes, and the command to come back."""

from __future__ import annotations

__all__ = ["TerminalProgress", "describe_passing", "format_deadline"]

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from shlex import quote

from askback.client.ask_and_wait import Progress
from askback.client.moments import format_moment
from askback.client.parameter_names import SHELL
from askback.client.request import Prepared
from askback.client.result import list_approving_labels
from askback.client.summary import describe_timeout, format_people, format_place
from askback.domain.ask import Ask
from askback.domain.outcome import Vote
from askback.domain.verdicts import can_approve
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
        until = format_deadline(ask.policy.deadline, whole=ask.policy.is_deadline_fixed)
        self._write(f"Waiting for {_format_approvers(ask, asked)} {until}{'' if then is None else f', {then}'}.")
        approval, options = ask.policy.approval, ask.interview.form.questions[0].options
        if approval is not None:
            warning = describe_passing(
                [one.label for one in options],
                [one.label for one in options if approval.is_refusing(one)],
                list_approving_labels(ask),
                decides=approval.quorum > 1 or (prepared is not None and prepared.names_approvers),
            )
            if warning is not None:
                self._write(warning)

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


def describe_passing(
    options: Sequence[str], refusing: Collection[str], approving: Collection[str], *, decides: bool
) -> str | None:
    """Return which answers exit with 0 although no option is a “yes”; None if there is nothing to say.

    `decides` means that the caller named approvers or a quorum, and so expects a “yes”.
    """
    if approving or not (refusing or decides):
        return None
    others = [option for option in options if option not in refusing]
    what, how = "No option is a “yes” or a “no”", "Name those that approve with --yes, and those that refuse with --no."
    if refusing:
        others = [option for option in others if can_approve(option, refusing)]
        what, how = "No option is a “yes”", "Name those that approve with --yes."
    passing = " and ".join(map(to_terminal_text, others))
    then = {0: "no answer exits with 0", 1: f"{passing} exits with 0"}.get(len(others), f"{passing} all exit with 0")
    return f"{what}, so {then}. {how}"


def _format_approvers(ask: Ask, asked: str | None) -> str:
    who = format_people(ask.policy.who) if asked is None else to_terminal_text(asked)
    quorum = 1 if ask.policy.approval is None else ask.policy.approval.quorum
    return who if quorum == 1 else f"{quorum} of {who}"


def format_deadline(deadline: datetime | None, *, whole: bool = True) -> str:
    """Return a deadline in the time zone of this machine. Without `whole`, the date of today is left out."""
    if deadline is None:
        return "without a deadline"
    local = deadline.astimezone()
    if not whole and local.date() == utc_now().astimezone().date():
        return f"until {local:%H:%M %Z}"
    return f"until {format_moment(deadline)}"
