"""Finds the requesters of a tool call: everyone whose words the call may follow. Only this module decides it. No I/O.

The person who began the conversation is a requester. So is the author of any text that the model read before the call,
unless the text is retired. A text is retired by a later message of the model, for calls of one tool, if

- people approved each call of that tool in it, and each of them ended successfully, and
- a person has written a new message since, which the model has read.

Until somebody writes one, the model may still follow the earlier words: they may ask for several steps. A call
that was denied, was taken back, failed or was interrupted leaves open what they ask for, so the next one may follow
them, too.

Words are texts that a person wrote: messages, typed and late answers, reasons, and earlier messages in the thread.
The
contents of files that they give as an answer are words, too. A click on an option adds none, because its words are the
model's. Texts that a tool returns have no author here. The
names of picked people and channels are words, too: people choose their own names, and a person who picks a channel
chooses its name. So both are authors.
"""

from __future__ import annotations

__all__ = ["PastCall", "ReadMessage", "find_authors", "find_requesters"]

from collections.abc import Iterable, Iterator

from askback.domain import approval
from askback.domain.argument_change import list_changers
from askback.domain.ask import Ask
from askback.domain.identity import Actor, deduplicate_accounts
from askback.internal.values import Value
from askback.text.unseen import strip_text

RESULTS = 1
"""The results of calls are in the row after theirs."""


class ReadMessage(Value):
    """One message to the model."""

    seq: int
    authors: tuple[Actor, ...]
    """The authors of its words."""
    complete: bool
    """False if an earlier release stored it, which kept only the authors of messages."""
    asks: bool = False
    """True if it contains a new message of a person. Reasons and answers alone belong to an earlier request."""


class PastCall(Value):
    """One earlier call of the model."""

    seq: int
    """The transcript row of the message that contains it."""
    tool: str
    approved: bool
    """True if people approved this very call, and not an earlier one."""
    succeeded: bool
    """True if it ended without an error."""


def find_requesters(
    tool: str, starter: Actor, words: Iterable[ReadMessage], past: Iterable[PastCall]
) -> tuple[Actor, ...]:
    """Return the requesters of a call of `tool` that the model makes after it read `words` and made the calls `past`.

    `starter` began the conversation, and comes first.
    """
    read = tuple(words)
    retired = _find_last_retiring(tool, read, past)
    return deduplicate_accounts(
        (starter, *(author for message in read if message.seq > retired for author in message.authors))
    )


def _find_last_retiring(tool: str, words: tuple[ReadMessage, ...], past: Iterable[PastCall]) -> int:
    """Return the row of the newest message of the model that retires the words before it; -1 if there is none.

    If one of several calls did not succeed, the model may make it again, so the words before it still count. People
    may have written what the model reads together with the results before they decided, so that asks for nothing new.
    """
    rows: dict[int, bool] = {}
    for call in past:
        if call.tool == tool:
            rows[call.seq] = rows.get(call.seq, True) and call.approved and call.succeeded
    return max((seq for seq, succeeded in rows.items() if succeeded and _has_new_request(seq, words)), default=-1)


def _has_new_request(seq: int, words: tuple[ReadMessage, ...]) -> bool:
    """Return True if somebody has asked for something new since the calls of row `seq` were decided."""
    return any(message.asks and message.seq > seq + RESULTS for message in words)


def find_authors(ask: Ask, writers: Iterable[Actor] = ()) -> tuple[Actor, ...]:
    """Return the authors of the words that the model reads in the outcome of an ask.

    `writers` are all who wrote a text or a note into its form, picked somebody or gave a file, because one person may
    submit what another wrote.
    """
    outcome = ask.outcome
    if outcome is None:
        return ()
    if outcome.status != "answered":
        return () if outcome.by is None or not _has_words(outcome.reason) else (outcome.by,)
    if approval.is_approval(ask):
        # The model reads the reasons of a refusal, and what people changed. Reasons to approve stay among people.
        if not outcome.refused:
            return list_changers(ask.interview.changes)
        return deduplicate_accounts(
            vote.by for vote in outcome.votes if vote.choice.value == approval.DENY and _has_words(vote.reason)
        )
    if not any(_has_words(one.text) or _has_words(one.note) or one.picked or one.files for one in outcome.answers):
        return ()
    return deduplicate_accounts((*(() if outcome.by is None else (outcome.by,)), *writers, *_list_picked_people(ask)))


def _list_picked_people(ask: Ask) -> Iterator[Actor]:
    """Yield the people of the answers. The model reads their names, which they chose."""
    for question in ask.interview.form.questions:
        answer = None if ask.outcome is None else ask.outcome.get(question.id)
        if answer is not None and question.picks == "people":
            for one in answer.picked:
                yield Actor(platform=ask.place.platform, id=one.id, name=one.name)


def _has_words(text: str | None) -> bool:
    return bool(strip_text(text))
