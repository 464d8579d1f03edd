"""The controls of a message or a dialog, found by their visible text."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject

__all__ = [
    "CUT",
    "EXACT",
    "Choice",
    "Control",
    "Kind",
    "NotFound",
    "Offered",
    "chosen",
    "find",
    "ranked",
    "same",
    "squeezed",
]

_T = TypeVar("_T")
Kind = Literal["button", "menu", "menu of several", "checkboxes", "radio buttons", "field", "files", "overflow"]

EXACT = 2
"""Highest rank at which a text matches in full, not only at its beginning."""

CUT = 4
"""Highest rank at which a text begins with the wanted one, or is a cut form of it."""

# Direction marks, isolates and joiners, which bots may put around hostile text: people neither see nor type them.
_UNSEEN = dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), 0x2060, *range(0x2066, 0x206A)])


class NotFound(Exception):
    """No visible control carries that text; the message lists the ones that exist."""


@dataclass(frozen=True)
class Choice:
    """An entry of a menu or a group."""

    label: str
    value: str
    description: str = ""
    on: bool = False


@dataclass(frozen=True)
class Offered:
    """The people and channels that the platform's own pickers offer, by id: @ada and #general."""

    people: Mapping[str, str] = field(default_factory=dict[str, str])
    channels: Mapping[str, str] = field(default_factory=dict[str, str])

    def choices(self, kind: Literal["people", "channels"], chosen: Collection[str]) -> tuple[Choice, ...]:
        """Return the entries of a picker, of which some are chosen."""
        offered = self.people if kind == "people" else self.channels
        return tuple(Choice(name, identifier, on=identifier in chosen) for identifier, name in offered.items())


@dataclass(frozen=True)
class Control:
    """Something to press, pick, tick or type into."""

    kind: Kind
    label: str
    handle: JsonObject = field(default_factory=dict[str, JsonValue])
    """The platform's identifiers for the control."""
    choices: tuple[Choice, ...] = ()
    searched: bool = False
    value: str = ""
    pages: tuple[Control | None, Control | None] | None = None
    """Buttons to the previous and the next page of a paged menu; None if the menu has no pages."""

    @property
    def several(self) -> bool:
        return self.kind in ("menu of several", "checkboxes")


def squeezed(text: str) -> str:
    """Return a text for comparison, without case, invisible characters and line breaks."""
    return " ".join(text.translate(_UNSEEN).casefold().split())


def same(label: str, wanted: str) -> int | None:
    """Return the rank of a label for the wanted text: 0 is exact; None if it does not match."""
    seen, sought = _plain(label), _plain(wanted)
    bare, bare_sought = _unnumbered(seen), _unnumbered(sought)
    if not sought:
        return None
    number = re.match(r"(\d+)[.)]", seen)
    tests = (
        seen == sought,
        bare == bare_sought,
        number is not None and number[1] == sought,
        seen.startswith(sought) or bare.startswith(bare_sought),
        seen.endswith("…") and len(bare) > 8 and bare_sought.startswith(bare.rstrip("… ")),
        len(sought) > 2 and sought in seen,
    )
    return next((rank for rank, fits in enumerate(tests) if fits), None)


def find(
    found: Sequence[Control], wanted: str, *, kinds: Sequence[Kind], what: str, label: str | None = None
) -> Control:
    """Return the control of those kinds that carries a text; for menus and groups, `label` may select one.

    Raises:
        NotFound: no such control exists.
    """
    able = [control for control in found if control.kind in kinds]
    if kinds == ("button",) or kinds == ("field",) or label is not None:
        sought = wanted if label is None else label
        return _best(able, [control.label for control in able], sought, what)
    ranked = [
        (rank, control)
        for control in able
        for choice in control.choices
        if (rank := same(choice.label, wanted)) is not None
    ]
    if ranked:
        return min(ranked, key=lambda pair: pair[0])[1]
    searched = [control for control in able if control.searched]
    if len(searched) == 1 or len(able) == 1:
        return (searched or able)[0]
    raise NotFound(f"there is no {what} with “{wanted}”; there is: {_listed(found)}")


def chosen(control: Control, wanted: str, body: str) -> Choice:
    """Return the entry that a person means, also by its number in the text above.

    Raises:
        NotFound: no such entry exists.
    """
    found = ranked(control, wanted, body)
    if found is None:
        listed = ", ".join(f"“{choice.label}”" for choice in control.choices) or "none"
        raise NotFound(f"there is no entry “{wanted}”; there is: {listed}")
    return found[1]


def ranked(control: Control, wanted: str, body: str) -> tuple[int, Choice] | None:
    """Return the best matching entry with its rank; None if no entry matches."""
    fitting = [(rank, choice) for choice in control.choices if (rank := same(choice.label, wanted)) is not None]
    best = min(fitting, key=lambda pair: pair[0], default=None)
    if best is not None and best[0] <= EXACT:
        return best
    listed: list[tuple[str, str]] = re.findall(r"^\W*(\d+)(?:[.)]|\s)\W*(.+)$", body, re.MULTILINE)
    for ranks in ((0, 1), (3,)) if best is None else ((0, 1),):
        number = next((number for number, text in listed if same(text, wanted) in ranks), None)
        for choice in control.choices:
            if number is not None and same(choice.label, number) in (0, EXACT):
                return EXACT, choice
        if number is not None:
            return None  # the entry exists, but not among these
    return best


def _best(items: Sequence[_T], labels: Sequence[str], wanted: str, what: str) -> _T:
    ranked = [
        (rank, item) for item, label in zip(items, labels, strict=True) if (rank := same(label, wanted)) is not None
    ]
    if not ranked:
        raise NotFound(
            f"there is no {what} “{wanted}”; there is: {', '.join(f'“{label}”' for label in labels) or 'none'}"
        )
    return min(ranked, key=lambda pair: pair[0])[1]


def _listed(found: Sequence[Control]) -> str:
    return ", ".join(f"{control.kind} “{control.label}”" for control in found) or "nothing to use"


def _plain(text: str) -> str:
    # Marks in front of a label (done, current) are not part of its text.
    text = re.sub(r"^[●○✓✔☑•\s]+(?=\w)", "", text.translate(_UNSEEN))
    return " ".join(re.sub(r"\s*(\.\.\.|…)$", "…", text.strip()).casefold().split())


def _unnumbered(text: str) -> str:
    return re.sub(r"^\d+[.)]\s+", "", text)
