"""The requesters of a tool call: everyone whose words the call may follow. No I/O; only this module decides it.

The person who began the conversation is a requester. So is the author of any text that the model read between two
points: after its newest message whose calls of that tool were all approved, and before the call. Until such an
approval, words keep counting for their authors. A denial, a timeout or a withdrawal leaves open what they asked
for, so the next call may still follow them.

Words are texts that a person wrote: messages, typed and late answers, reasons, and earlier messages in the thread.
A click on an option adds none, because its words are the model's. Texts that a tool returns have no author here.
"""

from __future__ import annotations

__all__ = ["PastCall", "ReadMessage", "find_authors", "find_requesters"]

from collections.abc import Iterable

from askback.domain import approval
from askback.domain.ask import Ask
from askback.domain.identity import Actor, deduplicate_accounts
from askback.internal.values import Value


class ReadMessage(Value):
    """One message to the model."""

    seq: int
    authors: tuple[Actor, ...]
    """The authors of its words."""
    complete: bool
    """False if an earlier release stored it, which kept only the authors of messages."""


class PastCall(Value):
    """One earlier call of the model."""

    seq: int
    """The transcript row of the message that contains it."""
    tool: str
    approved: bool
    """True if people approved this very call, and not an earlier one."""


def find_requesters(
    tool: str, starter: Actor, words: Iterable[ReadMessage], past: Iterable[PastCall]
) -> tuple[Actor, ...]:
    """Return the requesters of a call of `tool` that the model makes after it read `words` and made the calls `past`.

    `starter` began the conversation, and comes first.
    """
    settled = _find_last_approved(tool, past)
    return deduplicate_accounts(
        (starter, *(author for message in words if message.seq > settled for author in message.authors))
    )


def _find_last_approved(tool: str, past: Iterable[PastCall]) -> int:
    """Return the row of the newest message whose calls of the tool were all approved; -1 if there is none.

    If one of several calls was not approved, the model may make it again, so the words before it still count.
    """
    rows: dict[int, bool] = {}
    for call in past:
        if call.tool == tool:
            rows[call.seq] = rows.get(call.seq, True) and call.approved
    return max((seq for seq, approved in rows.items() if approved), default=-1)


def find_authors(ask: Ask, writers: Iterable[Actor] = ()) -> tuple[Actor, ...]:
    """Return the authors of the words that the model reads in the outcome of an ask.

    `writers` are all who wrote a text into its form, because one person may submit what another wrote.
    """
    outcome = ask.outcome
    if outcome is None:
        return ()
    if outcome.status != "answered":
        return () if outcome.by is None or not _has_words(outcome.reason) else (outcome.by,)
    if approval.is_approval(ask):
        # The model reads the reasons of a refusal. Reasons to approve stay among people.
        return deduplicate_accounts(
            vote.by
            for vote in outcome.votes
            if outcome.refused and vote.choice.value == approval.DENY and _has_words(vote.reason)
        )
    if not any(_has_words(answer.text) for answer in outcome.answers):
        return ()
    return deduplicate_accounts((*(() if outcome.by is None else (outcome.by,)), *writers))


def _has_words(text: str | None) -> bool:
    return bool(text and text.strip())
