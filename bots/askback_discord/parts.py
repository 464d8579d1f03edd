"""What a card's text is made of, before it is laid out in messages."""

from __future__ import annotations

__all__ = ["PLATFORM", "Block", "Part", "Text", "Unit", "everybody", "plain", "quoted", "strong"]

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from askback.domain.identity import Actor
from askback.text.literal import breaking, isolated, size, visible
from askback_discord.components import Component, person, role
from askback_discord.texts import bold, escape

PLATFORM = "discord"
LONG: Final = 300
"""Texts up to this long can be bold; longer ones may have to be split, which bold ones cannot."""

Style: TypeAlias = Literal["ours", "plain", "bold", "quote", "code"]

_ESCAPED: Final = frozenset("\\*_~|`[<:@#>+-.)")
_BIDI: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_FENCE: Final = re.compile("`(?=``)")
_BREAK: Final = "\u2060"
"""Word joiner: invisible, and no fence reaches across it."""


@dataclass(frozen=True, slots=True)
class Text:
    """A run of text: Markdown of our own, or words of others in one style, shown as they are written."""

    words: str
    style: Style = "ours"
    before: str = ""
    """What parts it from the text before it; nothing where it is the first of a display."""
    opens: bool = False
    """Whether a new display begins with it."""

    @property
    def markdown(self) -> str:
        match self.style:
            case "ours":
                return self.words
            case "plain":
                return escape(isolated(self.words))
            case "bold":
                return bold(self.words)
            case "quote":
                return "\n".join(f"> {line}" for line in escape(isolated(self.words)).split("\n"))
            case "code":
                return _code(self.words)

    @property
    def can_be_split(self) -> bool:
        return self.style not in {"ours", "bold"}

    def split(self, characters: int, octets: int) -> tuple[Text, Text]:
        """As much of it as fits into so many characters and bytes, and the rest."""
        at = breaking(self.words, self._holding(characters, octets))
        again = "" if self.style == "plain" else "\n"
        return replace(self, words=self.words[:at]), replace(self, words=self.words[at:], before=again, opens=False)

    def _holding(self, characters: int, octets: int) -> int:
        """How many characters of the words have room at the least, whatever has to be escaped in them."""
        characters, octets = characters - 12, octets - 20  # around them: quotation, code fence, isolation
        for at, character in enumerate(self.words):
            more = character in _ESCAPED
            marks = 3 if character in _BIDI else 2 if character == "\n" and self.style == "quote" else 0
            characters -= size(character) + more + marks
            octets -= len(character.encode()) + 3 * (more + marks)
            if characters < 0 or octets < 0:
                return max(at, 1)
        return len(self.words)


@dataclass(frozen=True, slots=True)
class Block:
    """A whole component: a row, a picture."""

    component: Component


Part: TypeAlias = Text | Block
Unit: TypeAlias = list[Part]
"""What stays together in one message if one message can hold it."""


def everybody(people: Iterable[Actor] = (), groups: Iterable[str] = ()) -> Iterator[Text]:
    """People and roles, as a list that mentions them."""
    for number, one in enumerate([*map(_person, people), *map(_role, groups)]):
        yield replace(one, before=", ") if number else one


def quoted(answers: Iterable[str]) -> Iterator[Text]:
    """What people wrote or chose."""
    for answer in answers:
        yield Text(visible(answer), "quote", before="\n")


def plain(words: str) -> Text:
    """A text of somebody's."""
    return Text(visible(words), "plain")


def strong(words: str, *, opens: bool = False) -> Text:
    """Bold, unless it is so long that it may have to be split."""
    return Text(visible(words), "bold" if len(words) <= LONG else "plain", opens=opens)


def _person(actor: Actor) -> Text:
    mention = person(actor.id) if actor.platform == PLATFORM else None
    return Text(mention) if mention else plain(actor.name or actor.id)


def _role(identity: str) -> Text:
    mention = role(identity)
    return Text(mention) if mention else plain(identity)


def _code(words: str) -> str:
    """A block of code, which no back-ticks in it can end."""
    if not words.strip("\n"):
        return words
    return f"```\n{_FENCE.sub(f'`{_BREAK}', isolated(words))}\n```"
