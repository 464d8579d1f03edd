"""Time-based events of a call that needs approval, and a check of its reminders.

Each moment is notified at most once, even if the bot dies several times around it. Slack's history identifies a
message by its name, and Discord drops a message with a name that it has seen in the last minutes. A repeat is only
possible if neither helps: the history may not be read, or no bot ran for longer than those minutes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from askback.runtime.delivery_retries import FIRST_PAUSE

from .scenarios import REMINDED, Press, Shown, Story, reminds

REMIND = (0.1, 0.2)
ESCALATE = 0.3
"""Shares of the time until the deadline: two reminders of the missing approvers, and the escalation to more people."""
NOTED = 0.2
"""The share within which the card's location is stored, even by the next process; no reminder comes before that."""
LEASE_SECONDS = 10.0
"""Seconds for which a killed process may hold the lease of a notification while another replica lives."""
TAKEN_SECONDS = 5.0
"""Seconds in which another replica notices that and notifies."""
AWAY_SECONDS = 15.0
"""Seconds by which a database that fails over again and again may delay a notification."""
SERVED_SECONDS = 1.5
"""Seconds for which one bot has to run while the platform answers, so that it certainly sends what is due."""
CROSSED = 1.0
"""Seconds in which a reminder in flight may still arrive after its question was settled."""
VIOLATIONS = {
    "reminded": "reminders sent twice, or too early",
    "overdue": "reminders of what was settled",
    "unreminded": "people never reminded, or never asked later on",
}


Span = tuple[float, float]
"""A start and an end, as Unix time in seconds."""


def find_longest_service(bots: Iterable[Span], outages: Iterable[Span], within: Span) -> float:
    """Return the most seconds in a row, `within` that span, for which a bot ran and the platform answered it.

    What failed in an outage is tried again once as much time has passed as it took, and `FIRST_PAUSE` more.
    """
    out = [(start, end + (end - start) + FIRST_PAUSE) for start, end in outages]
    longest = 0.0
    for start, end in bots:
        start, end = max(start, within[0]), min(end, within[1])
        for failing, works in sorted(out):
            if works > start and failing < end:
                longest = max(longest, failing - start)
                start = max(start, works)
        longest = max(longest, end - start)
    return longest


@dataclass(frozen=True)
class Reminders:
    """The facts about time in one round."""

    deadline: float
    killed: bool
    """True if the round had any kill."""
    held: bool
    """True if other replicas lived on, so that the killed process held its leases for a while."""
    fails_over: bool = False
    """True if the database failed over in the round."""
    stalled: float = 0.0
    """Seconds of the longest time in the round for which the machine ran nothing."""
    bots: Sequence[Span] = ()
    """The time from the start to the end of each bot."""
    outages: Sequence[Span] = ()
    """The times in which the platform failed."""

    def wrong(
        self,
        story: Story,
        token: str,
        card: Shown,
        asked: float,
        settled: float | None,
        ending: str | None,
        figures: Counter[str],
    ) -> Iterator[tuple[str, str]]:
        """Yield the violations of one call: the kind, and the details.

        `asked` is the earliest time of the request; `settled` is the latest time of the decision.
        """
        if len(story.to_approve) > 1:
            return  # a reminder does not name its call
        told = sorted((one for one in story.shown if reminds(one.text)), key=lambda one: one.at)
        figures["reminded"] += sum(REMINDED in one.text for one in told)
        figures["escalated"] += sum(REMINDED not in one.text for one in told)
        moments = [asked + share * self.deadline for share in (*REMIND, ESCALATE)]
        passed = [sum(moment <= one.at for moment in moments) for one in told]
        if any(times > number for times, number in enumerate(passed, 1)):
            yield "reminded", f"{token}: {len(told)} reminders, when {passed} moments had passed"
        late = [one for one in told if settled is not None and one.at > settled + CROSSED + self.stalled]
        for one in late:
            yield "overdue", f"{token}: {one.text!r} came {one.at - settled:.1f} s after the end" if settled else ""
        stood = card.at + (NOTED * self.deadline if self.killed else 0.0) < moments[-1]
        # The process that takes over may be killed in the middle of the same delivery.
        held = 2 * LEASE_SECONDS + TAKEN_SECONDS if self.killed and self.held else 0.0
        held += AWAY_SECONDS if self.fails_over else 0.0
        held += self.stalled
        until = asked + self.deadline  # the end stops all notifications
        served = find_longest_service(self.bots, self.outages, (moments[-1], until))
        stood = stood and moments[-1] + held < until and served > SERVED_SECONDS + self.stalled
        if ending == "timed out" and stood and not any(f"<@{story.lead}>" in one.text for one in told):
            yield "unreminded", f"{token} timed out, and {story.lead} was never asked: {[one.text for one in told]}"


def settled_by(counted: Sequence[tuple[str, str]], presses: Sequence[Press]) -> float | None:
    """Return the time when every counted vote was acked, and so committed; None if that is unknown."""
    acks: list[float] = []
    for who, label in counted:
        mine = [press.done for press in presses if (press.by, press.label) == (who, label) and press.acked]
        known = [done for done in mine if done is not None]
        if not known:
            return None
        acks.append(min(known))
    return max(acks, default=None)
