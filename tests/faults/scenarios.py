"""The model's part in each conversation of a run, and the facts about it.

Every text, question and tool call has its own name (`s0012.0`, `s0012a`), which is used to count it afterwards.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from askback_sandbox.model.request import ReceivedRequest
from askback_sandbox.model.script import ToolCall, Turn, call, turn

from .actors import Click

COLOURS = ("Red", "Green", "Blue", "Grey")
KINDS = (
    "buttons", "form", "several", "text", "tool", "mixed", "typed", "message", "cancel", "stop", "deadline", "approval",
    "waiting", "deleted", "edit",
)  # fmt: skip
WEIGHTS = (4, 3, 2, 2, 3, 3, 2, 2, 1, 1, 1, 4, 1, 2, 2)
ASKED = {"form": "abc", "mixed": "ab"}
"""The questions of each kind: all in one ask, or for `mixed` one per ask. All other kinds have one, `a`."""
TO_APPROVE = frozenset({"approval", "waiting"})
"""The kinds with a call that needs approval; in `waiting` it stays open until a time-based event."""
BARE = frozenset({"tool", *TO_APPROVE})
"""The kinds without a question."""
RELEASE = "Run release?"
REMINDED = "Reminder: "
ESCALATED = "This now waits for you, too: "
ANSWERED = re.compile(r'"Which colour for (s\d+[a-z])\?"="([^"]*)"')


def story_of(asked: ReceivedRequest) -> tuple[str, str]:
    """Return the name and the kind of the conversation that a request belongs to."""
    found = re.search(r"\b(s\d{4}) (\w+)\b", asked.first_text)
    assert found is not None, asked.first_text
    return found[1], found[2]


def prompt(token: str) -> str:
    return f"Which colour for {token}?"


def asks(text: str, token: str) -> bool:
    """Return True if the text is the card of that question, or of that call for approval."""
    return prompt(token) in text or (_names(text, token) and REMINDED not in text and ESCALATED not in text)


def reminds(text: str) -> bool:
    """Return True if the text reminds people of such a call, or escalates it. It does not name the call."""
    return RELEASE in text and (REMINDED in text or ESCALATED in text)


def _names(text: str, token: str) -> bool:
    return RELEASE in text and f'"{token}"' in text


def to_approve(tag: str) -> tuple[str, ...]:
    """Return the calls of an `approval` that need approval: one or two, depending on the tag."""
    return (f"{tag}g0", f"{tag}g1") if int(tag[1:]) % 3 == 2 else (f"{tag}g0",)


def arguments(token: str) -> dict[str, Any]:
    """Return the arguments of such a call."""
    return {"where": token, "version": f"1.{len(token)}.{int(token[1:5])}", "with_notes": ["Ada", token]}


def approval_of(tag: str, deploy: ToolCall) -> tuple[ToolCall, ...]:
    first, *more = (call("release", **arguments(token)) for token in to_approve(tag))
    match int(tag[1:]) % 3:
        case 0:
            return (first,)
        case 1:
            return (deploy, first)
        case _:
            return (first, deploy, *more)


def ask(*tokens: str, several: str = "") -> ToolCall:
    """Return one call that asks these questions; `several` names those that allow many options."""
    options = [{"label": label, "description": ""} for label in COLOURS]
    return call(
        "AskUserQuestion",
        questions=[
            {"question": prompt(token), "header": token[1:], "options": options, "multiSelect": token[-1] in several}
            for token in tokens
        ],
    )


def says(asked: ReceivedRequest) -> Turn:
    """Return the model's reply to a request; it depends only on the progress of the conversation."""
    tag, kind = story_of(asked)
    index = len(asked.turns)
    text = f"{tag}.{index} This is what I have to say for now."
    deploy = call("deploy", where=f"{tag}.{index}")
    match kind, index:
        case "form", 0:
            return turn(text, ask(f"{tag}a", f"{tag}b", f"{tag}c", several="c"))
        case "several", 0:
            return turn(text, ask(f"{tag}a", several="a"))
        case "tool", 0 | 1:
            return turn(text, deploy)
        case "mixed", 0:
            return turn(text, ask(f"{tag}a"), deploy, ask(f"{tag}b"))
        case "mixed", 1:
            return turn(deploy)
        case "approval", 0:
            return turn(text, *approval_of(tag, deploy))
        case "waiting", 0:
            return turn(text, call("release", **arguments(f"{tag}g0")))
        case _, 0:
            return turn(text, ask(f"{tag}a"))
        case _:
            return turn(text)


@dataclass
class Press:
    """A click that decides something: the question, the choice, and the outcome."""

    token: str
    label: str
    sent: float
    done: float | None = None
    click: Click | None = None
    by: str = ""
    """The id of the person who clicked, if several people decide."""
    saw: str = ""
    """The text of the card that they clicked on."""

    @property
    def acked(self) -> bool:
        return self.click is not None and self.click.acked


@dataclass
class Deletion:
    """The deletion of an open question's card."""

    token: str
    at: float
    waited: float = 0.0
    """The longest time in seconds in which no bot died, the card was missing, and the question was open."""
    is_back: bool = False
    """True if its person saw a new card."""


@dataclass
class Edit:
    """An edit of a person's message."""

    before: str
    after: str
    at: float
    is_seen: bool = False
    """True if the bot showed that it noticed the edit."""


@dataclass(frozen=True)
class Shown:
    """A message of the bot at the end of the round."""

    text: str
    has_controls: bool
    at: float
    """The time of the post."""


@dataclass
class Story:
    """One conversation, and its person's knowledge of it."""

    tag: str
    kind: str
    presses: list[Press] = field(default_factory=list[Press])
    written: list[str] = field(default_factory=list[str])
    """Texts that the model must receive as messages, or never: see `answers`."""
    answers: list[str] = field(default_factory=list[str])
    """Texts that may have become answers."""
    stops: list[float] = field(default_factory=list[float])
    deletions: list[Deletion] = field(default_factory=list[Deletion])
    edits: list[Edit] = field(default_factory=list[Edit])
    shown: list[Shown] = field(default_factory=list["Shown"])
    """The messages in the thread at its end."""
    told: list[str] = field(default_factory=list[str])
    """The notices that its person received."""
    starter: str = ""
    """The id of its person on the platform."""
    told_others: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The notices that each approver received."""
    lead: str = ""
    """The platform id of the person whom the escalation asks."""
    is_heard: bool = False
    is_over: bool = False

    @property
    def questions(self) -> tuple[str, ...]:
        return () if self.kind in BARE else tuple(f"{self.tag}{letter}" for letter in ASKED.get(self.kind, "a"))

    @property
    def to_approve(self) -> tuple[str, ...]:
        if self.kind == "waiting":
            return (f"{self.tag}g0",)
        return to_approve(self.tag) if self.kind == "approval" else ()

    @property
    def asked(self) -> tuple[str, ...]:
        """Return the names of everything that has a card."""
        return (*self.questions, *self.to_approve)

    @property
    def last(self) -> int:
        """Return the number of the last turn."""
        return 2 if self.kind in {"tool", "mixed"} else 1
