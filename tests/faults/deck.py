"""Where the bot is killed in a run, and in which order."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

WORKS = (
    "receive", "begin_turn", "set_prose", "end_turn", "said", "lease", "drawn", "drop", "free_leases", "decide",
    "start_call", "end_call", "choose", "stop", "lost", "edit",
)  # fmt: skip
TIMES = ("reminder", "escalation", "deadline")
SHARES = {"reminder": 0.2, "escalation": 0.4, "deadline": 1.1}
"""In which part of the time until the deadline each has come, at what was just begun."""
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
ALONE = tuple(point for point in POINTS if point.endswith(":free_leases"))
"""What only a process that is alone on its database comes by."""
OF_STORE = {"sqlite": (*POINTS, *ALONE), "postgres": tuple(point for point in POINTS if point not in ALONE)}
"""The points of each store; what only one of them has comes there twice as often."""
SHARE = 0.12
"""How many of the kills come at random moments."""
NEEDS = {
    "choose": "typed", "stop": "stop", "start_call": "tool", "end_call": "tool", "lost": "deleted", "edit": "edit",
    **dict.fromkeys(APPROVAL, "approval"),
}  # fmt: skip
"""What somebody has to begin so that a point is reached soon."""
RARE = frozenset({"free_leases", *NEEDS, *WHEN})


def dealt(kills: int, dice: random.Random, named: Sequence[str], share: float = SHARE) -> list[str]:
    """So many points, each named one as often as every other, but for one, and that share of random moments."""
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
    """The points that are called so, or begin so."""
    return [point for name in names for point in (*POINTS, RANDOM) if name in (point, point.partition(":")[0])]


def number(point: str, dice: random.Random) -> int:
    """At which time of a life the point counts: not always the first, where it is reached often."""
    return 1 if point.rpartition(":")[2] in RARE else dice.choice((1, 1, 2, 3))


def stories_for(points: Iterable[str]) -> list[str]:
    """What has to be begun for these points."""
    return [NEEDS[work] for point in points if (work := point.rpartition(":")[2]) in NEEDS]


def waiting(points: Sequence[str], talks: int) -> int:
    """How many of so many people have to begin what waits for a long time, so that the time comes for something in it:
    as many as such points are among these, and one more, but for two."""
    times = sum(point.partition(":")[0] in TIMES for point in points)
    return min(1 + talks * times // len(points), max(talks - 2, 1)) if times else 0


def comes_within(point: str, deadline: float) -> float:
    """Seconds within which the time for a point has come, where time alone brings it."""
    return SHARES.get(point.partition(":")[0], 0.0) * deadline
