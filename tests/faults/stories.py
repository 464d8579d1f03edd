"""What the model says in each conversation of a run, and what is known of it.

Everything that is said, asked and run has a name of its own (`s0012.0`, `s0012a`), by which it is counted afterwards.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from askback_local.model.request import Asked
from askback_local.model.script import ToolCall, Turn, call, turn

from .seats import Click

COLOURS = ("Red", "Green", "Blue", "Grey")
KINDS = (
    "buttons", "form", "several", "text", "tool", "mixed", "typed", "message", "cancel", "stop", "deadline", "approval",
    "waiting", "deleted", "edit",
)  # fmt: skip
WEIGHTS = (4, 3, 2, 2, 3, 3, 2, 2, 1, 1, 1, 4, 1, 2, 2)
ASKED = {"form": "abc", "mixed": "ab"}
"""The questions of each kind, in one ask or, `mixed`, in an ask each. All others have one, `a`."""
TO_APPROVE = frozenset({"approval", "waiting"})
"""Those with a call that people have to approve; in `waiting`, until the time comes for something."""
BARE = frozenset({"tool", *TO_APPROVE})
"""Those without a question."""
RELEASE = "Run release?"
REMINDED = "Reminder: "
ESCALATED = "This now waits for you, too: "
ANSWERED = re.compile(r'"Which colour for (s\d+[a-z])\?"="([^"]*)"')


def story_of(asked: Asked) -> tuple[str, str]:
    """The name and the kind of the conversation that a request belongs to."""
    found = re.search(r"\b(s\d{4}) (\w+)\b", asked.first_text)
    assert found is not None, asked.first_text
    return found[1], found[2]


def prompt(token: str) -> str:
    return f"Which colour for {token}?"


def asks(text: str, token: str) -> bool:
    """Whether that is the card of a question, or of a call that people approve."""
    return prompt(token) in text or (_names(text, token) and REMINDED not in text and ESCALATED not in text)


def reminds(text: str) -> bool:
    """Whether that reminds people of such a call, or asks further ones about it. It does not say which one."""
    return RELEASE in text and (REMINDED in text or ESCALATED in text)


def _names(text: str, token: str) -> bool:
    return RELEASE in text and f'"{token}"' in text


def to_approve(tag: str) -> tuple[str, ...]:
    """The calls of an `approval` that people have to approve. By the tag, there is another tool beside them, or not."""
    return (f"{tag}g0", f"{tag}g1") if int(tag[1:]) % 3 == 2 else (f"{tag}g0",)


def arguments(token: str) -> dict[str, Any]:
    """What such a call is made with."""
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
    """One call that asks these questions; `several`: those of which many options may be chosen."""
    options = [{"label": label, "description": ""} for label in COLOURS]
    return call(
        "AskUserQuestion",
        questions=[
            {"question": prompt(token), "header": token[1:], "options": options, "multiSelect": token[-1] in several}
            for token in tokens
        ],
    )


def says(asked: Asked) -> Turn:
    """What the model says to a request: by how far the conversation has come, and by nothing else."""
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
    """A click that decides something: which question, what was chosen, and what became of it."""

    token: str
    label: str
    sent: float
    done: float | None = None
    click: Click | None = None
    by: str = ""
    """Whose click it was, by the platform's id, where several people decide."""
    saw: str = ""
    """What the card said that they clicked on."""

    @property
    def acked(self) -> bool:
        return self.click is not None and self.click.acked


@dataclass
class Deletion:
    """Somebody deleted the card of an open question."""

    token: str
    at: float
    waited: float = 0.0
    """The longest time in seconds for which no bot died, and it was not back, and the question not over."""
    is_back: bool = False
    """Whether its person saw another one."""


@dataclass
class Edit:
    """Somebody changed what they wrote."""

    before: str
    after: str
    at: float
    is_seen: bool = False
    """Whether the bot showed that it took it."""


@dataclass(frozen=True)
class Shown:
    """A message of the bot's as it stood there in the end."""

    text: str
    has_controls: bool
    at: float
    """When it was posted."""


@dataclass
class Story:
    """One conversation, and what its person knows of it."""

    tag: str
    kind: str
    presses: list[Press] = field(default_factory=list[Press])
    written: list[str] = field(default_factory=list[str])
    """What the model has to hear as a message, or never: see `answers`."""
    answers: list[str] = field(default_factory=list[str])
    """What was written and may have become an answer."""
    stops: list[float] = field(default_factory=list[float])
    deletions: list[Deletion] = field(default_factory=list[Deletion])
    edits: list[Edit] = field(default_factory=list[Edit])
    shown: list[Shown] = field(default_factory=list["Shown"])
    """What stood in the thread at its end."""
    told: list[str] = field(default_factory=list[str])
    """The notices that its person got."""
    starter: str = ""
    """Its person, by the platform's id."""
    told_others: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The notices that each approver got."""
    lead: str = ""
    """Who is asked later on, by the platform's id."""
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
        """All that people see a card of."""
        return (*self.questions, *self.to_approve)

    @property
    def last(self) -> int:
        """The number of the turn that ends it."""
        return 2 if self.kind in {"tool", "mixed"} else 1
