"""Whom a sentence of the bot's own is for: named in front of it, and notified; nobody else is."""

from __future__ import annotations

__all__ = ["pinged", "sentence", "without_everybody"]

import re
from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from askback.domain.conversation import Say
from askback.domain.identity import Place
from askback.domain.policy import Who
from askback.text.literal import size
from askback_discord import limits
from askback_discord.components import Component, moment, person, role
from askback_discord.parts import PLATFORM
from askback_discord.texts import plain

_MESSAGE: Final = re.compile(r"https://discord\.com/channels/(?:\d+|@me)/\d+/\d+")
"""Discord shows where such an address leads, unless something in it is escaped."""
MORE = 25
"""Characters that are kept for how many more are meant."""


def sentence(say: Say) -> str:
    """A sentence as Markdown: those who are meant in front of it, as far as there is room, and until when behind it."""
    words = plain(say.text)
    if say.until is not None:
        words += f"  ·  until {moment(say.until, 'f')}, {moment(say.until, 'R')}"
    if say.link is not None:
        words += f" {say.link if _MESSAGE.fullmatch(say.link) else plain(say.link)}"
    users, roles = _known(say.mention)
    named = ""
    mentions = [mention for mention in (*map(person, users), *map(role, roles)) if mention is not None]
    for number, mention in enumerate(mentions):
        if size(named) + size(mention) + size(words) + MORE > limits.CONTENT:
            return f"{named}and {len(mentions) - number} more: {words}"
        named += f"{mention} "
    return named + words


def pinged(who: Who | None) -> Component:
    """These, and nobody that a text may name: the `allowed_mentions`."""
    users, roles = _known(who)
    # Of a hundred and more, those are notified who are named first.
    found: dict[str, list[JsonValue]] = {"users": [*users[: limits.MENTIONS]], "roles": [*roles[: limits.MENTIONS]]}
    return {"parse": [], **{kind: ids for kind, ids in found.items() if ids}}


def without_everybody(body: Mapping[str, JsonValue], place: Place) -> Component:
    """The same message, which notifies no whole server: the role that everybody has bears the server's own id."""
    allowed = body.get("allowed_mentions")
    roles = allowed.get("roles") if isinstance(allowed, dict) else None
    if not isinstance(allowed, dict) or not isinstance(roles, list) or place.tenant not in roles:
        return dict(body)
    left = [one for one in roles if one != place.tenant]
    kept = {kind: ids for kind, ids in allowed.items() if kind != "roles"}
    return {**body, "allowed_mentions": {**kept, "roles": left} if left else kept}


def _known(who: Who | None) -> tuple[list[str], list[str]]:
    """Ids of people and roles."""
    if who is None:
        return [], []
    users = dict.fromkeys(one.id for one in who.people if one.platform == PLATFORM and person(one.id))
    roles = dict.fromkeys(group for group in who.groups if role(group))
    return [*users], [*roles]
