"""The question to an author if their message may be meant as an answer. On Discord, everyone can read it."""

from __future__ import annotations

__all__ = ["reply_to", "row_of"]

from collections.abc import Mapping

from pydantic import JsonValue

from askback.domain.conversation import Offer
from askback.domain.identity import MessageRef
from askback_discord import control_ids
from askback_discord.components import Component, button, row

USE, KEEP = "Use this as your answer", "Just a message"


def row_of(offer: Offer) -> Component:
    """The row with the two buttons of an offer."""
    use = button(USE, control_ids.Control(kind="use", ask_id=offer.id, turn=0), "primary")
    return row([use, button(KEEP, control_ids.Control(kind="keep", ask_id=offer.id, turn=0))])


def reply_to(message: MessageRef | None, channel: str) -> Mapping[str, JsonValue]:
    """Return the fields that make a new message a reply to that one, or none if it is in another channel.

    Discord shows the original above a reply, and refuses a reply in another channel.
    """
    if message is None or message.channel != channel:
        return {}
    return {"message_reference": {"message_id": message.id, "fail_if_not_exists": False}}
