"""A message may be meant as an answer: what its author is asked on Discord, where everybody reads it."""

from __future__ import annotations

__all__ = ["reply_to", "row_of"]

from collections.abc import Mapping

from pydantic import JsonValue

from askback.domain.conversation import Offer
from askback.domain.identity import MessageRef
from askback_discord import ids
from askback_discord.components import Component, button, row

USE, KEEP = "Use this as your answer", "Just a message"


def row_of(offer: Offer) -> Component:
    """The two buttons."""
    use = button(USE, ids.Control(kind="use", ask_id=offer.id, turn=0), "primary")
    return row([use, button(KEEP, ids.Control(kind="keep", ask_id=offer.id, turn=0))])


def reply_to(message: MessageRef | None, channel: str) -> Mapping[str, JsonValue]:
    """What makes a new message a reply to that one: Discord shows it above, and refuses one of another channel."""
    if message is None or message.channel != channel:
        return {}
    return {"message_reference": {"message_id": message.id, "fail_if_not_exists": False}}
