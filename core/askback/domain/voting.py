"""Records votes, and determines when they decide. No I/O.

A vote leaves the interview's step unchanged, so a click on a card from before another person's vote still counts.
Each person has one vote: their newest.
"""

from __future__ import annotations

__all__ = ["ReasonRequired", "VoteCount", "apply_vote", "count_votes", "find_missing_voters", "list_done"]

from askback.domain.actions import Action, Cancel, Choose, OpenDecline, ShowDetails, UndoVote
from askback.domain.apply_action import REASON_RULES, Closed, NotPossible, Stale, is_click_recorded, record_click
from askback.domain.argument_change import list_changers
from askback.domain.ask_policy import Approval, Policy
from askback.domain.form import Option, Question
from askback.domain.identity import Actor
from askback.domain.interview import Interview, settle
from askback.domain.outcome import Answer, Choice, Outcome, Vote
from askback.domain.who import Who
from askback.internal.values import Value
from askback.text.literal import to_literal
from askback.text.unseen import strip_text
from askback.translations.catalogue import N_, _, ngettext

CHANGED_SINCE = N_("Somebody has changed the call since, so this did not count. Please look at the newest card.")


class ReasonRequired(NotPossible):
    """Raised if a vote needs a reason that is missing or too long. An empty text means that none was requested yet."""

    def __init__(self, index: int, problem: str = "", reason: str = "") -> None:
        super().__init__(problem)
        self.index = index
        self.reason = reason


class VoteCount(Value):
    """The state of a decision."""

    quorum: int
    refusals: int
    refusing: tuple[int, ...]
    """The indexes of the options that are a "no"."""
    approving: tuple[int, ...]
    """The indexes of the options that are a "yes"."""
    wider: tuple[tuple[int, int], ...]
    """Pairs of option indexes: a vote for the first also counts for the second."""
    reasons: tuple[int, ...]
    """The indexes of the options that need a reason."""
    votes: tuple[Vote, ...]
    missing: Who | None
    """The people who may still vote, with groups whole, because their members are unknown here. None means nobody."""
    begun: tuple[str, ...]
    """The groups of which a member has voted. Only the other members are missing."""
    requesters: tuple[Actor, ...]
    """The requesters, if they may not decide about it; else empty."""
    decided: bool
    needs_others: bool = False
    """True if the person who changed the arguments of the call cannot approve it alone, although one vote is enough."""

    def list_votes_for(self, *options: int) -> int:
        """Return the number of votes that count for any of these options."""
        counted = {*options, *(wider for wider, narrower in self.wider if narrower in options)}
        return sum(vote.choice.index in counted for vote in self.votes)


def count_votes(interview: Interview, policy: Policy, approval: Approval) -> VoteCount:
    """Return the state of the decision."""
    options = interview.question.options
    requesters = () if approval.own else approval.requesters
    places = {option.value: index for index, option in enumerate(options)}
    return VoteCount(
        quorum=approval.quorum,
        refusals=approval.refusals,
        refusing=tuple(index for index, option in enumerate(options) if approval.is_refusing(option)),
        approving=tuple(index for index, option in enumerate(options) if approval.is_approving(option, options)),
        wider=tuple((places[wider], places[narrower]) for wider, narrower in approval.wider),
        reasons=tuple(index for index, option in enumerate(options) if approval.needs_reason(option)),
        votes=interview.votes,
        missing=find_missing_voters(interview, policy, approval),
        begun=tuple(group for group in policy.who.groups if any(group in vote.by.groups for vote in interview.votes)),
        requesters=requesters,
        decided=interview.outcome is not None,
        needs_others=approval.quorum == 1
        and bool(interview.changes)
        and approval.edits is not None
        and not approval.edits.alone,
    )


def find_missing_voters(interview: Interview, policy: Policy, approval: Approval | None) -> Who | None:
    """Return the people who may still decide and have not. None means nobody."""
    return policy.who.remove_accounts(list_done(interview, approval))


def list_done(interview: Interview, approval: Approval | None) -> tuple[Actor, ...]:
    """Return the people who have voted, and the requesters who may not decide."""
    requesters = () if approval is None or approval.own else approval.requesters
    return (*(vote.by for vote in interview.votes), *requesters)


