"""The names of people as the model reads them: on one line, and distinct where names look alike. Pure.

A person can choose someone else's display name, or one that reads like a line of a conversation. Nobody can choose
their id, so the id follows the name wherever the name alone may mislead.
"""

from __future__ import annotations

__all__ = ["NameFormatter", "indent_body"]

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from askback.domain.identity import Actor
from askback.text.literal import to_single_line

LONGEST: Final = 80
"""Most characters of a name; a longer one is cut."""
INDENT: Final = "  "

_MISLEADING: Final = re.compile(r"[:;\[\](){}<>|\"“”„«»`]")
"""Punctuation that our own lines to the model use."""
_BREAKS: Final = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_SPEAKING: Final = re.compile(r"\s*(?:\[|[^:]{1,120}:)")
"""The beginning of a line that could pass for another person's message, or for a remark of ours."""
_ALIKE: Final = str.maketrans("аеорсухіјѕһԁԛԝкмтвнοανρτυικ01i|", "aeopcyxljshdqwkmtbhoavptulkolll")
"""Maps letters and digits to the Latin letters that they look like, after case and marks are removed."""


class NameFormatter:
    """Names the people of one conversation."""

    def __init__(self, people: Iterable[Actor]) -> None:
        """`people` is everyone who may be named now, or was named before."""
        self._accounts: dict[str, set[tuple[str, str]]] = {}
        for person in people:
            self._accounts.setdefault(_look(person.name), set()).add((person.platform, person.id))

    def format_name(self, person: Actor) -> str:
        """Return the name, followed by the id if the name alone may mislead."""
        name = to_single_line(person.name)
        if not name:
            return person.id
        if len(name) > LONGEST:
            name = f"{name[:LONGEST]}…"
        alike = self._accounts.get(_look(person.name), set()) - {(person.platform, person.id)}
        return f"{name} ({person.id})" if alike or _is_misleading(person.name) else name


def indent_body(text: str) -> str:
    """Return a person's text. Indent its further lines if one of them could pass for another person's message."""
    first, *more = _BREAKS.split(text)
    if not any(map(_SPEAKING.match, more)):
        return text
    return "\n".join((first, *(f"{INDENT}{line}" for line in more)))


def _is_misleading(name: str) -> bool:
    return bool(_MISLEADING.search(name)) or not name.isprintable() or not _look(name)


def _look(name: str) -> str:
    """Return the shape of a name, which is equal for names that look alike."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    return "".join(letter for letter in plain.translate(_ALIKE) if letter.isalnum())
