"""The turns of the agent: the transcript, the model's tool calls, and the commit that ends a turn."""

from __future__ import annotations

__all__ = [
    "ApprovalContext",
    "Blocks",
    "Call",
    "CallsToRun",
    "EarlierAnswers",
    "Message",
    "NextStep",
    "TokenUsage",
    "ToolCall",
    "Turn",
    "TurnEnd",
    "TurnInput",
    "get_text",
]

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, JsonValue

from askback.domain.ask import Ask
from askback.domain.attached_file import MessageFile
from askback.domain.conversation import Conversation, StopRecord, UnshownText
from askback.domain.group import GroupMembers
from askback.domain.identity import Actor, Place
from askback.domain.incoming_message import HistoryMessage, InboxMessage
from askback.domain.outcome import Outcome
from askback.domain.outgoing_message import TURN_TEXT, OutgoingMessage
from askback.internal.values import Value
from askback.translations.catalogue import Language

Blocks = tuple[dict[str, JsonValue], ...]
"""The content blocks of one message, as in the Messages API."""


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
    files: Mapping[int, int] = Field(default_factory=dict[int, int])
    """The index of the block that represents a file, by the file's id. Known while the message is composed."""


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
    changed: dict[str, JsonValue] | None = None
    """The arguments with the changes that people made before they approved it. None if they changed nothing."""

    @property
    def arguments(self) -> JsonValue:
        """The arguments with which it runs."""
        return self.input if self.changed is None else self.changed

    @property
    def is_to_run(self) -> bool:
        """True if it is a call of the operator's own tools that has no result and needs no further approval."""
        return self.result is None and (self.ask_id is None or self.approved is not None)


class EarlierAnswers(Value):
    """A person's earlier answers to the questions of an ask that they have just answered."""

    ask: Ask
    person: Actor
    outcomes: tuple[Outcome, ...]
    """The newest first. Each has the same person and the questions of the ask."""


class TurnInput(Value):
    """The content of the next message to the model."""

    calls: tuple[tuple[Call, Ask | None], ...] = ()
    """The calls of the model's newest message, each with the ask about it."""
    earlier_answers: tuple[EarlierAnswers, ...] = ()
    """Those of the people who answered the asks of these calls. Empty unless the operator gives them to the model."""
    answering: tuple[Actor, ...] = ()
    """The authors of the words in the outcomes of these calls."""
    answer_files: tuple[MessageFile, ...] = ()
    """The files of the answers to these calls whose contents were read."""
    written: tuple[InboxMessage, ...] = ()
    history: tuple[HistoryMessage, ...] = ()
    """The earlier messages of the thread."""
    halt: StopRecord | None = None
    known: tuple[Actor, ...] = ()
    """The authors of all earlier messages."""
    unshown: tuple[UnshownText, ...] = ()
    """The texts of the model that people could not see."""


class CallsToRun(Value):
    """Calls of the operator's own tools that have no result yet."""

    conversation: Conversation
    seq: int
    """The transcript row of the model's message that contains them."""
    calls: tuple[Call, ...]


class NextStep(Value):
    """The work that the agent finds at the beginning of a step."""

    stops: int = 0
    """Number of times that somebody has stopped the conversation."""
    calls: CallsToRun | None = None
    """The calls of tools to run first. None if there are none."""
    history_place: Place | None = None
    """The place in which people may have written before the conversation began.

    None if there can be no such messages, or if the model has already read any message in it.
    """
    language: Language | None = None
    """The conversation's language; see `Conversation.language`."""


class ApprovalContext(Value):
    """The context of a turn's calls: their requesters, and earlier decisions."""

    requesters: Mapping[str, tuple[Actor, ...]] = Field(default_factory=dict[str, tuple[Actor, ...]])
    """The requesters of a call, by tool."""
    members: Mapping[str, GroupMembers] = Field(default_factory=dict[str, GroupMembers])
    """The members of each deciding group. A group is missing if the platform does not tell them now."""
    settled: tuple[Ask, ...] = ()
    """The answered asks of the conversation, oldest first."""
    givers: tuple[Actor, ...] = ()
    """The people who allowed a tool for the rest of the conversation, with their current groups."""
    alone: Actor | None = None
    """The only person who sees the conversation. None if others see it too."""
    wrong: Mapping[str, str] = Field(default_factory=dict[str, str])
    """Error texts for the model, by the id of each call that can never run. People are not asked about these calls."""
    exempt: tuple[str, ...] = ()
    """The ids of the calls that need no approval, as their tool's own rule says."""


class Turn(Value):
    """The next request to the model."""

    conversation: Conversation
    history: tuple[Message, ...]
    resumed: bool = False
    """True if an earlier process may have begun it and ended in the middle."""
    has_earlier_text: bool = False
    """True if an earlier text of the conversation is still to be posted."""
    files: tuple[MessageFile, ...] = ()
    """The files of the messages in the history."""
    halted: bool = False
    """True if its newest results say that the agent stops, and people did not write since."""

    @property
    def text_name(self) -> str:
        """The name of all texts of this turn: the conversation's id and the seq of the model's answer."""
        return f"{self.conversation.id}:{self.history[-1].seq + 1}"

    @property
    def text_target(self) -> str:
        """The target of the model's own text in the outbox."""
        return f"{TURN_TEXT}{self.text_name}"


class TokenUsage(Value):
    """Tokens that the model used, input and output, including the reservations of running calls."""

    conversation: int
    today: int
    """The tokens of all conversations together since midnight UTC."""
    reserved: int = 0
    """The tokens of today that are only reserved. Some of them may be released."""


class TurnEnd(Value):
    """The end of a turn. Everything in it is committed together."""

    conversation_id: str
    after: int
    """The seq of the message that the model answered. If it is not the last one, another process took over the turn."""
    content: Blocks = ()
    """The model's message for the transcript; empty if the turn failed."""
    calls: tuple[ToolCall, ...] = ()
    outgoing: OutgoingMessage | None = None
    notice: OutgoingMessage | None = None
    """A short text that says what went wrong."""
    forget: Literal["nothing", "last", "all"] = "nothing"
    """The part of the history that is not sent again, because the model rejected it or it no longer fits."""
    again: bool = False
    """True if the model must be called again at once, because it paused."""
    waits_for_person: bool = False
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
