"""What the time alone does to a call that people have to approve, and what is wrong with how they were told of it.

Each moment is told at most once, however often the bot dies around it: Slack's history knows a message by its name,
and Discord drops a message under a name that it has seen in the last minutes. Only where neither can tell, because
the history may not be read, or because nothing ran for longer than those minutes, may one be told again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .stories import REMINDED, Press, Shown, Story, reminds

REMIND = (0.1, 0.2)
ESCALATE = 0.3
"""When those who are missing are reminded, and when further people are asked: shares of the time until the deadline."""
NOTED = 0.2
"""The share in which it is noted where the card stands, also by the next process: nobody is told of one before."""
LEASE_SECONDS = 10.0
"""Seconds for which a killed process may hold what it had taken to tell people, where another one lives."""
TAKEN_SECONDS = 5.0
"""Seconds in which that is noticed and told."""
CROSSED = 1.0
"""Seconds in which a reminder that was on its way may still come after what settles its question."""
VIOLATIONS = {
    "reminded": "reminders sent twice, or too early",
    "overdue": "reminders of what was settled",
    "unreminded": "people never reminded, or never asked later on",
}


@dataclass(frozen=True)
class Reminders:
    """What is known of the times in one round."""

    deadline: float
    killed: bool
    """Whether anything was killed in it."""
    held: bool
    """Whether others lived on then, so that what was killed held for a while what it had taken."""

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
        """What is wrong with one call: the kind, and what it was.

        `asked`: when at the earliest it was asked for; `settled`: when at the latest it was settled.
        """
        if len(story.to_approve) > 1:
            return  # a reminder does not say which of them it is about
        told = sorted((one for one in story.shown if reminds(one.text)), key=lambda one: one.at)
        figures["reminded"] += sum(REMINDED in one.text for one in told)
        figures["escalated"] += sum(REMINDED not in one.text for one in told)
        moments = [asked + share * self.deadline for share in (*REMIND, ESCALATE)]
        passed = [sum(moment <= one.at for moment in moments) for one in told]
        if any(times > number for times, number in enumerate(passed, 1)):
            yield "reminded", f"{token}: {len(told)} reminders, when {passed} moments had passed"
        late = [one for one in told if settled is not None and one.at > settled + CROSSED]
        for one in late:
            yield "overdue", f"{token}: {one.text!r} came {one.at - settled:.1f} s after the end" if settled else ""
        stood = card.at + (NOTED * self.deadline if self.killed else 0.0) < moments[-1]
        held = LEASE_SECONDS + TAKEN_SECONDS if self.killed and self.held else 0.0
        stood = stood and moments[-1] + held < asked + self.deadline  # what comes after the end is told to nobody
        if ending == "timed out" and stood and not any(f"<@{story.lead}>" in one.text for one in told):
            yield "unreminded", f"{token} timed out, and {story.lead} was never asked: {[one.text for one in told]}"


def settled_by(counted: Sequence[tuple[str, str]], presses: Sequence[Press]) -> float | None:
    """When every vote that was counted was acked, and with that the decision was committed. None: not to be seen."""
    acks: list[float] = []
    for who, label in counted:
        mine = [press.done for press in presses if (press.by, press.label) == (who, label) and press.acked]
        known = [done for done in mine if done is not None]
        if not known:
            return None
        acks.append(min(known))
    return max(acks, default=None)
