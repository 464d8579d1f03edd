"""Builds the question that asks an author whether their message is an answer. On Discord, everyone can read it."""

from __future__ import annotations

__all__ = ["build_reply_fields", "build_row"]

from collections.abc import Mapping

from pydantic import JsonValue

from askback.domain.identity import MessageRef
from askback.domain.outgoing_message import OFFER_LABELS, Offer
from askback.translations.catalogue import _
from askback_discord import control_ids
from askback_discord.components import Component, button, row


def build_row(offer: Offer) -> Component:
    """The row with the buttons of an offer."""
    return row(
        button(
            _(label),
            control_ids.Control(kind=choice, ask_id=offer.id, step=0),
            "primary" if choice == "use" else "secondary",
        )
        for choice, label in OFFER_LABELS.items()
    )


def build_reply_fields(message: MessageRef | None, channel: str) -> Mapping[str, JsonValue]:
    """Return the fields that make a new message a reply to that one, or none if it is in another channel.

    Discord shows the original above a reply, and rejects a reply in another channel.
    """
    if message is None or message.channel != channel:
        return {}
    return {"message_reference": {"message_id": message.id, "fail_if_not_exists": False}}
