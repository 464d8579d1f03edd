"""Look up the names of places, people and groups on a platform."""

from __future__ import annotations

__all__ = [
    "ANYONE",
    "SHOWN",
    "Directory",
    "Found",
    "Named",
    "UnknownName",
    "build_ambiguous_name_error",
    "build_unknown_name_error",
    "join_names",
    "normalize_name",
]

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Literal, Protocol

from pydantic import Field

from askback.domain.identity import Actor, Id, Place
from askback.errors import OperatorError
from askback.internal.values import Value
from askback.text.terminal import to_terminal_text

ANYONE = "anyone"
"""The name for everyone who sees the question."""
SHOWN = 5
"""Maximum number of names in an error."""


class UnknownName(OperatorError):
    """Raised for a name with no match, or more than one. The text says what to do."""


class Found(Value):
    """A place that was found by its name."""

    place: Place
    name: str
    """The platform's spelling, such as `#deploys`."""
    person: Actor | None = None
    """The other person of a direct message; None for a channel."""


class Named(Value):
    """A person or a group that was found by its name."""

    name: str
    """The platform's spelling, such as `@release`."""
    person: Actor | None = None
    group: Id | None = None
    """The id of a user group or role."""
    members: tuple[Id, ...] | None = None
    """The ids of the group's members; None if the platform does not say."""
    count: int | None = Field(default=None, ge=0)
    """The number of the group's members; None if the platform does not say."""


class Directory(Protocol):
    """The names of one platform.

    Both methods raise `UnknownName`, `OperatorError` if the bot lacks the permission to look, and the errors of
    `Platform` if the platform cannot be reached.
    """

    async def find_place(self, name: str) -> Found:
        """Find a channel, such as `#deploys`, or a person's direct message, such as `@ada`; also by id."""
        ...

    async def find_addressee(self, name: str, at: Place) -> Named:
        """Find a person or a group, such as `@release`, among those who can be asked in that place; also by id."""
        ...


def normalize_name(name: str) -> str:
    """Return a name for comparison: without its leading sign, and in lower case."""
    return name.strip().lstrip("#@").strip().casefold()


def build_unknown_name_error(what: str, name: str, known: Iterable[str], advice: str) -> UnknownName:
    """Return the error for a name that does not exist. `known` are the existing names, with their signs.

    `advice` says where the bot looks, and the next step.
    """
    by_plain = {normalize_name(one): one for one in known}
    near = [by_plain[one] for one in get_close_matches(normalize_name(name), by_plain, n=SHOWN, cutoff=0.6)]
    meant = f" Did you mean {join_names(near, 'or')}?" if near else ""
    return UnknownName(f"The bot sees no {what} {to_terminal_text(name)!r}.{meant} {advice}")


def build_ambiguous_name_error(what: str, name: str, those: Iterable[str]) -> UnknownName:
    """Return the error for an ambiguous name. `those` are the names to use instead."""
    return UnknownName(
        f"There is more than one {what} {to_terminal_text(name)!r}: use {join_names(list(those), 'or')}."
    )


def join_names(names: Sequence[str], last: Literal["and", "or"]) -> str:
    """Return the first of these names, joined in words."""
    shown = [to_terminal_text(name) for name in names[:SHOWN]]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {last} {shown[-1]}"
