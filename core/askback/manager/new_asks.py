"""Builds asks and their policies without storing them."""

from __future__ import annotations

__all__ = ["build_ask", "build_policy"]

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from operator import itemgetter

from askback.domain.ask import Ask, check_key, create_ask_id
from askback.domain.ask_policy import LONGEST_WAIT, Approval, Escalation, Policy
from askback.domain.form import Form
from askback.domain.identity import Actor, Place
from askback.domain.interview import start_interview
from askback.domain.timeout_action import TimeoutAction
from askback.domain.wait import Wait, check_ahead, get_deadline
from askback.domain.who import Who
from askback.errors import CallerError
from askback.internal.clock import utc_now
from askback.observability import telemetry
from askback.translations.catalogue import get_language


def build_ask(
    form: Form,
    *,
    to: Place,
    policy: Policy,
    key: str | None = None,
    conversation_id: str | None = None,
    asked_by: Actor | None = None,
) -> Ask:
    """Return an ask that is not stored yet, for callers that commit it together with other things.

    Raises `CallerError` if the form cannot be decided by the policy, or the key is invalid.
    """
    now = utc_now()
    if policy.deadline is not None and policy.is_deadline_fixed:
        check_ahead(policy.deadline, now, f"The deadline {policy.deadline:%Y-%m-%dT%H:%M:%SZ}")
    policy.check(form)
    if key is not None:
        check_key(key)
    return Ask(
        id=create_ask_id(),
        key=key,
        place=to,
        policy=policy,
        interview=start_interview(form),
        conversation_id=conversation_id,
        asked_by=asked_by,
        created_at=now,
        post_after=now,
        trace=telemetry.start_ask_trace(to.platform),
    )


def build_policy(
    who: Who,
    wait: Wait | None,
    *,
    approval: Approval | None = None,
    remind: Sequence[float] = (),
    escalate: Mapping[float, Who] | None = None,
    on_timeout: TimeoutAction = "report",
) -> Policy:
    """Return the policy of an ask that begins now. The posting moves its times later, except a moment in `wait`.

    The card will speak the current language.

    Raises `CallerError` for a reminder or an escalation that is not above 0 seconds and at most ten years away.
    """
    for after in (*remind, *(escalate or {})):
        if not 0 < after <= LONGEST_WAIT:
            raise CallerError(
                f"A reminder or escalation after {after:g} seconds is impossible: give more than 0 seconds and at most "
                "ten years."
            )
    now = utc_now()
    return Policy(
        who=who,
        deadline=None if wait is None else get_deadline(wait, now).astimezone(UTC),
        is_deadline_fixed=isinstance(wait, datetime),
        approval=approval,
        reminders=tuple(now + timedelta(seconds=after) for after in sorted(remind)),
        escalations=tuple(
            Escalation(at=now + timedelta(seconds=after), who=others)
            for after, others in sorted((escalate or {}).items(), key=itemgetter(0))
        ),
        on_timeout=on_timeout,
        language=get_language(),
    )