def apply_vote(interview: Interview, approval: Approval, action: Action) -> Interview:
    """Return the interview after one action of a person who may decide or may cancel.

    Raises `ReasonRequired` if a reason has to be given first, and `Closed`, `Stale` or `NotPossible` if the action
    changes nothing.
    """
    if is_click_recorded(interview, action):
        return interview
    if interview.phase == "closed":
        raise Closed
    match action.operation:
        case ShowDetails() | OpenDecline():
            return interview
        case Cancel():
            return record_click(settle(interview, Outcome(status="cancelled", at=action.at, by=action.actor)), action)
        case Choose(index=index, reason=reason):
            if action.step != interview.step:
                raise Stale(_(CHANGED_SINCE))  # nothing else moves a vote to another step
            return record_click(_record_vote(interview, approval, action, index, reason), action)
        case UndoVote():
            return record_click(_remove_vote(interview, action.actor), action)
        case _:
            raise NotPossible(_("Please vote by choosing one of the options."))


def _record_vote(interview: Interview, approval: Approval, action: Action, index: int, reason: str | None) -> Interview:
    question = interview.question
    if not 0 <= index < len(question.options):
        raise NotPossible(_("There is no such option."))
    option = question.options[index]
    before = next((vote for vote in interview.votes if vote.by.is_same_account(action.actor)), None)
    if before is not None and before.choice.index == index and reason is None:
        missing = _format_missing(interview.votes, approval, question, option)
        raise NotPossible(
            _("Your vote is already “{option}”. {missing}").format(option=to_literal(option.label), missing=missing)
        )
    why = strip_text(reason)
    if approval.needs_reason(option) and not why:
        raise ReasonRequired(index, "" if reason is None else _("Please say why: this decision needs a reason."))
    problem = REASON_RULES.find_problem(why) if why else None
    if problem is not None:
        raise ReasonRequired(index, problem, why)
    choice = Choice(index=index, value=option.value, label=option.label)
    mine = Vote(by=action.actor, choice=choice, reason=why or None, at=action.at)
    votes = (*(vote for vote in interview.votes if not vote.by.is_same_account(action.actor)), mine)
    after = interview.evolve(votes=votes, revision=interview.revision + 1)
    decided = _find_decided(votes, approval, question, option)
    if decided is None or _is_own_change(after, approval, decided):
        return after
    refused = approval.is_refusing(decided)
    index = question.options.index(decided)
    chosen = after.evolve(drafts=(after.draft.evolve(chosen=(index,)),))
    choice = Choice(index=index, value=decided.value, label=decided.label)
    return settle(
        chosen,
        Outcome(
            status="answered",
            at=action.at,
            by=action.actor,
            answers=(Answer(question_id=question.id, choices=(choice,)),),
            reason=mine.reason if refused else None,
            refused=refused,
        ),
    )


def _remove_vote(interview: Interview, voter: Actor) -> Interview:
    left = tuple(vote for vote in interview.votes if not vote.by.is_same_account(voter))
    if len(left) == len(interview.votes):
        raise NotPossible(_("You have not voted, so there is nothing to undo."))
    return interview.evolve(votes=left, revision=interview.revision + 1)


def _find_decided(votes: tuple[Vote, ...], approval: Approval, question: Question, chosen: Option) -> Option | None:
    """Return the option that is decided after a vote for `chosen`: it, or one that its votes also count for.

    None means nothing is decided yet.
    """
    by_value = {option.value: option for option in question.options}
    wanted = approval.refusals if approval.is_refusing(chosen) else approval.quorum
    possible = (by_value[value] for value in approval.list_counted_options(chosen.value))
    return next((option for option in possible if _count(votes, approval, question, option) >= wanted), None)


def _is_own_change(interview: Interview, approval: Approval, decided: Option) -> bool:
    """Return True if only a person who changed the call has voted to run it, and others have to."""
    if approval.is_refusing(decided) or approval.edits is None or approval.edits.alone:
        return False
    voters = [vote.by for vote in interview.votes if decided.value in approval.list_counted_options(vote.choice.value)]
    return any(all(map(changer.is_same_account, voters)) for changer in list_changers(interview.changes))


def _count(votes: tuple[Vote, ...], approval: Approval, question: Question, option: Option) -> int:
    """Return the number of votes for this option. A vote for any "no" counts for every "no"."""
    if approval.is_refusing(option):
        return sum(approval.is_refusing(question.options[vote.choice.index]) for vote in votes)
    return sum(option.value in approval.list_counted_options(vote.choice.value) for vote in votes)


def _format_missing(votes: tuple[Vote, ...], approval: Approval, question: Question, chosen: Option) -> str:
    by_value = {option.value: option for option in question.options}
    wanted = approval.refusals if approval.is_refusing(chosen) else approval.quorum
    counts = (
        _count(votes, approval, question, by_value[value]) for value in approval.list_counted_options(chosen.value)
    )
    more = wanted - max(counts)
    return ngettext("{count} more is needed.", "{count} more are needed.", more).format(count=more)
