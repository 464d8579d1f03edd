"""One call of a client to a server of askback, which is killed; the client calls again."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from .callers import CALLERS, Lost, ServerCaller
from .record import Story
from .scene import Scene, within
from .windows import OUTSIDE, SENT, WAITING


async def play(scene: Scene, story: Story, window: str) -> None:
    """Play a story whose server is killed in a window."""
    gate = asyncio.Event()
    person = asyncio.create_task(scene.answer(story, gate))
    caller = CALLERS[story.door](scene, story.run, f"Where to deploy {story.site}?")
    try:
        await caller.start(None if window in OUTSIDE else window)
        asking = asyncio.create_task(caller.call(then_kill=window == SENT))
        if window == WAITING:
            await scene.until(lambda: scene.list_cards(story) or asking.done(), "no card")
            await asyncio.sleep(scene.dice.random() * 0.3)
            await caller.kill()
        gate.set()
        with suppress(Lost):
            story.ends.append(await within(asking, f"{story.name}: no end"))
        (story.missed if not await caller.was_killed() else story.kills).append(window)
        if story.missed:
            return
        await caller.start(None)
        story.ends.append(await within(_call_again(caller), f"{story.name}: no answer after the kill"))
        await within(person, f"{story.name}: the click has no end")
    finally:
        await caller.close()
        person.cancel()
        await asyncio.wait([person])


async def _call_again(caller: ServerCaller) -> str:
    """Call until there is an answer, as a client does whose connection breaks."""
    while True:
        try:
            return await caller.call()
        except Lost:
            if await caller.has_died():
                raise
