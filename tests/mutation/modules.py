"""The mutated modules, the tests that should kill their mutants, and the mutants without an effect."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from .mutants import Mutant

MODULES: dict[str, tuple[str, ...]] = {
    "askback.domain.interview": ("unit/domain/test_interview.py", "unit/domain/test_interview_properties.py"),
    "askback.domain.apply_action": ("unit/domain/test_interview.py", "unit/domain/test_interview_properties.py"),
    "askback.domain.apply_form": ("unit/domain/test_form_fields.py", "unit/domain/test_interview_properties.py"),
    "askback.domain.form_fields": ("unit/domain/test_form_fields.py", "unit/domain/test_interview_properties.py"),
    "askback.domain.selection": (
        "unit/domain/test_interview.py",
        "unit/domain/test_picks.py",
        "unit/domain/test_interview_properties.py",
    ),
    "askback.domain.timeout_action": ("unit/domain/test_timeout_action.py",),
    "askback.domain.arguments": ("unit/domain/test_arguments.py",),
    "askback.domain.voting": ("unit/domain/test_voting.py", "unit/domain/test_approval.py"),
    "askback.domain.schedule": ("unit/domain/test_schedule.py",),
    "askback.domain.decision": ("unit/domain/test_decision.py",),
    "askback.domain.ask_policy": (
        "unit/domain/test_ask_policy.py",
        "unit/domain/test_approval.py",
        "unit/domain/test_voting.py",
    ),
    "askback.domain.who": (
        "unit/domain/test_ask_policy.py",
        "unit/domain/test_approval.py",
        "unit/domain/test_voting.py",
    ),
    "askback.domain.requesters": ("contract/engine/test_requesters.py", "contract/engine/test_requesters_property.py"),
    "askback.domain.group": (
        "unit/domain/test_group.py",
        "contract/engine/test_requesters.py",
        "contract/engine/test_tool_approvers.py",
    ),
    "askback.store.queries.approvals": (
        "contract/engine/test_steps_of_a_request.py",
        "contract/engine/test_requesters.py",
        "contract/engine/test_requesters_property.py",
        "contract/engine/test_tool_approval_always.py",
        "contract/engine/test_tool_approval_running.py",
    ),
    "askback.agent.approvals": (
        "unit/agent/test_approvals.py",
        "contract/engine/test_tool_approvers.py",
        "contract/engine/test_tool_approval.py",
        "contract/engine/test_tool_approval_always.py",
    ),
    "askback.agent.approver_shortage": ("contract/engine/test_requesters.py",),
    "askback.agent.display_names": ("contract/engine/test_names.py",),
    "askback.text.bodies": ("contract/engine/test_names.py",),
    "askback.agent.budget": ("unit/agent/test_budget.py",),
    "askback.agent.concurrency_slots": ("unit/agent/test_concurrency_slots.py",),
    "askback.store.queries.usage": ("contract/engine/test_usage.py",),
    "askback.store.turn_transactions": ("contract/engine/test_turn_transactions.py",),
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
