"""People and places. The bots translate their platform's payloads into these values."""

from __future__ import annotations

__all__ = ["Actor", "Id", "MessageRef", "Place", "deduplicate_accounts", "is_account_among", "is_person_among"]

from collections.abc import Iterable
from typing import Annotated
from urllib.parse import quote

from pydantic import Field, field_validator

from askback.internal.values import PersonText, Value
from askback.text.literal import quote_name
from askback.text.unseen import has_visible_text
from askback.translations.catalogue import Language

LONGEST_CALLED = 80
"""Maximum number of characters of a name in a sentence. The platforms' own limits for names are lower."""

Id = Annotated[str, Field(min_length=1)]
"""An id that is never empty, because two unknown ids must not count as the same."""


class Actor(Value):
    """A person, as identified by the platform."""

    platform: Id
    id: Id
    """The platform's id of the person, never a display name."""
    tenant: str | None = None
    """The person's *own* tenant (team, guild); in a shared channel, the place has another one. None if unknown."""
    name: PersonText = ""
    """The name that the model sees. It grants no rights."""
    groups: tuple[Id, ...] = ()
    """Ids of the groups or roles that the platform reports for the person."""
    groups_known: bool = Field(default=False, exclude=True)
    """True if `groups` holds all groups of the person right now, so that no look-up is needed. It is never stored."""
    language: Language | None = Field(default=None, exclude=True)
    """The language in which the person reads, if the platform tells it. It is never stored."""
    # Excluded if false, because an older process rejects a field that it does not know.
    is_program: bool = Field(default=False, exclude_if=lambda value: not value)
    """True for a bot or a webhook, which cannot answer."""

    @property
    def display_name(self) -> str:
        """The name, or else the id, for a sentence. Nothing in the name can be taken for a part of the sentence."""
        return quote_name(self.name, LONGEST_CALLED) if has_visible_text(self.name) else self.id

    def is_same_person(self, other: Actor) -> bool:
        """Return True if platform and id are equal and the tenants do not contradict each other.

        An unknown tenant contradicts nothing, because platforms leave it out of some payloads of the same person.
        """
        if (self.platform, self.id) != (other.platform, other.id):
            return False
        return self.tenant is None or other.tenant is None or self.tenant == other.tenant

    def is_same_account(self, other: Actor) -> bool:
        """Return True if platform and id are equal, whatever the tenants. Use this if sameness denies something.

        One user can appear with the id of a workspace and with that of its organisation.
        """
        return (self.platform, self.id) == (other.platform, other.id)


class Place(Value):
    """The location of a conversation."""

    platform: Id
    channel: Id
    tenant: str | None = None
    thread: str | None = None

    @field_validator("channel")
    @classmethod
    def _check_id(cls, value: str) -> str:
        if value.startswith(("#", "@")):
            raise ValueError(
                f"{value} is a name: give the channel's id, which you can copy from the channel's menu, or use "
                "askback.ask(to=…), which looks the name up"
            )
        return value

    @property
    def key(self) -> str:
        """The canonical name: equal for equal places, different for all others."""
        return ":".join(quote(part or "", safe="") for part in (self.platform, self.tenant, self.channel, self.thread))


class MessageRef(Value):
    """One message on a platform, as that platform addresses it."""

    channel: Id
    id: Id


def deduplicate_accounts(people: Iterable[Actor]) -> tuple[Actor, ...]:
    """Return each account once, in order of first appearance."""
    found: dict[tuple[str, str], Actor] = {}
    for person in people:
        found.setdefault((person.platform, person.id), person)
    return tuple(found.values())


def is_account_among(actor: Actor, people: Iterable[Actor]) -> bool:
    """Return True if one of these people acts with the same account."""
    return any(person.is_same_account(actor) for person in people)


def is_person_among(actor: Actor, people: Iterable[Actor]) -> bool:
    """Return True if one of these is the same person, whatever workspace they appear with."""
    return any(person.is_same_person(actor) for person in people)
