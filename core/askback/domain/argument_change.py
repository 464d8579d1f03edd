"""The changes that people make to the arguments of a tool call before they approve it. No I/O."""

from __future__ import annotations

__all__ = ["ArgumentChange", "apply_changes", "is_same_value", "list_changers", "merge_changes"]

import json
from collections.abc import Iterable, Mapping

from pydantic import AwareDatetime, Field, JsonValue

from askback.domain.identity import Actor, deduplicate_accounts
from askback.internal.values import Value


class ArgumentChange(Value):
    """One changed argument: the agent's value, and the newest one."""

    name: str
    before: JsonValue
    """The value with which the agent made the call. None also if it gave none."""
    is_new: bool = Field(default=False, exclude_if=lambda value: not value)
    """True if the agent gave no value."""
    after: JsonValue
    """The newest value. None also if there is none any more."""
    is_removed: bool = Field(default=False, exclude_if=lambda value: not value)
    """True if the call has the argument no more."""
    by: Actor
    """The person who gave the newest value."""
    at: AwareDatetime


def merge_changes(earlier: Iterable[ArgumentChange], later: Iterable[ArgumentChange]) -> tuple[ArgumentChange, ...]:
    """Return what changed since the agent made the call. An argument that has its first value again did not change."""
    merged = {change.name: change for change in earlier}
    for change in later:
        first = merged.get(change.name, change)
        merged[change.name] = change.evolve(before=first.before, is_new=first.is_new)
    return tuple(filter(_has_effect, merged.values()))


def _has_effect(change: ArgumentChange) -> bool:
    if change.is_new or change.is_removed:
        return change.is_new != change.is_removed
    return not is_same_value(change.before, change.after)


def apply_changes(data: Mapping[str, JsonValue], changes: Iterable[ArgumentChange]) -> dict[str, JsonValue] | None:
    """Return the arguments of a call after these changes. None if a change is about another value than the call has."""
    changed = dict(data)
    for change in changes:
        if change.is_new == (change.name in data) or not is_same_value(change.before, data.get(change.name)):
            return None
        if change.is_removed:
            changed.pop(change.name, None)
        else:
            changed[change.name] = change.after
    return changed


def is_same_value(one: JsonValue, other: JsonValue) -> bool:
    """Return True if two values are the same JSON. In Python, 1 equals true and 1.0."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def list_changers(changes: Iterable[ArgumentChange]) -> tuple[Actor, ...]:
    """Return the people who gave the newest values, each once."""
    return deduplicate_accounts(change.by for change in changes)
