"""What a card says, in the order in which it is read."""

from __future__ import annotations

__all__ = ["Block", "Part", "Text", "Unit", "content"]

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from askback.card import Card, Ending, Item, ReviewLine
from askback.identity import Actor
from askback.literal import breaking, isolated, size, visible
from askback_discord import limits
from askback_discord.components import Component, gallery, moment, person, role
from askback_discord.controls import tabs
from askback_discord.texts import escape

PLATFORM = "discord"
LONG: Final = 300
"""Texts up to this long can be bold; longer ones may have to be split, which bold ones cannot."""
CROWD: Final = 60
"""Of more pieces than this, the names of those who are asked stand below the way to the questions."""
SPACED: Final = 30
"""Up to so many options with descriptions stand apart from each other."""

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
                return f"**{escape(isolated(self.words))}**"
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


def content(card: Card, *, images: bool = True) -> list[Unit]:
    """Everything that a card says. Without `images`, their addresses stand as text."""
    units: list[Unit] = [_head(card)]
    if card.prompt:
        units.append([_strong(card.prompt, opens=True)])
    units += _items(card, images=images)
    if card.view == "question" and card.written is not None:
        units.append([Text("Written answer so far:", opens=True), *_quoted([card.written])])
    if card.view == "question" and card.unsent:
        units.append([Text(f"-# A text that was not accepted is kept: {_mend(card)}", opens=True)])
    if not card.prompt:
        units += [_line(line, "Not answered yet" if card.ending is None else "Not answered") for line in card.lines]
    if card.ending is not None:
        units.append(_end(card, card.ending))
    return units


def _head(card: Card) -> Unit:
    """Which question of how many, and who is asked."""
    made: Unit = []
    if card.view == "review":
        made.append(Text("**Review your answers**"))
    elif card.header is not None:
        made.append(_strong(card.header))
        if card.tabs and card.view == "question":
            made.append(Text(f"  {card.position[0]} of {card.position[1]}"))
    asked = [*_who(card)]
    if card.deadline is not None and card.ending is None:
        asked.append(Text(f"  ·  ends {moment(card.deadline, 'R')}"))
    row = tabs(card)
    if row is None:
        return [*made, *asked]
    # The way to the questions stands in the first message, however many people are asked.
    return [*made, *asked, Block(row)] if len(asked) <= CROWD else [*made, Block(row), *asked]


def _who(card: Card) -> Iterator[Text]:
    yield Text("-# Asked: ", before="\n")
    if card.who.anyone:
        yield Text("anyone here")
        return
    for number, one in enumerate([*map(_person, card.who.people), *map(_role, card.who.groups)]):
        yield replace(one, before=", ") if number else one


def _person(actor: Actor) -> Text:
    mention = person(actor.id) if actor.platform == PLATFORM else None
    return Text(mention) if mention else _plain(actor.name or actor.id)


def _role(identity: str) -> Text:
    mention = role(identity)
    return Text(mention) if mention else _plain(identity)


def _items(card: Card, *, images: bool) -> Iterator[Unit]:
    bare = not any(item.description or item.preview or item.image for item in card.items)
    apart = "\n" if bare or len(card.items) > SPACED else "\n\n"
    for item in card.items:
        yield [*_item(card, item, apart, images=images)]


def _item(card: Card, item: Item, apart: str, *, images: bool) -> Iterator[Part]:
    yield replace(_strong(f"{item.number}. {item.label}"), before=apart, opens=item.number == 1)
    marks = "  ★" if item.recommended else ""
    if item.chosen and (card.ending is None or card.ending.status == "answered"):
        marks += "  ✓"
    if marks:
        yield Text(marks)
    if item.description is not None:
        yield replace(_plain(item.description), before="\n")
    if item.preview is not None:
        yield Text(visible(item.preview), "code", before="\n")
    if item.image is not None and images and len(item.image) <= limits.MEDIA_URL:
        yield Block(gallery(item.image, item.label))
    elif item.image is not None:
        yield replace(_plain(item.image), before="\n")


def _line(line: ReviewLine, unanswered: str) -> Unit:
    """One question of the review, with its answer."""
    made: Unit = [replace(_plain(line.header), opens=True), replace(_strong(line.prompt), before="\n")]
    return [*made, *(_quoted(line.answer) if line.answer else [Text(f"*{unanswered}*", before="\n")])]


def _quoted(answers: Iterable[str]) -> Iterator[Text]:
    for answer in answers:
        yield Text(visible(answer), "quote", before="\n")


def _mend(card: Card) -> str:
    return "“Edit your text…” opens it again." if card.custom else "it can no longer be sent."


def _end(card: Card, ending: Ending) -> Unit:
    """How it ended, by whom and when."""
    words = {
        "answered": "✓ Answered",
        "cancelled": "Cancelled",
        "declined": "Not now",
        "timed_out": "Nobody answered in time",
        "undeliverable": "This could not be delivered",
    }[ending.status]
    made: Unit = [Text(f"**{words}**", opens=True)]
    if ending.by is not None:
        made += [Text(" by "), _person(ending.by)]
    made.append(Text(f"  ·  {moment(ending.at, 'f')}"))
    if ending.status == "answered" and card.prompt and card.lines:
        made += _quoted(card.lines[0].answer)
    if ending.reason is not None and ending.reason.strip():
        made += _quoted([ending.reason])
    if ending.status != "answered" and any(line.answer for line in card.lines):
        made.append(Text("-# What had been put down was not handed in.", before="\n"))
    return made


def _plain(words: str) -> Text:
    return Text(visible(words), "plain")


def _strong(words: str, *, opens: bool = False) -> Text:
    """Bold, unless it is so long that it may have to be split."""
    return Text(visible(words), "bold" if len(words) <= LONG else "plain", opens=opens)


def _code(words: str) -> str:
    """A block of code, which no back-ticks in it can end."""
    if not words.strip("\n"):
        return words
    return f"```\n{_FENCE.sub(f'`{_BREAK}', isolated(words))}\n```"
