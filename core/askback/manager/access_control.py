"""Decides who may act, from each platform's access rules and groups."""

from __future__ import annotations

__all__ = ["AccessControl"]

from collections.abc import Mapping
from dataclasses import dataclass

from cachetools import FIFOCache

from askback.domain.ask import Ask
from askback.domain.bot_access import Access
from askback.domain.group import GroupMembers
from askback.domain.identity import Actor, Place
from askback.ports.membership import Membership, MembersUnknown, Resolved
from askback.store.store import Store

MAX_ASKS = 10_000
"""Asks whose groups are cached."""


@dataclass(frozen=True, slots=True)
class _AskGroups:
    place: Place
    groups: tuple[str, ...]


class AccessControl:
    """The access rules and groups of every platform. A platform that was not added admits nobody."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rules: dict[str, Access] = {}
        self._memberships: dict[str, Membership] = {}
        self._groups: FIFOCache[str, _AskGroups] = FIFOCache(MAX_ASKS)

    def add(self, platform: str, rules: Access, membership: Membership) -> None:
        """Use these rules and groups for a platform."""
        self._rules[platform] = rules
        self._memberships[platform] = membership

    def remove(self, platform: str) -> None:
        """Admit nobody to a platform, until it is added again."""
        self._rules.pop(platform, None)
        self._memberships.pop(platform, None)

    def get_rules(self, platform: str) -> Access | None:
        """Return the access rules of a platform. None if it was not added."""
        return self._rules.get(platform)

    def is_admitted(self, actor: Actor, place: Place) -> bool:
        """Return True if the access rules admit a person to the bot in a place that others see, too."""
        rules = self.get_rules(place.platform)
        return rules is not None and rules.explain_denial(actor, place, direct=False) is None

    def is_admin(self, actor: Actor) -> bool:
        """Return True if a person may end other people's conversations and questions."""
        rules = self.get_rules(actor.platform)
        return rules is not None and rules.is_admin(actor)

    async def explain_denial(self, ask: Ask, actor: Actor) -> str | None:
        """Return the reason why the sender of an event may not act on an ask, in words for them. None if they may."""
        self.remember(ask)
        resolved = await self.identify(actor, ask.id)
        return ask.explain_denial(resolved.people[0], self.is_admitted)

    async def identify(self, sender: Actor, ask_id: str, *, ends: bool = False) -> Resolved:
        """Return the sender of a click with those of the ask's groups that they are in.

        `ask_id` may also be the id of an offer, which has the groups of its ask. If `ends` is True, the groups of
        administrators count as well.
        """
        membership = self._find_membership(sender)
        if membership is None:
            return Resolved((sender,))
        known = await self._load_groups(ask_id)
        if known is None:
            return Resolved((sender,))
        rules = self.get_rules(sender.platform)
        admins = rules.admin_groups if rules is not None and ends else ()
        return await membership.resolve(known.place, (sender,), (*known.groups, *admins))

    async def identify_author(
        self, author: Actor, place: Place, *, begin: bool = True, is_repeatable: bool = False
    ) -> Actor:
        """Return the author of a message with their groups, of those that the access rules and open asks name.

        With `is_repeatable`, raises `MembersUnknown` if a group cannot be read for now, and it may decide about the
        message. Without it, nobody counts as a member of such a group. `begin` is True if the message may start a
        conversation.
        """
        membership = self._find_membership(author)
        if membership is None:
            return author
        asks = await self._store.list_open_near(place)
        rules = self.get_rules(author.platform)
        of_asks = tuple(group for ask in asks for group in self._list_groups(ask))
        wanted = () if rules is None else rules.wanted_groups
        resolved = await membership.resolve(place, (author,), (*wanted, *of_asks))
        found = resolved.people[0]
        if is_repeatable and resolved.later:
            member = found.evolve(groups=tuple(dict.fromkeys((*found.groups, *resolved.later))))
            decides = rules is not None and rules.is_stranger(found) and not rules.is_stranger(member)
            concerns = begin or bool(asks) or await self._store.find_conversation(place) is not None
            if (decides and concerns) or not resolved.later.isdisjoint(of_asks):
                raise MembersUnknown("the groups of its author cannot be looked up for now.")
        return found

    async def refresh(self, place: Place, people: tuple[Actor, ...], groups: tuple[str, ...]) -> tuple[Actor, ...]:
        """Return the same people, each with their current groups out of `groups`."""
        membership = self._memberships.get(place.platform)
        return people if membership is None else (await membership.resolve(place, people, groups)).people

    async def list_members(self, place: Place, groups: tuple[str, ...]) -> Mapping[str, GroupMembers]:
        """Return the members of these groups. Groups whose members are unknown are left out."""
        membership = self._memberships.get(place.platform)
        return {} if membership is None or not groups else await membership.list_members(place, groups)

    async def find_sole_viewer(self, place: Place, person: Actor, groups: tuple[str, ...]) -> Actor | None:
        """Return the person, with their groups, if they alone see the place. None means that others see it, too."""
        membership = self._memberships.get(place.platform)
        return None if membership is None else await membership.find_sole_viewer(place, person, groups)

    def remember(self, ask: Ask) -> None:
        """Cache the groups of an ask whose card is shown here, so that a click on it needs no query.

        The groups of an ask never change, and include those of escalations.
        """
        self._groups[ask.id] = _AskGroups(ask.place, self._list_groups(ask))

    def _find_membership(self, person: Actor) -> Membership | None:
        """Return the groups in which to look a person up. None if the person's groups are known, or the platform has
        none."""
        return None if person.groups_known else self._memberships.get(person.platform)

    async def _load_groups(self, ask_id: str) -> _AskGroups | None:
        if ask_id not in self._groups:
            ask = await self._store.get(ask_id) or await self._store.get_offer_ask(ask_id)
            if ask is None:
                return None
            self.remember(ask)
            return _AskGroups(ask.place, self._list_groups(ask))
        return self._groups[ask_id]

    def _list_groups(self, ask: Ask) -> tuple[str, ...]:
        """Return the groups that decide who may act, with those of the access rules if these apply."""
        rules = self.get_rules(ask.place.platform) if ask.policy.is_admission_needed else None
        return (*ask.policy.groups, *(() if rules is None else rules.groups))
