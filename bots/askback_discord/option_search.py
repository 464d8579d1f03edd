"""Searches the options of a long menu: a modal for the words, and a private message with the options found.

Discord's menus hold 25 options, and their own search covers those alone.
"""

from __future__ import annotations

__all__ = ["STALE", "build_modal", "build_result", "read_query"]

import zlib
from collections.abc import Mapping
from typing import Final

from askback.domain.card import Card
from askback.domain.option_search import find_items
from askback.text.literal import quote_line
from askback.translations.catalogue import N_, _
from askback.translations.sentences import group_digits
from askback_discord import control_ids, ephemeral, limits
from askback_discord.components import Component, button, row
from askback_discord.controls import SEARCH, build_items_menu
from askback_discord.text_modal import ONE_LINE, find_value

STALE: Final = N_("The card has moved on to another step, so there is nothing to search. Please use the newest card.")
LONGEST_QUERY: Final = 100
_FIRST_DRAWING: Final = 100
"""The drawings below this number are the pages of the card's own menu."""
_DRAWINGS: Final = 900


def build_modal(card: Card) -> Component:
    """Return the data of a callback that opens the field for the words to search (type 9)."""
    control = control_ids.Control(kind="query", ask_id=card.ask_id, step=card.step, revision=card.revision)
    entry: Component = {
        "type": limits.INPUT,
        "custom_id": control_ids.TEXT,
        "style": ONE_LINE,
        "required": True,
        "max_length": LONGEST_QUERY,
    }
    labelled: Component = {
        "type": limits.LABELLED,
        "label": _("Words or a number"),
        "description": _("Finds them in the {count} options.").format(count=group_digits(len(card.items))),
        "component": entry,
    }
    made: Component = {
        "custom_id": control_ids.to_custom_id(control),
        "title": _("Search the options"),
        "components": [labelled],
    }
    limits.check_modal(made)
    return made


def read_query(data: Mapping[str, object]) -> str:
    """Return the words of a submitted modal (the interaction's `data`). Never raises."""
    return find_value(data, control_ids.TEXT)


def build_result(card: Card, query: str) -> Component:
    """Return a private message with a menu of the options found, or one that says that there are none."""
    found = find_items(card.items, query)
    again = control_ids.Control(kind="search", ask_id=card.ask_id, step=card.step, revision=card.revision)
    if not found:
        return ephemeral.build_message(
            _("No option contains {words}.").format(words=quote_line(query)), [row([button(_(SEARCH), again)])]
        )
    shown = found[: limits.MENU_OPTIONS]
    words = _("{found} of {count} options contain {words}.").format(
        found=group_digits(len(found)), count=group_digits(len(card.items)), words=quote_line(query)
    )
    if len(found) > len(shown):
        more = _("The menu has the first {count}; more words find fewer.").format(count=len(shown))
        words = f"{words} {more}"
    # If several can be chosen, each search has a separate menu. Its clicks are compared with its own ticks.
    drawing = _FIRST_DRAWING + zlib.crc32(query.encode("utf-8", "replace")) % _DRAWINGS
    what = _("Choose as many as you like…") if card.several else _("Choose an answer…")
    menu = build_items_menu(card, shown, what, drawing, marked=card.several)
    return ephemeral.build_message(words, [row([menu]), row([button(_(SEARCH), again)])])
