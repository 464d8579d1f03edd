"""The points at which a run kills the bot, and their order."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

WORKS = (
    "receive", "begin_turn", "set_text_messages", "end_turn", "delete_text", "lease", "mark_rendered", "delete_item",
    "end_all_leases", "decide", "start_call", "end_call", "choose", "stop", "mark_message_missing", "edit",
)  # fmt: skip
TIMES = ("reminder", "escalation", "deadline")
SHARES = {"reminder": 0.2, "escalation": 0.4, "deadline": 1.1}
"""The share of the time until the deadline after which each is due, counted from the start of the ask."""
WHEN = ("due", "noted", "telling", "told")
APPROVAL = ("voting", "voted", "decided", "woken", "unstarted", "started", "ran", "ended")
POINTS = (
    *(f"{moment}:{work}" for work in WORKS for moment in ("before", "commit", "after")),
    "ack",
    *(f"{moment}:{what}" for what in ("card", "text", "draw") for moment in ("call", "called")),
    *(f"approval:{when}" for when in APPROVAL),
    *(f"{what}:{when}" for what in TIMES for when in WHEN),
)
MOMENTS = tuple(dict.fromkeys(point.partition(":")[0] for point in POINTS if ":" in point))
RANDOM = "random"
ALONE = tuple(point for point in POINTS if point.endswith(":end_all_leases"))
"""The points that only a process that is alone on its database reaches."""
OF_STORE = {"sqlite": (*POINTS, *ALONE), "postgres": tuple(point for point in POINTS if point not in ALONE)}
"""The points of each store."""
SHARE = 0.12
"""The share of kills at random moments."""
NEEDS = {
    "choose": "typed", "stop": "stop", "start_call": "tool", "end_call": "tool", "mark_message_missing": "deleted",
    "edit": "edit", **dict.fromkeys(APPROVAL, "approval"),
}  # fmt: skip
"""The story that someone has to begin so that a point is reached soon."""
RUNS = frozenset({"woken", "unstarted", "started", "ran", "ended"})
"""The steps of an approval that only an approved call reaches."""
RARE = frozenset({"end_all_leases", *NEEDS, *WHEN})


@dataclass(frozen=True)
class Need:
    """A story that has to begin so that a point is reached soon."""

    kind: str
    plans: tuple[str, ...] = ()
    """The plans of its approvers that lead to the point; all plans if empty."""


def dealt(kills: int, dice: random.Random, named: Sequence[str], share: float = SHARE) -> list[str]:
    """Return N points: the given share are random moments, the rest spread evenly (to within one) over `named`."""
    random_ones = round(kills * share)
    points: list[str] = []
    while len(points) < kills - random_ones:
        pile = [*named]
        dice.shuffle(pile)
        points += pile
    points = [*points[: kills - random_ones], *[RANDOM] * random_ones]
    dice.shuffle(points)
    return points


def named(names: Iterable[str]) -> list[str]:
    """Return the points with one of these names, or whose first part is one of them."""
    return [point for name in names for point in (*POINTS, RANDOM) if name in (point, point.partition(":")[0])]


def number(point: str, dice: random.Random) -> int:
    """Return the occurrence at which the point counts; frequent points do not always count the first time."""
    return 1 if point.rpartition(":")[2] in RARE else dice.choice((1, 1, 2, 3))


def stories_for(points: Iterable[str]) -> list[Need]:
    """Return the stories that have to begin for these points."""
    works = [point.rpartition(":")[2] for point in points]
    return [Need(NEEDS[work], _get_plans(work)) for work in works if work in NEEDS]


def _get_plans(work: str) -> tuple[str, ...]:
    if work in RUNS:
        return ("agree",)
    return ("agree", "deny") if work == "decided" else ()


def waiting(points: Sequence[str], talks: int) -> int:
    """Return the number of people who have to begin a long wait, so that time-based points are reached.

    The share of such points among `points`, plus one, but at most all but two of the people (and at least one).
    """
    times = sum(point.partition(":")[0] in TIMES for point in points)
    return min(1 + talks * times // len(points), max(talks - 2, 1)) if times else 0


def comes_within(point: str, deadline: float) -> float:
    """Return the seconds within which a time-based point comes due; 0 for others."""
    return SHARES.get(point.partition(":")[0], 0.0) * deadline
