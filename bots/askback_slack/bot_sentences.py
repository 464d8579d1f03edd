"""Builds the bot's own sentences, with the people whom they mention and the deadline."""

from __future__ import annotations

__all__ = ["Remark", "build_remark", "prepend_place", "to_remark"]

from dataclasses import dataclass

from askback.domain.identity import Place
from askback.domain.outgoing_message import OutgoingMessage
from askback.translations.catalogue import _, use_language
from askback_slack.blocks import Block, channel, date, link, rich_text, section, split_runs, text
from askback_slack.card_parts import list_addressees
from askback_slack.escaping import escape, to_literal


@dataclass(frozen=True, slots=True)
class Remark:
    """A message with a sentence of the bot."""

    text: str
    blocks: tuple[Block, ...]
    """The sentence as people see it. Slack reads a text without blocks as mark-up, at the latest when it is edited."""


def build_remark(words: str) -> Remark:
    """Return a sentence for one person."""
    return Remark(text=escape(to_literal(words)), blocks=(rich_text([section(split_runs(words))]),))


def prepend_place(words: str, place: Place) -> Remark:
    """Return a sentence after a link to the place that it is about."""
    line = [channel(place.channel), text(" "), *split_runs(words)]
    return Remark(text=f"<#{place.channel}> {escape(to_literal(words))}", blocks=(rich_text([section(line)]),))


def to_remark(outgoing: OutgoingMessage) -> Remark:
    """Return the message for a sentence, in its language."""
    with use_language(outgoing.language):
        return _to_remark(outgoing)


def _to_remark(outgoing: OutgoingMessage) -> Remark:
    words = escape(to_literal(outgoing.text))
    line: list[Block] = [] if outgoing.mention is None else [*list_addressees(outgoing.mention), text(" ")]
    line += split_runs(outgoing.text)
    if outgoing.until is not None:
        line += [text(f"  ·  {_('until ')}"), date(outgoing.until)]
        words += f" ({_('until ')}{outgoing.until:%Y-%m-%d %H:%M} {outgoing.until:%Z})"
    if outgoing.link is not None:
        line += [text(" "), link(outgoing.link, _("Go to the question"))]
        words += f" {escape(to_literal(outgoing.link))}"
    return Remark(text=words, blocks=(rich_text([section(line)]),))
