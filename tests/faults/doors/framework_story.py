"""One run of an agent framework: processes are killed in windows of its hand-over, and the next ones continue it."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Sequence

from .frameworks import CLAUDE
from .record import Story
from .scene import RAN, Scene, within
from .windows import BEFORE_CLAIM, OF_FRAMEWORKS, WAITING

SECOND = 0.25
"""Probability that a second process is killed before the answer was claimed."""
AT_ONCE = 0.35
"""Probability that two processes continue the run at once."""
SETTLED_FIRST = 0.5
"""Probability that, with a bot, people answer while no process of the agent runs."""
AFTER_ANSWER = (*OF_FRAMEWORKS,)[(*OF_FRAMEWORKS,).index(WAITING) + 1 :]
BEFORE_ASK = BEFORE_CLAIM[: BEFORE_CLAIM.index("after:ask")]
TAKEN = "taken"
AGAIN_SECONDS = 1.0
"""Seconds after which a process is started again that found the answer claimed by another one."""
GO_ON = 0.5
"""Probability that somebody lets an outcome that is unknown be handed over once more."""


async def play(scene: Scene, story: Story, window: str) -> None:
    """Play a story whose first kill is in a window."""
    scene.script(story)
    gate = asyncio.Event()
    person = asyncio.create_task(scene.answer(story, gate))
    try:
        await _kill_all(scene, story, _list_windows(scene, story, window), gate)
        gate.set()
        if scene.with_bot and scene.list_asks(story) and scene.dice.random() < SETTLED_FIRST:
            await scene.until(lambda: scene.is_settled(story), "people could not answer while no process ran")
        call = _choose_call(scene, story)
        story.ends += await _end(scene, story, call, 2 if call == "resume" and scene.dice.random() < AT_ONCE else 1)
        if "unknown" in story.ends and scene.dice.random() < GO_ON:
            story.again += 1
            story.ends += await _end(scene, story, "again", 1)
        await within(person, f"{story.name}: the click has no end")
    finally:
        person.cancel()
        await asyncio.wait([person])


def _list_windows(scene: Scene, story: Story, first: str) -> Sequence[str]:
    later = [one for one in BEFORE_CLAIM if not one.endswith(":ask")]
    if story.door == CLAUDE and first not in BEFORE_ASK:
        # Claude Code never asks about a call again, and gives up one that it has not heard to be deferred.
        later = [one for one in later if one in (WAITING, *AFTER_ANSWER) and first in (WAITING, *AFTER_ANSWER)]
    if later and first in BEFORE_CLAIM and scene.dice.random() < SECOND:
        # The next process finds the question that the first one has stored.
        return first, scene.dice.choice(later)
    return (first,)


def _choose_call(scene: Scene, story: Story) -> str:
    """Return how to continue. A session of Claude Code that was lost before it asked begins anew."""
    return "run" if story.door == CLAUDE and not scene.list_asks(story) else "resume"


async def _kill_all(scene: Scene, story: Story, windows: Sequence[str], gate: asyncio.Event) -> None:
    for number, window in enumerate(windows):
        call = "run" if number == 0 else _choose_call(scene, story)
        process = await scene.start(story, call, None if window == WAITING else window)
        if window == WAITING:
            await scene.until(lambda over=process: over.is_over or _waits(scene, story), f"{story.name}: no card")
            process.signal(signal.SIGKILL)
        elif window in AFTER_ANSWER:
            gate.set()
        code, _ = await within(process.ended(), f"{story.name}: no end at {window}")
        if code != -signal.SIGKILL:
            story.missed.append(window)
            return
        story.kills.append(window)


def _waits(scene: Scene, story: Story) -> bool:
    return any(scene.office.list_acting(card) for card in scene.list_cards(story))


async def _end(scene: Scene, story: Story, call: str, count: int) -> list[str]:
    """Let N processes continue the run at once; return how each ended.

    A process that finds the answer claimed is started again: some doors wait for the claim, others leave that to us.
    """
    ends = await asyncio.gather(*(_run(scene, story, call) for _ in range(count)))
    while TAKEN in ends:
        await asyncio.sleep(AGAIN_SECONDS)
        ends = [await _run(scene, story, call) if end == TAKEN else end for end in ends]
    return ends


async def _run(scene: Scene, story: Story, call: str) -> str:
    process = await scene.start(story, call)
    try:
        code, out = await within(process.ended(), f"{story.name}: no end of {call}")
    except TimeoutError as error:
        raise TimeoutError(f"{error}\n{process.err[-2000:]}") from None
    try:
        return json.loads(out.splitlines()[-1])["end"]
    except (ValueError, IndexError):
        return f"error {code}: {out[-500:]}{process.err[-2000:]}"


def list_runs(scene: Scene, story: Story) -> list[str]:
    """Return what each run of the tool got."""
    file = scene.office.folder / RAN
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [one["answer"] for one in map(json.loads, lines) if one["run"] == story.run]
