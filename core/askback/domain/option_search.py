"""Searches the options of a question, for menus that cannot hold them all."""

from __future__ import annotations

__all__ = ["find_items"]

from collections.abc import Sequence

from askback.domain.card import Item
from askback.text.unseen import normalize_look


def find_items(items: Sequence[Item], query: str) -> list[Item]:
    """Return the options that match the query by number, label or description. The exact number is first.

    Each word of the query must occur in the label, in the description, or as the number. An empty query matches all.
    """
    words = normalize_look(query).casefold().split()
    exact = words[0].removesuffix(".") if len(words) == 1 else ""

    def matches(item: Item) -> bool:
        number = str(item.number)
        if number == exact or (exact and number.startswith(words[0])):
            return True
        body = normalize_look(f"{item.label} {item.description or ''}").casefold()
        return all(word in body or word.rstrip(".") == number for word in words)

    found = [item for item in items if matches(item)]
    found.sort(key=lambda item: str(item.number) != exact)
    return found
