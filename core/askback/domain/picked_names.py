"""Adds the names of picked people and channels that the platform told later than the click. No I/O."""

from __future__ import annotations

__all__ = ["add_names", "list_unnamed"]

from collections.abc import Mapping

from askback.domain.interview import Interview
from askback.domain.outcome import Picked
from askback.domain.selection import sort_picked


def list_unnamed(interview: Interview) -> tuple[str, ...]:
    """Return the ids of picked people and channels whose names are unknown."""
    return tuple(dict.fromkeys(one.id for draft in interview.drafts for one in draft.picked if not one.name))


def add_names(interview: Interview, names: Mapping[str, str]) -> Interview:
    """Return the interview with these names, by id. A name that is known stays."""

    def fill(picked: tuple[Picked, ...]) -> tuple[Picked, ...]:
        return sort_picked(one if one.name else one.evolve(name=names.get(one.id, "")) for one in picked)

    drafts = tuple(draft.evolve(picked=fill(draft.picked)) for draft in interview.drafts)
    if drafts == interview.drafts:
        return interview
    outcome = interview.outcome
    if outcome is not None:
        answers = tuple(answer.evolve(picked=fill(answer.picked)) for answer in outcome.answers)
        outcome = outcome.evolve(answers=answers)
    return interview.evolve(drafts=drafts, outcome=outcome, revision=interview.revision + 1)
