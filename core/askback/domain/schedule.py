"""The effects of time on an ask: escalations, reminders and the timeout. No I/O."""

from __future__ import annotations

__all__ = ["NOTHING_KNOWN", "apply_due", "find_groups_to_resolve"]

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from askback.domain.ask import Ask
from askback.domain.ask_policy import Policy, Who
from askback.domain.form import Outcome
from askback.domain.identity import Actor
from askback.domain.interview import settle
from askback.domain.outgoing_message import REMINDER, OutgoingMessage
from askback.domain.voting import find_missing_voters, list_done
from askback.text.literal import quote_line

NOTHING_KNOWN: Mapping[str, tuple[Actor, ...]] = MappingProxyType({})
"""Members by group if no platform tells any."""
CALLED = 10
"""Most people that a reminder names instead of their groups."""

REMINDED = "Reminder: {question} still waits for you."
ESCALATED = "This now waits for you, too: {question}"


def find_groups_to_resolve(ask: Ask, now: datetime) -> tuple[str, ...]:
    """Return the groups to look up before calling `apply_due`, so that people who are already done are not mentioned.

    Empty if nothing is due, or if no person is done yet.
    """
    moment = ask.next_due_at
    if ask.outcome is not None or not ask.messages or moment is None or moment > now:
        return ()
    return ask.policy.groups if list_done(ask.interview, ask.policy.approval) else ()


def apply_due(
    ask: Ask, now: datetime, members: Mapping[str, tuple[Actor, ...]] = NOTHING_KNOWN
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
        return ask.evolve(interview=settle(ask.interview, Outcome(status="timed_out", at=now))), None
    came = tuple(escalation for escalation in policy.escalations if escalation.at <= now)
    who = policy.who
    for escalation in came:
        who = who.with_others(escalation.who)
    after = policy.evolve(
        who=who,
        reminders=tuple(at for at in policy.reminders if at > now or not ask.messages),
        escalations=tuple(escalation for escalation in policy.escalations if escalation.at > now),
    )
    interview = ask.interview.evolve(revision=ask.interview.revision + 1) if came else ask.interview
    reminder = _build_reminder(ask, policy, after, members) if ask.messages else None
    return ask.evolve(policy=after, interview=interview), reminder


def _build_reminder(
    ask: Ask, before: Policy, after: Policy, members: Mapping[str, tuple[Actor, ...]]
) -> OutgoingMessage | None:
    reminded = len(after.reminders) != len(before.reminders)
    recipients = find_missing_voters(ask.interview, after, after.approval)
    if recipients is not None and not reminded:
        recipients = recipients.excluding(before.who)
    if recipients is not None:
        recipients = _exclude_people(recipients, members, list_done(ask.interview, after.approval))
    if recipients is None:
        return None
    sentence = REMINDED if reminded else ESCALATED
    left = f"{len(after.reminders)}.{len(after.escalations)}"
    return OutgoingMessage(
        target=f"{REMINDER}{ask.id}:{left}",
        text=sentence.format(question=quote_line(ask.interview.question.prompt)),
        markdown=False,
        mention=recipients,
        reply_to=ask.messages[0],
        until=after.deadline,
    )


def _exclude_people(
    recipients: Who, members: Mapping[str, tuple[Actor, ...]], without: tuple[Actor, ...]
) -> Who | None:
    """Return `recipients` without those people: a group that contains one is replaced by its other members, if known.

    Return `recipients` unchanged if more than `CALLED` people would be named, and None if that leaves nothing.
    """
    groups: list[str] = []
    people = list(recipients.people)
    for group in recipients.groups:
        inside = members.get(group, ())
        others = Who.only(*inside).without(without) if inside else None
        if not inside or (others is not None and len(others.people) == len(inside)):
            groups.append(group)
        elif others is not None:
            people += others.people
    called = Who(people=tuple(people)).distinct if people else ()
    if len(called) > CALLED:
        return recipients
    return (
        recipients.evolve(people=called, groups=tuple(groups))
        if called or groups or recipients.anyone or recipients.open_to
        else None
    )
