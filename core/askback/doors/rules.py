"""The operator's rules for a door: where it asks, whom, and for how long. No caller can widen them."""

from __future__ import annotations

__all__ = ["AddressBook", "Addressees", "DoorRules", "identify_rules"]

import asyncio
import logging
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

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
from askback.domain.wait import Wait, count_seconds, drop_late
from askback.domain.who import Who
from askback.errors import AskbackError, CallerError
from askback.internal.clock import utc_now
from askback.manager import build_policy
from askback.ports.bot import Bot
from askback.ports.directory import Directory, Found, Named, UnknownName, normalize_name
from askback.ports.installed_bots import find_only_bot, get_bot, list_bot_names
from askback.ports.platform import DeliveryError
from askback.translations.catalogue import ENGLISH, Language, get_language, use_language

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
    """The people for whom the agent works. They may neither approve its calls nor vote, unless `approvals` lets them.
    """
    editable: tuple[str, ...] = ()
    """The tools whose arguments approvers may change before they approve a call."""
    wait: Wait | None = None
    """The time until a question times out. None means no deadline."""
    remind: tuple[float, ...] = ()
    escalate: Mapping[float, tuple[str, ...]] = field(default_factory=dict[float, tuple[str, ...]])
    """More people and groups who may answer, by the seconds after which they are asked, too."""
    language: Language | None = None
    """The language of the cards. None means that of the settings."""
    on_timeout: TimeoutAction = "report"
    """The action at the deadline of a question, where callers do not decide that themselves."""
    approvals: ApprovalRules = field(default_factory=ApprovalRules)
    """The rules for approvals. `wait`, `remind`, `escalate` and `on_timeout` do not apply to approvals."""
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

    def list_platforms(self) -> frozenset[str]:
        """Return the platforms of the places. Raises `CallerError` if a place does not say which, and none is clear."""
        found = {parse_address(place, list_bot_names(), self.terms)[0] for place in self.places}
        return frozenset(_get_only_bot(self.terms).name if name is None else name for name in found)

    def limit_wait(self, wanted: Wait | None) -> DoorRules:
        """Return the rules with a wait that ends when this one does, or earlier. None changes nothing."""
        now = utc_now()
        if wanted is None or (self.wait is not None and count_seconds(self.wait, now) <= count_seconds(wanted, now)):
            return self
        in_time = drop_late(self.escalate, wanted, now)
        return replace(
            self,
            wait=wanted,
            remind=drop_late(self.remind, wanted, now),
            escalate={after: self.escalate[after] for after in in_time},
        )

    def check_default(self, limit: Wait | None, on_timeout: TimeoutAction, fields: str) -> None:
        """Raise `CallerError` if defaults are to apply although nothing ends the question.

        `fields` tells the caller what to give, in its own words.
        """
        if on_timeout == "default" and self.limit_wait(limit).wait is None:
            raise CallerError(f"on_timeout “default” needs a deadline, and this question has none. Give {fields}.")

    @contextmanager
    def use_language(self) -> Generator[None]:
        """Speak the language of the cards inside the block."""
        with use_language(self.language or get_language()):
            yield

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
    later: Mapping[float, tuple[Named | None, ...]]
    """The people who may answer questions after an escalation."""

    @property
    def asked(self) -> str:
        """The people who may answer questions, in words."""
        return format_names(self.answerers)

    def build_policy(self, rules: DoorRules, approval: Approval | None, on_timeout: TimeoutAction = "report") -> Policy:
        """Return the policy of a question, whose vote is not for requesters.

        Raises `CallerError` if these people could never decide it.
        """
        if approval is not None:
            approval = approval.evolve(requesters=self.requesters, own=rules.approvals.allow_self_approval)
        later = {after: self.later[after] for after in rules.escalate}
        everybody = [*self.answerers, *(one for names in later.values() for one in names)]
        check_possible(everybody, approval, self.found, rules.terms)
        return build_policy(
            build_who(self.answerers),
            rules.wait,
            approval=approval,
            remind=_keep_in_time(rules.remind, rules.wait),
            escalate={after: build_who(names) for after, names in later.items()},
            on_timeout=on_timeout,
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
        later = rules.escalate_to.get(platform)
        escalate_after = _keep_in_time(() if rules.escalate_after is None else (rules.escalate_after,), rules.timeout)
        policy = build_policy(
            self._find_approvers(door, approval),
            rules.timeout,
            approval=approval,
            remind=_keep_in_time(rules.reminder_delays, rules.timeout),
            escalate=None if later is None else dict.fromkeys(escalate_after, later),
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
        self._looking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._has_all = False

    async def look_up(self, place: str) -> Addressees:
        """Return one of the operator's places with its people.

        Raises `CallerError`, `OperatorError`, `DeliveryError` or `RetryableError`.
        """
        async with self._looking[place]:
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
                await asyncio.gather(*map(self._try_look_up, self._rules.places))
        except TimeoutError:
            log.info("Could not look up all places in time.", extra={"action": "name_unknown"})

    async def check(self) -> None:
        """Look up every place. Raises `CallerError` or `OperatorError` for the first with names that cannot work.

        A platform that does not answer now is logged only.
        """
        for place in self._rules.places:
            bot = self._find_bot(place)[0]
            if not bot.is_configured():
                raise UnknownName(
                    f"{place}: {bot.name} has no token. `askback doctor --platform {bot.name}` explains it."
                )
            try:
                await self.look_up(place)
            except (CallerError, UnknownName, DeliveryError):
                raise
            except AskbackError as error:  # as if the platform cannot be reached
                log.warning("Could not check %s now: %s", place, error, extra={"action": "name_unknown"})

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
        bot, name = self._find_bot(place)
        async with bot.open_directory() as directory:
            with add_name_to_errors(name):
                found = await directory.find_place(name)
            answerers = await self._look_up_names(self._rules.answerers, found, directory)
            if not answerers and found.person is not None:
                answerers = (Named(name=found.name, person=found.person),)
            if not answerers:
                raise UnknownName(f"Nobody may answer in {place}: name people with {terms.name('who')}.")
            approvers = await self._look_up_names(self._rules.approvers, found, directory)
            requesters = await self._look_up_names(self._rules.requesters, found, directory)
            later = {
                after: await self._look_up_names(names, found, directory)
                for after, names in self._rules.escalate.items()
            }
        people = tuple(one.person for one in requesters if one is not None and one.person is not None)
        if len(people) < len(requesters):
            raise UnknownName(f"{terms.name('requested_by')} names a group: requesters must be people.")
        return Addressees(found, answerers, approvers if self._rules.approvers else None, people, later)

    def _find_bot(self, place: str) -> tuple[Bot, str]:
        """Return the bot of a place, and the place's name without the platform."""
        platform, name = parse_address(place, list_bot_names(), self._rules.terms)
        return _get_only_bot(self._rules.terms) if platform is None else get_bot(platform), name

    async def _look_up_names(
        self, names: Sequence[str], found: Found, directory: Directory
    ) -> tuple[Named | None, ...]:
        here = [name for name in names if not _is_elsewhere(name, found.place.platform)]
        return tuple(await look_up_names(here, found, directory))


def _keep_in_time(delays: tuple[float, ...], wait: Wait | None) -> tuple[float, ...]:
    """Return the delays that end before a moment: how many that are differs from question to question."""
    return drop_late(delays, wait, utc_now()) if isinstance(wait, datetime) else delays


def _is_elsewhere(name: str, platform: str) -> bool:
    """Return True if a name belongs to another platform."""
    prefix, colon, _ = name.strip().partition(":")
    return bool(colon) and prefix != platform and prefix in list_bot_names()


def _get_only_bot(terms: Terms) -> Bot:
    bot = find_only_bot()
    if bot is None:
        raise UnknownName(
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
    later: list[JsonValue] = [
        [_to_sorted(person.id for person in one.who.people), _to_sorted(one.who.groups), one.who.anyone]
        for one in policy.escalations
        if policy.approval is None or policy.approval.subject is None
    ]
    return [*map(_to_sorted, (people, who.groups, requesters)), who.anyone, rules, *at_timeout, *later]


def _to_sorted(ids: Iterable[str]) -> JsonValue:
    return list[JsonValue](sorted(ids))
