"""The conversations of the agent with people, and their ends."""

from __future__ import annotations

__all__ = [
    "RECENT",
    "Conversation",
    "RecentConversation",
    "StartedOver",
    "StopDenial",
    "StopRecord",
    "Stopped",
    "UnshownText",
]

from datetime import timedelta

from askback.domain.ask import Ask
from askback.domain.identity import Actor, MessageRef, Place
from askback.internal.values import Value
from askback.translations.catalogue import Language


class Conversation(Value):
    """One thread, or one direct message, between people and the agent."""

    id: str
    place: Place
    starter: Actor
    """The person who began it. By default, the agent asks this person."""
    text_messages: tuple[MessageRef, ...] = ()
    """The messages that show the text of the running turn so far. A restarted turn continues in them."""
    stops: int = 0
    """Number of times it was stopped. A turn that began before the last stop commits nothing."""
    midway: bool = False
    """True if it began in a thread in which people had written before."""
    trace: str | None = None
    """The W3C traceparent of the current work in it."""
    language: Language | None = None
    """The language of the person who began it. None if the platform did not tell it."""


RECENT = timedelta(days=1)
"""Maximum age of a conversation that a bot reads again after a downtime, and of a mention that it then answers."""


class RecentConversation(Value):
    """A conversation in which people wrote lately."""

    place: Place
    newest_key: str
    """The `IncomingMessage.dedupe_key` of the newest message that was kept."""


class StartedOver(Value):
    """The result of the command "new"."""

    conversation: Conversation
    duplicate: bool = False
    ended: Conversation | None = None
    """The previous conversation in this place."""
    asks: tuple[Ask, ...] = ()
    """The questions that were open in it."""


class Stopped(Value):
    """The result of a stop."""

    conversation: Conversation
    asks: tuple[Ask, ...] = ()
    """The questions that were open."""
    duplicate: bool = False
    """True if the same stop message was handled before, so nothing changed."""


class StopDenial(Value):
    """The reason why nothing was stopped."""

    notice: str
    """A sentence for the person who wanted to stop it."""
    nothing: bool = False
    """True if there was nothing to stop. False if this person may not stop it."""
    known: bool = True
    """False if this process cannot know. Another process of the app may have stopped it."""


class UnshownText(Value):
    """A text of the model that people could not see, and of which the model has not been told."""

    beginning: str
    reason: str
    """The platform's error, or the fault."""


class StopRecord(Value):
    """A stop that the model does not know of yet."""

    by: Actor | None = None
    """The person who stopped it. None means the operator."""
