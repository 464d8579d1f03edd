"""A card as Slack messages. Pure: the same card, the same messages."""

from __future__ import annotations

__all__ = ["SlackMessage", "messages", "suggestions"]

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from askback.domain.card import Card
from askback_slack import limits
from askback_slack.blocks import Block, context
from askback_slack.content import content
from askback_slack.controls import controls, suggestions
from askback_slack.pages import pages
from askback_slack.summary import continued, summary

GOES_ON = "Goes on in the next message ↓"


@dataclass(frozen=True, slots=True)
class SlackMessage:
    """One message: its blocks, and the text for notifications and screen readers."""

    text: str
    blocks: tuple[Block, ...]


def messages(card: Card, *, images: bool = True) -> tuple[SlackMessage, ...]:
    """The messages of a card: the first is live and has the controls, the others say what did not fit into it.

    Slack refuses a whole message when it cannot load an image of it: without `images` their addresses are text.
    """
    remark = [context(GOES_ON)]
    room = [*remark, *controls(_busiest(card))]
    first, *others = pages(content(card, images=images), room, remark)
    note = [context(GOES_ON)] if others else []
    made = [SlackMessage(text=summary(card), blocks=(*first, *note, *controls(card)))]
    for number, blocks in enumerate(others, 1):
        note = [context(GOES_ON)] if number < len(others) else []
        made.append(SlackMessage(text=continued([*_texts([*blocks])]), blocks=(*blocks, *note)))
    for message in made:
        limits.check_message(message.text, [*message.blocks])
    return tuple(made)


def _busiest(card: Card) -> Card:
    """The card with the most controls: room is left for them, so that ticks and the end move no text about."""
    if card.view == "ended":
        view = "question" if card.prompt else "review"
        card = card.evolve(view=view, ending=None)
    items = tuple(item.evolve(chosen=True) for item in card.items)
    return card.evolve(items=items, written=card.written or "-", can_submit=True)


def _texts(values: list[JsonValue]) -> Iterator[str]:
    """Every run of text in blocks."""
    for value in values:
        if isinstance(value, list):
            yield from _texts(value)
        elif isinstance(value, dict):
            text = value.get("text")
            if isinstance(text, str) and text.strip():
                yield text
            yield from _texts([entry for entry in value.values() if not isinstance(entry, str)])
