"""Discord's payloads, as far as discord.py has not read them: who acts, on what, and with which choice."""

from __future__ import annotations

__all__ = ["Press", "actor", "attached", "drawn", "indexes", "key_of", "press", "written_text"]

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import discord

from askback.domain.identity import Actor, MessageRef
from askback.text.literal import one_line
from askback_discord import ids

PLATFORM = "discord"


@dataclass(frozen=True, slots=True)
class Press:
    """A press on a control, or a text field that was sent."""

    control: ids.Control | None
    """None: not one of ours."""
    actor: Actor
    message: MessageRef | None
    """The message that it was pressed on; None for a private notice, which is no card."""
    unplaced: str | None
    """The id of the message where the payload does not tell its channel in a way that discord.py reads."""
    values: tuple[str, ...]
    base: tuple[int, ...] | None
    """Indexes that the menu was drawn with as chosen."""
    page: int | None
    """The page of a long menu that the message shows."""
    on_notice: bool
    """Whether it was pressed on a private notice."""


def actor(user: discord.User | discord.Member) -> Actor:
    """A person. Ids of people are the same everywhere on Discord, so no tenant is needed to tell them apart.

    Roles are taken as the payload has them: what discord.py makes of them depends on what it has
    seen of the guild, and a role that it does not know would be missing. The role @everyone, which bears
    the server's own id and which every member has, stands in no payload.
    """
    groups: tuple[str, ...] = ()
    if isinstance(user, discord.Member):
        groups = *(str(role) for role in user._roles), str(user.guild.id)  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001 - see above
    return Actor(platform=PLATFORM, id=str(user.id), name=user.display_name, groups=groups)


def press(interaction: discord.Interaction) -> Press:
    """Read a component or modal interaction."""
    data = cast("Mapping[str, object]", interaction.data or {})
    custom_id = str(data.get("custom_id") or "")
    message = interaction.message
    on_notice = message is not None and message.flags.ephemeral
    ref = unplaced = None
    if message is not None and not on_notice:
        # Of the fields channel and channel_id, which may both be missing, discord.py only reads the first.
        channel = cast("object", interaction.channel or message.channel)
        if (where := getattr(channel, "id", None)) is not None:
            ref = MessageRef(channel=str(where), id=str(message.id))
        else:
            unplaced = str(message.id)
    values = data.get("values")
    return Press(
        control=ids.parse(custom_id),
        actor=actor(interaction.user),
        message=ref,
        unplaced=unplaced,
        values=tuple(str(value) for value in cast("list[object]", values)) if isinstance(values, list) else (),
        base=None if message is None else drawn(message, custom_id),
        page=None if message is None else _page(message),
        on_notice=on_notice,
    )


def drawn(message: discord.Message, custom_id: str) -> tuple[int, ...] | None:
    """What a menu of a message was drawn with as chosen: the payload carries the message along."""
    for component in _components(message.components):
        if isinstance(component, discord.SelectMenu) and component.custom_id == custom_id:
            return indexes(tuple(option.value for option in component.options if option.default))
    return None


def _page(message: discord.Message) -> int | None:
    for component in _components(message.components):
        if isinstance(component, discord.SelectMenu):
            control = ids.parse(component.custom_id)
            if control is not None and control.kind in {"pick", "tick"}:
                return control.arg
    return None


def _components(components: Sequence[object]) -> Iterator[object]:
    for component in components:
        yield component
        children = getattr(component, "children", None)
        if isinstance(children, list):
            yield from _components(cast("list[object]", children))


def indexes(values: tuple[str, ...]) -> tuple[int, ...]:
    """Option values as indexes; what is no index is no option of ours."""
    return tuple(int(value) for value in values if re.fullmatch(r"\d{1,4}", value))


def written_text(message: discord.Message, me: discord.ClientUser) -> str:
    """What a person wrote, as they see it, without the mention of the bot."""
    text = re.sub(rf"<@!?{me.id}>", "", message.content)
    for person in message.mentions:
        name = one_line(person.display_name)
        text = re.sub(rf"<@!?{person.id}>", lambda _, name=name: f"@{name}", text)
    for role in message.role_mentions:
        text = text.replace(f"<@&{role.id}>", f"@{one_line(role.name)}")
    return text.strip()


def attached(message: discord.Message) -> tuple[str, ...]:
    """Names of what is attached to a message, stickers included."""
    files = [attachment.filename or "a file without a name" for attachment in message.attachments]
    return (*files, *(f"the sticker {sticker.name}" for sticker in message.stickers))


def key_of(message: discord.Message) -> str:
    """What tells a message apart from every other, however often it is announced."""
    return f"{message.channel.id}:{message.id}"
