"""The rows of the agent's conversations: people's messages, the model's messages, and open tool calls."""

from __future__ import annotations

__all__ = [
    "NO_TEXT",
    "OFFER",
    "PROSE",
    "REMINDER",
    "ApprovalContext",
    "Call",
    "CallsToRun",
    "Conversation",
    "DeletedMessages",
    "EditResult",
    "EditedMessage",
    "HistoryMessage",
    "InboxMessage",
    "IncomingMessage",
    "Message",
    "MessageResult",
    "NextStep",
    "Offer",
    "OfferResult",
    "OutgoingMessage",
    "Received",
    "StartedOver",
    "Step",
    "StopRecord",
    "StopRefusal",
    "Stopped",
    "TextReading",
    "ToolCall",
    "Turn",
    "TurnEnd",
    "TurnInput",
    "get_text",
]

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from pydantic import Field, JsonValue

from askback.domain.actions import Action
from askback.domain.ask import Ask
from askback.domain.ask_policy import Who
from askback.domain.identity import Actor, MessageRef, Place
from askback.internal.values import PersonText, Value

Blocks = tuple[dict[str, JsonValue], ...]
"""The content blocks of one message, as in the Messages API."""

PROSE = "say:"
"""Prefix of `OutgoingMessage.target` for the agent's own texts. Only these may be shown while they are streaming."""


NO_TEXT = "(mentioned you without a text)"
"""Text of a message that contains nothing but a mention."""
REMINDER = "remind:"
"""Prefix of `OutgoingMessage.target` for reminders. The ask's id and a colon follow."""
OFFER = "offer:"
"""Prefix of `OutgoingMessage.target` for offers. The offer's id follows."""


class Conversation(Value):
    """One thread, or one direct message, between people and the agent."""

    id: str
    place: Place
    starter: Actor
    """The person who began it. The agent asks this person unless the policy says otherwise."""
    prose: tuple[MessageRef, ...] = ()
    """The messages that show the text of the running turn so far. A restarted turn continues in them."""
    stops: int = 0
    """Number of times it was stopped. A turn that began before the last stop commits nothing."""
    midway: bool = False
    """True if it began in a thread in which people had written before."""
    trace: str | None = None
    """The W3C traceparent of the current work in it."""


class IncomingMessage(Value):
    """One message from a person."""

    place: Place
    author: Actor
    text: PersonText
    dedupe_key: str
    """A key that is equal for all events that announce the same message."""
    at: datetime
    """The time of writing by the platform's clock, because events can arrive out of order."""
    files: tuple[PersonText, ...] = ()
    """Names of the attachments. Nothing here reads their content."""
    direct: bool = False
    """True if it was written to the bot alone, and no other person can read it."""
    midway: bool = False
    """True if it was written in a thread that others began. A conversation that begins here has earlier messages."""
    ref: MessageRef | None = None
    """The message itself, for code that refers to it."""
    refers_to: MessageRef | None = None
    """The message that it replies to, if the platform has such replies."""
    trace: str | None = None
    """The W3C traceparent under which it was received."""


class EditedMessage(Value):
    """An edit of a message by its author."""

    heard: IncomingMessage
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
    """True if the message was stored. False for a duplicate, for a refused one, or if it belongs to no conversation."""
    notice: str | None = None
    """A sentence that only its author sees."""


class HistoryMessage(Value):
    """A message that was written in a thread before the conversation began."""

    key: str
    """The `IncomingMessage.dedupe_key` that it has, or would have."""
    author: Actor
    text: PersonText
    files: tuple[PersonText, ...] = ()
    ours: bool = False
    """True if the agent itself wrote it."""


class InboxMessage(Value):
    """A person's message that a turn passes to the model."""

    key: str
    author: Actor
    text: str
    files: tuple[str, ...] = ()
    before: str | None = None
    """The earlier version that the model has read, if this is an edit of it."""


