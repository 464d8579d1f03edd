"""Names as people write them, and the places, people and groups of a platform that they stand for."""

from __future__ import annotations

__all__ = ["ANYONE", "Directory", "Found", "Named", "UnknownName", "ambiguous", "plain", "unknown"]

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Protocol

from pydantic import Field

from askback.domain.identity import Actor, Id, Place
from askback.errors import OperatorError
from askback.internal.values import Value
from askback.text.terminal import harmless

ANYONE = "anyone"
"""The name that stands for everybody who sees the question."""
SHOWN = 5
"""Names that are offered in place of one that is not known."""


class UnknownName(OperatorError):
    """A name that stands for nothing that can be asked, or for more than one thing. The text says what to do."""


class Found(Value):
    """A place that was named."""

    place: Place
    name: str
    """As the platform writes it, such as `#deploys`."""
    person: Actor | None = None
    """Whose direct message it is."""


class Named(Value):
    """Who was named: a person, or a group of them."""

    name: str
    """As the platform writes it, such as `@release`."""
    person: Actor | None = None
    group: Id | None = None
    """The id of a user group or role."""
    members: tuple[Id, ...] | None = None
    """The ids of those who are in the group; None: the platform does not tell."""
    count: int | None = Field(default=None, ge=0)
    """How many are in the group; None: the platform does not tell."""


class Directory(Protocol):
    """The names of one platform.

    Both methods raise `UnknownName`, `OperatorError` where the platform lets the bot not look, and what `Platform`
    raises where it cannot be reached.
    """

    async def place(self, name: str) -> Found:
        """A channel, such as `#deploys`, or a person's direct message, such as `@ada`; both by their ids as well."""
        ...

    async def who(self, name: str, at: Place) -> Named:
        """A person or a group, such as `@release`, among those who can be asked in that place; or by their id."""
        ...


def plain(name: str) -> str:
    """A name for comparing: without the sign in front, and in any case of letters."""
    return name.strip().lstrip("#@").strip().casefold()


def unknown(what: str, name: str, known: Iterable[str], advice: str = "") -> UnknownName:
    """The error for a name that nothing has. `known`: the names that there are, with their signs."""
    by_plain = {plain(one): one for one in known}
    near = [by_plain[one] for one in get_close_matches(plain(name), by_plain, n=SHOWN, cutoff=0.6)]
    meant = f" Did you mean {_listed(near)}?" if near else ""
    return UnknownName(f"There is no {what} {harmless(name)!r} that I can see.{meant}{advice and ' '}{advice}")


def ambiguous(what: str, name: str, those: Iterable[str]) -> UnknownName:
    """The error for a name that several have. `those`: what to write instead."""
    return UnknownName(f"There is more than one {what} {harmless(name)!r}: write {_listed(list(those))}.")


def _listed(names: list[str]) -> str:
    shown = [harmless(name) for name in names[:SHOWN]]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
