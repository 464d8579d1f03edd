"""Who may talk to the bot, and who may end what others began. Pure; closed where it does not know."""

from __future__ import annotations

__all__ = ["DIRECT", "Access", "Opening"]

from askback.domain.identity import Actor, Id, Place
from askback.internal.values import Value

DIRECT = "dm"
"""Stands among the channels for direct messages."""


class Opening(Value):
    """What lets the first people talk to a bot that talks with nobody."""

    tenants: str
    """The setting that names the teams or guilds."""
    people: str
    """The setting that names people."""
    otherwise: str
    """What else does it, as a sentence goes on behind "or"."""
    why: str
    """Why nobody may, in a sentence."""

    def settings_for(self, *tenants: str) -> str:
        """Return the line to set, for these teams or guilds."""
        return f"{self.tenants}={','.join(tenants)}"


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
    opening: Opening | None = None
    """What to do where that is nobody."""
    owners: tuple[Id, ...] = ()
    """The people whom the bot belongs to on its platform. They may no more than others, and are told more."""

    @property
    def is_restricted(self) -> bool:
        """Whether anything is set."""
        return bool(self.people or self.groups or self.channels or self.tenants)

    @property
    def is_closed(self) -> bool:
        """Whether nobody at all may talk to the bot."""
        return not self.is_restricted and not self.open

    def line(self, actor: Actor, place: Place, *, direct: bool) -> str | None:
        """Return the setting, with its value, that would let this person talk here; None where nothing is closed."""
        if not self.is_closed or self.opening is None:
            return None
        if direct or place.tenant is None:
            return f"{self.opening.people}={actor.id}"
        return self.opening.settings_for(place.tenant)

    @property
    def wanted_groups(self) -> tuple[str, ...]:
        """The groups whose members have to be known."""
        return (*self.groups, *self.admin_groups)

    def refusal(self, actor: Actor, place: Place, *, direct: bool) -> str | None:
        """Why this person may not talk to the bot here, in words for them; None if they may."""
        if self.is_closed:
            line = self.line(actor, place, direct=direct)
            if line is None or self.opening is None:
                return "I do not talk with anybody here yet. Whoever runs me has to say who may talk to me."
            if actor.id in self.owners:
                return (
                    f"I do not talk with anybody here yet. {self.opening.why} Set {line} and start me again, or "
                    f"{self.opening.otherwise}."
                )
            return f"I do not talk with anybody here yet. Ask the person who runs me to set {line}"
        stranger = self._stranger(actor)
        if stranger is not None:
            return stranger
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

    def is_stranger(self, actor: Actor) -> bool:
        """Whether this person may not talk to the bot anywhere, so that nothing they write reaches the model."""
        return self._stranger(actor) is not None

    @property
    def judges_people(self) -> bool:
        """Whether it depends on the person who may talk."""
        return bool(self.people or self.groups or self.home is not None)

    def _stranger(self, actor: Actor) -> str | None:
        if self.people or self.groups:
            if actor.id not in self.people and not set(self.groups) & set(actor.groups):
                return "I may not talk with you. Whoever runs me can allow it."
        elif self.home is not None and actor.tenant != self.home:
            return "I only talk with members of the workspace that I belong to. Whoever runs me can allow it."
        return None

    def is_admin(self, actor: Actor) -> bool:
        """Whether this person may end what others began."""
        return actor.id in self.admins or bool(set(self.admin_groups) & set(actor.groups))

    def describe(self) -> str:
        """Who may talk, in a sentence for the log."""
        if not self.is_restricted:
            if not self.open and self.opening is not None:
                return (
                    f"Nobody may talk to the bot. {self.opening.why} Set {self.opening.tenants} to the ids of your "
                    f"servers, or {self.opening.otherwise}."
                )
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
