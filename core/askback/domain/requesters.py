"""Whose request a tool call is: everybody whose words it may follow. Pure; the one place that decides it.

A requester is whoever began the conversation, and the author of any text that the model had read before the call and
after the newest message of its own whose calls of that tool were all approved. Until then words stay with their
authors: a denial, a timeout or a withdrawal leaves open what they asked for, so the next call may still follow them.

Words are what somebody wrote: messages, typed and late answers, reasons, what stood in the thread before. A click on
an option adds none, since its words are the model's. Texts that a tool returns have no author here.
"""

from __future__ import annotations

__all__ = ["Past", "Words", "authors_of", "requesters_of"]

from collections.abc import Iterable

from askback.domain import approval
from askback.domain.ask import Ask
from askback.domain.identity import Actor, each
from askback.internal.values import Value


class Words(Value):
    """One message to the model."""

    seq: int
    authors: tuple[Actor, ...]
    """Whose words it holds."""
    complete: bool
    """False: an earlier release wrote it, which kept only the authors of messages."""


class Past(Value):
    """One earlier call of the model."""

    seq: int
    """The transcript row of the message that holds it."""
    tool: str
    approved: bool
    """Whether people approved this very call, and not one before it."""


def requesters_of(tool: str, starter: Actor, words: Iterable[Words], past: Iterable[Past]) -> tuple[Actor, ...]:
    """Return the requesters of a call of `tool` that the model makes after it read `words` and made the calls `past`.

    `starter` began the conversation, and comes first.
    """
    settled = _settled(tool, past)
    return each((starter, *(author for message in words if message.seq > settled for author in message.authors)))


def _settled(tool: str, past: Iterable[Past]) -> int:
    """Return the row of the newest message whose calls of the tool were all approved; -1 where there is none.

    One call of several that was not approved may be made again, so the words before it still count.
    """
    rows: dict[int, bool] = {}
    for call in past:
        if call.tool == tool:
            rows[call.seq] = rows.get(call.seq, True) and call.approved
    return max((seq for seq, approved in rows.items() if approved), default=-1)


def authors_of(ask: Ask, writers: Iterable[Actor] = ()) -> tuple[Actor, ...]:
    """Return whose words the model reads in the outcome of an ask.

    `writers`: everybody who wrote a text into its form, since one person may submit what another wrote.
    """
    outcome = ask.outcome
    if outcome is None:
        return ()
    if outcome.status != "answered":
        return () if outcome.by is None or not _said(outcome.reason) else (outcome.by,)
    if approval.is_approval(ask):
        # The model reads why it was refused; reasons to approve stay among people.
        return each(
            vote.by
            for vote in outcome.votes
            if outcome.refused and vote.choice.value == approval.DENY and _said(vote.reason)
        )
    if not any(_said(answer.text) for answer in outcome.answers):
        return ()
    return each((*(() if outcome.by is None else (outcome.by,)), *writers))


def _said(text: str | None) -> bool:
    return bool(text and text.strip())
