"""The rules of an ask: who may answer, how many must agree, until when, and how much may be asked.

No I/O. A policy denies by default.
"""

from __future__ import annotations

__all__ = [
    "LONGEST_WAIT",
    "Approval",
    "Denied",
    "Escalation",
    "PersonalReminder",
    "Policy",
    "Reasons",
]

from datetime import datetime, timedelta
from typing import Literal

from pydantic import AwareDatetime, Field

from askback.domain.edit_rules import EditRules
from askback.domain.form import Form, Option
from askback.domain.identity import Actor, is_account_among
from askback.domain.timeout_action import TimeoutAction, find_default_problem
from askback.domain.verdicts import can_approve
from askback.domain.who import Who
from askback.errors import CallerError
from askback.internal.values import PersonText, Value
from askback.text.unseen import has_visible_text
from askback.translations.catalogue import ENGLISH, N_, Language, _

Reasons = Literal["none", "no", "yes", "both"]
"""The decisions that need a reason."""

LONGEST_WAIT = 10 * 366 * 86_400.0
"""Longest timeout, reminder or escalation delay, in seconds: ten years."""
Denied = Literal["not_asked", "not_admitted", "not_taking_part", "own_request", "not_to_cancel", "unknown"]
"""The reason why a person may not act on an ask."""

NOT_ASKED = N_("Only the people named on the card can answer this.")
NOT_TAKING_PART = N_("Only people who have written in this thread can answer. Write something here, then click again.")
NOT_ADMITTED = N_("You may not talk with me, so you cannot answer this. My operator can allow it.")
NAMED = 3
"""Maximum number of people that a denial names."""
OWN_REQUEST = N_(
    "This is your own request, or it follows what you wrote, so others decide. Your click changed nothing."
)
OWN_CALL = N_(
    "This is your own request, or it follows what you wrote, so others decide. Your click changed nothing. "
    "If nobody else is left, my operator can change that: the settings are “approvers” and “approval_own”."
)
"""The denial about a tool call, which settings are about."""


class Approval(Value):
    """The number of people who must agree, for a form of one question. Each has one vote and may change it."""

    quorum: int = Field(default=1, ge=1)
    """Number of people who must choose the same option."""
    refusing: tuple[str, ...] = ()
    """Values of the options that are a "no"."""
    refusals: int = Field(default=1, ge=1)
    """Number of people who must choose any "no" to end the ask."""
    reasons: Reasons = "none"
    approving: tuple[str, ...] = ()
    """Values of the options that are a "yes". Empty means the only option outside a non-empty `refusing`."""
    wider: tuple[tuple[str, str], ...] = ()
    """Pairs of option values. The first option includes the second, so a vote for the first counts for both."""
    requesters: tuple[Actor, ...] = ()
    """The requesters: the person who made the request, those it is made for, and those whose words it follows."""
    own: bool = False
    """True if requesters may vote too."""
    subject: str | None = None
    """The digest of what is approved. A call runs only if its digest is the same."""
    # Excluded by default, because an older process rejects a field that it does not know.
    edits: EditRules | None = Field(default=None, exclude_if=lambda value: value is None)
    """The arguments that people may change first. None means that the tool does not allow it."""

    def is_refusing(self, option: Option) -> bool:
        """Return True if this option is a "no"."""
        return option.value in self.refusing

    def is_approving(self, option: Option, options: tuple[Option, ...]) -> bool:
        """Return True if this option is a "yes". An option may be neither a "yes" nor a "no"."""
        if self.approving or not self.refusing:
            return option.value in self.approving
        refusing = [other.label for other in options if self.is_refusing(other)]
        others = [other for other in options if not self.is_refusing(other)]
        return others == [option] and can_approve(option.label, refusing)

    def list_counted_options(self, value: str) -> tuple[str, ...]:
        """Return the option values that a vote for this option counts for, that option first."""
        return (value, *(narrower for wider, narrower in self.wider if wider == value))

    def needs_reason(self, option: Option) -> bool:
        """Return True if a person who chooses this option must give a reason."""
        return self.reasons in (("no", "both") if self.is_refusing(option) else ("yes", "both"))


class Escalation(Value):
    """More people to ask, and the time from which they are asked."""

    at: AwareDatetime
    who: Who


class PersonalReminder(Value):
    """The reminder that a person asked for, who cannot answer now."""

    who: Actor
    at: AwareDatetime
    reason: PersonText | None = None
    """Their sentence for the others."""


