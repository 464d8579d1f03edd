"""Rules for approving calls of the operator's tools, and the questions that ask people for approval."""

from __future__ import annotations

__all__ = ["ApprovalRules", "list_standing_approvers", "request_approval"]

from collections.abc import Mapping
from dataclasses import dataclass, field

from askback.agent import approver_shortage
from askback.domain import approval
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval, Policy, Reasons
from askback.domain.conversation import Conversation
from askback.domain.edit_rules import EditRules, build_edit_rules
from askback.domain.identity import Actor, deduplicate_accounts
from askback.domain.turn import ApprovalContext, ToolCall
from askback.domain.wait import Wait
from askback.domain.who import Who
from askback.errors import CallerError
from askback.manager import build_ask, build_policy
from askback.translations.catalogue import ENGLISH, _, use_language


@dataclass(frozen=True, slots=True)
class ApprovalRules:
    """The rules for calls that need approval.

    Without approvers, the person who began the conversation confirms them, and so may those who are asked later, unless
    a call may follow their words.
    """

    approvers: Mapping[str, Who] = field(default_factory=dict[str, Who])
    """Approvers by platform. If some are set, but none for a conversation's platform, nothing can be approved there."""
    quorum: int = 1
    refusals: int = 1
    reasons: Reasons = "no"
    allow_self_approval: bool = False
    """True if approvers may decide about their own requests."""
    allow_always: bool = False
    """True if approvers may permit a tool for the rest of a conversation. The quorum applies to that, too."""
    timeout: Wait | None = None
    """The time until an approval times out. None means no deadline."""
    reminder_delays: tuple[float, ...] = ()
    """Seconds after each of which the approvers who have not voted get a reminder."""
    escalate_after: float | None = None
    escalate_to: Mapping[str, Who] = field(default_factory=dict[str, Who])
    """The people who are also asked after `escalate_after` seconds, by platform."""

    def list_groups(self, platform: str) -> tuple[str, ...]:
        """Return the groups of a platform whose members decide, now or after an escalation."""
        return tuple(dict.fromkeys(group for who in self._list_deciding(platform) for group in who.groups))

    def list_people(self, platform: str) -> tuple[Actor, ...]:
        """Return the people of a platform who are listed by name and decide, now or after an escalation."""
        return deduplicate_accounts(person for who in self._list_deciding(platform) for person in who.people)

    def _list_deciding(self, platform: str) -> tuple[Who, ...]:
        those = (who.get(platform) for who in (self.approvers, self.escalate_to))
        return tuple(who for who in those if who is not None)

    def build_policy(
        self,
        conversation: Conversation,
        requesters: tuple[Actor, ...],
        subject: str,
        edits: EditRules | None = None,
    ) -> Policy:
        """Return the policy for a call. Raises `CallerError` if the setting names no approvers on this platform.

        Without approvers, the person who began the conversation confirms their own request, and what they change.
        """
        platform, starter = conversation.place.platform, conversation.starter
        who = self.approvers.get(platform) if self.approvers else Who.from_people(starter)
        if who is None:
            raise CallerError(f"The setting “approvers” lists no one on {platform}. Add approvers for this platform.")
        decides = Approval(
            quorum=self.quorum,
            refusing=(approval.DENY,),
            refusals=self.refusals,
            approving=(approval.APPROVE, approval.ALWAYS) if self.allow_always else (approval.APPROVE,),
            wider=((approval.ALWAYS, approval.APPROVE),) if self.allow_always else (),
            reasons=self.reasons,
            requesters=self._list_excluded(starter, requesters),
            own=self.allow_self_approval,
            subject=subject,
            edits=None if edits is None else edits.evolve(alone=self.allow_self_approval or not self.approvers),
        )
        later = None if self.escalate_after is None else self.escalate_to.get(platform)
        return build_policy(
            who,
            self.timeout,
            approval=decides,
            remind=self.reminder_delays,
            escalate=None if later is None or self.escalate_after is None else {self.escalate_after: later},
        )

    def _list_excluded(self, starter: Actor, requesters: tuple[Actor, ...]) -> tuple[Actor, ...]:
        """Return the requesters who may not decide. Without approvers, the starter confirms their own request."""
        people = deduplicate_accounts((starter, *requesters))
        return people if self.approvers else tuple(one for one in people if not one.is_same_account(starter))


