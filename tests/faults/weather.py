"""Deliveries as they come on a bad day: doubled, delayed, and with that in another order."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from askback_local.discord.faults import DiscordFault
from askback_local.discord.guild import Guild
from askback_local.json_values import JsonObject
from askback_local.slack.socket import SlackSocket
from outage import KINDS

if TYPE_CHECKING:
    from .rig import Rig

DOUBLED = 0.12
DELAYED = 0.2
LONGEST = 0.15
"""Seconds."""
CALM_SECONDS = (2.0, 6.0)
OUT_SECONDS = (0.3, 1.5)


class Weather:
    """How the deliveries of one run fare, by dice."""

    def __init__(self, dice: random.Random, *, calm: bool = False) -> None:
        self._dice = dice
        self._calm = calm
        self.seen: Counter[str] = Counter()

    def times(self) -> int:
        """How often something is delivered."""
        if self._calm or self._dice.random() >= DOUBLED:
            return 1
        self.seen["doubled"] += 1
        return 2

    def delay(self) -> float:
        """By how many seconds a delivery is late; what was sent after it may come before it then."""
        if self._calm or self._dice.random() >= DELAYED:
            return 0.0
        self.seen["delayed"] += 1
        return self._dice.uniform(0.0, LONGEST)

    def outages(self) -> Iterator[tuple[str, float, float]]:
        """Each kind of outage, in some order: after how many seconds it begins, and how many it lasts."""
        for kind in self._dice.sample(KINDS, len(KINDS)):
            calm, length = self._dice.uniform(*CALM_SECONDS), self._dice.uniform(*OUT_SECONDS)
            if not self._calm:
                self.seen[f"outage {kind}"] += 1
            yield kind, calm, 0.0 if self._calm else length


class StormySocket(SlackSocket):
    """Every envelope is on its way for itself, and some arrive twice."""

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
    """For ever: now and then the platform's API is out of order for a while, in one way or another."""
    while True:
        for kind, calm, length in weather.outages():
            await asyncio.sleep(calm)
            end = rig.outage(kind)
            try:
                await asyncio.sleep(length)
            finally:
                end()


async def replays(guild: Guild, weather: Weather) -> None:
    """For ever: now and then a message is dispatched a second time, as after a RESUME."""
    while True:
        await asyncio.sleep(LONGEST)
        if weather.times() > 1:
            guild.faults.add(DiscordFault(kind="replay", operation="MESSAGE_CREATE"))
