"""Who may talk to the bot, and who may end what others began. Pure; closed where it does not know."""

from __future__ import annotations

__all__ = ["DIRECT", "Access"]

from askback.identity import Actor, Id, Place
from askback.values import Value

DIRECT = "dm"
"""Stands among the channels for direct messages."""


class Access(Value):
    """The rules of one platform. A list that is empty restricts nothing; who is not on one that is set stays out."""

    people: tuple[Id, ...] = ()
    groups: tuple[Id, ...] = ()
    """User groups or roles: whoever is in one of them, or among the people."""
    channels: tuple[Id, ...] = ()
    tenants: tuple[Id, ...] = ()
    """Teams or guilds."""
    admins: tuple[Id, ...] = ()
    """People who may end every conversation and every question."""
    admin_groups: tuple[Id, ...] = ()
    home: Id | None = None
    """Where no people and groups are named: members of this tenant, and nobody else."""
    open: bool = False
    """What holds where nothing is set at all."""

    @property
    def is_restricted(self) -> bool:
        """Whether anything is set."""
        return bool(self.people or self.groups or self.channels or self.tenants)

    @property
    def wanted_groups(self) -> tuple[str, ...]:
        """The groups whose members have to be known."""
        return (*self.groups, *self.admin_groups)

    def refusal(self, actor: Actor, place: Place, *, direct: bool) -> str | None:
        """Why this person may not talk to the bot here, in words for them; None if they may."""
        if not self.is_restricted and not self.open:
            return "I do not talk with anybody here yet. Whoever runs me has to say who may talk to me."
        if self.people or self.groups:
            if actor.id not in self.people and not set(self.groups) & set(actor.groups):
                return "I may not talk with you. Whoever runs me can allow it."
        elif self.home is not None and actor.tenant != self.home:
            return "I only talk with members of the workspace that I belong to. Whoever runs me can allow it."
        if direct:
            named = bool(self.people or self.groups)
            if (self.channels or self.tenants) and not named and DIRECT not in self.channels:
                return "I may not talk in direct messages. Please write to me in a channel where I am."
            return None
        if self.tenants and place.tenant not in self.tenants:
            return "I may not talk here. Whoever runs me can allow it."
        if self.channels and place.channel not in self.channels:
            return "I may not talk in this channel. Whoever runs me can allow it."
        return None

    def is_admin(self, actor: Actor) -> bool:
        """Whether this person may end what others began."""
        return actor.id in self.admins or bool(set(self.admin_groups) & set(actor.groups))

    def describe(self) -> str:
        """Who may talk, in a sentence for the log."""
        if not self.is_restricted:
            if not self.open:
                return "Nobody may talk to the bot: no people, groups, channels or servers are allowed."
            return "Everybody " + ("of its own workspace " if self.home is not None else "") + "may talk to the bot."
        parts = [
            f"{len(ids)} {name}{'s' if len(ids) != 1 and name != 'people' else ''}"
            for name, ids in (
                ("people", self.people), ("group", self.groups), ("channel", self.channels), ("server", self.tenants)
            )
            if ids
        ]  # fmt: skip
        return f"Only those who are allowed may talk to the bot: {', '.join(parts)}."
