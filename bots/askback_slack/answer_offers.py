"""Builds the private question that asks an author whether their message is an answer."""

from __future__ import annotations

__all__ = ["to_blocks"]

from typing import Final

from askback.domain.outgoing_message import OFFER_LABELS, OutgoingMessage
from askback.text.literal import fit_line
from askback.translations.catalogue import _, use_language
from askback_slack import control_ids
from askback_slack.blocks import Block, actions, button, quote, rich_text, section, split_runs

QUOTED: Final = 200
"""Maximum number of quoted characters of the message. The quote helps because others may have written in between."""


def to_blocks(outgoing: OutgoingMessage) -> list[Block] | None:
    """Return the question with its buttons, in its language, or None without an offer."""
    with use_language(outgoing.language):
        return _to_blocks(outgoing)


def _to_blocks(outgoing: OutgoingMessage) -> list[Block] | None:
    offer = outgoing.offer
    if offer is None:
        return None
    sentence = rich_text([section(split_runs(outgoing.text)), quote(split_runs(fit_line(offer.text, QUOTED)))])
    buttons = [
        button(_(label), control_ids.Control(kind=choice, ask_id=offer.id, step=0), primary=choice == "use")
        for choice, label in OFFER_LABELS.items()
    ]
    return [sentence, actions(control_ids.build_block_id(offer.id, 0, 1), buttons)]