class Received(Value):
    """The result of storing a person's message."""

    conversation: Conversation
    duplicate: bool = False
    inbox_id: int | None = None
    """The inbox row of the message."""
    waiting_for: tuple[Ask, ...] = ()
    """The open asks that the conversation waits for, oldest first."""
    told: bool = True
    """True if people already know of these asks, or if the author was asked what the message is meant as."""
    answered: Ask | None = None
    """The ask that the message answered."""


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
    """True if the message that ordered the stop was received before; nothing was changed."""


class Offer(Value):
    """A message that may be an answer. Its author chooses "Use this as your answer" or "Just a message"."""

    id: str
    """A random id, part of the ids of its buttons."""
    ask_id: str
    text: str
    """The text of the message."""
    turn: int
    """The step of the interview in which the offer was made."""


class OfferResult(Value):
    """The result of a choice on an offer, for the bot that delivered it."""

    over: bool
    """True if nothing is left to choose, so that the offer can be removed."""
    notice: str | None = None
    """A sentence for the person who chose."""
    known: bool = True
    """False if the offer is not in this database. Another process of the app may still know it."""


class StopRefusal(Value):
    """The reason why nothing was stopped."""

    notice: str
    """A sentence for the person who wanted to stop it."""
    nothing: bool = False
    """True if there was nothing to stop. False if this person may not stop it."""
    known: bool = True
    """False if this process cannot know. Another process of the app may have stopped it."""


class Message(Value):
    """One entry of the transcript."""

    seq: int
    role: Literal["user", "assistant"]
    content: Blocks
    unfinished: bool = False
    """True if the model paused in the middle of it and must continue."""
    forgotten: bool = False
    """True if it is not sent to the model again."""
    authors: tuple[Actor, ...] | None = None
    """The authors of a message to the model. None for a row of an earlier release and for the model's own messages."""


class ToolCall(Value):
    """One tool call of the model, with the ask that it led to or the result that it got at once."""

    tool_use_id: str
    tool: str
    input: JsonValue
    ask: Ask | None = None
    approved: str | None = None
    """The id of the earlier, settled ask that allowed this tool for the rest of the conversation."""
    result: str | None = None
    is_error: bool = False
    notice: str | None = None
    """A sentence that tells people what they must do so that it can run."""


class Call(Value):
    """A tool call as stored."""

    tool_use_id: str
    tool: str
    input: JsonValue
    ask_id: str | None
    result: str | None
    is_error: bool
    started: bool = False
    """True if it was started. A started call without a result is not run again automatically."""
    blocks: Blocks = ()
    """The result as content blocks, if it is more than text; `result` is empty then."""
    approved: Ask | None = None
    """The ask in which people approved it."""

    @property
    def is_to_run(self) -> bool:
        """True if it is a call of the operator's own tools that has no result and needs no further approval."""
        return self.result is None and (self.ask_id is None or self.approved is not None)


class StopRecord(Value):
    """A stop that the model has not been told about."""

    by: Actor | None = None
    """The person who stopped it. None means the operator."""


class TurnInput(Value):
    """The content of the next message to the model."""

    calls: tuple[tuple[Call, Ask | None], ...] = ()
    """The calls of the model's newest message, each with the ask about it."""
    answering: tuple[Actor, ...] = ()
    """The authors of the words in the outcomes of these calls."""
    written: tuple[InboxMessage, ...] = ()
    halt: StopRecord | None = None
    known: tuple[Actor, ...] = ()
    """The authors of all earlier messages."""


class CallsToRun(Value):
    """Calls of the operator's own tools that have no result yet."""

    conversation: Conversation
    seq: int
    """The transcript row of the model's message that contains them."""
    calls: tuple[Call, ...]


class NextStep(Value):
    """The work that the agent finds at the beginning of a step."""

    calls: CallsToRun | None = None
    """The calls of tools to run first. None if there are none."""
    history_place: Place | None = None
    """The place in which people may have written before the conversation began.

    None if that cannot be, or if the model has read something in it already.
    """


