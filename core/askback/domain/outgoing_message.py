"""Texts for people, each delivered once."""

from __future__ import annotations

__all__ = [
    "OFFER",
    "OFFER_LABELS",
    "REMINDER",
    "TURN_TEXT",
    "Offer",
    "OfferChoice",
    "OfferResult",
    "OutgoingMessage",
]

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final, Literal

from pydantic import Field

from askback.domain.identity import Actor, MessageRef
from askback.domain.who import Who
from askback.internal.values import Value
from askback.translations.catalogue import ENGLISH, N_, Language

OFFER = "offer:"
"""Prefix of `OutgoingMessage.target` for offers. The offer's id follows."""
TURN_TEXT = "say:"
"""Prefix of `OutgoingMessage.target` for the agent's own texts. Only these may be shown while they are streaming."""
REMINDER = "remind:"
"""Prefix of `OutgoingMessage.target` for reminders. The ask's id and a colon follow."""


class OutgoingMessage(Value):
    """A text for people, to be delivered once."""

    target: str
    """Its unique name. A text with the same name is never queued twice."""
    text: str
    markdown: bool
    """True for the agent's own text, which is Markdown. False for the bot's own words, which are plain text."""
    mention: Who | None = None
    """The people to mention in front of the text. Only the bot's own words may mention people."""
    messages: tuple[MessageRef, ...] = ()
    """The messages that already show part of it."""
    only_for: Actor | None = None
    """The only person who sees it, as an ephemeral message. Platforms without these reply to this person instead."""
    offer: Offer | None = None
    """The offer whose buttons follow the text. Only the person in `only_for` can use them."""
    reply_to: MessageRef | None = None
    """The message that it is about."""
    until: datetime | None = None
    """A deadline to show after the text, in the reader's own time zone."""
    link: str | None = None
    """A permalink to show after the text: the address of the message that it is about, from the platform."""
    # Excluded if false, because an older process rejects a field that it does not know.
    direct: bool = Field(default=False, exclude_if=lambda value: not value)
    """True if it goes to the person in `only_for` as a direct message that names the place, where nothing can be
    posted."""
    language: Language = Field(default=ENGLISH, exclude_if=lambda value: value == ENGLISH)
    """The language of the text, and of the words that a platform adds to it."""
    gone: bool = False
    """True if the text is withdrawn and its messages must be deleted."""


OfferChoice = Literal["use", "keep", "discuss"]
OFFER_LABELS: Final[Mapping[OfferChoice, str]] = MappingProxyType(
    {"use": N_("Use this as your answer"), "keep": N_("Just a message"), "discuss": N_("Discuss it first")}
)
"""The labels of an offer's buttons, in their order and in English. A platform translates them."""


class Offer(Value):
    """A message that may be an answer. Its author chooses one of `OFFER_LABELS`."""

    id: str
    """A random id, part of the ids of its buttons."""
    ask_id: str
    text: str
    """The text of the message."""
    turn: int
    """The step of the interview in which the offer was made."""


class OfferResult(Value):
    """The result of a choice on an offer, for the bot that delivered it."""

    over: bool
    """True if the offer is settled, so that the bot can remove it."""
    notice: str | None = None
    """A sentence for the person who chose."""
    known: bool = True
    """False if the offer is not in this database. Another process of the app may still know it."""
