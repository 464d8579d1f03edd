"""What a round of the long run is to be, and what happened in it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from .approving import APPROVERS
from .stories import KINDS, Story

TALKS = 8
"""Conversations at a time."""
DRAIN_SECONDS = 40.0
DEADLINE_SECONDS = 15.0


@dataclass(frozen=True)
class Order:
    """A round to be played."""

    platform: str
    store: str
    seed: int
    points: tuple[str, ...]
    replicas: int = 1
    talks: int = TALKS
    spoil: str | None = None
    calm: bool = False
    kinds: tuple[str, ...] = KINDS
    least: int = 0
    """Conversations that are begun however few kills there are."""
    contrary: float = 0.2
    """How often somebody clicks two things at once that contradict each other."""
    deadline: float = DEADLINE_SECONDS
    """Seconds after which nobody is waited for any more."""
    drain: float = DRAIN_SECONDS
    """Seconds in which nothing comes any further before the end is not waited for any longer."""
    failovers: bool = False
    """Whether the database fails over now and then."""
    plans: tuple[str, ...] = ()
    """How people may decide about what they approve; all ways, where none are named."""


@dataclass(frozen=True)
class InFlight:
    """What was under way at a kill."""

    calls: int = 0
    """Requests to the model without their answer."""
    clicks: int = 0
    """Clicks without their ack."""
    cards: int = 0
    """Questions that the model asked and nobody sees yet."""
    gone: int = 0
    """Cards of open questions that somebody deleted and that are not back yet."""
    tools: int = 0
    """Own tools that run."""
    approvals: int = 0
    """Calls about which people have yet to decide, with their card in front of them; they wait, and nothing works."""
    owed: int = 0
    """Messages and answers that the bot was told, and the model was not."""
    turns: int = 0
    """Turns whose request was made and whose effect nobody sees yet: each may be asked for once more."""

    @property
    def anything(self) -> bool:
        return bool(self.calls or self.clicks or self.cards or self.gone or self.tools or self.owed)


@dataclass(frozen=True)
class Kill:
    """One SIGKILL."""

    point: str
    reached: bool
    """Whether it came at its point; otherwise at a random moment."""
    at: float
    in_flight: InFlight
    lived: float


@dataclass(frozen=True)
class Request:
    """A request to the model."""

    number: int
    tag: str
    turn: int
    at: float


@dataclass
class Record:
    """What happened in a round: the services' own logs, and what was done to them."""

    order: Order
    kills: list[Kill] = field(default_factory=list[Kill])
    barriers: list[int] = field(default_factory=list[int])
    """The number of the model's newest request when each process began."""
    stories: list[Story] = field(default_factory=list[Story])
    requests: list[Request] = field(default_factory=list[Request])
    log: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    ran: list[str] = field(default_factory=list[str])
    released: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    posted: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """The name of each message that was posted, as often as it was, and what it said then."""
    weather: Counter[str] = field(default_factory=Counter[str])
    crashes: list[str] = field(default_factory=list[str])
    seconds: float = 0.0
    killing: float = 0.0
    """Seconds of it until the last kill; the rest is for what was left to do then."""
    output: str = ""


def lead_of(order: Order) -> int:
    """The number of the one person who is asked later on, and begins nothing."""
    return max(order.talks, APPROVERS)
