"""The rows of the agent's conversations: what people wrote, what the model said, which calls are open."""

from __future__ import annotations

__all__ = ["PROSE", "Call", "Conversation", "Heard", "Message", "Received", "Say", "ToolCall", "Turn", "TurnEnd"]

from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from askback.asks import Ask
from askback.identity import Actor, MessageRef, Place
from askback.values import Value

Blocks = tuple[dict[str, JsonValue], ...]
"""Content blocks of one message, as the Messages API has them."""

PROSE = "say:"
"""How the names of the agent's own texts begin: these, and no others, may be shown while they are written."""


class Conversation(Value):
    """One thread, or one direct message, between people and the agent."""

    id: str
    place: Place
    starter: Actor
    """Who began it: the one who is asked, unless the policy says otherwise."""
    prose: tuple[MessageRef, ...] = ()
    """Where the text of the running turn stands so far, so that a restarted turn goes on in the same message."""


class Heard(Value):
    """One message from a person."""

    place: Place
    author: Actor
    text: str
    dedupe_key: str
    """Equal for the same message, however many events announce it."""
    at: datetime
    """When it was written, by the platform's clock: events overtake each other."""


class Received(Value):
    """What became of a message from a person."""

    conversation: Conversation
    duplicate: bool = False
    waiting_for: tuple[Ask, ...] = ()
    """Open asks for which the conversation waits, where nobody was told so yet."""


class Message(Value):
    """One entry of the transcript."""

    seq: int
    role: Literal["user", "assistant"]
    content: Blocks
    unfinished: bool = False
    """The model paused in the middle of it, and is to go on."""


class ToolCall(Value):
    """One tool call of the model, with the ask that it led to or the result that it got at once."""

    tool_use_id: str
    tool: str
    input: JsonValue
    ask: Ask | None = None
    result: str | None = None
    is_error: bool = False


class Call(Value):
    """A tool call as stored."""

    tool_use_id: str
    tool: str
    input: JsonValue
    ask_id: str | None
    result: str | None
    is_error: bool


class Say(Value):
    """A text for people, to be delivered once."""

    target: str
    """Its unique name: the same text is never queued twice."""
    text: str
    markdown: bool
    """The agent's own prose; otherwise the bot's plain words."""
    to: Actor | None = None
    """Mention this person in front: the bot's own words only."""
    messages: tuple[MessageRef, ...] = ()
    """Where part of it stands already."""


class Turn(Value):
    """What the model is to be asked next."""

    conversation: Conversation
    history: tuple[Message, ...]
    resumed: bool = False
    """Whether it may have been begun before, by a process that ended in the middle of it."""


class TurnEnd(Value):
    """How a turn ended: everything in here is committed together."""

    conversation_id: str
    content: Blocks = ()
    """What the model said, for the transcript; nothing if it failed."""
    calls: tuple[ToolCall, ...] = ()
    say: Say | None = None
    notice: Say | None = None
    """A sentence about what went wrong."""
    forget: Literal["nothing", "last", "all"] = "nothing"
    """Which of the history is not sent again: what a model refused, or what no longer fits."""
    again: bool = False
    """Whether the model is to be called again at once (a paused turn)."""
    rest: bool = False
    """Whether results that are there at once wait until somebody writes, rather than go to the model."""
