"""The operator's rules for a door: where it asks, whom, and for how long. No caller can widen them."""

from __future__ import annotations

__all__ = ["AddressBook", "Addressees", "DoorRules", "identify_rules"]

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from askback.agent.approvals import ApprovalRules
from askback.client.addressing import (
    add_name_to_errors,
    build_who,
    check_possible,
    format_names,
    look_up_names,
    parse_address,
)
from askback.client.parameter_names import SHELL, Terms
from askback.domain.approval import APPROVE, DENY
from askback.domain.ask_policy import Approval, Policy
from askback.domain.edit_rules import EditRules
from askback.domain.identity import Actor
from askback.domain.timeout_action import TimeoutAction
from askback.domain.who import Who
from askback.errors import AskbackError, CallerError, OperatorError
from askback.manager import build_policy
from askback.ports.bot import Bot
from askback.ports.directory import Directory, Found, Named, normalize_name
from askback.ports.installed_bots import find_only_bot, get_bot, list_bot_names
from askback.translations.catalogue import ENGLISH, use_language

log = logging.getLogger("askback.door")

NAME_SECONDS = 5.0
"""Seconds in which the names of places are looked up for a result, which does not depend on them."""


@dataclass(frozen=True, slots=True)
class DoorRules:
    """The operator's rules, in the operator's words."""

    places: tuple[str, ...]
    """The places where callers may ask, such as `#deploys` after its platform and a colon. The first is the default."""
    answerers: tuple[str, ...] = ()
    """The people and groups who may answer questions. Empty in a direct message means its person."""
    approvers: tuple[str, ...] = ()
    """The people and groups who may approve calls of tools. Empty means those of `approvals`."""
    requesters: tuple[str, ...] = ()
    """The people for whom the agent works. They may not approve its calls, unless `approvals` lets them."""
    editable: tuple[str, ...] = ()
    """The tools whose arguments approvers may change before they approve a call."""
    wait: float | None = None
    """Seconds until a question times out. None means no deadline."""
    remind: tuple[float, ...] = ()
    on_timeout: TimeoutAction = "report"
    """The action at the deadline of a question, where callers do not decide that themselves."""
    approvals: ApprovalRules = field(default_factory=ApprovalRules)
    """The rules for approvals. Only they apply to approvals, so `wait`, `remind` and `on_timeout` do not."""
    terms: Terms = SHELL
    """The operator's names for these rules, for error messages."""

    def check(self) -> None:
        """Raise `CallerError` if the rules name no place, an unknown platform, or nobody to ask."""
        if not self.places:
            raise CallerError(f"Say where to ask with {self.terms.name('to')}: PLATFORM:#channel, or PLATFORM:@person.")
        for place in self.places:
            _, name = parse_address(place, list_bot_names(), self.terms)
            if not self.answerers and not name.startswith("@"):
                raise CallerError(
                    f"Say who may answer in {place} with {self.terms.name('who')}: @group, @person, or anyone."
                )

    def limit_wait(self, seconds: float | None) -> DoorRules:
        """Return the rules with a wait of at most this many seconds. None changes nothing."""
        if seconds is None or (self.wait is not None and self.wait <= seconds):
            return self
        remind = tuple(after for after in self.remind if after < seconds)
        return replace(self, wait=seconds, remind=remind)

    def find_place(self, name: str | None) -> str:
        """Return the place that a caller names, or the default. Raises `CallerError` for any other."""
        if name is None or not name.strip():
            return self.places[0]
        for place in self.places:
            if _simplify(name) in (_simplify(place), _simplify(place.partition(":")[2])):
                return place
        raise CallerError(
            f"The operator does not let you ask in {name!r}: leave `place` out, or use {', '.join(self.places)}."
        )


def _simplify(name: str) -> str:
    platform, colon, rest = name.strip().partition(":")
    return f"{platform.casefold()}:{normalize_name(rest)}" if colon else normalize_name(name)


@dataclass(frozen=True, slots=True)
class Addressees:
    """One place and its people, with every name looked up."""

    found: Found
    answerers: tuple[Named | None, ...]
    approvers: tuple[Named | None, ...] | None
    """The people whom the operator names as approvers here. None means that the operator names none anywhere."""
    requesters: tuple[Actor, ...]

    @property
    def asked(self) -> str:
        """The people who may answer questions, in words."""
        return format_names(self.answerers)

    def build_policy(self, rules: DoorRules, approval: Approval | None, on_timeout: TimeoutAction = "report") -> Policy:
        """Return the policy of a question. Raises `CallerError` if these people could never decide it."""
        check_possible(self.answerers, approval, self.found, rules.terms)
        return build_policy(
            build_who(self.answerers), rules.wait, approval=approval, remind=rules.remind, on_timeout=on_timeout
        )

    def build_approval_policy(self, door: DoorRules, subject: str, edits: EditRules | None = None) -> Policy:
        """Return the policy for a call with this digest. Raises `CallerError` if nobody could approve it.

        `edits` says what people may change first. A person who is asked only because the place is their direct message
        may approve their own change.
        """
        rules, platform = door.approvals, self.found.place.platform
        approval = Approval(
            quorum=rules.quorum,
            refusing=(DENY,),
            refusals=rules.refusals,
            approving=(APPROVE,),
            reasons=rules.reasons,
            requesters=self.requesters,
            own=rules.allow_self_approval,
            subject=subject,
            edits=None if edits is None else edits.evolve(alone=rules.allow_self_approval or self._is_for_one(rules)),
        )
        later = None if rules.escalate_after is None else rules.escalate_to.get(platform)
        policy = build_policy(
            self._find_approvers(door, approval),
            rules.timeout,
            approval=approval,
            remind=rules.reminder_delays,
            escalate=None if later is None or rules.escalate_after is None else {rules.escalate_after: later},
        )
        # The members of a group are looked up only when somebody clicks.
        if self.found.person is not None and not policy.groups:
            with use_language(ENGLISH):
                alone = policy.find_sole_viewer_problem(self.found.person)
            if alone is not None:
                raise CallerError(f"nobody could approve it, since {alone}")
        return policy

    def _is_for_one(self, rules: ApprovalRules) -> bool:
        """Return True if the person of the direct message approves, because no approvers are named."""
        return not self.approvers and self.found.place.platform not in rules.approvers

    def _find_approvers(self, door: DoorRules, approval: Approval) -> Who:
        if self.approvers:
            check_possible(self.approvers, approval, self.found, door.terms)
            return build_who(self.approvers)
        rules = door.approvals
        listed = rules.approvers.get(self.found.place.platform)
        if listed is not None and self.approvers is None:
            return listed
        if self.found.person is None or rules.approvers or self.approvers is not None:
            raise CallerError(
                "no approvers are set for this place. The operator names them with "
                f"{door.terms.name('approvers')}, or with the setting “approvers”"
            )
        person = (Named(name=self.found.name, person=self.found.person),)
        check_possible(person, approval, self.found, door.terms)
        return build_who(person)


