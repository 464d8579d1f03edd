"""Reads the parts of Discord's payloads that discord.py does not: the person, the control and the choice."""

from __future__ import annotations

__all__ = [
    "Click",
    "build_dedupe_key",
    "parse_indexes",
    "read_actor",
    "read_click",
    "read_drawn_options",
    "read_mentions",
    "to_visible_text",
]

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

import discord

from askback.domain.actions import Pick
from askback.domain.choice_words import Picks
from askback.domain.identity import Actor, MessageRef
from askback.domain.incoming_message import Mentions
from askback.domain.outcome import Picked
from askback.text.literal import to_single_line
from askback_discord import control_ids, pickers
from askback_discord.id_patterns import PLATFORM, SNOWFLAKE
from askback_discord.locales import read_language

_MENTIONS: Final[Mapping[Picks, re.Pattern[str]]] = {
    "people": re.compile(rf"<@!?({SNOWFLAKE})>"),
    "channels": re.compile(rf"<#({SNOWFLAKE})>"),
}
_BETWEEN = re.compile(r"[\s,;&.!]|\band\b")
"""The separators between mentions, and the punctuation after them."""


@dataclass(frozen=True, slots=True)
class Click:
    """A pressed control or a submitted text field."""

    control: control_ids.Control | None
    """None if the control is not one of askback's."""
    actor: Actor
    message: MessageRef | None
    """The message with the control; None for a private notice, which is not a card."""
    unplaced: str | None
    """The id of the message, if discord.py cannot read the message's channel from the payload."""
    values: tuple[str, ...]
    pick: Pick | None
    """The people or channels that a picker shows. None for other controls, and if something else is picked."""
    base: tuple[int, ...] | None
    """Indexes of the options that the menu was drawn with as chosen."""
    page: int | None
    """The page of a long menu that the message shows."""
    on_notice: bool
    """True if the control was on a private notice."""


def read_actor(user: discord.User | discord.Member) -> Actor:
    """Read a person. People's ids are the same everywhere on Discord, so no tenant is needed to tell them apart.

    Roles come from the raw payload: discord.py would leave out roles of the server that it has not seen. The role
    @everyone has the server's own id. Every member has it, but it appears in no payload. The author of a message that
    was read later comes without roles.
    """
    actor = Actor(platform=PLATFORM, id=str(user.id), name=user.display_name)
    if not isinstance(user, discord.Member):
        return actor
    groups = *(str(role) for role in user._roles), str(user.guild.id)  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001 - see above
    return actor.evolve(groups=groups, groups_known=True)


def read_click(interaction: discord.Interaction) -> Click:
    """Read a component or modal interaction."""
    data = cast("Mapping[str, object]", interaction.data or {})
    custom_id = str(data.get("custom_id") or "")
    message = interaction.message
    on_notice = message is not None and message.flags.ephemeral
    ref = unplaced = None
    if message is not None and not on_notice:
        # Both channel and channel_id may be missing. discord.py reads only the first.
        channel = cast("object", interaction.channel or message.channel)
        if (where := getattr(channel, "id", None)) is not None:
            ref = MessageRef(channel=str(where), id=str(message.id))
        else:
            unplaced = str(message.id)
    values = data.get("values")
    control = control_ids.parse(custom_id)
    return Click(
        control=control,
        actor=read_actor(interaction.user).evolve(language=read_language(interaction)),
        message=ref,
        unplaced=unplaced,
        values=tuple(str(value) for value in cast("list[object]", values)) if isinstance(values, list) else (),
        pick=None if control is None else _read_pick(interaction, control, data),
        base=None if message is None else read_drawn_options(message, custom_id),
        page=None if message is None else _read_page(message),
        on_notice=on_notice,
    )


def _read_pick(
    interaction: discord.Interaction, control: control_ids.Control, data: Mapping[str, object]
) -> Pick | None:
    picks = pickers.KINDS.get(control.kind)
    picked = None if picks is None else pickers.read_picked(data, picks)
    if picked is None:
        return None
    message, custom_id = interaction.message, control_ids.to_custom_id(control)
    base = None if message is None else _read_drawn_ids(message, custom_id)
    return Pick(picked=picked, base=base, revision=control.drawing, order=float(interaction.id >> 22))


def _read_drawn_ids(message: discord.Message, custom_id: str) -> tuple[str, ...] | None:
    """Return the ids that a picker was drawn with, or None if the message has no such picker."""
    for component in _iter_components(message.components):
        if isinstance(component, discord.SelectMenu) and component.custom_id == custom_id:
            return tuple(str(one.id) for one in component.default_values)
    return None


def read_drawn_options(message: discord.Message, custom_id: str) -> tuple[int, ...] | None:
    """Return the options that a menu was drawn with as chosen, or None if the message has no such menu.

    The payload contains the message.
    """
    for component in _iter_components(message.components):
        if isinstance(component, discord.SelectMenu) and component.custom_id == custom_id:
            return parse_indexes(tuple(option.value for option in component.options if option.default))
    return None


def _read_page(message: discord.Message) -> int | None:
    for component in _iter_components(message.components):
        if isinstance(component, discord.SelectMenu):
            control = control_ids.parse(component.custom_id)
            if control is not None and control.kind in {"pick", "tick"}:
                return control.arg
    return None


def _iter_components(components: Sequence[object]) -> Iterator[object]:
    for component in components:
        yield component
        children = getattr(component, "children", None)
        if isinstance(children, list):
            yield from _iter_components(cast("list[object]", children))


def parse_indexes(values: tuple[str, ...]) -> tuple[int, ...]:
    """Convert option values to indexes. Drop values that are not askback's."""
    return tuple(int(value) for value in values if re.fullmatch(r"\d{1,4}", value))


def to_visible_text(message: discord.Message, me: discord.ClientUser) -> str:
    """Return a person's text as they see it, without the mention of the bot."""
    text = re.sub(rf"<@!?{me.id}>", "", message.content)
    for person in message.mentions:
        name = to_single_line(person.display_name)
        text = re.sub(rf"<@!?{person.id}>", lambda _, name=name: f"@{name}", text)
    for role in message.role_mentions:
        text = text.replace(f"<@&{role.id}>", f"@{to_single_line(role.name)}")
    return text.strip()


def read_mentions(message: discord.Message, me: discord.ClientUser) -> Mentions | None:
    """Return the people or the channels that a message mentions, if it says nothing else than that and the bot's name.

    None also if one of them is a bot, or if Discord does not say what it is.
    """
    rest = re.sub(rf"<@!?{me.id}>", " ", message.content)
    people = {str(one.id): one for one in message.mentions if not one.bot}
    channels = {str(one.id): one for one in message.channel_mentions if one.type.value in pickers.CHANNEL_TYPES}
    names: dict[Picks, Mapping[str, str]] = {
        "people": {one: person.display_name for one, person in people.items()},
        "channels": {one: f"#{channel.name}" for one, channel in channels.items()},
    }
    for picks, pattern in _MENTIONS.items():
        ids = tuple(dict.fromkeys(pattern.findall(rest)))
        if ids and all(one in names[picks] for one in ids) and not _BETWEEN.sub("", pattern.sub(" ", rest)):
            return Mentions(picks=picks, picked=tuple(Picked(id=one, name=names[picks][one]) for one in ids))
    return None


def build_dedupe_key(message: discord.Message) -> str:
    """Return a key that is unique to a message and the same for all its events."""
    return f"{message.channel.id}:{message.id}"
