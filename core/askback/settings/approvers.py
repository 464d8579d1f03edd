"""People and groups in settings, of any platform: `PLATFORM:ID`. Pure.

A person is `U…`, `W…` or a number; a group is `S…`, or `@&` and a number. Names are rejected, because their owners can
change them.
"""

from __future__ import annotations

__all__ = ["parse_approver", "parse_approvers"]

import re
from collections.abc import Collection, Iterable
from typing import Final

from askback.domain.identity import Actor
from askback.domain.who import Who

_PERSON: Final = re.compile(r"[UW][A-Z0-9]{2,}|[0-9]{5,20}")
_GROUP: Final = re.compile(r"S[A-Z0-9]{2,}|@&[0-9]{5,20}")
FORMS: Final = "a person (PLATFORM:U… or PLATFORM:NUMBER) nor a group (PLATFORM:S… or PLATFORM:@&NUMBER)"


def parse_approver(entry: str, platforms: Collection[str]) -> tuple[str, Who]:
    """Return one entry's platform, and its person or group. Raises a `ValueError` that continues "an entry that"."""
    platform, _, name = entry.strip().partition(":")
    if _PERSON.fullmatch(name):
        who = Who.from_people(Actor(platform=platform or "?", id=name))
    elif _GROUP.fullmatch(name):
        who = Who(groups=(name.removeprefix("@&"),))
    else:
        raise ValueError(f"is neither {FORMS}")
    if platform not in platforms:
        raise ValueError(f"has an unknown platform: use {', '.join(platforms)}")
    return platform, who


def parse_approvers(entries: Iterable[str], platforms: Collection[str]) -> dict[str, Who]:
    """Return the people and groups of several entries, by platform. Raises `ValueError`."""
    found: dict[str, Who] = {}
    for entry in entries:
        platform, who = parse_approver(entry, platforms)
        found[platform] = found[platform].merge(who) if platform in found else who
    return found
