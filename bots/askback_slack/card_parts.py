"""The parts that a card's content consists of."""

from __future__ import annotations

__all__ = ["Part", "Unit", "list_addressees", "list_picked", "mention_person", "paragraph", "quote_answer"]

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from askback.domain.choice_words import Picks
from askback.domain.identity import Actor
from askback.domain.outcome import Picked
from askback.domain.vote_summary import OPEN_TO
from askback.domain.who import Who
from askback.translations.catalogue import _
from askback_slack.blocks import Block, channel, quote, section, split_runs, text, user, usergroup
from askback_slack.id_patterns import PLATFORM


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of rich text, or a whole block."""

    block: Block
    opens: bool = False
    """True if it must start a new block."""
    joins: bool = False
    """True if it continues the previous paragraph, if that is in the same block."""

    @property
    def is_rich(self) -> bool:
        return str(self.block["type"]).startswith("rich_text_")


Unit: TypeAlias = list[Part]
"""Parts that stay together in one message if one message can hold them."""


def mention_person(actor: Actor) -> Block:
    """A mention of a person; the name as text if they are on another platform."""
    if actor.platform == PLATFORM:
        return user(actor.id)
    return next(iter(split_runs(actor.name or actor.id)), text(_("somebody")))


def list_picked(
    picked: Iterable[Picked], picks: Picks | None, *, mentions: bool, strong: bool = False
) -> Iterator[Block]:
    """The people or channels of an answer, in one line. Without `mentions`, people are shown by their names."""
    style: Block = {"style": {"bold": True}} if strong else {}
    for number, one in enumerate(picked):
        if number:
            yield text(", ")
        if picks == "channels":
            yield {**channel(one.id), **style}
        elif mentions:
            yield {**user(one.id), **style}
        else:
            yield from split_runs(one.label, strong=strong)


def list_addressees(who: Who) -> Iterator[Block]:
    """Mentions of people and groups, and a text for those who are not named."""
    if who.anyone:
        yield text(_(OPEN_TO["allowed"]))
        return
    for number, mention in enumerate([*map(mention_person, who.people), *map(usergroup, who.groups)]):
        if number:
            yield text(", ")
        yield mention
    if who.open_to is not None:
        yield text(f"{_(', or ') if who.people or who.groups else ''}{_(OPEN_TO[who.open_to])}")


def quote_answer(words: str) -> Iterator[Part]:
    """A person's text as a quotation."""
    for run in split_runs(words):
        yield Part(quote([run]))


def paragraph(elements: list[Block], opens: bool = False) -> Iterator[Part]:
    """A paragraph, split into several parts if its text exceeds 3,000 characters."""
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
