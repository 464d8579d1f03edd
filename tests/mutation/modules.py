"""The mutated modules, the tests that should kill their mutants, and the mutants without an effect."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from .mutants import Mutant

INTERVIEWS = (
    "unit/domain/test_interview.py",
    "unit/domain/test_interview_ticks.py",
    "unit/domain/test_interview_moves.py",
    "unit/domain/test_interview_conditions.py",
    "unit/domain/test_interview_past_clicks.py",
    "unit/domain/test_interview_properties.py",
)
FIELDS = (
    "unit/domain/test_form_fields.py",
    "unit/domain/test_file_and_note_fields.py",
    "unit/domain/test_interview_properties.py",
)
EDITS = ("unit/domain/test_edit_arguments.py", "unit/domain/test_edit_lists.py")
TURNS = (
    "test_arguments_that_differ_from_the_shown_ones_are_asked_again",
    "test_the_same_answers_are_never_applied_twice",
    "test_two_that_resume_at_once_resume_once",
    "test_each_turn_of_a_run_asks_about_its_own_calls_only",
    "test_a_run_whose_next_turn_was_not_saved_is_unknown_and_not_lost",
    "test_who_waits_while_another_process_dies_with_the_answer_learns_that_the_outcome_is_unknown",
)
"""Tests of one turn's calls that run within one process. One platform is enough for them."""
MODULES: dict[str, tuple[str, ...]] = {
    "askback.domain.interview": INTERVIEWS,
    "askback.domain.apply_action": INTERVIEWS,
    "askback.domain.apply_form": FIELDS,
    "askback.domain.form_fields": FIELDS,
    "askback.domain.selection": ("unit/domain/test_picks.py", *INTERVIEWS),
    "askback.domain.timeout_action": ("unit/domain/test_timeout_action.py",),
    "askback.domain.verdicts": ("unit/domain/test_verdicts.py",),
    "askback.domain.apply_edit": EDITS,
    "askback.domain.edit_rules": EDITS,
    "askback.domain.edit_values": EDITS,
    "askback.domain.edit_schema": EDITS,
    "askback.domain.line_rules": ("unit/domain/test_line_rules.py",),
    "askback.domain.list_text": ("unit/domain/test_line_rules.py", "unit/domain/test_edit_fields.py"),
    "askback.domain.plain_schema": ("unit/domain/test_plain_schema.py", "unit/domain/test_json_schema.py"),
    "askback.text.unseen": ("unit/text/test_unseen.py", "unit/domain/test_form.py", "unit/domain/test_verdicts.py"),
    "askback.domain.hand_over": ("unit/domain/test_hand_over.py", "contract/engine/test_hand_overs.py"),
    "askback.doors.hand_over": ("contract/engine/test_claims.py", "contract/engine/test_hand_overs.py"),
    "askback.doors.receipts": ("unit/doors/test_receipts.py",),
    "askback.doors.turn_calls": tuple(f"e2e/doors/test_pydantic_ai.py::{name}[slack]" for name in TURNS),
    "askback.domain.arguments": ("unit/domain/test_arguments.py",),
    "askback.domain.voting": (
        "unit/domain/test_voting.py",
        "unit/domain/test_voting_properties.py",
        "unit/domain/test_approval.py",
    ),
    "askback.domain.schedule": ("unit/domain/test_schedule.py",),
    "askback.domain.decision": ("unit/domain/test_decision.py",),
    "askback.domain.ask_policy": (
        "unit/domain/test_ask_policy.py",
        "unit/domain/test_ask_policy_votes.py",
        "unit/domain/test_approval.py",
        "unit/domain/test_voting.py",
    ),
    "askback.domain.who": (
        "unit/domain/test_ask_policy.py",
        "unit/domain/test_ask_policy_votes.py",
        "unit/domain/test_approval.py",
        "unit/domain/test_voting.py",
    ),
    "askback.domain.requesters": (
        "unit/domain/test_requesters.py",
        "contract/engine/test_requesters.py",
        "contract/engine/test_requesters_property.py",
    ),
    "askback.domain.group": (
        "unit/domain/test_group.py",
        "unit/agent/test_approver_shortage.py",
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
    "askback.agent.approver_shortage": ("unit/agent/test_approver_shortage.py",),
    "askback.agent.display_names": ("contract/engine/test_names.py",),
    "askback.text.bodies": ("contract/engine/test_names.py",),
    "askback.agent.budget": ("unit/agent/test_budget.py",),
    "askback.agent.concurrency_slots": ("unit/agent/test_concurrency_slots.py",),
    "askback.store.queries.usage": ("contract/engine/test_usage.py",),
    "askback.store.turn_transactions": (
        "contract/engine/test_turn_transactions.py",
        "contract/engine/test_stored_turn_texts.py",
        "contract/engine/test_history_edits.py",
    ),
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
