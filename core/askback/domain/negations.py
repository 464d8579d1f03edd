"""Labels without their negation, in every language of askback: "Don't deploy" negates "Deploy". Pure."""

from __future__ import annotations

__all__ = ["list_negated"]

import re
from collections.abc import Iterator
from typing import Final

_BEFORE: Final = re.compile(
    r"(?:do not|don't|dont|not|no|nicht|kein|keine|keinen|keinem|ne pas|pas de|pas)\s+(?P<rest>\S.*)"
)
"""A negation before everything else."""
_AROUND: Final = re.compile(r"(?:ne\s+|n')(?P<verb>\S+)\s+pas(?P<rest>\s.*)?")
"""The two words of a negation in French."""
_BETWEEN: Final = re.compile(r"(?P<before>\S.*\s)nicht\s+(?P<rest>\S+)")
"""A negation before the last word in German."""
_UNSPACED: Final = re.compile(r"(?:请勿|请不要|请别|不要|不用|勿|别|不)\s*(?P<rest>\S.*)")
_A_TO_U: Final = dict(zip("らかがさたなばまわ", "るくぐすつぬぶむう", strict=True))
"""The last sound of Japanese verbs before "ない", and in the dictionary."""


def list_negated(label: str) -> tuple[str, ...]:
    """Return what a label may negate; empty if it negates nothing. The label is normalized."""
    return tuple(dict.fromkeys(filter(None, (" ".join(one.split()) for one in _strip(label)))))


def _strip(label: str) -> Iterator[str]:
    for pattern in (_BEFORE, _UNSPACED):
        if (found := pattern.fullmatch(label)) is not None:
            yield found["rest"]
    if (found := _AROUND.fullmatch(label)) is not None:
        yield f"{found['verb']}{found['rest'] or ''}"
    if (found := _BETWEEN.fullmatch(label)) is not None:
        yield f"{found['before']}{found['rest']}"
    if label.endswith("しない"):
        yield from (label[:-3], f"{label[:-3]}する")
    if label.endswith("ません"):
        yield f"{label[:-3]}ます"
    if label.endswith("ない") and len(label) > 2:
        stem, last = label[:-3], label[-3]
        yield f"{label[:-2]}る"
        if last in _A_TO_U:
            yield f"{stem}{_A_TO_U[last]}"
