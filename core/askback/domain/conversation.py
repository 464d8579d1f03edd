"""The rows of the agent's conversations: what people wrote, what the model said, which calls are open."""

from __future__ import annotations

__all__ = [
    "NO_TEXT",
    "OFFER",
    "PROSE",
    "REMINDER",
    "Call",
    "CallsToRun",
    "Chosen",
    "Conversation",
    "Deleted",
    "Edited",
    "Halt",
    "Heard",
    "Message",
    "News",
    "NotStopped",
    "Offer",
    "Reading",
    "Received",
    "Requested",
    "Revised",
    "Said",
    "Say",
    "StartedOver",
    "Step",
    "Stopped",
    "Taken",
    "ToolCall",
    "Turn",
    "TurnEnd",
    "Written",
]

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from pydantic import Field, JsonValue

from askback.domain.actions import Action
from askback.domain.ask import Ask
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.policy import Who
from askback.internal.values import PersonText, Value

Blocks = tuple[dict[str, JsonValue], ...]
"""Content blocks of one message, as the Messages API has them."""

PROSE = "say:"
"""How the names of the agent's own texts begin: these, and no others, may be shown while they are written."""


NO_TEXT = "(mentioned you without a text)"
"""Stands for the text of a message that is nothing but a mention."""
REMINDER = "remind:"
"""How the names of reminders begin; the ask's id follows, and a colon."""
OFFER = "offer:"
"""How the names of offers begin; the offer's id follows."""


class Conversation(Value):
    """One thread, or one direct message, between people and the agent."""

    id: str
    place: Place
    starter: Actor
    """Who began it: the one who is asked, unless the policy says otherwise."""
    prose: tuple[MessageRef, ...] = ()
    """Where the text of the running turn stands so far, so that a restarted turn goes on in the same message."""
    stops: int = 0
    """How often somebody stopped it: a turn that was begun before the last stop commits nothing."""
    midway: bool = False
    """Whether it began in a thread in which people had written before."""
    trace: str | None = None
    """The W3C traceparent of what is going on in it."""


class Heard(Value):
    """One message from a person."""

    place: Place
    author: Actor
    text: PersonText
    dedupe_key: str
    """Equal for the same message, however many events announce it."""
    at: datetime
    """When it was written, by the platform's clock: events overtake each other."""
    files: tuple[PersonText, ...] = ()
    """Names of what was attached. Nothing here reads it."""
    direct: bool = False
    """Written to the bot alone, where nobody else reads."""
    midway: bool = False
    """Written in a thread that others had begun: should a conversation begin here, something was said before it."""
    ref: MessageRef | None = None
    """Where it stands, for whoever refers to it."""
    refers_to: MessageRef | None = None
    """The message that it replies to, where the platform has such replies."""
    trace: str | None = None
    """The W3C traceparent under which it was heard."""


class Edited(Value):
    """An edit of a message by its author."""

    heard: Heard
    """The message as it reads now."""
    at: datetime
    """When it was edited, by the platform's clock: edits overtake each other."""


class Deleted(Value):
    """Messages that somebody deleted, together."""

    messages: tuple[MessageRef, ...]
    keys: tuple[str, ...]
    """The `Heard.dedupe_key` that each has, should it be a message of a person."""


class Revised(Value):
    """What became of an edit."""

    how: Literal["ignored", "replaced", "heard", "answered", "too late"] = "ignored"
    """`replaced`: the agent reads the new version alone. `heard`: it had read an earlier one, and reads that it was
    edited. `answered`: the new version answers a question. `too late`: the message had answered one."""
    ask: Ask | None = None
    """The question that it answers, or had answered, as it is now."""
    settled: bool = False
    """Whether this very edit ended the question."""


class Taken(Value):
    """What became of a message, for the bot that brought it."""

    new: bool
    """Whether it was kept. Not when it was heard before, belongs to no conversation, or was refused."""
    notice: str | None = None
    """A sentence for its author alone."""


class Said(Value):
    """Something that was said in a thread before the conversation began."""

    key: str
    """The `Heard.dedupe_key` that it has, or would have."""
    author: Actor
    text: PersonText
    files: tuple[PersonText, ...] = ()
    ours: bool = False
    """Whether the agent itself said it."""


