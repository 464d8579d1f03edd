"""Bad deliveries: duplicated, delayed, and therefore out of order."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from askback_sandbox.discord.faults import DiscordFault
from askback_sandbox.discord.guild import Guild
from askback_sandbox.json_values import JsonObject
from askback_sandbox.slack.socket import SlackSocket
from support.outage import KINDS

if TYPE_CHECKING:
    from .rig import Rig

DOUBLED = 0.12
DELAYED = 0.2
LONGEST = 0.15
"""Seconds."""
CALM_SECONDS = (2.0, 6.0)
OUT_SECONDS = (0.3, 1.5)


class Weather:
    """Random faults of the deliveries in one run."""

    def __init__(self, dice: random.Random, *, calm: bool = False) -> None:
        self._dice = dice
        self._calm = calm
        self.seen: Counter[str] = Counter()
        self.outages_seen: list[tuple[float, float]] = []
        """The Unix times at which each outage began and ended, in seconds."""

    def times(self) -> int:
        """Return how often an event is delivered."""
        if self._calm or self._dice.random() >= DOUBLED:
            return 1
        self.seen["doubled"] += 1
        return 2

    def delay(self) -> float:
        """Return the delay of a delivery in seconds; later events may overtake it."""
        if self._calm or self._dice.random() >= DELAYED:
            return 0.0
        self.seen["delayed"] += 1
        return self._dice.uniform(0.0, LONGEST)

    def outages(self) -> Iterator[tuple[str, float, float]]:
        """Yield each kind of outage in random order, with the seconds until it begins and its duration in seconds."""
        for kind in self._dice.sample(KINDS, len(KINDS)):
            calm, length = self._dice.uniform(*CALM_SECONDS), self._dice.uniform(*OUT_SECONDS)
            if not self._calm:
                self.seen[f"outage {kind}"] += 1
            yield kind, calm, 0.0 if self._calm else length


class StormySocket(SlackSocket):
    """Deliver every envelope independently, and some twice."""

    weather: Weather

    async def _pass_on(self, envelope: JsonObject) -> bool:
        if late := self.weather.delay():
            await asyncio.sleep(late)
        for _ in range(self.weather.times() - 1):
            task = asyncio.create_task(self._again(envelope, self.weather.delay()))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await super()._pass_on(envelope)

    async def _again(self, envelope: JsonObject, late: float) -> None:
        await asyncio.sleep(late)
        await super()._pass_on(envelope)


async def outages(rig: Rig, weather: Weather) -> None:
    """Make the platform's API fail for a while now and then, in one way or another, until cancelled."""
    while True:
        for kind, calm, length in weather.outages():
            await asyncio.sleep(calm)
            if not length:
                continue
            began, end = time.time(), rig.outage(kind)
            try:
                await asyncio.sleep(length)
            finally:
                end()
                weather.outages_seen.append((began, time.time()))


async def replays(guild: Guild, weather: Weather) -> None:
    """Dispatch a message a second time now and then, as after a RESUME, until cancelled."""
    while True:
        await asyncio.sleep(LONGEST)
        if weather.times() > 1:
            guild.faults.add(DiscordFault(kind="replay", operation="MESSAGE_CREATE"))
