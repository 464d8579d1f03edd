"""Decides who may answer the agent's questions, and finds the people whom the model names. Pure."""

from __future__ import annotations

__all__ = ["ANSWERER_KINDS", "NO_ADDRESSEES", "Addressees", "Answerers", "find_people", "resolve_addressees"]

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from askback.domain.ask_policy import Policy
from askback.domain.conversation import Conversation
from askback.domain.group import GroupMembers
from askback.domain.identity import Actor
from askback.domain.who import Who
from askback.errors import ModelError
from askback.internal.values import Value
from askback.translations.catalogue import ENGLISH, _, ngettext, translate_reason, use_language

Kind = Literal["starter", "participants", "allowed", "given"]
ANSWERER_KINDS: Final[tuple[Kind, ...]] = ("starter", "participants", "allowed")
"""Values of the setting other than lists of people and groups."""

MAX_LISTED_PEOPLE: Final = 20
"""Maximum number of people that an error lists."""

_MENTION: Final = re.compile(r"<@!?([^<>|]+)(?:\|[^<>]*)?>")


@dataclass(frozen=True, slots=True)
class Answerers:
    """The setting `answerers`."""

    kind: Kind = "participants"
    by_platform: Mapping[str, Who] = field(default_factory=dict[str, Who])
    """The listed people and groups by platform, if the kind is `given`. The starter may answer only if listed."""

    def list_groups(self, platform: str) -> tuple[str, ...]:
        """Return the groups of a platform whose members may answer."""
        who = self.by_platform.get(platform)
        return () if who is None else who.groups

    def list_deciding_groups(self, platform: str) -> tuple[str, ...]:
        """Return the groups of a platform if only their members may answer; else nothing."""
        who = self.by_platform.get(platform)
        return () if who is None or who.people else who.groups


class Addressees(Value):
    """The people who may answer in one conversation."""

    audience: Who | None = None
    """None means nobody; `problem` says why."""
    people: tuple[Actor, ...] = ()
    """People of the thread who may answer; the model can address these."""
    problem: str = ""
    """The reason why nobody may answer, for the model. It is the end of a sentence; more sentences may follow."""
    notice: str = ""
    """The same for people, in their language."""
    within: Who | None = None
    """See `Policy.within`."""

    def to_policy(self, policy: Policy, names: Sequence[str]) -> Policy:
        """Return the policy for a question to the people with these names; without names, to all who may answer.

        Raises `ModelError` if nobody can answer here, or if a name matches nobody or several people.
        """
        if self.audience is None:
            raise ModelError(f"The question was not asked, because nobody can answer here: {self.problem}")
        if not names:
            return policy.evolve(who=self.audience, within=self.within)
        return policy.evolve(who=Who.from_people(*find_people(names, self.people)), within=self.within or self.audience)


NO_ADDRESSEES = Addressees(problem="nobody is asked.")


def resolve_addressees(
    answerers: Answerers,
    conversation: Conversation,
    people: tuple[Actor, ...],
    sole_viewer: Actor | None,
    members: Mapping[str, GroupMembers] | None = None,
) -> Addressees:
    """Return the people who may answer in a conversation.

    `people` is everyone who has written in it, each with the setting's groups that they are in. `sole_viewer` is the
    only person who sees it, with their groups; None means that others see it, too. `members` maps the groups of
    `Answerers.list_deciding_groups` to the people in them; a missing group may have any number.
    """
    platform = conversation.place.platform
    who, within = _resolve_audience(answerers, conversation), None
    if who is None:
        return _fail(
            lambda: _("the setting “answerers” lists no one on {platform}, and my operator can change it.").format(
                platform=platform
            )
        )
    # Reported first, since asking in another place would not help either.
    deciding = answerers.list_deciding_groups(platform)
    if _are_empty(deciding, members or {}):
        return _fail(lambda: _describe_empty_groups(deciding, members or {}))
    if sole_viewer is not None:
        if answerers.kind == "given":
            if not who.contains(sole_viewer):
                return _fail(lambda: _("the people who may answer cannot see this direct message."))
            within = who
        who = Who.from_people(conversation.starter)
    # The manager checks access to the bot when a person acts, so this code assumes it.
    reachable = (one for one in people if who.contains(one, people, admitted=True))
    return Addressees(audience=who, people=tuple(reachable), within=within)


def _fail(describe: Callable[[], str]) -> Addressees:
    """Return that nobody may answer, with the reason in English for the model, and in their language for people."""
    with use_language(ENGLISH):
        problem = describe()
    return Addressees(problem=problem, notice=describe())