class AddressBook:
    """Looks up each place once, and keeps the ids: a person who takes another's name later gains nothing."""

    def __init__(self, rules: DoorRules) -> None:
        self._rules = rules
        self._known: dict[str, Addressees] = {}
        self._looking = asyncio.Lock()
        self._has_all = False

    async def look_up(self, place: str) -> Addressees:
        """Return one of the operator's places with its people.

        Raises `CallerError`, `OperatorError`, `DeliveryError` or `RetryableError`.
        """
        async with self._looking:
            if place not in self._known:
                self._known[place] = await self._look_up(place)
            return self._known[place]

    async def look_up_all(self) -> None:
        """Look up the operator's other places, once: after a restart, their names are not known yet.

        One that cannot be looked up now keeps its id as its name.
        """
        if self._has_all:
            return
        self._has_all = True
        try:
            async with asyncio.timeout(NAME_SECONDS):
                for place in self._rules.places:
                    await self._try_look_up(place)
        except TimeoutError:
            log.info("Could not look up all places in time.", extra={"action": "name_unknown"})

    async def _try_look_up(self, place: str) -> None:
        try:
            await self.look_up(place)
        except AskbackError as error:
            log.info("Could not look up %s: %s", place, error, extra={"action": "name_unknown"})

    def get_name(self, place_key: str) -> str | None:
        """Return the name of a place that was looked up; None if it was not."""
        return next((one.found.name for one in self._known.values() if one.found.place.key == place_key), None)

    async def _look_up(self, place: str) -> Addressees:
        terms = self._rules.terms
        platform, name = parse_address(place, list_bot_names(), terms)
        bot = _get_only_bot(terms) if platform is None else get_bot(platform)
        async with bot.open_directory() as directory:
            with add_name_to_errors(name):
                found = await directory.find_place(name)
            answerers = await self._look_up_names(self._rules.answerers, found, directory)
            if not answerers and found.person is not None:
                answerers = (Named(name=found.name, person=found.person),)
            if not answerers:
                raise OperatorError(f"Nobody may answer in {place}: name people with {terms.name('who')}.")
            approvers = await self._look_up_names(self._rules.approvers, found, directory)
            requesters = await self._look_up_names(self._rules.requesters, found, directory)
        people = tuple(one.person for one in requesters if one is not None and one.person is not None)
        if len(people) < len(requesters):
            raise OperatorError(f"{terms.name('requested_by')} names a group: requesters must be people.")
        return Addressees(found, answerers, approvers if self._rules.approvers else None, people)

    async def _look_up_names(
        self, names: Sequence[str], found: Found, directory: Directory
    ) -> tuple[Named | None, ...]:
        here = [name for name in names if not _is_elsewhere(name, found.place.platform)]
        return tuple(await look_up_names(here, found, directory))


def _is_elsewhere(name: str, platform: str) -> bool:
    """Return True if a name belongs to another platform."""
    prefix, colon, _ = name.strip().partition(":")
    return bool(colon) and prefix != platform and prefix in list_bot_names()


def _get_only_bot(terms: Terms) -> Bot:
    bot = find_only_bot()
    if bot is None:
        raise OperatorError(
            f"Not exactly one platform has a token, so name the platform in {terms.name('to')}: PLATFORM:#channel."
        )
    return bot


def identify_rules(policy: Policy) -> JsonValue:
    """Return what identifies the people who decide, and how: ids, since names change."""
    who, vote = policy.who, policy.approval
    people = [person.id for person in who.people]
    requesters = [] if vote is None else [person.id for person in vote.requesters]
    rules = None if vote is None else vote.model_dump(mode="json", exclude={"requesters", "edits"})
    # Left out if it is the usual one, so that a restarted caller finds the questions of an earlier release.
    at_timeout: list[JsonValue] = [] if policy.on_timeout == "report" else [policy.on_timeout]
    return [*map(_to_sorted, (people, who.groups, requesters)), who.anyone, rules, *at_timeout]


def _to_sorted(ids: Iterable[str]) -> JsonValue:
    return list[JsonValue](sorted(ids))
