"""People's messages, from the bot to the model."""

from __future__ import annotations

__all__ = [
    "FORWARDED",
    "NO_TEXT",
    "SHARED",
    "SHARED_MESSAGES",
    "STOP_KEY_PREFIX",
    "DeletedMessages",
    "EditResult",
    "EditedMessage",
    "HistoryMessage",
    "InboxMessage",
    "IncomingMessage",
    "Mentions",
    "MessageResult",
    "Quote",
    "Received",
    "Step",
    "TextReading",
]

from datetime import datetime
from typing import Literal

from pydantic import Field

from askback.domain.actions import Action
from askback.domain.ask import Ask
from askback.domain.attached_file import AttachedFile, MessageFile
from askback.domain.choice_words import Picks
from askback.domain.conversation import Conversation
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.outcome import Picked
from askback.domain.outgoing_message import OutgoingMessage
from askback.internal.values import PersonText, Value
from askback.translations.catalogue import N_

NO_TEXT = "(mentioned you without a text)"
"""Text of a message that contains nothing but a mention."""

SHARED, FORWARDED = N_("a shared message"), N_("a forwarded message")
"""Entries of `IncomingMessage.files` for another person's message, which the author passed on."""
SHARED_MESSAGES = frozenset({SHARED, FORWARDED})

STOP_KEY_PREFIX = "stop:"
"""Prefix of the key of a stop by a button, which has no message."""


class Mentions(Value):
    """The people or the channels that a message mentions, if it says nothing else."""

    picks: Picks
    picked: tuple[Picked, ...]


class IncomingMessage(Value):
    """One message from a person."""

    place: Place
    author: Actor
    text: PersonText
    dedupe_key: str
    """A key that is equal for all events that announce the same message."""
    at: datetime
    """The time of writing by the platform's clock, because events can arrive out of order."""
    files: tuple[AttachedFile, ...] = ()
    """The attachments: files, and messages from elsewhere, which have no content to read."""
    direct: bool = False
    """True if it was written to the bot alone, and no other person can read it."""
    midway: bool = False
    """True if it was written in a thread that others began. A conversation that begins here has earlier messages."""
    ref: MessageRef | None = None
    """The message itself, for code that refers to it."""
    refers_to: MessageRef | None = None
    """The message that it replies to, if the platform has such replies."""
    mentions: Mentions | None = Field(default=None, exclude=True)
    """The people and channels that it mentions, if it says nothing else. They are never stored."""
    hidden: bool = False
    """True if the platform does not show what it says. Its author has taken part, and nothing else is known of it."""
    trace: str | None = None
    """The W3C traceparent under which it was received."""


class EditedMessage(Value):
    """An edit of a message by its author."""

    message: IncomingMessage
    """The message with its new text."""
    at: datetime
    """The time of the edit by the platform's clock, because edits can arrive out of order."""


class DeletedMessages(Value):
    """Messages that were deleted together."""

    messages: tuple[MessageRef, ...]
    keys: tuple[str, ...]
    """The `IncomingMessage.dedupe_key` that each would have if a person wrote it."""


class EditResult(Value):
    """The result of an edit."""

    how: Literal["ignored", "replaced", "heard", "answered", "too late"] = "ignored"
    """The effect of the edit.

    `replaced`: the agent reads only the new version. `heard`: it had read an earlier version, and now reads the edit.
    `answered`: the new version answers a question. `too late`: the old version had already answered one.
    """
    ask: Ask | None = None
    """The question that it answers, or had answered, in its current state."""


class MessageResult(Value):
    """The result of receiving a message, for the bot that delivered it."""

    new: bool
    """True if the message was stored. False for a duplicate, a rejected one, or one without a conversation."""
    notice: str | None = None
    """A sentence that only its author sees."""
    is_for_others: bool = False
    """True if no agent runs here that could take it. The platform may pass it to another process of the app."""


class Quote(Value):
    """A message of somebody, which another person shared within theirs."""

    author: Actor
    text: PersonText


class HistoryMessage(Value):
    """A message that was written in a thread before the conversation began."""

    key: str
    """The `IncomingMessage.dedupe_key` that it has, or would have."""
    author: Actor
    text: PersonText
    files: tuple[PersonText, ...] = ()
    quotes: tuple[Quote, ...] = ()
    """The messages of others that it shares. Their words count as those of their authors."""
    edited_at: datetime | None = None
    """The time of its last edit by the platform's clock. None if it was never edited."""
    ours: bool = False
    """True if the agent itself wrote it."""

    @property
    def is_empty(self) -> bool:
        return not (self.text or self.files or self.quotes)

    @property
    def authors(self) -> tuple[Actor, ...]:
        """The authors of all words in it."""
        return (self.author, *(quote.author for quote in self.quotes))


class InboxMessage(Value):
    """A person's message that a turn passes to the model."""

    key: str
    author: Actor
    text: str
    files: tuple[str, ...] = ()
    """The names of what is attached and has no content to read. In a message of an earlier release, of all files."""
    attached: tuple[MessageFile, ...] = ()
    """The files that have a content."""
    before: str | None = None
    """The earlier version that the model has read, if this is an edit of it."""


class Received(Value):
    """The result of storing a person's message."""

    conversation: Conversation
    duplicate: bool = False
    inbox_id: int | None = None
    """The inbox row of the message."""
    files: tuple[MessageFile, ...] = ()
    """Its files with a content, as stored. Some of them may not be read."""
    waiting_for: tuple[Ask, ...] = ()
    """The open asks that the conversation waits for, oldest first."""
    is_notified: bool = True
    """True if people already know of these asks, or if the author gets an offer to use the message as the answer."""
    answered: Ask | None = None
    """The ask that the message answered."""


class Step(Value):
    """One action to apply to an ask."""

    before: Ask
    after: Ask
    action: Action


class TextReading(Value):
    """The effect of a message on the open questions of its thread or channel."""

    steps: tuple[Step, ...] = ()
    """The steps to apply if the message is an answer. The message itself is then kept only for deduplication."""
    outgoing: OutgoingMessage | None = None
    """The reply or question to its author if it is not an answer."""