def _are_empty(groups: tuple[str, ...], members: Mapping[str, GroupMembers]) -> bool:
    """Return True if no member of these groups can answer. False means that somebody may, or that it is unknown.

    The platform confirms the person's groups with each answer, so a group that nobody can ever read has nobody.
    """
    known = [members[group] for group in groups if group in members]
    return bool(groups) and len(known) == len(groups) and not any(group.people or group.others for group in known)


def _describe_empty_groups(groups: tuple[str, ...], members: Mapping[str, GroupMembers]) -> str:
    """Return the reason why no member of these groups can answer."""
    setting = ngettext(
        "the setting “answerers” lists only the group {groups}, and my operator can change it.",
        "the setting “answerers” lists only the groups {groups}, and my operator can change it.",
        len(groups),
    ).format(groups=", ".join(groups))
    reasons = (_describe_empty_group(name, members[name].unreadable) for name in dict.fromkeys(groups))
    return " ".join((setting, *reasons))


def _describe_empty_group(group: str, unreadable: str | None) -> str:
    if unreadable is None:
        return _("Nobody is in the group {group}.").format(group=group)
    return _("I cannot read the group {group}: {reason}").format(group=group, reason=translate_reason(unreadable))


def _resolve_audience(answerers: Answerers, conversation: Conversation) -> Who | None:
    match answerers.kind:
        case "given":
            return answerers.by_platform.get(conversation.place.platform)
        case "starter":
            return Who.from_people(conversation.starter)
        case "participants" | "allowed" as open_to:
            return Who(people=(conversation.starter,), open_to=open_to)


def find_people(names: Iterable[str], people: Sequence[Actor]) -> tuple[Actor, ...]:
    """Return the people with these names, each once. Raises `ModelError`, which lists the candidates.

    A name is an id, a display name, or one word of a display name. Case does not matter, and neither do spaces and
    punctuation in display names.
    """
    known = _group_by_person(people)
    found: dict[int, Actor] = {}
    for name in names:
        matches = {number: known[number][-1] for number in _match_name(name, known)}
        if not matches:
            raise ModelError(
                f"Nobody was asked: there is no {name!r} here to ask. {_describe_addressees(known.values())}"
            )
        if len(matches) > 1:
            several = ", ".join(f"{one.display_name} ({one.id})" for one in matches.values())
            raise ModelError(f"Nobody was asked: {name!r} could be several people: {several}. Write the id in `to`.")
        found |= matches
    return tuple(found.values())


def _group_by_person(people: Sequence[Actor]) -> dict[int, list[Actor]]:
    """Group the records of each distinct person, the newest last, under consecutive numbers."""
    persons: dict[int, list[Actor]] = {}
    for one in people:
        same = next((known for known in persons.values() if all(other.is_same_person(one) for other in known)), None)
        if same is None:
            persons[len(persons)] = [one]
        else:
            # Keep a known tenant and name, since a payload may leave them out.
            tenant, name = one.tenant or same[-1].tenant, one.name or same[-1].name
            same.append(one.evolve(tenant=tenant, name=name))
    return persons


def _match_name(name: str, persons: Mapping[int, Sequence[Actor]]) -> tuple[int, ...]:
    """Return the numbers of the people with this id. If there are none, match the name, then any word of it."""
    bare = _MENTION.sub(r"\1", name.strip()).removeprefix("@").strip()
    by_id = tuple(number for number, known in persons.items() if known[0].id.casefold() == bare.casefold())
    if by_id:
        return by_id
    wanted = _normalize_name(bare)
    for parts in (_keep_whole, str.split):
        found = [
            number
            for number, known in persons.items()
            if any(_normalize_name(part) == wanted for one in known for part in parts(one.name))
        ]
        if found:
            return tuple(found)
    return ()


def _keep_whole(name: str) -> list[str]:
    return [name]


def _normalize_name(name: str) -> str:
    """Return a name without case, spaces and punctuation, since a display of the name may change these."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(filter(str.isalnum, folded)) or folded.strip() or name


def _describe_addressees(persons: Iterable[Sequence[Actor]]) -> str:
    newest = [known[-1] for known in persons]
    if not newest:
        return "There is nobody in this thread to address: leave `to` out."
    more = f" and {len(newest) - MAX_LISTED_PEOPLE} more" if len(newest) > MAX_LISTED_PEOPLE else ""
    return f"You can ask {', '.join(one.display_name for one in newest[:MAX_LISTED_PEOPLE])}{more}, or leave `to` out."
