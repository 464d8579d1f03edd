"""Applies time to an ask: escalations, reminders and the timeout. No I/O."""

from __future__ import annotations

__all__ = ["NOT_POSTED", "apply_due", "find_groups_to_resolve"]

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from askback.domain.ask import Ask
from askback.domain.ask_policy import PersonalReminder
from askback.domain.identity import Actor
from askback.domain.interview import settle
from askback.domain.outcome import Outcome
from askback.domain.outgoing_message import OutgoingMessage
from askback.domain.reminder_messages import build_personal_reminder, build_reminder
from askback.domain.timeout_action import build_fallback
from askback.domain.voting import list_done

NOT_POSTED = "as far as I know, the question was not posted before its deadline"
"""The reason of a timeout of which no card is known."""
_NOTHING_KNOWN: Mapping[str, tuple[Actor, ...]] = MappingProxyType({})
"""Members by group if the platform cannot list them."""


def find_groups_to_resolve(ask: Ask, now: datetime) -> tuple[str, ...]:
    """Return the groups to look up before `apply_due`, so that its message leaves out people who have answered.

    Empty if nothing is due, or if all are still to answer.
    """
    moment = ask.next_due_at
    if ask.outcome is not None or not ask.messages or moment is None or moment > now:
        return ()
    return ask.policy.groups if list_done(ask.interview, ask.policy.approval) else ()


def apply_due(
    ask: Ask, now: datetime, members: Mapping[str, tuple[Actor, ...]] = _NOTHING_KNOWN
) -> tuple[Ask | None, OutgoingMessage | None]:
    """Return the changed ask and the reminder for people. The ask is None if nothing is due.

    `members` holds the members of each group, where they are known.

    Reminders and escalations that passed together, such as during a downtime, lead to one message. A card that is not
    posted yet leads to no message. Once posted, it also names the people of the escalations, and reminders start.
    """
    policy, moment = ask.policy, ask.next_due_at
    if ask.outcome is not None or moment is None or moment > now:
        return None, None
    if policy.deadline is not None and policy.deadline <= now:
        return ask.evolve(interview=settle(ask.interview, _build_timeout(ask, now))), None
    own = next((reminder for reminder in policy.personal_reminders if reminder.at <= now), None)
    if own is not None and ask.messages:
        # One person at a time: what else is due follows at once.
        return _remind_person(ask, own)
    came = tuple(escalation for escalation in policy.escalations if escalation.at <= now)
    who = policy.who
    for escalation in came:
        who = who.merge(escalation.who)
    after = policy.evolve(
        who=who,
        reminders=tuple(at for at in policy.reminders if at > now or not ask.messages),
        escalations=tuple(escalation for escalation in policy.escalations if escalation.at > now),
    )
    interview = ask.interview.evolve(revision=ask.interview.revision + 1) if came else ask.interview
    reminder = build_reminder(ask, policy, after, members) if ask.messages else None
    return ask.evolve(policy=after, interview=interview), reminder


def _build_timeout(ask: Ask, now: datetime) -> Outcome:
    """Return the outcome at the deadline. It takes nothing from drafts, which people did not submit."""
    action = ask.policy.on_timeout
    return Outcome(
        status="timed_out",
        reason=None if ask.messages else NOT_POSTED,
        at=now,
        # A default that no card announced would be a silent one.
        fallback=build_fallback(ask.interview.form) if action == "default" and ask.messages else (),
        halted=action == "halt",
    )


def _remind_person(ask: Ask, own: PersonalReminder) -> tuple[Ask, OutgoingMessage]:
    """Return the ask without this reminder, and the message to the person who asked for it."""
    left = tuple(reminder for reminder in ask.policy.personal_reminders if reminder != own)
    return (
        ask.evolve(
            policy=ask.policy.evolve(personal_reminders=left),
            interview=ask.interview.evolve(revision=ask.interview.revision + 1),
        ),
        build_personal_reminder(ask, own),
    )
