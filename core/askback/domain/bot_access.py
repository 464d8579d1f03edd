"""The rules for who may talk to the bot, and who may end other people's conversations and questions.

No I/O. The rules reject a person if information is missing.
"""

from __future__ import annotations

__all__ = ["DIRECT", "Access", "Opening"]

from askback.domain.identity import Actor, Id, Place
from askback.internal.values import Value
from askback.translations.catalogue import _

DIRECT = "dm"
"""The entry in a list of channels that means direct messages."""


class Opening(Value):
    """Describes the settings that open a bot which nobody may talk to yet."""

    tenants: str
    """Name of the setting that lists teams or guilds."""
    people: str
    """Name of the setting that lists people."""
    otherwise: str
    """Another way to allow people, worded to follow "or" in a sentence."""
    why: str
    """The reason why no person may talk to the bot, as a sentence."""

    def format_setting(self, *tenants: str) -> str:
        """Return the settings line that allows these teams or guilds."""
        return f"{self.tenants}={','.join(tenants)}"


class Access(Value):
    """The access rules of one platform. An empty list restricts nothing; a list that is set excludes everyone else."""

    people: tuple[Id, ...] = ()
    groups: tuple[Id, ...] = ()
    """User groups or roles. A person may talk if they are in one of these or listed in `people`."""
    programs: tuple[Id, ...] = ()
    """Bots, workflows and webhooks whose earlier messages the model reads. It reads those of no other program."""
    channels: tuple[Id, ...] = ()
    tenants: tuple[Id, ...] = ()
    """Teams or guilds."""
    admins: tuple[Id, ...] = ()
    """People who may end every conversation and every question."""
    admin_groups: tuple[Id, ...] = ()
    home: Id | None = None
    """If neither `people` nor `groups` is set, only members of this tenant may talk."""
    open: bool = False
    """True if everyone may talk as long as no list is set. If `home` is set, everyone in that tenant may."""
    opening: Opening | None = None
    """Instructions for the operator if the rules allow no person at all."""
    owners: tuple[Id, ...] = ()
    """The platform accounts that own the bot. They have no extra rights, but denials tell them more."""

    @property
    def is_restricted(self) -> bool:
        """True if any list is set."""
        return bool(self.people or self.groups or self.channels or self.tenants)

    @property
    def is_closed(self) -> bool:
        """True if no person at all may talk to the bot."""
        return not self.is_restricted and not self.open

    def suggest_setting(self, actor: Actor, place: Place, *, direct: bool) -> str | None:
        """Return the settings line that would let this person talk here; None unless the bot is closed to everyone.

        Also None if there is no `opening`.
        """
        if not self.is_closed or self.opening is None:
            return None
        if direct or place.tenant is None:
            return f"{self.opening.people}={actor.id}"
        return self.opening.format_setting(place.tenant)

    @property
    def wanted_groups(self) -> tuple[str, ...]:
        """The ids of the groups whose members the caller must look up."""
        return (*self.groups, *self.admin_groups)

    def explain_denial(self, actor: Actor, place: Place, *, direct: bool) -> str | None:
        """Return the reason why this person may not talk to the bot here, in words for them. None means they may."""
        if self.is_closed:
            line = self.suggest_setting(actor, place, direct=direct)
            if line is None or self.opening is None:
                return _("I do not talk with anybody here yet. My operator has to set who may talk to me.")
            if actor.id in self.owners:
                return _(
                    "I do not talk with anybody here yet. {why} Set {line} and start me again, or {otherwise}."
                ).format(why=_(self.opening.why), line=line, otherwise=_(self.opening.otherwise))
            return _("I do not talk with anybody here yet. Ask my operator to set {line}").format(line=line)
        stranger = self._find_stranger_reason(actor)
        if stranger is not None:
            return stranger
        if direct:
            named = bool(self.people or self.groups)
            if (self.channels or self.tenants) and not named and DIRECT not in self.channels:
                return _("I may not talk in direct messages. Please write to me in a channel that I am in.")
            return None
        if self.tenants and place.tenant not in self.tenants:
            return _("I may not talk here. My operator can allow it.")
        if self.channels and place.channel not in self.channels:
            return _("I may not talk in this channel. My operator can allow it.")
        return None

    def is_stranger(self, actor: Actor) -> bool:
        """Return True if the rules exclude this person everywhere. The model reads none of their texts.

        A person can write through a program of their own, such as a workflow, and would not count as its author. So
        each program is a stranger unless the rules name it.
        """
        if actor.is_program:
            return actor.id not in self.people and actor.id not in self.programs
        return self._find_stranger_reason(actor) is not None

    def _find_stranger_reason(self, actor: Actor) -> str | None:
        if self.people or self.groups:
            if actor.id not in self.people and not set(self.groups) & set(actor.groups):
                return _("I may not talk with you. My operator can allow it.")
        elif self.home is not None and actor.tenant != self.home:
            return _("I only talk with members of my own workspace. My operator can change that.")
        return None

    def is_admin(self, actor: Actor) -> bool:
        """Return True if this person may end other people's conversations and questions."""
        return actor.id in self.admins or bool(set(self.admin_groups) & set(actor.groups))

    def describe(self) -> str:
        """Return a sentence for the log that says who may talk to the bot."""
        if not self.is_restricted:
            if not self.open and self.opening is not None:
                return (
                    f"Nobody may talk to the bot. {self.opening.why} Set {self.opening.tenants} to the ids of your "
                    f"servers, or {self.opening.otherwise}."
                )
            if not self.open:
                return "Nobody may talk to the bot: the settings allow no people, groups, channels or servers."
            return "Everybody " + ("in its own workspace " if self.home is not None else "") + "may talk to the bot."
        parts = [
            f"{len(ids)} {name}{'s' if len(ids) != 1 and name != 'people' else ''}"
            for name, ids in (
                ("people", self.people), ("group", self.groups), ("channel", self.channels), ("server", self.tenants)
            )
            if ids
        ]  # fmt: skip
        return f"Only these may talk to the bot: {', '.join(parts)}."
