"""Builds the bot's own sentences, which mention and notify only the people that they are for."""

from __future__ import annotations

__all__ = ["build_allowed_mentions", "remove_everyone_mention", "to_markdown"]

import re
from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from askback.domain.identity import Place
from askback.domain.outgoing_message import OutgoingMessage
from askback.domain.who import Who
from askback.text.literal import count_utf16_units
from askback.translations.catalogue import _, use_language
from askback_discord import limits
from askback_discord.components import Component, format_distance, format_time, mention_person, mention_role
from askback_discord.escaping import plain
from askback_discord.id_patterns import PLATFORM

_MESSAGE: Final = re.compile(r"https://discord\.com/channels/(?:\d+|@me)/\d+/\d+")
"""An address that Discord turns into a link, unless a part of it is escaped."""
MORE = 25
"""Characters that are kept for the number of people left out."""


def to_markdown(outgoing: OutgoingMessage) -> str:
    """Return a sentence as Markdown: the mentions that fit, the text, the deadline and the link.

    It is in the language of the sentence.
    """
    with use_language(outgoing.language):
        return _to_markdown(outgoing)


def _to_markdown(outgoing: OutgoingMessage) -> str:
    words = plain(outgoing.text)
    if outgoing.until is not None:
        words += f"  ·  {_('until ')}{format_time(outgoing.until)}, {format_distance(outgoing.until)}"
    if outgoing.link is not None:
        words += f" {outgoing.link if _MESSAGE.fullmatch(outgoing.link) else plain(outgoing.link)}"
    users, roles = _list_mentioned(outgoing.mention)
    named = ""
    mentions = [mention for mention in (*map(mention_person, users), *map(mention_role, roles)) if mention is not None]
    for number, mention in enumerate(mentions):
        if count_utf16_units(named) + count_utf16_units(mention) + count_utf16_units(words) + MORE > limits.CONTENT:
            more = _("and {count} more").format(count=len(mentions) - number)
            return f"{named}{more}: {words}"
        named += f"{mention} "
    return named + words


def build_allowed_mentions(who: Who | None) -> Component:
    """Return the `allowed_mentions` that notify these people and roles, and no others that the text may name."""
    users, roles = _list_mentioned(who)
    # If there are more than a hundred, notify the first ones.
    found: dict[str, list[JsonValue]] = {"users": [*users[: limits.MENTIONS]], "roles": [*roles[: limits.MENTIONS]]}
    return {"parse": [], **{kind: ids for kind, ids in found.items() if ids}}


def remove_everyone_mention(body: Mapping[str, JsonValue], place: Place) -> Component:
    """Return the message without @everyone's role, whose id is the server's, so that it does not notify everyone."""
    allowed = body.get("allowed_mentions")
    roles = allowed.get("roles") if isinstance(allowed, dict) else None
    if not isinstance(allowed, dict) or not isinstance(roles, list) or place.tenant not in roles:
        return dict(body)
    left = [one for one in roles if one != place.tenant]
    kept = {kind: ids for kind, ids in allowed.items() if kind != "roles"}
    return {**body, "allowed_mentions": {**kept, "roles": left} if left else kept}


def _list_mentioned(who: Who | None) -> tuple[list[str], list[str]]:
    """Return the ids of the people and of the roles."""
    if who is None:
        return [], []
    users = dict.fromkeys(one.id for one in who.people if one.platform == PLATFORM and mention_person(one.id))
    roles = dict.fromkeys(group for group in who.groups if mention_role(group))
    return [*users], [*roles]
