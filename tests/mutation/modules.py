"""The mutated modules, the tests that should kill their mutants, and the mutants without an effect."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from .mutants import Mutant

MODULES: dict[str, tuple[str, ...]] = {
    "askback.domain.interview": ("core/test_interview.py", "core/test_interview_properties.py"),
    "askback.domain.voting": ("core/test_voting.py", "core/test_approval.py"),
    "askback.domain.schedule": ("core/test_timing.py",),
    "askback.domain.decision": ("core/test_deciding.py",),
    "askback.domain.policy": ("core/test_policy.py", "core/test_approval.py", "core/test_voting.py"),
    "askback.domain.requesters": ("core/test_requesters.py", "core/test_requesters_property.py"),
    "askback.agent.budget": ("core/test_budget.py",),
    "askback.agent.slots": ("core/test_slots.py",),
    "askback.store.usage": ("core/test_usage.py",),
    "askback.store.turn_transactions": ("core/test_turning.py",),
}
"""The tests of each module, relative to `tests/`, with those that fail first at the front."""


@dataclass(frozen=True)
class Equivalent:
    """A mutant that no test can notice, since it has no visible effect."""

    module: str
    before: str
    after: str
    why: str

    def fits(self, mutant: Mutant) -> bool:
        return (self.module, self.before, self.after) == (mutant.module, mutant.before, mutant.after)


def equivalents() -> tuple[Equivalent, ...]:
    """Read the list. Lines are compared without surrounding space, so that entries survive other changes."""
    listed = tomllib.loads((Path(__file__).parent / "equivalent.toml").read_text(encoding="utf-8"))
    return tuple(Equivalent(**entry) for entry in listed["equivalent"])
