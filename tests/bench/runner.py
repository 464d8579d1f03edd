"""The list of benchmarks, and their interface."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

from .figures import Database, Figure

BENCHES = {
    "clicks": "A click until its durable ack, and until the agent continues, compared with the bare frameworks.",
    "stages": "The budgets of a click, of the agent's next turn and of the model's last token: the time of each stage.",
    "answers": "Answers per second through the manager, 64 at once.",
    "open": "With 1 to 1,000,000 open questions: clicks, memory, idle processor, start.",
    "conversations": "With 10, 1,000 and 10,000 conversations in progress: clicks, and the agent that continues.",
    "processes": "Answers per second on PostgreSQL, with 1, 2, 4 and 8 processes at once.",
    "replicas": "An answer given in one process until the waiting program continues in another (PostgreSQL).",
    "prose": "From the model's last token to the message at the platform.",
    "conversation": "What askback adds to the model's tokens and requests, over ten questions.",
    "slow": "With a slow disk, a slow platform and a slow database: clicks, and the agent that continues.",
    "start": "Imports, `askback --help`, and the bots until they listen.",
    "doors": "Doors: a click until the program behind each of them continues, compared with the same without askback.",
    "polls": "10,000 waiting long polls of `askback serve`: memory, processor, and an answer until its poll returns.",
    "peers": "An answer until the waiting program continues, compared with LangGraph and DBOS.",
    "writer": "Transactions of the store alone.",
    "silence": "From a connection's silent death to the next one.",
}


class Unavailable(Exception):
    """The benchmark cannot run here; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Bench:
    """The environment of a benchmark."""

    folder: Path
    """A separate folder for its databases."""
    database: Database
    quick: bool
    """True if the run only checks that the benchmark works."""
    say: Callable[[str], None]
    """Report progress to the user."""

    def times(self, many: int, few: int = 3) -> int:
        """Return the number of repetitions."""
        return few if self.quick else many


class Module(Protocol):
    """The interface of a benchmark's module."""

    def run(self, bench: Bench) -> AsyncIterator[Figure]: ...


def module(name: str) -> Module:
    # Import it only when it runs, so that `--list` waits for no library.
    return import_module(f"{__package__}.{name}")  # type: ignore[return-value]
