"""The ways to leave a question for now: discuss it, be reminded of it, or cancel it. No I/O."""

from __future__ import annotations

__all__ = [
    "HINT",
    "STAYS_OPEN",
    "TOO_SOON",
    "WAYS",
    "Way",
    "WayName",
    "add_reminder",
    "build_operation",
    "drop_reminder",
    "find_next_morning",
    "list_ways",
]

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time, timedelta, tzinfo
from types import MappingProxyType
from typing import Final, Literal

from askback.domain.actions import Action, Cancel, Decline, Operation, Remind
from askback.domain.apply_action import (
    Closed,
    NotPossible,
    check_reason,
    is_click_recorded,
    record_click,
)
from askback.domain.ask import Ask
from askback.domain.ask_policy import PersonalReminder
from askback.domain.identity import Actor
from askback.internal.values import Value
from askback.translations.catalogue import N_, _

WayName = Literal["discuss", "hour", "hours", "day", "tomorrow", "week", "time", "cancel"]


class Way(Value):
    """One way to leave a question for now."""

    label: str
    """In English, as the description. A platform translates them where it shows them."""
    description: str | None = None
    delay: timedelta | None = None
    """The time until the reminder, if the way has one that does not depend on a clock."""


WAYS: Final[Mapping[WayName, Way]] = MappingProxyType(
    {
        "discuss": Way(label=N_("Discuss it first"), description=N_("The asker reads your note, and can ask again.")),
        "hour": Way(label=N_("Remind me in an hour"), delay=timedelta(hours=1)),
        "hours": Way(label=N_("Remind me in four hours"), delay=timedelta(hours=4)),
        "day": Way(label=N_("Remind me in a day"), delay=timedelta(days=1)),
        "tomorrow": Way(label=N_("Remind me tomorrow at 9:00")),
        "week": Way(label=N_("Remind me in a week"), delay=timedelta(days=7)),
        "time": Way(label=N_("Remind me at another time"), description=N_("Choose it below.")),
        "cancel": Way(label=N_("Cancel it"), description=N_("The question ends without an answer.")),
    }
)
"""Every way, by its name. A platform offers those that it can: see `list_ways`."""
MORNING = time(9)
"""The time of day of "tomorrow"."""
HINT = N_("After “Remind me”, the question stays open.")
"""The sentence below the ways."""
STAYS_OPEN = N_("Nothing changes for the others, and this is not a vote.")
"""The sentence below the times of a reminder, if several people decide."""
MOST_REMINDERS = 20
"""Maximum number of people who have a reminder of one question."""
LONGEST_DELAY = timedelta(days=366)
"""Longest time until a reminder that a person asks for."""
PAST = N_("That time has passed. Please choose a later one.")
TOO_LATE = N_("The question ends before that. Please choose an earlier time.")
TOO_FAR = N_("That is more than a year away. Please choose an earlier time.")
TOO_MANY = N_("{count} people have a reminder of this question already, which is the most.")
TOO_SOON = N_("It ends too soon for a reminder. Please decide now, or leave the card as it is.")
"""The notice if no reminder that the platform offers comes before the end."""


def list_ways(offered: Sequence[WayName], *, now: datetime, deadline: datetime | None) -> tuple[WayName, ...]:
    """Return the offered ways without those whose reminder would come after the deadline. None means no deadline."""

    def is_early(delay: timedelta | None) -> bool:
        return deadline is None or delay is None or now + delay < deadline

    return tuple(name for name in offered if is_early(WAYS[name].delay))


def build_operation(name: WayName, reason: str, *, now: datetime, at: datetime | None = None) -> Operation | None:
    """Return the operation of a chosen way, with the person's note as its reason.

    `at` is the time of a reminder that the platform had to find out. None means a way that needs it has none, and then
    the result is None.
    """
    note = reason or None
    if name == "discuss":
        return Decline(reason=note, discuss=True)
    if name == "cancel":
        return Cancel(reason=note)
    delay = WAYS[name].delay
    moment = at if delay is None else now + delay
    return None if moment is None else Remind(moment=moment.astimezone(UTC), reason=note)


def find_next_morning(now: datetime, zone: tzinfo) -> datetime:
    """Return nine o'clock of the next day in a time zone."""
    return datetime.combine(now.astimezone(zone).date() + timedelta(days=1), MORNING, zone)


def add_reminder(ask: Ask, action: Action, operation: Remind) -> Ask:
    """Return the ask with a reminder for the person who acted. It replaces an earlier one of theirs.

    Raises `Closed` if the ask has ended, and `NotPossible` if the reminder is.
    """
    interview, policy = ask.interview, ask.policy
    if is_click_recorded(interview, action):
        return ask
    if interview.phase == "closed":
        raise Closed
    reason = check_reason(operation.reason)
    if operation.moment <= action.at:
        raise NotPossible(_(PAST))
    if operation.moment > action.at + LONGEST_DELAY:
        raise NotPossible(_(TOO_FAR))
    if policy.deadline is not None and operation.moment >= policy.deadline:
        raise NotPossible(_(TOO_LATE))
    others = tuple(one for one in policy.personal_reminders if not one.who.is_same_account(action.actor))
    if len(others) >= MOST_REMINDERS:
        raise NotPossible(_(TOO_MANY).format(count=MOST_REMINDERS))
    own = PersonalReminder(who=action.actor, at=operation.moment, reason=reason)
    return ask.evolve(
        policy=policy.evolve(personal_reminders=(*others, own)),
        interview=record_click(interview.evolve(revision=interview.revision + 1), action),
    )


def drop_reminder(ask: Ask, person: Actor) -> Ask:
    """Return the ask without a reminder of this person, who has voted and so needs none."""
    policy = ask.policy
    left = tuple(one for one in policy.personal_reminders if not one.who.is_same_account(person))
    return ask if left == policy.personal_reminders else ask.evolve(policy=policy.evolve(personal_reminders=left))