class Written(Value):
    """A message of a person that a turn takes up."""

    key: str
    author: Actor
    text: str
    files: tuple[str, ...] = ()
    before: str | None = None
    """The version that the model has read, where this is an edit of it."""


class Received(Value):
    """What became of a message from a person."""

    conversation: Conversation
    duplicate: bool = False
    inbox_id: int | None = None
    """The row in which it is kept."""
    waiting_for: tuple[Ask, ...] = ()
    """Open asks for which the conversation waits, oldest first."""
    told: bool = True
    """Whether people were told already that it waits for these, or its author was asked what it is meant as."""
    answered: Ask | None = None
    """The ask to which it was the answer."""
    settled: bool = False
    """Whether that ended the ask."""


class StartedOver(Value):
    """What "new" led to."""

    conversation: Conversation
    duplicate: bool = False
    ended: Conversation | None = None
    """The conversation that was here before."""
    asks: tuple[Ask, ...] = ()
    """The questions that were open in it."""


class Stopped(Value):
    """What a stop ended."""

    conversation: Conversation
    asks: tuple[Ask, ...] = ()
    """The questions that were open."""
    duplicate: bool = False
    """It was ordered by a message that came before: nothing was changed."""


class Offer(Value):
    """A message may be meant as an answer: its author chooses, "Use this as your answer" or "Just a message"."""

    id: str
    """Random; names the offer in the ids of its buttons."""
    ask_id: str
    text: str
    """What was written."""
    turn: int
    """The step of the interview in which it was made."""


class Chosen(Value):
    """What became of a choice on an offer, for the bot that brought it."""

    over: bool
    """Whether there is nothing more to choose: the offer can go."""
    notice: str | None = None
    """A sentence for whoever chose."""
    known: bool = True
    """Whether the offer is in this database. Another process of the app may know it otherwise."""


class NotStopped(Value):
    """Why nothing was stopped."""

    notice: str
    """A sentence for whoever wanted to stop it."""
    nothing: bool = False
    """Whether there was nothing to stop; else this person may not."""
    known: bool = True
    """Whether this process would know. Another process of the app may have stopped it otherwise."""


class Message(Value):
    """One entry of the transcript."""

    seq: int
    role: Literal["user", "assistant"]
    content: Blocks
    unfinished: bool = False
    """The model paused in the middle of it, and is to go on."""
    forgotten: bool = False
    """It is not sent to the model again."""
    authors: tuple[Actor, ...] | None = None
    """Whose words a message to the model holds. None: the row of an earlier release, or the model's own."""


class ToolCall(Value):
    """One tool call of the model, with the ask that it led to or the result that it got at once."""

    tool_use_id: str
    tool: str
    input: JsonValue
    ask: Ask | None = None
    approved: str | None = None
    """The ask, settled before, by which people let this tool run for the rest of the conversation."""
    result: str | None = None
    is_error: bool = False
    notice: str | None = None
    """A sentence for people: what they have to do, so that it can run."""


class Call(Value):
    """A tool call as stored."""

    tool_use_id: str
    tool: str
    input: JsonValue
    ask_id: str | None
    result: str | None
    is_error: bool
    started: bool = False
    """Whether it was begun: such a one without a result is not run again by itself."""
    blocks: Blocks = ()
    """The result as content blocks, where it is more than a text; `result` is empty then."""
    approved: Ask | None = None
    """The ask by which people let it run."""

    @property
    def is_to_run(self) -> bool:
        """Whether it is one of the operator's own tools, which has no result yet and waits for nobody."""
        return self.result is None and (self.ask_id is None or self.approved is not None)


class Halt(Value):
    """A stop that the model has not heard of."""

    by: Actor | None = None
    """None: the operator."""


class News(Value):
    """What the next message tells the model."""

    calls: tuple[tuple[Call, Ask | None], ...] = ()
    """The calls of its newest message, with what people were asked about each."""
    answering: tuple[Actor, ...] = ()
    """Whose words are in the outcomes of these."""
    written: tuple[Written, ...] = ()
    halt: Halt | None = None
    known: tuple[Actor, ...] = ()
    """The authors of all messages before it."""


