"""Formats people's names for the model: on one line, and distinct where names look alike. Pure.

A person can choose someone else's display name, or one that reads like a line of a conversation. Nobody can choose
their id, so the id follows the name wherever the name alone may mislead.

A name can contain a request, too, and only authors are requesters. So the model reads a new name of a person only
together with words of theirs.
"""

from __future__ import annotations

__all__ = ["NameFormatter"]

import re
import unicodedata
from collections.abc import Iterable
from typing import Final, TypeAlias

from askback.domain.identity import Actor
from askback.text.bodies import COLONS, OPENING_BRACKETS
from askback.text.literal import to_single_line

LONGEST: Final = 80
"""Maximum number of characters of a name. A longer one is truncated."""

_MISLEADING: Final = re.compile(rf"[{COLONS}\{OPENING_BRACKETS};\](){{}}<>|\"“”„«»`]")
"""Punctuation that our own lines to the model use, and what looks like it."""
_ALIKE: Final = str.maketrans("аеорсухіјѕһԁԛԝкмтвнοανρτυικ01i|", "aeopcyxljshdqwkmtbhoavptulkolll")
"""Maps letters and digits to the Latin letters that they look like, after case and marks are removed."""


_Account: TypeAlias = tuple[str, str]
"""Platform and id of a person."""


class NameFormatter:
    """Names the people of one conversation."""

    def __init__(self, writers: Iterable[Actor], known: Iterable[Actor] = ()) -> None:
        """`writers` are the people whose words the model reads now, and `known` those whose words it has read."""
        self._accounts: dict[str, set[_Account]] = {}
        self._known: dict[_Account, Actor] = {}
        for person in known:
            self._known.setdefault(_get_account(person), person)
            self._accounts.setdefault(_compute_shape(person.name), set()).add(_get_account(person))
        self._writers: set[_Account] = set()
        for person in writers:
            self._writers.add(_get_account(person))
            self._accounts.setdefault(_compute_shape(person.name), set()).add(_get_account(person))

    def format_name(self, person: Actor) -> str:
        """Return the name, followed by the id if the name alone may mislead.

        A person who wrote nothing that the model reads now is called as it knows them, or else by their id.
        """
        account = _get_account(person)
        known = person if account in self._writers else self._known.get(account)
        name = "" if known is None else known.name
        line = to_single_line(name)
        if not line:
            return person.id
        if len(line) > LONGEST:
            line = f"{line[:LONGEST]}…"
        alike = self._accounts.get(_compute_shape(name), set()) - {account}
        return f"{line} ({person.id})" if alike or _is_misleading(name) else line


def _get_account(person: Actor) -> _Account:
    return person.platform, person.id


def _is_misleading(name: str) -> bool:
    return bool(_MISLEADING.search(name)) or not name.isprintable() or not _compute_shape(name)


def _compute_shape(name: str) -> str:
    """Return the shape of a name, which is equal for names that look alike."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    return "".join(letter for letter in plain.translate(_ALIKE) if letter.isalnum())
