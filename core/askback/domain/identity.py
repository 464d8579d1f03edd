"""Who acts, and where: the values that a platform's payloads are translated into."""

from __future__ import annotations

__all__ = ["Actor", "Id", "MessageRef", "Place", "each"]

from collections.abc import Iterable
from typing import Annotated
from urllib.parse import quote

from pydantic import Field, field_validator

from askback.internal.values import PersonText, Value
from askback.text.literal import fit

LONGEST_CALLED = 80
"""Characters of a name in a sentence; longer than the platforms let people's names be."""

Id = Annotated[str, Field(min_length=1)]
"""Never empty: two unknowns must not count as the same one."""


class Actor(Value):
    """A person, as the platform vouches for them."""

    platform: Id
    id: Id
    """The platform's id of the person; never a display name."""
    tenant: str | None = None
    """Their *own* tenant (team, guild), which in a shared channel is not the place's. None if not told."""
    name: PersonText = ""
    """What to call them towards the model; carries no authority."""
    groups: tuple[Id, ...] = ()
    """Ids of the groups or roles that the platform says they are in."""
    # Left out where it is false: an older process refuses a field that it does not know.
    is_program: bool = Field(default=False, exclude_if=lambda value: not value)
    """Whether it is a bot or a webhook: nobody who can answer."""

    @property
    def called(self) -> str:
        """The name in a sentence, on one line, which turns or hides nothing of what stands around it."""
        return fit(self.name, LONGEST_CALLED) or self.id

    def is_same_person(self, other: Actor) -> bool:
        """Equal platform and id, and no contradicting tenant.

        A tenant that one payload did not tell cannot contradict: platforms leave it out of some
        payloads of the very same person.
        """
        if (self.platform, self.id) != (other.platform, other.id):
            return False
        return self.tenant is None or other.tenant is None or self.tenant == other.tenant

    def is_same_account(self, other: Actor) -> bool:
        """Equal platform and id, whatever the tenants. The check wherever sameness denies something.

        One user can appear with the id of a workspace and with that of its organisation.
        """
        return (self.platform, self.id) == (other.platform, other.id)


class Place(Value):
    """Where a conversation happens."""

    platform: Id
    channel: Id
    tenant: str | None = None
    thread: str | None = None

    @field_validator("channel")
    @classmethod
    def _id(cls, value: str) -> str:
        if value.startswith(("#", "@")):
            raise ValueError(
                f"{value} is a name: give the channel's id, which the platform copies from the channel's menu, or let "
                "askback.ask(to=…) look the name up"
            )
        return value

    @property
    def key(self) -> str:
        """The canonical name: equal for equal places, and for no others."""
        return ":".join(quote(part or "", safe="") for part in (self.platform, self.tenant, self.channel, self.thread))


class MessageRef(Value):
    """One message on a platform, as that platform addresses it."""

    channel: Id
    id: Id


def each(people: Iterable[Actor]) -> tuple[Actor, ...]:
    """Return each account once, as it came first."""
    found: dict[tuple[str, str], Actor] = {}
    for person in people:
        found.setdefault((person.platform, person.id), person)
    return tuple(found.values())
