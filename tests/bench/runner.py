"""Which benchmarks there are, and what each is given."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

from .figures import Database, Figure

BENCHES = {
    "clicks": "A click until its durable ack, and until the agent goes on, beside the bare frameworks.",
    "answers": "Answers per second through the manager, 64 at once.",
    "open": "With 1, 1,000 and 100,000 open questions: clicks, memory, idle processor, start.",
    "replicas": "An answer given in one process until who waits goes on in another (PostgreSQL).",
    "prose": "From the model's last token to the message at the platform.",
    "start": "Imports, `askback --help`, and the bots until they listen.",
    "peers": "An answer until whoever waits goes on, beside LangGraph and DBOS.",
    "writer": "Transactions of the store alone.",
    "silence": "From a connection's silent death to the next one.",
}


class Unavailable(Exception):
    """Why a benchmark cannot run here."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What a benchmark is given."""

    folder: Path
    """A folder of its own, where its databases are."""
    database: Database
    quick: bool
    """Whether it is only to be seen that it works."""
    say: Callable[[str], None]
    """Tells whoever waits how far it is."""

    def times(self, many: int, few: int = 3) -> int:
        """How often something is done."""
        return few if self.quick else many


class Module(Protocol):
    """A benchmark is a module with this in it."""

    def run(self, bench: Bench) -> AsyncIterator[Figure]: ...


def module(name: str) -> Module:
    # Only when it runs: `--list` waits for no library.
    return import_module(f"{__package__}.{name}")  # type: ignore[return-value]
