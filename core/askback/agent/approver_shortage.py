"""Finds calls with too few approvers left once the requesters are excluded. Pure."""

from __future__ import annotations

__all__ = ["Shortage", "UnreadableGroup", "find_shortage"]

from collections.abc import Mapping
from typing import Literal

from askback.domain.ask_policy import Approval, Policy
from askback.domain.group import GroupMembers
from askback.domain.identity import Actor, deduplicate_accounts, is_account_among
from askback.internal.values import Value
from askback.translations.catalogue import _, ngettext, translate_reason

NAMED = 5
"""Maximum number of people that a sentence names. It only counts the rest."""


Verb = Literal["agree", "refuse"]


class UnreadableGroup(Value):
    """A group whose members the platform never tells."""

    id: str
    why: str
    """The reason, as the end of a sentence."""
    later: bool
    """True if it is asked only after an escalation."""


class Shortage(Value):
    """The reason a call cannot be decided, no matter who is asked."""

    needed: int
    available: int
    verb: Verb
    """The action that too few people can take."""
    starter: Actor | None = None
    """The person who began the conversation, if they are an approver who is excluded."""
    authors: tuple[Actor, ...] = ()
    """Other approvers who are excluded because the call may follow their words."""
    can_restart: bool
    """True if a new conversation of the same person would leave enough approvers."""
    unreadable: tuple[UnreadableGroup, ...] = ()
    """Groups that count as empty."""

    def describe(self, *, by_model: bool = False) -> str:
        """Return the reason in sentences. `by_model` is True if the model reads them, and not people."""
        sentences = [self._describe_count()]
        if self.starter is not None:
            sentences.append(_("{name} asked for this.").format(name=self.starter.display_name))
        if self.authors:
            wrote = "{names} wrote what you act on." if by_model else _("{names} wrote what I act on.")
            sentences.append(wrote.format(names=_format_names(self.authors)))
        if self._is_own:
            sentences.append(_("People may not decide about their own requests."))
        unreadable = _("I cannot read the group {group}: {reason}")
        sentences += [unreadable.format(group=one.id, reason=translate_reason(one.why)) for one in self.unreadable]
        return " ".join(sentences)

    def _describe_count(self) -> str:
        if self.available == 0:
            return _("no approver is left to decide.")
        if self.verb == "agree":
            sentence = _("{needed} people have to agree, but only {available} can.")
        else:
            sentence = _("{needed} people have to refuse, but only {available} can.")
        return sentence.format(needed=self.needed, available=self.available)

    @property
    def advice(self) -> str:
        """Return advice for people, in a sentence or two."""
        names = ["approvers"]
        if any(one.later for one in self.unreadable):
            names.append("approval_escalate_to")
        if self._is_own:
            names.append("approval_own")
        settings = _join([f"“{name}”" for name in names])
        # The reason of an unreadable group already says that the operator has to act.
        if self.unreadable:
            sentence = ngettext("The setting for that is {names}.", "The settings for that are {names}.", len(names))
        else:
            sentence = ngettext(
                "My operator can change that: the setting is {names}.",
                "My operator can change that: the settings are {names}.",
                len(names),
            )
        sentence = sentence.format(names=settings)
        if not self.can_restart:
            return sentence
        return f"{sentence} {_('Or write “new”, and ask me again without quoting them.')}"

    @property
    def _is_own(self) -> bool:
        """True if somebody is excluded because the call may follow their words."""
        return self.starter is not None or bool(self.authors)


def find_shortage(policy: Policy, starter: Actor, members: Mapping[str, GroupMembers]) -> Shortage | None:
    """Return the shortage of approvers, escalations included. None means that enough are left, or that it is unknown.

    `members` maps groups to the people in them; a missing group may have any number.
    """
    approval = policy.approval or Approval()
    everybody = policy.everybody
    if everybody.anyone or any(group not in members for group in everybody.groups):
        return None
    groups = {group: members[group] for group in everybody.groups}
    known = deduplicate_accounts((*everybody.people, *(person for group in groups.values() for person in group.people)))
    # Somebody may be counted in two groups, so this is the highest number that is possible.
    unnamed = sum(group.others for group in groups.values())
    requesters = () if approval.own else approval.requesters
    left = len(_exclude_accounts(known, requesters)) + unnamed
    limits: tuple[tuple[int, Verb], ...] = ((approval.quorum, "agree"), (approval.refusals, "refuse"))
    for needed, verb in limits:
        if needed > left:
            concerned = tuple(one for one in requesters if is_account_among(one, known))
            others = tuple(one for one in concerned if not one.is_same_account(starter))
            afresh = len(_exclude_accounts(known, _exclude_accounts(requesters, others))) + unnamed
            return Shortage(
                needed=needed,
                available=left,
                verb=verb,
                starter=starter if concerned != others else None,
                authors=others,
                can_restart=afresh >= needed,
                unreadable=tuple(
                    UnreadableGroup(id=name, why=group.unreadable, later=name not in policy.who.groups)
                    for name, group in groups.items()
                    if group.unreadable is not None
                ),
            )
    return None


def _exclude_accounts(people: tuple[Actor, ...], others: tuple[Actor, ...]) -> tuple[Actor, ...]:
    return tuple(person for person in people if not is_account_among(person, others))


def _format_names(people: tuple[Actor, ...]) -> str:
    names = [person.display_name for person in people[:NAMED]]
    more = len(people) - len(names)
    if more:
        names.append(_("{count} more").format(count=more))
    return _join(names)


def _join(words: list[str]) -> str:
    *first, last = words
    return _("{first} and {last}").format(first=", ".join(first), last=last) if first else last
