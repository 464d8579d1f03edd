"""A round: stories one after the other on one database and one platform, and what has become of them."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from support.processes import Launcher

from . import framework_story, server_story
from .callers import Lost
from .frameworks import FRAMEWORKS
from .judgement import judge
from .record import Order, Story, Tally
from .scene import Scene, set_scene


async def play(order: Order, launcher: Launcher, on_kill: Callable[[int], None] = lambda _: None) -> Tally:
    """Play a round. `on_kill` receives the number of kills of each story."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="askback-doors-"))
    try:
        async with set_scene(order, launcher, folder) as scene:
            stories: list[Story] = []
            broken: dict[int, str] = {}
            for number, (door, window) in enumerate(order.stories):
                story = Story(number, door, f"site-{number:04}", str(UUID(int=number, version=4)))
                stories.append(story)
                try:
                    await (framework_story if door in FRAMEWORKS else server_story).play(scene, story, window)
                except (TimeoutError, AssertionError, Lost) as error:
                    broken[number] = str(error) or repr(error)
                on_kill(len(story.kills))
            await _finish(scene, stories)
            tally = judge(scene, stories, broken)
            tally.circumstances[f"{order.platform}, {order.store}, {_describe(order)}"] += tally.sum().kills
            return tally
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _describe(order: Order) -> str:
    return "with a bot" if order.with_bot else "alone"


async def _finish(scene: Scene, stories: list[Story]) -> None:
    """Let a bot send all that is left: notices, and the last state of the cards."""
    if not scene.with_bot:
        await scene.office.bot()
    try:
        await scene.until(lambda: not scene.count_unsent(), "the outbox is not empty")
    except TimeoutError:
        return  # the judgement names what is missing
