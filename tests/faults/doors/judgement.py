"""Judges a round by the platform's messages, the database, and the file in which the tool takes effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .framework_story import list_runs
from .frameworks import FRAMEWORKS
from .record import GONE, Story, Tally
from .scene import Scene
from .windows import list_in_doubt

TOLD = frozenset({"done", "unknown", "acknowledged", GONE})
"""Ends of a process that tell its caller what has become of the answer."""


def judge(scene: Scene, stories: list[Story], broken: Mapping[int, str]) -> Tally:
    """Count the kills of these stories, and what is wrong with each. `broken` says why a story broke off."""
    tally = Tally()
    for story in stories:
        for window in story.kills:
            tally.cell(story.door, window).kills += 1
        tally.missed += [(story.door, window) for window in story.missed]
        why = [broken[story.number]] if story.number in broken else []
        if not story.kills:
            tally.wrong += [f"{story.name}: {one}" for one in why]
            continue
        cell = tally.cell(story.door, story.kills[-1])
        doubled = [*_list_doubled(scene, story)]
        lost = [*_list_lost(scene, story), *why]
        cell.doubled += bool(doubled)
        cell.lost += bool(lost)
        if is_unknown(scene, story):
            cell.unknown += 1
            cell.needless += not list_in_doubt(story.door) & {*story.kills}
        tally.wrong += [f"{story.name}: {one}" for one in (*doubled, *lost)]
    return tally


def is_unknown(scene: Scene, story: Story) -> bool:
    """Return True if an outcome was unknown at any time."""
    return "unknown" in story.ends or "unknown" in scene.list_states(story) or scene.count_notices(story) > 0


def _list_doubled(scene: Scene, story: Story) -> Iterator[str]:
    cards = scene.list_cards(story)
    if len(cards) > 1:
        yield f"{len(cards)} cards"
    if story.door not in FRAMEWORKS:
        return
    runs = list_runs(scene, story)
    if len(runs) > 1 + story.again:
        yield f"the tool ran {len(runs)} times, and once more was allowed {story.again} times"
    notices = scene.count_notices(story)
    if notices > 1:
        yield f"{notices} notices that the outcome is unknown"


def _list_lost(scene: Scene, story: Story) -> Iterator[str]:
    # A question whose call is gone is withdrawn, and its caller told. Then the tool must not run, as with no answer.
    if not story.answer and GONE not in story.ends:
        yield "nobody could answer"
        return
    if any(scene.office.list_acting(card) for card in scene.list_cards(story)):
        yield "its card still asks"
    if story.door not in FRAMEWORKS:
        if not story.ends or any(end != story.answer for end in story.ends):
            yield f"people answered {story.answer!r}, and the client received {story.ends}"
        return
    states, runs = scene.list_states(story), list_runs(scene, story)
    if untold := [end for end in story.ends if end not in TOLD]:
        yield f"ended with {untold}"
    if any(answer != story.answer for answer in runs):
        yield f"people answered {story.answer!r}, and the tool got {runs}"
    if "acknowledged" in states and not runs:
        yield "acknowledged, and the tool never ran"
    if {*states} & {"asked", "claimed"}:
        yield f"never handed over: {states}, {story.ends}"
    if is_unknown(scene, story) and not scene.count_notices(story):
        yield "unknown, and people got no notice"
    if list_in_doubt(story.door) & {*story.kills} and not is_unknown(scene, story):
        yield f"killed between claim and ack, and nobody was told: {states}, {story.ends}"
