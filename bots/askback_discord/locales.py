"""Knows in which languages people read Discord."""

from __future__ import annotations

__all__ = ["Locales", "read_language"]

from typing import Final

import discord
from cachetools import LRUCache

from askback.domain.identity import Actor
from askback.translations.catalogue import Language, find_language

MAX_PEOPLE: Final = 10_000
"""Maximum number of people whose language is remembered."""


def read_language(interaction: discord.Interaction) -> Language | None:
    """Return the language of Discord's client of the person who clicked."""
    return find_language(str(interaction.locale))


class Locales:
    """The languages of people, as their clicks tell them. No message tells its author's."""

    def __init__(self) -> None:
        self._known: LRUCache[str, Language] = LRUCache(MAX_PEOPLE)

    def remember(self, interaction: discord.Interaction) -> None:
        """Remember the language of a person who clicked."""
        language = read_language(interaction)
        if language is not None:
            self._known[str(interaction.user.id)] = language

    def add_language(self, author: Actor, guild: discord.Guild | None) -> Actor:
        """Return the author of a message with their language. If it is not known, it is that of the server."""
        found = self._known.get(author.id)
        if found is None and guild is not None:
            found = find_language(str(guild.preferred_locale))
        return author.evolve(language=found)