class Policy(Value):
    """The rules of one ask."""

    who: Who
    deadline: AwareDatetime | None = None
    """The time at which the ask times out. None means no deadline."""
    is_deadline_fixed: bool = Field(default=False, exclude_if=lambda value: not value)
    """True if the deadline stays where it is when the other times move, since the caller gave a moment."""
    approval: Approval | None = None
    """The number of people who must agree. None means the first answer decides."""
    reminders: tuple[AwareDatetime, ...] = ()
    """The times of the reminders that are not due yet."""
    escalations: tuple[Escalation, ...] = ()
    """The escalations that are not due yet."""
    within: Who | None = Field(default=None, exclude_if=lambda value: value is None)
    """An additional limit: of the people in `who`, only those that it includes may act. None means no limit."""
    personal_reminders: tuple[PersonalReminder, ...] = Field(default=(), exclude_if=lambda value: not value)
    """The reminders that people asked for and that are not due yet."""
    on_timeout: TimeoutAction = Field(default="report", exclude_if=lambda value: value == "report")
    """The action at the deadline, if the ask is still open."""
    language: Language = Field(default=ENGLISH, exclude_if=lambda value: value == ENGLISH)
    """The language of the card, and of the other texts that everybody in the channel reads."""
    caller: PersonText | None = Field(default=None, exclude_if=lambda value: value is None)
    """The program that asks, as its operator calls it. None if the operator gave it no name."""

    def explain_denial(
        self, actor: Actor, participants: tuple[Actor, ...] = (), *, admitted: bool = False
    ) -> str | None:
        """Return the reason why this person may not act on the ask, in words for them. None means they may.

        No other check exists: every code path uses this method or `find_denial`. `participants` and `admitted` are as
        in `Who.contains`.
        """
        denied = self.find_denial(actor, participants, admitted=admitted)
        return None if denied is None else self.format_denial(denied)

    def format_denial(self, denied: Denied) -> str:
        """Return the sentence for a person who may not act on the ask."""
        match denied:
            case "own_request":
                about_call = self.approval is not None and self.approval.subject is not None
                return _(OWN_CALL) if about_call else _(OWN_REQUEST)
            case "not_admitted":
                return _(NOT_ADMITTED)
            case "not_taking_part":
                return _(NOT_TAKING_PART)
            case _:
                return _format_only(self.deciders)

    def find_denial(
        self, actor: Actor, participants: tuple[Actor, ...] = (), *, admitted: bool = False
    ) -> Denied | None:
        """Return the reason why this person may not act, for programs. `explain_denial` returns it for people."""
        if self._is_own(actor):
            return "own_request"
        if self.is_admission_needed and not admitted:
            return "not_admitted"
        if all(who.contains(actor, participants, admitted=admitted) for who in self._bounds):
            return None
        return "not_taking_part" if self.who.open_to == "participants" else "not_asked"

    @property
    def _bounds(self) -> tuple[Who, ...]:
        return (self.who,) if self.within is None else (self.who, self.within)

    @property
    def is_admission_needed(self) -> bool:
        """True if people must be allowed to talk to the bot in order to act."""
        return any(who.open_to is not None for who in self._bounds)

    @property
    def is_for_participants(self) -> bool:
        """True if it matters who has written in the thread."""
        return any(who.open_to == "participants" for who in self._bounds)

    def find_sole_viewer_problem(self, person: Actor) -> str | None:
        """Return the reason, as half a sentence, why an ask that only this person sees can never be decided.

        None means it can be decided.
        """
        if self._is_own(person) or not self.everybody.contains(person):
            return _("the people who decide cannot see this direct message")
        approval = self.approval or Approval()
        number = max(approval.quorum, approval.refusals)
        if number == 1:
            return None
        return _("{count} people decide together, and only one sees this direct message").format(count=number)

    @property
    def deciders(self) -> Who:
        """The people who are asked, without requesters who may not decide."""
        if self.approval is None or self.approval.own:
            return self.who
        return self.who.remove_accounts(self.approval.requesters) or self.who

    def _is_own(self, actor: Actor) -> bool:
        return self.approval is not None and not self.approval.own and is_account_among(actor, self.approval.requesters)

    @property
    def everybody(self) -> Who:
        """The people who are asked, now or later."""
        everybody = self.who
        for escalation in self.escalations:
            everybody = everybody.merge(escalation.who)
        return everybody

    def can_others_decide(self, actor: Actor) -> bool:
        """Return True if somebody else may decide, now or later. Nobody approves alone what they have changed."""
        requesters = () if self.approval is None or self.approval.own else self.approval.requesters
        return self.everybody.remove_accounts((*requesters, actor)) is not None

    @property
    def has_several_deciders(self) -> bool:
        """True unless only one person may decide. It is also true for a group, whose members nobody counts here."""
        everybody = self.everybody
        return not everybody.people or any(map(self.can_others_decide, everybody.people))

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups whose members the caller must look up, including those that are asked later."""
        within = () if self.within is None else self.within.groups
        return tuple(dict.fromkeys((*self.everybody.groups, *within)))

    @property
    def next_due_at(self) -> datetime | None:
        """The next time at which the ask needs work without a click. None means never."""
        moments = (
            *self.reminders,
            *(escalation.at for escalation in self.escalations),
            *(reminder.at for reminder in self.personal_reminders),
        )
        return min((*moments, *(() if self.deadline is None else (self.deadline,))), default=None)

    def postpone(self, by: timedelta) -> Policy:
        """Return the policy with every time moved later; a negative `by` moves nothing."""
        return self.shift(max(by, timedelta()))

    def shift(self, by: timedelta) -> Policy:
        """Return the policy with all its times moved, except a fixed deadline."""
        return self.evolve(
            deadline=self.deadline if self.deadline is None or self.is_deadline_fixed else self.deadline + by,
            reminders=tuple(at + by for at in self.reminders),
            escalations=tuple(escalation.evolve(at=escalation.at + by) for escalation in self.escalations),
            personal_reminders=tuple(reminder.evolve(at=reminder.at + by) for reminder in self.personal_reminders),
        )

    def check(self, form: Form) -> None:
        """Raise `CallerError` if this policy cannot decide the form. The error says how to correct it."""
        self._check_times()
        self._check_default(form)
        approval = self.approval
        if approval is None:
            return
        if not form.is_single:
            raise CallerError(
                f"A vote is possible only in a form of one question. This one has {len(form.questions)}: ask them one "
                "by one."
            )
        (question,) = form.questions
        if not question.options or question.multi_select or question.allow_custom:
            raise CallerError(
                "People vote by choosing one option: give the question options, with multi_select=False and "
                "allow_custom=False."
            )
        if question.allow_note:
            raise CallerError("People who vote give reasons, and no notes: leave out allow_note.")
        named = (*approval.refusing, *approval.approving, *(value for pair in approval.wider for value in pair))
        unknown = [value for value in named if value not in {option.value for option in question.options}]
        if unknown:
            raise CallerError(
                f"There is no option {', '.join(map(repr, unknown))}: use the values of the question's options."
            )
        if all(approval.is_refusing(option) for option in question.options):
            raise CallerError("Every option is a refusal: add one that is not.")
        both = [value for value in approval.approving if value in approval.refusing]
        if both:
            raise CallerError(
                f"The option {both[0]!r} is in `approving` and in `refusing`: remove it from one of them."
            )
        if any({wider, narrower} & {*approval.refusing} for wider, narrower in approval.wider):
            raise CallerError("`wider` contains an option that is a refusal, which cannot include another: remove it.")
        if not approval.refusing and (approval.refusals > 1 or approval.reasons == "no"):
            given = 'reasons="no"' if approval.reasons == "no" else f"refusals={approval.refusals}"
            raise CallerError(
                f"{given} needs options that are a refusal, and there are none: put their values in `refusing`, or "
                f"leave out {given}."
            )
        self._check_numbers(approval)

    def _check_times(self) -> None:
        if self.deadline is None:
            return
        for what, moments in (
            ("reminder", self.reminders),
            ("escalation", tuple(escalation.at for escalation in self.escalations)),
        ):
            if any(moment >= self.deadline for moment in moments):
                raise CallerError(
                    f"{'An' if what == 'escalation' else 'A'} {what} would come after the deadline: "
                    "move it earlier, or extend the deadline."
                )

    def _check_default(self, form: Form) -> None:
        if self.on_timeout != "default":
            return
        if self.approval is not None:
            raise CallerError(
                "No default can apply to a vote or an approval, because silence is not consent: use "
                "on_timeout='halt', or leave on_timeout out."
            )
        if self.deadline is None:
            raise CallerError("on_timeout='default' needs a deadline: give `timeout`, or the `deadline` of the policy.")
        problem = find_default_problem(form)
        if problem is not None:
            raise CallerError(f"on_timeout='default' needs a default for each question: {problem}")

    def _check_numbers(self, approval: Approval) -> None:
        everybody = self.everybody
        possible = everybody if approval.own else everybody.remove_accounts(approval.requesters)
        if possible is None:
            raise CallerError(
                "Nobody may decide: requesters may not decide about their own request. Add others, or set own=True."
            )
        if possible.groups or possible.anyone or possible.open_to:
            return  # only the platform knows how many these are
        count = len(possible.distinct)
        for number, what in ((approval.quorum, "have to agree"), (approval.refusals, "have to refuse")):
            if number > count:
                own = " (requesters do not count)" if possible != everybody else ""
                raise CallerError(
                    f"{number} people {what}, but only {count} are asked{own}: ask more, or lower the number."
                )


def _format_only(who: Who) -> str:
    """Return a sentence that names the people who can answer, if they are few and their names are known."""
    names = [person.display_name for person in who.distinct if has_visible_text(person.name)]
    if who.groups or not (names and len(names) == len(who.distinct) <= NAMED):
        return _(NOT_ASKED)
    return _("Only {names} can answer this.").format(names=_(" or ").join(names))