class ApprovalContext(Value):
    """The context of a turn's calls: their requesters, and earlier decisions."""

    requesters: Mapping[str, tuple[Actor, ...]] = Field(default_factory=dict[str, tuple[Actor, ...]])
    """The requesters of a call, by tool."""
    members: Mapping[str, tuple[Actor, ...]] = Field(default_factory=dict[str, tuple[Actor, ...]])
    """The members of each deciding group. A group is missing if the platform does not tell its members."""
    settled: tuple[Ask, ...] = ()
    """The answered asks of the conversation, oldest first."""
    givers: tuple[Actor, ...] = ()
    """The people who allowed a tool for the rest of the conversation, with their current groups."""
    alone: Actor | None = None
    """The only person who sees the conversation. None if others see it too."""
    wrong: Mapping[str, str] = Field(default_factory=dict[str, str])
    """Error texts for the model, by the id of each call that can never run. People are not asked about these calls."""


class OutgoingMessage(Value):
    """A text for people, to be delivered once."""

    target: str
    """Its unique name. A text with the same name is never queued twice."""
    text: str
    markdown: bool
    """True for the agent's own prose, False for the bot's plain words."""
    mention: Who | None = None
    """The people to mention in front of the text. Only the bot's own words may mention people."""
    messages: tuple[MessageRef, ...] = ()
    """The messages that already show part of it."""
    only_for: Actor | None = None
    """The only person who sees it, as an ephemeral message. Platforms without these reply to this person instead."""
    offer: Offer | None = None
    """An offer whose two buttons the text gets. The buttons work for `only_for` alone."""
    reply_to: MessageRef | None = None
    """The message that it is about."""
    until: datetime | None = None
    """A deadline to show after the text, in the reader's own time zone."""
    link: str | None = None
    """A permalink to show after the text: the address of the message that it is about, from the platform."""
    gone: bool = False
    """True if the text is withdrawn and its messages must be deleted."""


class Step(Value):
    """One thing done to an ask."""

    before: Ask
    after: Ask
    action: Action


class TextReading(Value):
    """The effect of a message on the open questions of its thread or channel."""

    steps: tuple[Step, ...] = ()
    """The steps to apply if the message is an answer. The message itself is then kept only for deduplication."""
    say: OutgoingMessage | None = None
    """The reply or question to its author if it is not an answer."""


class Turn(Value):
    """The next request to the model."""

    conversation: Conversation
    history: tuple[Message, ...]
    resumed: bool = False
    """True if an earlier process may have begun it and ended in the middle."""
    has_earlier_text: bool = False
    """True if an earlier text of the conversation is still to be posted."""


class TokenUsage(Value):
    """Tokens that the model used, input and output, including the reservations of running calls."""

    conversation: int
    today: int
    """The tokens of all conversations together since midnight UTC."""
    reserved: int = 0
    """The tokens of today that are only reserved. Some of them may be given back."""


class TurnEnd(Value):
    """The end of a turn. Everything in it is committed together."""

    conversation_id: str
    after: int
    """The seq of the message that the model answered. If it is not the last one, another process took over the turn."""
    content: Blocks = ()
    """The model's message for the transcript; empty if the turn failed."""
    calls: tuple[ToolCall, ...] = ()
    say: OutgoingMessage | None = None
    notice: OutgoingMessage | None = None
    """A short text that says what went wrong."""
    forget: Literal["nothing", "last", "all"] = "nothing"
    """The part of the history that is not sent again, because the model refused it or it no longer fits."""
    again: bool = False
    """True if the model must be called again at once, because it paused."""
    rest: bool = False
    """True if results that are ready at once wait until a person writes, instead of going to the model."""
    stops: int = 0
    """`Conversation.stops` when the turn began."""
    tokens: int = 0
    """The tokens that the model used, input and output."""
    reservation: str | None = None
    """The id that `Store.reserve` returned for the model call. None if nothing was reserved."""


def get_text(content: Blocks) -> str:
    """Return the text that people read of a message of the model."""
    return "\n\n".join(str(block["text"]).strip() for block in content if block.get("type") == "text")
