"""Parses a platform's ids of people and places in settings: a list, or a text with commas. Pure."""

from __future__ import annotations

__all__ = ["EVERYBODY", "parse_ids"]

import re
from collections.abc import Collection
from typing import Final, cast

EVERYBODY: Final = "*"
"""The entry that means everyone in a list of people."""


def parse_ids(value: object, shape: re.Pattern[str], what: str, *, also: Collection[str] = ()) -> tuple[str, ...]:
    """Return the ids without duplicates. Names are rejected, because their owners can change them.

    `also` are words that are allowed as entries. Raises `ValueError` if there is no entry, or with the number of an
    invalid one, not its text.
    """
    if isinstance(value, str):
        value = value.split(",")
    if isinstance(value, int) and not isinstance(value, bool):
        value = [value]
    if not isinstance(value, (list, tuple)):
        raise ValueError("is neither a list nor a text with commas")
    entries = [str(entry).strip() for entry in cast("list[object]", value)]
    if not any(entries):
        raise ValueError("has no entry: fill it in, or leave it out")
    found: dict[str, None] = {}
    for number, entry in enumerate(entries, 1):
        if entry not in also and not shape.fullmatch(entry):
            raise ValueError(f"has an entry (number {number}) that is not an id of {what}")
        found[entry] = None
    return tuple(found)
