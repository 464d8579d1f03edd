"""The parts of a card's content, before they are laid out in messages."""

from __future__ import annotations

__all__ = [
    "MAX_BOLD",
    "Block",
    "Part",
    "Text",
    "Unit",
    "heading",
    "mention_everybody",
    "mention_picked",
    "plain",
    "quote_answers",
    "strong",
]

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from askback.domain.choice_words import Picks
from askback.domain.identity import Actor
from askback.domain.outcome import Picked
from askback.text.literal import find_break, isolate_direction, replace_controls
from askback_discord.components import Component, mention_channel, mention_person, mention_role
from askback_discord.escaping import bold, escape
from askback_discord.id_patterns import PLATFORM
from askback_discord.markdown import WORD_JOINER

MAX_BOLD: Final = 300
"""Maximum length of bold text, in characters. A longer text may have to be split, and bold text cannot be split."""

Style: TypeAlias = Literal["ours", "plain", "bold", "heading", "quote", "code", "inline code"]

_ESCAPED: Final = frozenset("\\*_~|`[<:@#>+-.)")
_BIDI: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_FENCE: Final = re.compile("`(?=``)")


@dataclass(frozen=True, slots=True)
class Text:
    """A run of text: askback's own Markdown, or a text of a model or a person in one style, shown literally."""

    words: str
    style: Style = "ours"
    before: str = ""
    """The separator from the previous text. The first text of a display has none."""
    opens: bool = False
    """True if it must start a new display."""

    @property
    def markdown(self) -> str:
        match self.style:
            case "ours":
                return self.words
            case "plain":
                return escape(isolate_direction(self.words))
            case "bold":
                return bold(self.words)
            case "heading":
                return f"## {escape(isolate_direction(self.words))}"
            case "quote":
                return "\n".join(f"> {line}" for line in escape(isolate_direction(self.words)).split("\n"))
            case "code":
                return _quote_code(self.words)
            case "inline code":
                return f"`{self.words}`"

    @property
    def can_be_split(self) -> bool:
        return self.style not in {"ours", "bold", "heading", "inline code"}

    def split(self, characters: int, octets: int) -> tuple[Text, Text]:
        """Split it into as much as fits into these characters and bytes, and the rest."""
        at = find_break(self.words, self._count_fitting(characters, octets))
        again = "" if self.style == "plain" else "\n"
        return replace(self, words=self.words[:at]), replace(self, words=self.words[at:], before=again, opens=False)

    def _count_fitting(self, characters: int, octets: int) -> int:
        """Return how many characters of the words surely fit, even with all escapes."""
        characters, octets = characters - 12, octets - 20  # around them: quotation, code fence, isolation
        for at, character in enumerate(self.words):
            more = character in _ESCAPED
            marks = 3 if character in _BIDI else 2 if character == "\n" and self.style == "quote" else 0
            # Most characters are ASCII. A long text has thousands, so this computes nothing that it can compare.
            characters -= (2 if character > "\uffff" else 1) + more + marks
            octets -= (1 if character < "\x80" else len(character.encode())) + 3 * (more + marks)
            if characters < 0 or octets < 0:
                return max(at, 1)
        return len(self.words)


@dataclass(frozen=True, slots=True)
class Block:
    """A whole component, such as a row or a picture."""

    component: Component


Part: TypeAlias = Text | Block
Unit: TypeAlias = list[Part]
"""Parts that stay together in one message if one message can hold them."""


def mention_everybody(people: Iterable[Actor] = (), groups: Iterable[str] = ()) -> Iterator[Text]:
    """Mentions of people and roles, as a list."""
    for number, one in enumerate([*map(_mention_person, people), *map(_mention_role, groups)]):
        yield replace(one, before=", ") if number else one


def mention_picked(picked: Iterable[Picked], picks: Picks | None, *, strong: bool = False) -> Iterator[Text]:
    """Mentions of the people or channels of an answer, as a list. No message of askback notifies these people."""
    mention = mention_channel if picks == "channels" else mention_person
    for number, one in enumerate(picked):
        shown = mention(one.id)
        part = plain(one.label) if shown is None else Text(f"**{shown}**" if strong else shown)
        yield replace(part, before=", ") if number else part


def quote_answers(answers: Iterable[str]) -> Iterator[Text]:
    """Answers of people, as quotations."""
    for answer in answers:
        yield Text(replace_controls(answer), "quote", before="\n")


def plain(words: str) -> Text:
    """A text of a model or a person, shown literally."""
    return Text(replace_controls(words), "plain")


def heading(words: str) -> Text:
    """A short text of a model or a person on one line, shown literally in large bold letters."""
    return Text(replace_controls(words), "heading")


def strong(words: str, *, opens: bool = False) -> Text:
    """Bold text. A text longer than `MAX_BOLD` is plain, because it may have to be split."""
    shown = replace_controls(words)
    return Text(shown, "bold" if len(shown) <= MAX_BOLD else "plain", opens=opens)


def _mention_person(actor: Actor) -> Text:
    mention = mention_person(actor.id) if actor.platform == PLATFORM else None
    return Text(mention) if mention else plain(actor.name or actor.id)


def _mention_role(identity: str) -> Text:
    mention = mention_role(identity)
    return Text(mention) if mention else plain(identity)


def _quote_code(words: str) -> str:
    """A code block that no back-ticks in the text can end."""
    if not words.strip("\n"):
        return words
    return f"```\n{_FENCE.sub(f'`{WORD_JOINER}', isolate_direction(words))}\n```"