class CallsToRun(Value):
    """Calls of the operator's own tools that have no result yet."""

    conversation: Conversation
    seq: int
    """The transcript row of the model's message that they stand in."""
    calls: tuple[Call, ...]


class Requested(Value):
    """What stands behind the calls of a turn: whose request they are, and what people decided before."""

    requesters: Mapping[str, tuple[Actor, ...]] = Field(default_factory=dict[str, tuple[Actor, ...]])
    """By tool: whose request a call of it is."""
    members: Mapping[str, tuple[Actor, ...]] = Field(default_factory=dict[str, tuple[Actor, ...]])
    """Who is in the groups that decide; one that the platform does not tell of is missing."""
    settled: tuple[Ask, ...] = ()
    """The answered asks of the conversation, oldest first."""
    givers: tuple[Actor, ...] = ()
    """Who let a tool run for the rest of the conversation, in the groups that they are in now."""
    alone: Actor | None = None
    """The only person who sees the conversation; None: others do, too."""
    wrong: Mapping[str, str] = Field(default_factory=dict[str, str])
    """What the model is told of calls that can never run, by their ids: nobody is asked about these."""


class Say(Value):
    """A text for people, to be delivered once."""

    target: str
    """Its unique name: the same text is never queued twice."""
    text: str
    markdown: bool
    """The agent's own prose; otherwise the bot's plain words."""
    mention: Who | None = None
    """Mention these in front: the bot's own words only."""
    messages: tuple[MessageRef, ...] = ()
    """Where part of it stands already."""
    only_for: Actor | None = None
    """Shown to this person alone where the platform has such messages; elsewhere as a reply to them."""
    offer: Offer | None = None
    """With the two buttons of an offer, which work for `only_for` alone."""
    reply_to: MessageRef | None = None
    """The message that it is about."""
    until: datetime | None = None
    """Named behind it, in the reader's own time: until when there is time for what it says."""
    link: str | None = None
    """Behind it, to go to: the address of the message that it is about, as the platform gave it."""
    gone: bool = False
    """Nothing is said any more: its messages are to be deleted."""


class Step(Value):
    """One thing done to an ask."""

    before: Ask
    after: Ask
    action: Action


class Reading(Value):
    """What a message says to the questions that are open where it was written."""

    steps: tuple[Step, ...] = ()
    """It is the answer: this follows, and it is kept for nothing but to be known again."""
    say: Say | None = None
    """Else what its author is asked or told about it."""


class Turn(Value):
    """What the model is to be asked next."""

    conversation: Conversation
    history: tuple[Message, ...]
    resumed: bool = False
    """Whether it may have been begun before, by a process that ended in the middle of it."""


class Spent(Value):
    """Tokens that the model used up, read and written, those of calls that run among them."""

    conversation: int
    today: int
    """In all conversations together, since midnight UTC."""
    reserved: int = 0
    """How many of today's are counted in advance: some of them may come back."""


class TurnEnd(Value):
    """How a turn ended: everything in here is committed together."""

    conversation_id: str
    after: int
    """The seq of the message that the model answered: it is still the last one, or this turn is somebody else's now."""
    content: Blocks = ()
    """What the model said, for the transcript; nothing if it failed."""
    calls: tuple[ToolCall, ...] = ()
    say: Say | None = None
    notice: Say | None = None
    """What went wrong, in a sentence or a few."""
    forget: Literal["nothing", "last", "all"] = "nothing"
    """Which of the history is not sent again: what a model refused, or what no longer fits."""
    again: bool = False
    """Whether the model is to be called again at once (a paused turn)."""
    rest: bool = False
    """Whether results that are there at once wait until somebody writes, rather than go to the model."""
    stops: int = 0
    """`Conversation.stops` when the turn began."""
    tokens: int = 0
    """What the model used up, both ways."""
    reservation: str | None = None
    """What `Store.reserve` returned for the call of the model. None: none was counted in advance."""