def list_standing_approvers(rules: ApprovalRules, settled: tuple[Ask, ...]) -> tuple[Actor, ...]:
    """Return the people who permitted a tool for the rest of the conversation; empty if the rules do not allow that."""
    return (
        deduplicate_accounts(by for ask in settled for by in approval.list_standing_approvers(ask))
        if rules.allow_always
        else ()
    )


def request_approval(
    rules: ApprovalRules,
    conversation: Conversation,
    call: ToolCall,
    requested: ApprovalContext,
    title: str | None = None,
    parameter_rules: EditRules | None = None,
) -> ToolCall:
    """Return the call with a new ask, approved by an earlier ask, or failed if nobody can decide.

    `title` is the tool's template of the question. `parameter_rules` are the tool's rules for changes.
    """
    try:
        form = approval.build_form(call.tool, call.input, always=rules.allow_always, template=title)
        subject = approval.compute_digest(call.tool, call.input)
        edits = None
        if parameter_rules is not None and isinstance(call.input, dict):
            edits = build_edit_rules(call.input, parameter_rules, title=title)
        policy = rules.build_policy(conversation, requested.requesters.get(call.tool, ()), subject, edits)
        if rules.allow_always:
            standing = _find_standing_approval(requested, policy, rules.quorum, call)
            if standing is not None:
                return call.evolve(approved=standing.id)
        short = approver_shortage.find_shortage(policy, conversation.starter, requested.members)
        if short is not None:  # reported first, since asking in another place would not help either
            return _fail_for_shortage(call, short)
        policy.check(form)
        if requested.alone is not None and policy.find_sole_viewer_problem(requested.alone) is not None:
            return _fail_for_place(call, policy, requested.alone)
        ask = build_ask(
            form,
            to=conversation.place,
            policy=policy,
            conversation_id=conversation.id,
            asked_by=conversation.starter,
        )
    except CallerError as error:
        why = f"{call.tool} was not run: it needs approval, and nobody can give it. {error}"
        return call.evolve(result=why, is_error=True)
    return call.evolve(ask=ask)


def _find_standing_approval(requested: ApprovalContext, policy: Policy, quorum: int, call: ToolCall) -> Ask | None:
    """Return the newest ask that permits the tool for the rest of the conversation; None if there is none.

    Its voters must reach the quorum, and all of them must still be allowed to decide about this call.
    """
    for ask in reversed(requested.settled):
        by = tuple(
            _refresh_groups(person, requested.givers)
            for person in deduplicate_accounts(approval.list_standing_approvers(ask))
        )
        enough = len(by) >= quorum and not any(map(policy.explain_denial, by))
        if enough and approval.is_allowed(ask, call.tool, call.input, own=False):
            return ask
    return None


def _refresh_groups(person: Actor, givers: tuple[Actor, ...]) -> Actor:
    """Return the person with their current groups, since a group that they have left gives them no vote."""
    return next((giver for giver in givers if giver.is_same_person(person)), person.evolve(groups=()))


def _fail_for_shortage(call: ToolCall, short: approver_shortage.Shortage) -> ToolCall:
    """Return the call as failed, with a notice for people, because too few approvers are left."""
    with use_language(ENGLISH):
        reason = short.describe(by_model=True)
    cannot = _("“{tool}” was not run: it needs approval, and too few people can give it: {reason} {advice}")
    return call.evolve(
        result=f"{call.tool} was not run: it needs approval, and too few people can give it: {reason} "
        "People have read why.",
        is_error=True,
        notice=cannot.format(tool=call.tool, reason=short.describe(), advice=short.advice),
    )


def _fail_for_place(call: ToolCall, policy: Policy, alone: Actor) -> ToolCall:
    """Return the call as failed, with a notice for people, because it can be approved only in another place."""
    with use_language(ENGLISH):
        unseen = policy.find_sole_viewer_problem(alone)
    notice = _(
        "“{tool}” was not run: it needs approval, and nobody can give it here, since {reason}. "
        "Ask me for it in a channel that its approvers can see."
    )
    return call.evolve(
        result=f"{call.tool} was not run: it needs approval, and nobody can give it here, since {unseen}. "
        "Do not call it here again. The person who wants it has to ask for it in a channel "
        "that its approvers can see.",
        is_error=True,
        notice=notice.format(tool=call.tool, reason=policy.find_sole_viewer_problem(alone)),
    )
