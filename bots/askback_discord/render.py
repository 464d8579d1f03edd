"""Renders a card as Discord messages. It is a pure function of the card."""

from __future__ import annotations

__all__ = ["Body", "render_messages"]

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from pydantic import JsonValue

from askback.domain.card import Card
from askback.domain.review_line import LONGEST_QUOTED
from askback.translations.catalogue import _, use_language
from askback_discord import limits
from askback_discord.absence import build_absence
from askback_discord.card_content import build_content
from askback_discord.components import (
    Component,
    build_body,
    container,
    display,
    mention_person,
    mention_role,
    separator,
)
from askback_discord.controls import build_controls, split_menu
from askback_discord.id_patterns import PLATFORM
from askback_discord.layout import GOES_ON, Space, split_pages

Body: TypeAlias = dict[str, JsonValue]
"""The body that creates a message, or changes one to it."""

OPEN, ANSWERED, REFUSED, UNANSWERED = 0x5865F2, 0x248046, 0xDA373C, 0x80848E
"""The colours of a card's bar: Discord's own for a button, a success, a danger and a muted text."""

_MENTION = re.compile(r"<@&?\d+>")


def render_messages(
    card: Card, page: int | None = None, *, ping: bool = False, images: bool = True
) -> tuple[Body, ...]:
    """Return the messages of a card. The first has the controls, the others continue its content.

    `page` is the page of a long menu; None means the page with the first chosen option. `ping` notifies those who must
    answer, for the first posting. Without `images`, the images' addresses are shown as text. Raises `TooBig` if a
    message breaks a limit of Discord's.
    """
    with use_language(card.language):
        return _render_messages(card, page, ping=ping, images=images)


def _render_messages(card: Card, page: int | None, *, ping: bool, images: bool) -> tuple[Body, ...]:
    parts = split_pages(build_content(card, images=images), _get_reserved_space(card))
    made: list[Body] = []
    for number, components in enumerate(parts):
        if number < len(parts) - 1:
            components = [*components, display(_(GOES_ON))]
        if number == 0:
            components = [*components, *_build_below(card, page)]
        mentions = _build_mentions(card, components) if ping else None
        made.append(build_body([container(components, _get_colour(card))], mentions))
    return tuple(made)


def _get_colour(card: Card) -> int:
    """Return the colour of the card's state, which its text says, too."""
    if card.ending is None:
        return OPEN
    if card.ending.status != "answered":
        return UNANSWERED
    refused = card.tally is not None and any(
        item.chosen and item.number - 1 in card.tally.refusing for item in card.items
    )
    return REFUSED if refused else ANSWERED


def _build_below(card: Card, page: int | None) -> list[Component]:
    rows = build_controls(card, page)
    # A settled card stays small: its only button follows at once.
    line = [separator()] if rows and card.view != "ended" else []
    return [*build_absence(card.absence), *line, *rows]


def _get_reserved_space(card: Card) -> Space:
    """Return the most space that the controls can take. A compact card gets no others than it has.

    This space is always kept, so that ticks, pages, votes and the line about the program do not move text to another
    message.
    """
    busiest = card.evolve(absence="lost") if card.is_compact else _get_largest(card)
    pages = 1 if card.is_compact else max(split_menu(busiest), 1)
    rooms = [Space.measure(_build_below(busiest, page)) for page in range(pages)]
    return Space(
        max(room.characters for room in rooms),
        max(room.octets for room in rooms),
        max(room.components for room in rooms),
    )


def _get_largest(card: Card) -> Card:
    """Return the open card with the most controls that it can have."""
    written = "-" * (LONGEST_QUOTED + 1) if card.can_hide_text else card.written or "-"
    return card.evolve(written=written, can_submit=True, absence="away")


def _build_mentions(card: Card, components: Sequence[Component]) -> Component:
    """Return the `allowed_mentions` of those who must answer and whom the message names."""
    if card.view == "ended":
        return {}
    named = {mention for text in _iter_texts(components) for mention in _MENTION.findall(text)}
    users = [one.id for one in card.who.people if one.platform == PLATFORM and mention_person(one.id) in named]
    roles = [group for group in card.who.groups if mention_role(group) in named]
    found: dict[str, list[JsonValue]] = {"users": [*dict.fromkeys(users)], "roles": [*dict.fromkeys(roles)]}
    return {kind: ids[: limits.MENTIONS] for kind, ids in found.items() if ids}


def _iter_texts(components: Sequence[Component]) -> Iterator[str]:
    for component in components:
        if isinstance(text := component.get("content"), str):
            yield text
