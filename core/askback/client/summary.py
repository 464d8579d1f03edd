"""Describe one ask for a terminal, for the commands `pending`, `show` and `cancel`."""

from __future__ import annotations

__all__ = [
    "describe_fallback",
    "describe_timeout",
    "find_by_prefix",
    "format_age",
    "format_people",
    "format_person",
    "format_place",
    "format_question",
    "format_span",
    "format_time",
    "format_time_left",
    "format_vote_state",
    "get_tally",
    "to_json",
]  # fmt: skip

from datetime import datetime, timedelta

from pydantic import JsonValue
from sqlalchemy import Connection

from askback.domain.ask import Ask
from askback.domain.identity import Actor
from askback.domain.outcome import Answer, Outcome
from askback.domain.timeout_action import build_fallback
from askback.domain.vote_summary import OPEN_TO
from askback.domain.voting import VoteCount, count_votes
from askback.domain.who import Who
from askback.errors import OperatorError
from askback.internal.clock import to_iso
from askback.store.queries import asks, audit
from askback.text.literal import fit_line
from askback.text.terminal import to_terminal_text

GIST = 70
DEFAULTS = 200
"""Maximum number of characters of the defaults in a line."""
LONGEST_ID = 22


def find_by_prefix(connection: Connection, prefix: str) -> Ask:
    """Return the ask whose id begins with `prefix`. Raises `OperatorError` if there is none, or more than one."""
    found = audit.find_ids_by_prefix(connection, prefix) if prefix else ()
    ask = asks.get(connection, found[0]) if len(found) == 1 else None
    if ask is not None:
        return ask
    if found:
        raise OperatorError(
            f"More than one question has an id that begins with {to_terminal_text(prefix)!r}: {', '.join(found)}. "
            "Give more characters of the id."
        )
    shown = to_terminal_text(prefix[: LONGEST_ID * 2])
    raise OperatorError(f"There is no question whose id begins with {shown!r}. To list the newest, run: askback list")


def format_question(ask: Ask) -> str:
    """Return the question in one line."""
    form = ask.interview.form
    others = len(form.questions) - (1 if form.title is None else 0)
    more = f" (and {others} more)" if form.title is None else f" ({others} question{'' if others == 1 else 's'})"
    return to_terminal_text(fit_line(form.summary, GIST)) + (more if others else "")


def format_place(ask: Ask) -> str:
    """Return the place of the ask, with the platform's names."""
    place = ask.place
    parts = [place.platform, place.channel]
    if place.thread is not None:
        parts.append(f"thread {place.thread}")
    if place.tenant is not None:
        parts.append(f"in {place.tenant}")
    return to_terminal_text(" ".join(parts))


def format_people(who: Who) -> str:
    """Return the people and groups that are asked, in words."""
    if who.anyone:
        return "anyone"
    named = [format_person(person) for person in who.people]
    others = [] if who.open_to is None else [f"or {OPEN_TO[who.open_to]}"]
    return ", ".join([*named, *(f"group {to_terminal_text(group)}" for group in who.groups), *others])


def format_person(person: Actor) -> str:
    """Return a person's name and id: the name alone proves nothing."""
    return to_terminal_text(f"{person.name} ({person.id})" if person.name else person.id)


def format_time(moment: datetime) -> str:
    """Return a time in the time zone of this machine, which it names."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def format_age(moment: datetime, now: datetime) -> str:
    """Return the time since `moment`, in words."""
    return f"for {format_span(now - moment)}"


def format_time_left(deadline: datetime | None, now: datetime) -> str:
    """Return the time left until the deadline, in words."""
    if deadline is None:
        return "no deadline"
    if deadline <= now:
        return f"deadline passed {format_span(now - deadline)} ago"
    return f"deadline in {format_span(deadline - now)}"


def describe_timeout(ask: Ask) -> str | None:
    """Return the action at the deadline, such as “then the work stops”. None if there is nothing to say."""
    if ask.policy.deadline is None:
        return None
    match ask.policy.on_timeout:
        case "report":
            return None
        case "halt":
            return "then the work stops"
        case "default":
            return f"then {_format_defaults(build_fallback(ask.interview.form))}"


def describe_fallback(outcome: Outcome) -> str | None:
    """Return the defaults that apply because nobody answered in time, in words. None if none do."""
    return _format_defaults(outcome.fallback) if outcome.fallback else None


def _format_defaults(fallback: tuple[Answer, ...]) -> str:
    labels = {one.question_id: ", ".join(one.labels) for one in fallback}
    several = len(labels) > 1
    shown = "; ".join(f"{name}: {words}" if several else words for name, words in labels.items())
    return f"the default{'s' if several else ''}: {to_terminal_text(fit_line(shown, DEFAULTS))}"


def format_span(span: timedelta) -> str:
    """Return a length of time in words, in its largest unit."""
    seconds = max(int(span.total_seconds()), 0)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def get_tally(ask: Ask) -> VoteCount | None:
    """Return the tally of the votes. None means that the first answer decides."""
    approval = ask.policy.approval
    return None if approval is None else count_votes(ask.interview, ask.policy, approval)


def format_vote_state(tally: VoteCount) -> str:
    """Return the state of the vote in one line."""
    refused = tally.list_votes_for(*tally.refusing)
    agreed = max(
        (tally.list_votes_for(vote.choice.index) for vote in tally.votes if vote.choice.index not in tally.refusing),
        default=0,
    )
    return f"{agreed} of {tally.quorum} agreed" + (f", {refused} of {tally.refusals} refused" if tally.refusing else "")


def _summarize_decision(ask: Ask) -> dict[str, JsonValue] | None:
    found, approval = get_tally(ask), ask.policy.approval
    if found is None or approval is None:
        return None
    return {
        "quorum": found.quorum,
        "refusals": found.refusals,
        "refusing": list(approval.refusing),
        "votes": len(found.votes),
        "missing": None if found.missing is None or found.decided else found.missing.model_dump(mode="json"),
    }


def to_json(ask: Ask) -> dict[str, JsonValue]:
    """Return the ask as `pending --json` prints it; `show --json` begins with the same fields."""
    deadline = ask.policy.deadline
    return {
        "id": ask.id,
        "status": ask.status,
        "platform": ask.place.platform,
        "tenant": ask.place.tenant,
        "channel": ask.place.channel,
        "thread": ask.place.thread,
        "who": ask.policy.who.model_dump(mode="json"),
        "question": ask.interview.form.summary,
        "questions": len(ask.interview.form.questions),
        "since": to_iso(ask.created_at),
        "deadline": None if deadline is None else to_iso(deadline),
        "on_timeout": ask.policy.on_timeout,
        "conversation": ask.conversation_id,
        "key": ask.key,
        "caller": ask.policy.caller,
        "decision": _summarize_decision(ask),
    }
