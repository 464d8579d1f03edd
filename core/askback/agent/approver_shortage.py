"""Finds calls with too few approvers left once the requesters are excluded. Pure."""

from __future__ import annotations

__all__ = ["Shortage", "find_shortage"]

from collections.abc import Mapping

from askback.domain.ask_policy import Approval, Policy
from askback.domain.identity import Actor, deduplicate_accounts
from askback.internal.values import Value

NAMED = 5
"""Most people that a sentence names; the rest are counted."""


class Shortage(Value):
    """The reason a call cannot be decided, no matter who is asked."""

    needed: int
    available: int
    verb: str
    """The action that too few people can take: "agree" or "refuse"."""
    starter: Actor | None = None
    """The person who began the conversation, if they are an approver who is excluded."""
    authors: tuple[Actor, ...] = ()
    """Other approvers who are excluded because the call may follow their words."""
    can_restart: bool = False
    """True if a new conversation of the same person would leave enough approvers."""

    def describe(self, acted_on: str) -> str:
        """Return the reason in sentences. `acted_on` is "I act on", or "you act on" towards the model."""
        if self.available == 0:
            sentence = "nobody is left to decide."
        else:
            people, have = ("person", "has") if self.needed == 1 else ("people", "have")
            sentence = f"{self.needed} {people} {have} to {self.verb}, but only {self.available} can."
        if self.starter is not None:
            sentence += f" {self.starter.display_name} asked for this."
        if self.authors:
            sentence += f" {_format_names(self.authors)} wrote what {acted_on}."
        return (
            f"{sentence} People do not decide about their own requests." if self.starter or self.authors else sentence
        )

    @property
    def advice(self) -> str:
        """Return advice for people, in a sentence or two."""
        settings = (
            "settings are “approvers” and “approval_own”" if self.starter or self.authors else "setting is “approvers”"
        )
        sentence = f"Whoever runs me can change that: the {settings}."
        return f"{sentence} Or write “new”, and ask me again without their words." if self.can_restart else sentence


def find_shortage(policy: Policy, starter: Actor, members: Mapping[str, tuple[Actor, ...]]) -> Shortage | None:
    """Return the shortage of approvers, escalations included. None means that enough are left, or that it is unknown.

    `members` maps groups to the people in them; a missing group may have any number.
    """
    approval = policy.approval or Approval()
    everybody = policy.everybody
    if everybody.anyone or any(group not in members for group in everybody.groups):
        return None
    known = deduplicate_accounts(
        (*everybody.people, *(person for group in everybody.groups for person in members[group]))
    )
    requesters = () if approval.own else approval.requesters
    left = _exclude_accounts(known, requesters)
    for needed, verb in ((approval.quorum, "agree"), (approval.refusals, "refuse")):
        if needed > len(left):
            concerned = tuple(one for one in requesters if any(one.is_same_account(person) for person in known))
            others = tuple(one for one in concerned if not one.is_same_account(starter))
            return Shortage(
                needed=needed,
                available=len(left),
                verb=verb,
                starter=starter if len(others) < len(concerned) else None,
                authors=others,
                can_restart=bool(others)
                and len(_exclude_accounts(known, _exclude_accounts(requesters, others))) >= needed,
            )
    return None


def _exclude_accounts(people: tuple[Actor, ...], others: tuple[Actor, ...]) -> tuple[Actor, ...]:
    return tuple(person for person in people if not any(person.is_same_account(other) for other in others))


def _format_names(people: tuple[Actor, ...]) -> str:
    names = [person.display_name for person in people[:NAMED]]
    more = len(people) - len(names)
    if more:
        names.append(f"{more} more")
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
