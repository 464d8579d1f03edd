"""Discord's components as plain data."""

from __future__ import annotations

__all__ = [
    "Component",
    "build_body",
    "button",
    "container",
    "display",
    "format_distance",
    "format_time",
    "gallery",
    "mention_channel",
    "mention_person",
    "mention_role",
    "menu",
    "option",
    "row",
    "separator",
    "text_with_button",
]  # fmt: skip

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from pydantic import JsonValue

from askback_discord import control_ids, limits
from askback_discord.escaping import fit_line

Component: TypeAlias = dict[str, JsonValue]
"""A component, or a part of one."""

_SNOWFLAKE = re.compile(r"[0-9]{1,20}")
_STYLES = {"primary": 1, "secondary": 2, "success": 3, "danger": 4}

Style: TypeAlias = Literal["primary", "secondary", "success", "danger"]


def display(markdown: str) -> Component:
    """A text. Discord rejects an empty one, so this adds invisible characters to a text of white space."""
    return {"type": limits.DISPLAY, "content": markdown if markdown.strip() else f"\u200b{markdown}\u200b"}


def gallery(address: str, description: str) -> Component:
    """A picture with a description for those who cannot see it."""
    item: Component = {"media": {"url": address}}
    if words := fit_line(description, limits.GALLERY_DESCRIPTION):
        item["description"] = words
    return {"type": limits.GALLERY, "items": [item]}


def separator() -> Component:
    """A horizontal line."""
    return {"type": limits.SEPARATOR, "divider": True, "spacing": 1}


def container(components: Iterable[Component], colour: int) -> Component:
    """A box around components, with a bar of that colour (0xRRGGBB) at its left edge."""
    return {"type": limits.CONTAINER, "accent_color": colour, "components": [*components]}


def row(parts: Iterable[Component]) -> Component:
    """A row with buttons or one menu."""
    return {"type": limits.ROW, "components": [*parts]}


def button(
    label: str, control: control_ids.Control, style: Style = "secondary", *, disabled: bool = False
) -> Component:
    """A button."""
    made: Component = {
        "type": limits.BUTTON,
        "style": _STYLES[style],
        "label": fit_line(label, limits.BUTTON_LABEL),
        "custom_id": control_ids.to_custom_id(control),
    }
    return {**made, "disabled": True} if disabled else made


def text_with_button(markdown: str, part: Component) -> Component:
    """A text with a button at its right."""
    return {"type": limits.SECTION, "components": [display(markdown)], "accessory": part}


def option(label: str, value: int | str, *, description: str | None = None, chosen: bool = False) -> Component:
    """One entry of a menu or a group. The texts must already fit."""
    made: Component = {"label": label, "value": str(value)}
    if description:
        made["description"] = description
    return {**made, "default": True} if chosen else made


def menu(
    control: control_ids.Control, options: Sequence[Component], placeholder: str, *, several: bool = False
) -> Component:
    """A menu for one option, or for any number of options."""
    return {
        "type": limits.MENU,
        "custom_id": control_ids.to_custom_id(control),
        "placeholder": placeholder,
        "min_values": 0 if several else 1,
        "max_values": len(options) if several else 1,
        "options": [*options],
    }


def mention_person(user_id: str) -> str | None:
    """Return a mention of the person, or None if the id is not one of Discord's."""
    return f"<@{user_id}>" if _SNOWFLAKE.fullmatch(user_id) else None


def mention_channel(channel_id: str) -> str | None:
    """Return a link to the channel, or None if the id is not one of Discord's."""
    return f"<#{channel_id}>" if _SNOWFLAKE.fullmatch(channel_id) else None


def mention_role(role_id: str) -> str | None:
    """Return a mention of the role, or None if the id is not one of Discord's."""
    return f"<@&{role_id}>" if _SNOWFLAKE.fullmatch(role_id) else None


def format_time(at: datetime) -> str:
    """Return a date and a time in the reader's own time zone, with digits alone, so that they fit a narrow line."""
    return " ".join(f"<t:{int(at.timestamp())}:{style}>" for style in "dt")


def format_distance(at: datetime) -> str:
    """Return the time until or since a moment, such as “in 2 hours”."""
    return f"<t:{int(at.timestamp())}:R>"


def build_body(components: Iterable[Component], mentions: Component | None = None, *, flags: int = 0) -> Component:
    """Return the body of a message with these components. It notifies only the people and roles in `mentions`.

    Raises `TooBig` if it breaks a limit of Discord's.
    """
    made: Component = {
        "flags": limits.COMPONENTS_V2 | flags,
        "components": [*components],
        "allowed_mentions": {"parse": [], **(mentions or {})},
    }
    limits.check_message(made)
    return made
