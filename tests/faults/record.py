"""The order for a round of the long run, and the record of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from .approving import APPROVERS
from .scenarios import KINDS, Story

TALKS = 8
"""Concurrent conversations."""
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
    """The minimum number of conversations, even with few kills."""
    contrary: float = 0.2
    """Probability that a person clicks two contradicting options at once."""
    deadline: float = DEADLINE_SECONDS
    """Seconds after which a question times out."""
    drain: float = DRAIN_SECONDS
    """Seconds without any progress after which the drain gives up."""
    failovers: bool = False
    """True if the database fails over now and then."""
    plans: tuple[str, ...] = ()
    """The plans of the approvers; all plans if empty."""


@dataclass(frozen=True)
class InFlight:
    """The work in flight at a kill."""

    calls: int = 0
    """Requests to the model that are not answered yet."""
    clicks: int = 0
    """Clicks that are not acked yet."""
    cards: int = 0
    """Questions that the model asked and that are not visible yet."""
    gone: int = 0
    """Cards of open questions that were deleted and not posted again yet."""
    tools: int = 0
    """Own tools that are running."""
    approvals: int = 0
    """Calls that wait for people's votes on a visible card; nothing else is in progress for them."""
    owed: int = 0
    """Messages and answers that the bot received and the model has not."""
    turns: int = 0
    """Turns whose request was made and whose effect is not visible yet; each may be requested once more."""

    @property
    def anything(self) -> bool:
        return bool(self.calls or self.clicks or self.cards or self.gone or self.tools or self.owed)


@dataclass(frozen=True)
class Kill:
    """One SIGKILL."""

    point: str
    reached: bool
    """True if the kill came at its point, False if at a random moment."""
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
    process: str
    """The name of the process that sent it."""


@dataclass
class Record:
    """The record of a round: the services' own logs, and the faults that were injected."""

    order: Order
    kills: list[Kill] = field(default_factory=list[Kill])
    bots: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    """The Unix times at which each process began to listen and ended, in seconds."""
    outages: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    """The Unix times at which each outage of the platform began and ended, in seconds."""
    killed: dict[str, float] = field(default_factory=dict[str, float])
    """The Unix time from which each process that was killed did nothing any more, by its name."""
    barriers: list[int] = field(default_factory=list[int])
    """The number of the model's newest request at each failover of the database."""
    stories: list[Story] = field(default_factory=list[Story])
    requests: list[Request] = field(default_factory=list[Request])
    log: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    ran: list[str] = field(default_factory=list[str])
    released: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    posted: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """The name and first text of each message, once per post."""
    weather: Counter[str] = field(default_factory=Counter[str])
    crashes: list[str] = field(default_factory=list[str])
    seconds: float = 0.0
    killing: float = 0.0
    """Seconds until the last kill; the rest of the round finishes the remaining work."""
    stalled: float = 0.0
    """Seconds of the longest time for which the machine ran nothing."""
    output: str = ""


def lead_of(order: Order) -> int:
    """Return the number of the person whom only the escalation asks, and who begins no conversation."""
    return max(order.talks, APPROVERS)
