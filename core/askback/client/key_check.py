"""Rejects a key that was used for a different question, because an answer to that one does not fit this one."""

from __future__ import annotations

__all__ = ["check_names", "check_question", "check_timeout_action", "format_other_wait", "has_other_wait"]

from askback.client.parameter_names import Terms
from askback.client.request import Prepared
from askback.client.summary import format_people, format_place
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval
from askback.domain.form import Form, Option
from askback.domain.timeout_action import TimeoutAction
from askback.domain.wait import Wait, get_deadline
from askback.domain.who import Who
from askback.errors import CallerError

OWN_KEY = "Give the new question another key. To wait for the earlier one, give only its key."
SECONDS = 1.0
"""Difference in seconds up to which two waits are equal: an ask is made a moment after its deadline was computed."""


def format_other_wait(terms: Terms) -> str:
    """Return the note that a different wait has no effect."""
    return f"The question keeps the {terms.name('wait')} with which it was first asked: the new value has no effect."


def check_question(known: Ask, form: Form, approval: Approval | None, terms: Terms) -> None:
    """Raise `CallerError` if the key was used for another question, or for the same one with other rules."""
    if form != known.interview.form:
        raise CallerError(
            f"The key {known.key!r} belongs to another question ({known.interview.form.summary!r}, or "
            f"other options or details). {OWN_KEY}"
        )
    options = form.questions[0].options
    if _normalize_rules(approval, options) != _normalize_rules(known.policy.approval, options):
        raise CallerError(
            f"With the key {known.key!r}, this question was asked under other rules "
            f"({terms.format_names('quorum', 'refusals', 'yes', 'no', 'reasons')} or {terms.name('own')}). {OWN_KEY}"
        )


def check_timeout_action(known: Ask, action: TimeoutAction, terms: Terms) -> None:
    """Raise `CallerError` if the question was asked with another action at its deadline, which its card announces."""
    if action != known.policy.on_timeout:
        before = terms.format_parameter("on_timeout", known.policy.on_timeout)
        raise CallerError(f"With the key {known.key!r}, this question was asked with {before}. {OWN_KEY}")


def check_names(known: Ask, wanted: Prepared, terms: Terms) -> None:
    """Raise `CallerError` if the question was asked in another place, of other people, or for other requesters.

    This compares the ids that the names had then with those that they have now. People of later escalations count as
    asked: once their time has come, they are.
    """
    asked = f"With the key {known.key!r}, this question was asked"
    if wanted.found.place != known.place:
        raise CallerError(
            f"{asked} in another place ({format_place(known)}) than {terms.name('to')} names now. {OWN_KEY}"
        )
    now, before = wanted.who, known.policy.everybody
    for others in wanted.escalate.values():
        now = now.merge(others)
    if _get_ids(now) != _get_ids(before):
        both = f"{terms.name('approvers')} and {terms.name('escalate')}"
        raise CallerError(f"{asked} of other people ({format_people(before)}) than {both} name now. {OWN_KEY}")
    requesters = _get_requesters(known.policy.approval)
    if _get_ids(_get_requesters(wanted.approval)) != _get_ids(requesters):
        named = "nobody" if requesters is None else format_people(requesters)
        requested = terms.name("requested_by")
        raise CallerError(f"{asked} for other requesters ({named}) than {requested} names now. {OWN_KEY}")


def has_other_wait(known: Ask, wait: Wait | None) -> bool:
    """Return True if the question was first asked with another wait."""
    deadline = known.policy.deadline
    if wait is None or deadline is None:
        return wait is not None or deadline is not None
    return abs((deadline - get_deadline(wait, known.counts_from)).total_seconds()) > SECONDS


def _normalize_rules(approval: Approval | None, options: tuple[Option, ...]) -> Approval | None:
    """Return the rules without the requesters, whose names are looked up later."""
    if approval is None:
        return None
    # Asks of releases without named "yes" options store none, but may have one.
    approving = tuple(sorted(option.value for option in options if approval.is_approving(option, options)))
    return approval.evolve(requesters=(), refusing=tuple(sorted(approval.refusing)), approving=approving)


def _get_requesters(approval: Approval | None) -> Who | None:
    return Who.from_people(*approval.requesters) if approval is not None and approval.requesters else None


def _get_ids(who: Who | None) -> tuple[frozenset[str], frozenset[str], bool]:
    if who is None:
        return frozenset(), frozenset(), False
    return frozenset(person.id for person in who.people), frozenset(who.groups), who.anyone
