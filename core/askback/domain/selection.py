"""Applies the ticks of several people to one answer. No I/O.

A click says what a person's screen shows. What they ticked and unticked is applied, so that the ticks of several people
commute.
"""

from __future__ import annotations

__all__ = ["KEPT_MARKS", "apply_ticks", "sort_picked"]

from collections.abc import Collection, Iterable
from typing import TypeVar

from askback.domain.actions import Pick, Select
from askback.domain.interview import Draft, SelectionSnapshot
from askback.domain.outcome import Picked

KEPT_MARKS = 50
"""Number of marks that one question remembers."""

_Key = TypeVar("_Key", int, str)


def apply_ticks(draft: Draft, operation: Select | Pick, *, who: str, revision: int) -> Draft:
    """Return the draft after what a person ticked and unticked. An overtaken click changes nothing.

    `revision` is that of the interview. It counts if the click does not say which card it was on.
    """
    if operation.revision is not None:
        revision = operation.revision
    if _is_overtaken(draft, operation, who, revision):
        return draft
    # With a mark, they clicked before their screen was redrawn, so it still showed the ticks that they sent last.
    mark = next((mark for mark in draft.marks if (mark.who, mark.revision) == (who, revision)), None)
    snapshot = SelectionSnapshot(who=who, revision=revision, order=operation.order)
    if isinstance(operation, Select):
        shown = operation.chosen
        base = mark.chosen if mark is not None else draft.chosen if operation.base is None else operation.base
        snapshot = snapshot.evolve(chosen=tuple(sorted(set(shown))))
        draft = draft.evolve(chosen=tuple(sorted(_combine(draft.chosen, shown, base))))
    else:
        found = {one.id: one for one in draft.picked}
        ids = tuple(one.id for one in operation.picked)
        base = mark.picked if mark is not None else tuple(found) if operation.base is None else operation.base
        snapshot = snapshot.evolve(picked=tuple(sorted(set(ids))))
        found |= {one.id: one for one in operation.picked if one.name or one.id not in found}
        draft = draft.evolve(picked=sort_picked(found[one] for one in _combine(_list_ids(draft), ids, base)))
    marks = {(mark.who, mark.revision): mark for mark in draft.marks}
    marks[who, revision] = snapshot
    return draft.evolve(marks=tuple(marks.values())[-KEPT_MARKS:])


def sort_picked(picked: Iterable[Picked]) -> tuple[Picked, ...]:
    """Return people or channels by name. The order in which people picked them says nothing."""
    return tuple(sorted(picked, key=lambda one: (one.label.casefold(), one.id)))


def _list_ids(draft: Draft) -> tuple[str, ...]:
    """Return the ids of the people or channels that are picked so far."""
    return tuple(one.id for one in draft.picked)


def _is_overtaken(draft: Draft, operation: Select | Pick, who: str, revision: int) -> bool:
    """Return True if a click is older than one that counted, or a duplicate of it."""
    if operation.order is None:
        return False
    orders = [(mark.revision, mark.order) for mark in draft.marks if mark.who == who and mark.order is not None]
    if operation.revision is None and any(operation.order <= order for _, order in orders):
        return True  # only the time tells that a click is older or a duplicate
    return any(drawn == revision and operation.order < order for drawn, order in orders)


def _combine(current: Collection[_Key], shown: Collection[_Key], base: Collection[_Key]) -> set[_Key]:
    """Return what is ticked now, with the difference between what a screen showed first and last."""
    return (set(current) | (set(shown) - set(base))) - (set(base) - set(shown))
