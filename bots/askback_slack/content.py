"""What a card says, in the order in which it is read."""

from __future__ import annotations

__all__ = ["Part", "Unit", "content"]

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from askback.card import Card, Ending, Item, ReviewLine
from askback.identity import Actor
from askback_slack.blocks import (
    Block,
    bold,
    code,
    context,
    date,
    image,
    quote,
    runs,
    section,
    text,
    user,
    usergroup,
)
from askback_slack.controls import tabs

PLATFORM = "slack"
LONG = 300
"""Prompts up to this long are bold."""
SPACED = 30
"""Up to so many options stand in blocks of their own, with space between them."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of rich text, or a whole block."""

    block: Block
    opens: bool = False
    """Whether a new block begins with it."""
    joins: bool = False
    """Whether it goes on in the paragraph before it, where that stands in the same block."""

    @property
    def is_rich(self) -> bool:
        return str(self.block["type"]).startswith("rich_text_")


Unit: TypeAlias = list[Part]
"""What stays together in one message if one message can hold it."""


def content(card: Card, *, images: bool = True) -> list[Unit]:
    """Everything that a card says. Without `images`, their addresses stand as text."""
    units: list[Unit] = [_head(card)]
    if card.prompt:
        units.append([*_paragraph(runs(card.prompt, strong=len(card.prompt) <= LONG), opens=True)])
    units += _items(card, images=images)
    if card.view == "question" and card.written is not None:
        units.append([*_captioned("Written answer so far:", card.written)])
    if card.view == "question" and card.unsent:
        units.append([Part(context(f"A text that was not accepted is kept: {_mend(card)}"), opens=True)])
    if not card.prompt:
        units += [_line(line, "Not answered yet" if card.ending is None else "Not answered") for line in card.lines]
    if card.ending is not None:
        units.append(_end(card, card.ending))
    return units


def _head(card: Card) -> Unit:
    """Which question of how many, and who is asked."""
    line: list[Block] = []
    if card.view == "review":
        line += [bold("Review your answers"), text("  ·  ")]
    elif card.header is not None:
        line += runs(card.header, strong=True)
        if card.tabs and card.view == "question":
            line.append(text(f"  {card.position[0]} of {card.position[1]}"))
        line.append(text("  ·  "))
    line += [text("Asked: "), *_who(card)]
    if card.deadline is not None and card.ending is None:
        line += [text("  ·  until "), date(card.deadline)]
    row = tabs(card)
    return [*_paragraph(line, opens=True), *([Part(row, opens=True)] if row else [])]


def _who(card: Card) -> Iterator[Block]:
    if card.who.anyone:
        yield text("anyone here")
        return
    named = [*map(_person, card.who.people), *map(usergroup, card.who.groups)]
    for number, mention in enumerate(named):
        if number:
            yield text(", ")
        yield mention


def _person(actor: Actor) -> Block:
    if actor.platform == PLATFORM:
        return user(actor.id)
    return next(iter(runs(actor.name or actor.id)), text("somebody"))


def _items(card: Card, *, images: bool) -> Iterator[Unit]:
    bare = not any(item.description or item.preview or item.image for item in card.items)
    spaced = not bare and len(card.items) <= SPACED
    for item in card.items:
        yield [*_item(card, item, images=images, opens=spaced or item.number == 1)]


def _item(card: Card, item: Item, *, images: bool, opens: bool) -> Iterator[Part]:
    line = [text(f"{item.number}  "), *runs(item.label, strong=True)]
    if item.recommended:
        line.append(text("  ★"))
    if item.chosen and (card.ending is None or card.ending.status == "answered"):
        line.append(text("  ✓"))
    if item.description is not None:
        line += [text("\n"), *runs(item.description)]
    yield from _paragraph(line, opens=opens)
    if item.preview is not None:
        for run in runs(item.preview):
            yield Part(code([run]))
    if item.image is not None and images:
        yield Part(image(item.image, item.label), opens=True)
    elif item.image is not None:
        yield Part(section(runs(item.image)))


def _line(line: ReviewLine, unanswered: str) -> Unit:
    """One question of the review, with its answer."""
    made = [*_paragraph([*runs(line.header), text("\n"), *runs(line.prompt, strong=len(line.prompt) <= LONG)], True)]
    if not line.answer:
        made.append(Part(section([{"type": "text", "text": unanswered, "style": {"italic": True}}])))
    for answer in line.answer:
        made += [Part(quote([run])) for run in runs(answer)]
    return made


def _captioned(caption: str, words: str) -> Iterator[Part]:
    yield Part(section([text(caption)]), opens=True)
    for run in runs(words):
        yield Part(quote([run]))


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
    line = [bold(words)]
    if ending.by is not None:
        line += [text(" by "), _person(ending.by)]
    made = [*_paragraph([*line, text("  ·  "), date(ending.at)], opens=True)]
    if ending.status == "answered" and card.prompt and card.lines:
        made += [Part(quote([run])) for label in card.lines[0].answer for run in runs(label)]
    if ending.reason is not None and ending.reason.strip():
        made += [Part(quote([run])) for run in runs(ending.reason)]
    if ending.status != "answered" and any(line.answer for line in card.lines):
        made.append(Part(context("What had been put down was not handed in."), opens=True))
    return made


def _paragraph(elements: list[Block], opens: bool = False) -> Iterator[Part]:
    """A paragraph, in pieces where one run of text fills a piece by itself."""
    room: list[Block] = []
    first = True
    used = 0
    for element in elements:
        length = len(str(element.get("text", "")))
        if room and used + length > 3_000:
            yield Part(section(room), opens=opens and first, joins=not first)
            room, first, used = [], False, 0
        room.append(element)
        used += length
    if room:
        yield Part(section(room), opens=opens and first, joins=not first)
