"""Who decides whether the operator's own tools may run, and how a call becomes a question about that."""

from __future__ import annotations

__all__ = ["ApprovalRules", "asked", "givers"]

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from askback.agent import shortage
from askback.domain import approval
from askback.domain.ask import Ask
from askback.domain.conversation import Conversation, Requested, ToolCall
from askback.domain.identity import Actor, each
from askback.domain.policy import Approval, Policy, Reasons, Who
from askback.errors import CallerError

if TYPE_CHECKING:
    from askback.manager import QuestionManager


@dataclass(frozen=True, slots=True)
class ApprovalRules:
    """Who decides about calls that need approval. Without approvers, whoever began the conversation confirms them."""

    approvers: Mapping[str, Who] = field(default_factory=dict[str, Who])
    """By platform. Where there are some, and none on the platform of a conversation, nothing can be approved there."""
    quorum: int = 1
    refusals: int = 1
    reasons: Reasons = "no"
    own: bool = False
    """Whether approvers decide about what they requested themselves."""
    always: bool = False
    """Whether approvers may let a tool run for the rest of a conversation: as many as have to agree."""
    timeout: float | None = None
    """Seconds. None: it waits for ever."""
    remind: tuple[float, ...] = ()
    """After so many seconds each, those who are missing are reminded."""
    escalate_after: float | None = None
    escalate_to: Mapping[str, Who] = field(default_factory=dict[str, Who])
    """By platform: who is asked as well after those seconds."""

    def groups(self, platform: str) -> tuple[str, ...]:
        """The groups of a platform whose members decide, now or later."""
        those = (who.get(platform) for who in (self.approvers, self.escalate_to))
        return tuple(dict.fromkeys(group for who in those if who is not None for group in who.groups))

    def policy(
        self, manager: QuestionManager, conversation: Conversation, requesters: tuple[Actor, ...], subject: str
    ) -> Policy:
        """The policy for a call. Raises `CallerError` where nobody may decide."""
        platform, starter = conversation.place.platform, conversation.starter
        who = self.approvers.get(platform) if self.approvers else Who.only(starter)
        if who is None:
            raise CallerError(f"The setting `approvers` names nobody on {platform}.")
        decides = Approval(
            quorum=self.quorum,
            refusing=(approval.DENY,),
            refusals=self.refusals,
            approving=(approval.APPROVE, approval.ALWAYS) if self.always else (approval.APPROVE,),
            wider=((approval.ALWAYS, approval.APPROVE),) if self.always else (),
            reasons=self.reasons,
            requesters=each((starter, *requesters)) if self.approvers else (),
            own=self.own or not self.approvers,
            subject=subject,
        )
        later = None if self.escalate_after is None else self.escalate_to.get(platform)
        return manager.policy(
            who,
            self.timeout,
            approval=decides,
            remind=self.remind,
            escalate=None if later is None or self.escalate_after is None else {self.escalate_after: later},
        )


def givers(rules: ApprovalRules, settled: tuple[Ask, ...]) -> tuple[Actor, ...]:
    """Who let a tool run for the rest of the conversation, as far as that holds."""
    return each(by for ask in settled for by in approval.always(ask)) if rules.always else ()


def asked(
    manager: QuestionManager, rules: ApprovalRules, conversation: Conversation, call: ToolCall, requested: Requested
) -> ToolCall:
    """The call with the ask that it waits for, or let through by one before it; an error where nobody can decide."""
    try:
        form = approval.form(call.tool, call.input, always=rules.always)
        subject = approval.digest(call.tool, call.input)
        policy = rules.policy(manager, conversation, requested.requesters.get(call.tool, ()), subject)
        if rules.always:
            standing = _standing(requested, policy, call)
            if standing is not None:
                return call.evolve(approved=standing.id)
        short = shortage.of(policy, conversation.starter, requested.members)
        if short is not None:  # what nobody could decide in another place either is told first
            return _short(call, short)
        policy.check(form)
        unseen = None if requested.alone is None else policy.refusal_alone(requested.alone)
        if unseen is not None:
            return _elsewhere(call, unseen)
        ask = manager.new_ask(
            form,
            to=conversation.place,
            policy=policy,
            conversation_id=conversation.id,
            asked_by=conversation.starter,
        )
    except CallerError as error:
        why = f"{call.tool} needs approval, and nobody can be asked for it: {error} It was not run."
        return call.evolve(result=why, is_error=True)
    return call.evolve(ask=ask)


def _standing(requested: Requested, policy: Policy, call: ToolCall) -> Ask | None:
    """The newest ask that lets the tool run for good, by as many as might still decide about this call."""
    quorum = policy.approval.quorum if policy.approval is not None else 1
    for ask in reversed(requested.settled):
        by = tuple(_now(person, requested.givers) for person in each(approval.always(ask)))
        enough = len(by) >= quorum and not any(map(policy.refusal, by))
        if enough and approval.allows(ask, call.tool, call.input, own=False):
            return ask
    return None


def _now(person: Actor, givers: tuple[Actor, ...]) -> Actor:
    """The same person as they are now: a group that they have left since does not make them decide."""
    return next((giver for giver in givers if giver.is_same_person(person)), person.evolve(groups=()))


def _short(call: ToolCall, short: shortage.Shortage) -> ToolCall:
    """The call with an error, and with what people are told: too few are left who may decide."""
    cannot = "needs approval, and nobody can be asked for it:"
    return call.evolve(
        result=f"{call.tool} {cannot} {short.told('you act on')} It was not run. People have read why.",
        is_error=True,
        notice=f"“{call.tool}” {cannot} {short.told('I act on')} {short.cure}",
    )


def _elsewhere(call: ToolCall, unseen: str) -> ToolCall:
    """The call with an error, and with what people are told: it can only be approved in another place."""
    why = f"needs approval, and nobody can be asked for it here: {unseen}."
    return call.evolve(
        result=f"{call.tool} {why} It was not run. Do not call it here again: whoever wants it has to ask for it in a "
        "channel where those who decide are.",
        is_error=True,
        notice=f"“{call.tool}” {why} Ask me for it in a channel where those who decide are.",
    )
