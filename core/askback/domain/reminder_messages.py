"""Builds the messages that remind people of an open question, or ask more people. No I/O."""

from __future__ import annotations

__all__ = ["ASKED_FOR", "ESCALATED", "REMINDED", "build_edit_reminder", "build_personal_reminder", "build_reminder"]

from collections.abc import Mapping

from askback.domain.ask import Ask
from askback.domain.ask_policy import PersonalReminder, Policy
from askback.domain.identity import Actor
from askback.domain.outgoing_message import REMINDER, OutgoingMessage
from askback.domain.settled_title import get_first_line
from askback.domain.voting import find_missing_voters, list_done
from askback.domain.who import Who
from askback.text.literal import quote_line
from askback.translations.catalogue import N_, _, use_language

CALLED = 10
"""Maximum number of people whom a reminder names instead of their groups."""

ASKED_FOR = N_("You asked for a reminder: {question} still waits for an answer.")
REMINDED = N_("Reminder: {question} still waits for you.")
EDITED = N_("Your vote does not count any more, because {person} changed the call. Please decide again: {question}")
ESCALATED = N_("This now waits for you, too: {question}")


def build_reminder(
    ask: Ask, before: Policy, after: Policy, members: Mapping[str, tuple[Actor, ...]]
) -> OutgoingMessage | None:
    """Return the message for those who have not decided yet. None if they all have.

    `before` and `after` are the policy before and after what became due. `members` holds the members of each group,
    where they are known.
    """
    reminded = len(after.reminders) != len(before.reminders)
    recipients = find_missing_voters(ask.interview, after, after.approval)
    if recipients is not None and not reminded:
        recipients = recipients.subtract(before.who)
    if recipients is not None:
        recipients = _exclude_people(recipients, members, list_done(ask.interview, after.approval))
    if recipients is None:
        return None
    with use_language(ask.policy.language):
        sentence = _(REMINDED if reminded else ESCALATED)
    left = f"{len(after.reminders)}.{len(after.escalations)}"
    return OutgoingMessage(
        target=f"{REMINDER}{ask.id}:{left}",
        text=sentence.format(question=quote_line(ask.interview.question.prompt)),
        markdown=False,
        mention=recipients,
        reply_to=ask.messages[0],
        until=after.deadline,
        language=ask.policy.language,
    )


def build_edit_reminder(before: Ask, after: Ask, changer: Actor) -> OutgoingMessage | None:
    """Return the message to those whose votes a person has removed by a change of the call. None if there are none."""
    lost = [vote.by for vote in before.interview.votes if not vote.by.is_same_account(changer)]
    if after.interview.step == before.interview.step or not (lost and after.messages):
        return None
    with use_language(after.policy.language):
        sentence = _(EDITED)
    asked = get_first_line(after.interview.question.prompt)
    return OutgoingMessage(
        target=f"{REMINDER}{after.id}:edit.{after.interview.step}",
        text=sentence.format(person=changer.display_name, question=quote_line(asked)),
        markdown=False,
        mention=Who.from_people(*lost),
        reply_to=after.messages[0],
        until=after.policy.deadline,
        language=after.policy.language,
    )


def build_personal_reminder(ask: Ask, own: PersonalReminder) -> OutgoingMessage:
    """Return the message to a person who asked for a reminder."""
    # The time tells it from the same person's next one, and the id from that of others.
    name = f"{own.who.id}.{own.at.timestamp():.0f}"
    with use_language(ask.policy.language):
        sentence = _(ASKED_FOR)
    return OutgoingMessage(
        target=f"{REMINDER}{ask.id}:{name}",
        text=sentence.format(question=quote_line(ask.interview.question.prompt)),
        markdown=False,
        mention=Who.from_people(own.who),
        reply_to=ask.messages[0],
        until=ask.policy.deadline,
        language=ask.policy.language,
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
        others = Who.from_people(*inside).remove_accounts(without) if inside else None
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
