"""Look up the names of places and people that a caller writes, and check that these people could decide."""

from __future__ import annotations

__all__ = [
    "Names",
    "add_name_to_errors",
    "build_who",
    "check_possible",
    "format_names",
    "look_up_names",
    "parse_address",
    "to_tuple",
]

from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from askback.client.parameter_names import PYTHON, Terms
from askback.domain.ask_policy import Approval, Policy
from askback.domain.identity import Actor
from askback.domain.who import Who
from askback.errors import CallerError
from askback.ports.directory import ANYONE, Directory, Found, Named, normalize_name
from askback.ports.platform import DeliveryError, MessageNotFound, RetryableError
from askback.translations.catalogue import ENGLISH, use_language

if TYPE_CHECKING:
    from collections.abc import Generator

Names = str | Sequence[str]
"""One name, or several."""


def to_tuple(names: Names) -> tuple[str, ...]:
    """Return one name or several as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


def parse_address(to: str, platforms: Sequence[str], terms: Terms = PYTHON) -> tuple[str | None, str]:
    """Return the platform, or None if none is given, and the name of the place. Raises `CallerError`."""
    platform, colon, name = to.partition(":")
    if colon and platform.casefold() in platforms:
        platform = platform.casefold()
        if not name.strip():
            raise CallerError(
                f"{terms.format_parameter('to', to)} has no place: use {platform}:#channel or {platform}:@person."
            )
        return platform, name.strip()
    if colon and platform.isalpha() and not name.startswith("//"):  # a link to a message names no platform
        raise CallerError(f"There is no platform {platform!r}: write one of {', '.join(sorted(platforms))}.")
    if not to.strip():
        raise CallerError(f"{terms.name('to')} is empty: say where to ask.")
    return None, to.strip()


async def look_up_names(names: Iterable[str], found: Found, directory: Directory) -> list[Named | None]:
    """Look up the names; None means anyone. A name may have the platform's prefix, as in settings."""
    named: list[Named | None] = []
    for given in names:
        name = given.strip().removeprefix(f"{found.place.platform}:").strip()
        if not name:
            raise CallerError("The name of a person or group is empty: write a name such as @ada, or leave it out.")
        with add_name_to_errors(name):
            named.append(None if normalize_name(name) == ANYONE else await directory.find_addressee(name, found.place))
    return named


@contextmanager
def add_name_to_errors(name: str) -> Generator[None]:
    """Add the name to the errors that its look-up raises."""
    try:
        yield
    except (MessageNotFound, RetryableError) as error:
        raise RetryableError(f"Could not look up {name}: {error}") from error
    except DeliveryError as error:
        raise DeliveryError(f"Could not look up {name}: {error}") from error


def build_who(named: Iterable[Named | None]) -> Who:
    """Return the people and groups of names that were looked up. None means anyone."""
    listed = list(named)
    known = [one for one in listed if one is not None]
    return Who(
        people=tuple({one.person.id: one.person for one in known if one.person is not None}.values()),
        groups=tuple(dict.fromkeys(one.group for one in known if one.group is not None)),
        anyone=None in listed,
    )


def format_names(named: Iterable[Named | None]) -> str:
    """Return names that were looked up, in words."""
    return ", ".join(ANYONE if one is None else one.name for one in named)


def check_possible(named: Sequence[Named | None], approval: Approval | None, found: Found, terms: Terms) -> None:
    """Raise `CallerError` if these people could never decide."""
    if approval is None and _count_possible_voters(named, ()) == 0:
        raise CallerError(f"There is nobody in {format_names(named)}: name other people or groups who may answer.")
    if approval is not None:
        _check_numbers(named, approval)
    if found.person is not None:
        _check_alone(named, approval, found.person, found.name, terms)


def _check_numbers(named: Sequence[Named | None], approval: Approval) -> None:
    """Raise `CallerError` if too few could vote. Groups are counted here; the policy counts only people."""
    count = _count_possible_voters(named, () if approval.own else approval.requesters)
    if count is None:
        return
    own = "" if approval.own or not approval.requesters else " (requesters do not count)"
    for number, what in ((approval.quorum, "agree"), (approval.refusals, "refuse")):
        if number > count:
            only = "nobody is" if count == 0 else "only 1 person is" if count == 1 else f"only {count} people are"
            have = "person has" if number == 1 else "people have"
            raise CallerError(
                f"{number} {have} to {what}, but {only} in {format_names(named)}{own}: name more approvers, or lower "
                "the number."
            )


def _check_alone(
    named: Sequence[Named | None], approval: Approval | None, person: Actor, name: str, terms: Terms
) -> None:
    """Raise `CallerError` unless this person could decide alone: only they see the question."""
    groups = (one.group for one in named if one is not None and person.id in (one.members or ()))
    person = person.evolve(groups=tuple(group for group in groups if group is not None))
    with use_language(ENGLISH):
        why = Policy(who=build_who(named), approval=approval).find_sole_viewer_problem(person)
    if why is not None:
        raise CallerError(
            f"Nobody could decide this: {why}. Use {terms.name('to')} to ask in a channel that they can see, or let "
            f"{name} decide alone."
        )


def _count_possible_voters(named: Sequence[Named | None], requesters: Sequence[Actor]) -> int | None:
    """Return the maximum number of people who could decide; None if it is unknown."""
    people: set[str] = set()
    others = 0
    for one in named:
        if one is None:
            return None
        if one.person is not None:
            people.add(one.person.id)
        elif one.members is not None:
            people.update(one.members)
        elif one.count is not None:
            others += one.count
        else:
            return None
    return len(people - {person.id for person in requesters}) + others
