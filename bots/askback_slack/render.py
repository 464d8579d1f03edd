"""Renders a card as Slack messages. It is a pure function of the card."""

from __future__ import annotations

__all__ = ["SlackMessage", "list_suggestions", "render_messages"]

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from askback.domain.card import Card
from askback.domain.review_line import LONGEST_QUOTED
from askback.translations.catalogue import N_, _, use_language
from askback_slack import limits
from askback_slack.absence import build_absence
from askback_slack.blocks import Block, context
from askback_slack.card_content import build_content
from askback_slack.controls import build_controls, list_suggestions
from askback_slack.layout import split_pages
from askback_slack.notification_text import format_continuation, summarize

GOES_ON = N_("Continues in the next message ↓")


@dataclass(frozen=True, slots=True)
class SlackMessage:
    """One message: its blocks, and the text for notifications and screen readers."""

    text: str
    blocks: tuple[Block, ...]


def render_messages(card: Card, *, images: bool = True, mentions: bool = True) -> tuple[SlackMessage, ...]:
    """Return the messages of a card. The first has the controls, the others continue its content.

    Slack rejects a whole message if it cannot load one of its images. Without `images`, their addresses are shown as
    text. Without `mentions`, the people whom an answer names are shown by their names: a mention in a new message would
    notify them, but one in a changed message does not. Raises `TooBig` if a message breaks a limit of Slack's.
    """
    with use_language(card.language):
        return _render_messages(card, images=images, mentions=mentions)


def _render_messages(card: Card, *, images: bool, mentions: bool) -> tuple[SlackMessage, ...]:
    remark = [context(_(GOES_ON))]
    # Room for the sentence is kept, so that it moves no text to another message.
    room = [*remark, *build_absence("away"), *build_controls(_get_largest(card))]
    first, *others = split_pages(build_content(card, images=images, mentions=mentions), room, remark)
    note = [context(_(GOES_ON))] if others else []
    made = [
        SlackMessage(text=summarize(card), blocks=(*first, *note, *build_absence(card.absence), *build_controls(card)))
    ]
    for number, blocks in enumerate(others, 1):
        note = [context(_(GOES_ON))] if number < len(others) else []
        made.append(SlackMessage(text=format_continuation([*_iter_texts([*blocks])]), blocks=(*blocks, *note)))
    for message in made:
        limits.check_message(message.text, [*message.blocks])
    return tuple(made)


def _get_largest(card: Card) -> Card:
    """Return the card with the most controls that it can have.

    The layout reserves space for these, so that ticks and votes do not move text to another message.
    """
    if card.is_compact:
        return card
    items = tuple(item.evolve(chosen=True) for item in card.items)
    written = card.written or "-"
    if card.can_hide_text:
        written = "-" * (LONGEST_QUOTED + 1)
    return card.evolve(items=items, written=written, can_submit=True)


def _iter_texts(values: list[JsonValue]) -> Iterator[str]:
    """Yield every run of text in the blocks."""
    for value in values:
        if isinstance(value, list):
            yield from _iter_texts(value)
        elif isinstance(value, dict):
            text = value.get("text")
            if isinstance(text, str) and text.strip():
                yield text
            yield from _iter_texts([entry for entry in value.values() if not isinstance(entry, str)])
