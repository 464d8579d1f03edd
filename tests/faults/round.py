"""One round of the long run: many conversations with a bot that is killed repeatedly, then the count."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askback_sandbox.model.model import Answer, Exchange, Model
from askback_sandbox.model.request import ReceivedRequest
from support.clocks import SharedClock
from support.processes import Launched

from . import schedule
from .actors import Seat, seated
from .approving import APPROVERS, Approvers
from .failovers import Failovers
from .network_faults import Weather
from .person import Person
from .record import InFlight, Kill, Order, Record, Request, lead_of
from .rig import Rig
from .scenarios import KINDS, TO_APPROVE, WEIGHTS, Deletion, Story, says, story_of

REACHED_WITHIN = 5.0
"""Seconds after which a point that was not reached is given up and scheduled again."""
NEEDED_WITHIN = 30.0
"""The same for a point to which a story leads: meanwhile, one such story after the other begins."""
STARTS = 8.0
"""Seconds of starts above which a machine counts as slow and gets more time."""
RANDOM_SECONDS = 0.9
BEGIN_SECONDS = 10.0
NO_DATABASE = 2
"""The exit code of a bot that cannot use its database at its start."""
QUIET_SECONDS = 0.5
TAKE_OVER_SECONDS = 8.0
"""Seconds of quiet at the end with several replicas, where one must first notice that another has died."""


@dataclass(frozen=True)
class Way:
    """A process that has not reached its point yet."""

    bot: Launched
    point: str
    began: float
    until: float
    """The time at which it is killed in any case."""


class Watched(Model):
    """The model, which records the requests that are open at the moment."""

    def __init__(self) -> None:
        super().__init__(persona=says, delay=0.008, chunk=16)
        self.open: dict[int, Request] = {}
        self.requests: list[Request] = []
        self.on_request: Callable[[Request], None] = lambda _: None

    @property
    def newest(self) -> int:
        return self._numbers

    def answer(self, asked: ReceivedRequest) -> Answer:
        # Each process asks for a model with another name.
        process = str(asked.body["model"])
        request = Request(self._numbers, story_of(asked)[0], len(asked.turns), time.time(), process)
        self.open[request.number] = request
        self.requests.append(request)
        self.on_request(request)
        return super().answer(asked)

    def record(self, exchange: Exchange) -> None:
        self.open.pop(exchange.number, None)
        super().record(exchange)


class Round:
    """Play an order, and put everything to be counted into its record."""

    def __init__(
        self,
        order: Order,
        rig: Rig,
        folder: Path,
        weather: Weather,
        model: Watched,
        clock: SharedClock,
        failovers: Failovers | None = None,
    ) -> None:
        self._order = order
        self._failovers = failovers
        self._rig = rig
        self._folder = folder
        self._weather = weather
        self._model = model
        self._clock = clock
        self._dice = random.Random(order.seed)
        self._bots: list[Launched] = []
        self._names: dict[Launched, str] = {}
        self._listening: dict[Launched, float] = {}
        """The Unix time at which each running process began to listen."""
        self._noticed_deaths = 0
        """Deaths that the platform has noticed; until then it may still deliver to the dead process."""
        self._people: dict[str, Person] = {}
        self._ways: dict[Launched, Way] = {}
        """The processes that have not reached their point yet."""
        self._wanted: list[schedule.Need] = []
        self._begun_for: list[tuple[schedule.Need, Story]] = []
        """The stories that have begun, each with what it began for."""
        self._points = deque(order.points)
        """The points that are left."""
        self._begun = asyncio.Event()
        self._hands = [asyncio.Lock() for _ in range(lead_of(order) + 1)]
        self._stopping = False
        self.record = Record(order)
        self.on_kill: Callable[[], None] = lambda: None
        model.on_request = self._heard

    async def play(self) -> Record:
        began = time.monotonic()
        talks = [
            asyncio.create_task(self._talk(number), name=f"person {number}") for number in range(self._order.talks)
        ]
        blowing = [] if self._failovers is None else [asyncio.create_task(self._failovers.blow(), name="failovers")]
        try:
            try:
                await self._kill_and_kill()
            finally:
                for one in blowing:
                    one.cancel()
                await asyncio.gather(*blowing, return_exceptions=True)
            self._stopping = True
            self.record.killing = time.monotonic() - began
            await self._drain(talks)
        finally:
            for talk in talks:
                talk.cancel()
            await asyncio.gather(*talks, return_exceptions=True)
        for talk in talks:
            if not talk.cancelled() and (error := talk.exception()) is not None:
                raise error
        self._collect()
        self.record.stalled = self._clock.longest
        self.record.seconds = time.monotonic() - began
        return self.record

    async def end(self) -> None:
        """Kill all processes of the round."""
        for bot in self._bots:
            if bot.returncode is None:
                os.kill(bot.pid, signal.SIGKILL)
                await bot.wait()
        self._bots.clear()

    # the people

    async def _talk(self, number: int) -> None:
        dice = random.Random(self._order.seed * 100 + number)
        await self._begun.wait()
        await asyncio.sleep(dice.uniform(0.0, 0.5))
        while not self._stopping or len(self.record.stories) < self._order.least:
            need = self._need(number, dice)
            story = Story(f"s{len(self.record.stories):04d}", need.kind)
            self.record.stories.append(story)
            self._begun_for.append((need, story))
            approvers = self._approvers(number, need.plans) if story.kind in TO_APPROVE else None
            seat = self._seated(number)
            person = Person(
                story, seat, dice, self._is_up, lambda: self._noticed_deaths, self._order.contrary, approvers
            )  # fmt: skip
            self._people[story.tag] = person
            await person.play()

    def _need(self, number: int, dice: random.Random) -> schedule.Need:
        """Return the person's next story: one that is needed, or any."""
        if number < schedule.waiting(self._points, self._order.talks):
            return schedule.Need("waiting")
        if self._wanted:
            return self._wanted.pop()
        going_on = [need for need, story in self._begun_for if not story.is_over]
        for need in schedule.stories_for(way.point for way in self._ways.values()):
            # An earlier one may have ended otherwise: on a slow machine, a question times out between two processes.
            if need not in going_on:
                return need
        weights = [weight for kind, weight in zip(KINDS, WEIGHTS, strict=True) if kind in self._order.kinds]
        return schedule.Need(dice.choices(self._order.kinds, weights)[0])

    def _approvers(self, number: int, plans: tuple[str, ...]) -> Approvers:
        """Return the approvers for that person's calls."""
        seats = tuple(self._seated(one) for one in range(APPROVERS) if one != number)
        return Approvers(seats, self._seated(lead_of(self._order)), self._order.deadline, plans or self._order.plans)

    def _seated(self, number: int) -> Seat:
        seat = seated(self._rig, number, self._weather)
        seat.hands = self._hands[number]
        return seat

    def _heard(self, request: Request) -> None:
        if self._failovers is not None and self._failovers.is_felt:
            # A failover repeats turns like a kill, and it may interrupt this one as well.
            self.record.barriers += [request.number - 1, request.number]
        person = self._people.get(request.tag)
        if person is not None:
            person.story.is_heard = True

    def _is_up(self) -> bool:
        return self._rig.link.connections > 0

    # the bots

    async def _kill_and_kill(self) -> None:
        """Keep the wanted number of processes, each waiting for its point, and kill the first one to get there."""
        ways = self._ways
        points = self._points
        while points or ways:
            while points and len(ways) < self._order.replicas:
                self._wanted += schedule.stories_for([*points][:2])[: self._order.talks]
                way = await self._set_out(points.popleft())
                ways[way.bot] = way
                self._bots.append(way.bot)
                self._begun.set()
            way, reached = await self._first(ways)
            bot = way.bot
            del ways[bot]
            self._bots.remove(bot)
            self.record.bots.append((self._listening.pop(bot), time.time()))
            if bot.returncode == NO_DATABASE and self._failovers is not None and self._failovers.is_felt:
                # The bot was starting and could not use the database; its supervisor starts it again.
                points.appendleft(way.point)
                continue
            if bot.returncode is not None:
                self.record.crashes.append(f"a bot ended by itself with {bot.returncode}")
                continue
            now = time.monotonic()
            self.record.kills.append(Kill(way.point, reached, time.time(), self._in_flight(), now - way.began))
            before = self._rig.link.connections
            os.kill(bot.pid, signal.SIGKILL)
            await bot.wait()
            # From then on it did nothing, and another process may have taken its turns over.
            self.record.killed[self._names[bot]] = bot.halted_at or time.time()
            self.on_kill()
            await self._noticed(before)
            self._noticed_deaths += 1
        while len(self._bots) < self._order.replicas:
            self._bots.append(await self._start(None, 1))
        self._begun.set()

    async def _set_out(self, point: str) -> Way:
        is_random = point == schedule.RANDOM
        launched = time.monotonic()
        bot = await self._start(None if is_random else point, schedule.number(point, self._dice))
        began = time.monotonic()
        in_time = schedule.comes_within(point, self._order.deadline)
        within = max(REACHED_WITHIN, STARTS * (began - launched), in_time)
        if schedule.stories_for([point]):
            within = max(within, NEEDED_WITHIN)
        patience = self._dice.uniform(0.05, RANDOM_SECONDS) if is_random else within
        return Way(bot, point, began, began + patience)

    async def _first(self, ways: dict[Launched, Way]) -> tuple[Way, bool]:
        """Wait until one has halted, and return it with True; at the timeout, stop the soonest one (False)."""
        soonest = min(ways.values(), key=lambda way: way.until)
        ends = {asyncio.create_task(bot.stands_still()): way for bot, way in ways.items()}
        try:
            left = max(soonest.until - time.monotonic(), 0.0)
            done, _ = await asyncio.wait(ends, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in ends:
                task.cancel()
            await asyncio.gather(*ends, return_exceptions=True)
        if done:
            return ends[done.pop()], True
        os.kill(soonest.bot.pid, signal.SIGSTOP)
        await soonest.bot.stands_still()
        return soonest, False

    async def _start(self, point: str | None, number: int) -> Launched:
        """Return a bot that listens, or that has already halted at its point."""
        async with nullcontext() if self._failovers is None else self._failovers.calm:
            return await self._started(point, number)

    async def _started(self, point: str | None, number: int) -> Launched:
        name = f"process-{len(self._names)}"
        others = self._rig.link.connections
        self._rig.settings["ASKBACK_MODEL"] = name
        bot = await self._rig.launch(point, number, halt=True, spoil=self._order.spoil, pace=0.05)
        self._names[bot] = name
        # The wait is limited, because a socket of another process may close and reconnect meanwhile.
        with suppress(TimeoutError):
            async with asyncio.timeout(BEGIN_SECONDS):
                while not self._has_begun(bot, others):  # noqa: ASYNC110 - by a socket, a line, or an end
                    await asyncio.sleep(0.005)
        self._listening[bot] = time.time()
        return bot

    async def _noticed(self, before: int) -> None:
        """Wait until the platform has noticed a closed socket, if there was one, and no other replaced it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                while self._rig.link.connections >= before > 0:  # noqa: ASYNC110 - the service's own count
                    await asyncio.sleep(0.005)

    def _has_begun(self, bot: Launched, others: int) -> bool:
        return self._rig.link.connections > others or bot.halted.is_set() or bot.returncode is not None

    def _in_flight(self) -> InFlight:
        people = [person for person in self._people.values() if not person.story.is_over]
        ran = [*(line.partition(" ")[0] for line in self._ran()), *(one["what"] for one in self._released())]
        open_now = {request.tag for request in self._model.open.values()}
        return InFlight(
            calls=len(self._model.open),
            clicks=sum(press.done is None for person in people for press in person.story.presses),
            cards=sum(len(self._unseen(person)) for person in people),
            gone=sum(len(self._gone(person)) for person in people),
            tools=ran.count("began") - ran.count("ended") - self._interrupted(),
            approvals=sum(len(self._undecided(person)) for person in people),
            owed=sum(self._is_owed(person) for person in people if person.story.tag not in open_now),
            turns=sum(self._is_turning(person) for person in people),
        )

    def _interrupted(self) -> int:
        """Return the number of tools that earlier kills interrupted; they do not run any more."""
        return sum(kill.in_flight.tools for kill in self.record.kills)

    def _undecided(self, person: Person) -> list[Any]:
        cards = [person.card(token) for token in person.story.to_approve]
        return [card for card in cards if card is not None and person.can_act(card)]

    def _newest(self, person: Person) -> Request | None:
        return next((one for one in reversed(self._model.requests) if one.tag == person.story.tag), None)

    def _unseen(self, person: Person) -> list[str]:
        """Return the model's questions that are not visible yet."""
        newest = self._newest(person)
        if newest is None or newest.number in self._model.open or newest.turn > 0:
            return []
        texts = [person.seat.reads(message) for message in person.seat.shown()]
        tokens = person.story.questions[:1] if person.story.kind == "form" else person.story.asked
        deleted = {deletion.token for deletion in person.story.deletions}
        return [token for token in tokens if token not in deleted and not any(token in text for text in texts)]

    def _gone(self, person: Person) -> list[Deletion]:
        """Return the deletions whose cards are not back yet."""
        return [one for one in person.story.deletions if person.card(one.token) is None]

    def _is_owed(self, person: Person) -> bool:
        """Return True if the bot received something that the model has not."""
        newest = self._newest(person)
        if newest is None:
            return True
        acked = [press.done for press in person.story.presses if press.acked and press.done is not None]
        asked = [card for token in person.story.asked if (card := person.card(token)) is not None]
        settled = bool(asked) and not any(map(person.can_act, asked)) and newest.turn == 0
        return settled or (person.story.kind == "buttons" and newest.turn == 0 and bool(acked))

    def _is_turning(self, person: Person) -> bool:
        newest = self._newest(person)
        if newest is None:
            return False
        if newest.number in self._model.open:
            return True
        if newest.turn == 0 and person.story.asked:
            return bool(self._unseen(person))
        return not person.has_said(newest.turn)

    # the end

    async def _drain(self, talks: list[asyncio.Task[None]]) -> None:
        """Wait until all work is done and nothing changes for a while. A slow machine gets more time; if nothing
        changes for
        long, something is stuck.
        """
        quiet_since: float | None = None
        now = self._clock.monotonic
        come = self._come()
        enough = QUIET_SECONDS if self._order.store == "sqlite" else TAKE_OVER_SECONDS
        end = now() + self._order.drain
        while now() < end:
            if any(talk.done() and talk.exception() is not None for talk in talks):
                return
            if all(talk.done() for talk in talks) and self._is_quiet():
                quiet_since = quiet_since or now()
                if now() - quiet_since > enough:
                    return
            else:
                quiet_since = None
            if (newest := self._come()) != come:
                come, end = newest, now() + self._order.drain
            await asyncio.sleep(0.05)

    def _come(self) -> tuple[int, ...]:
        """Return a measure of progress: turns and finished stories grow, controls to click on shrink."""
        people = self._people.values()
        return (
            self._model.newest,
            sum(person.story.is_over for person in people),
            sum(person.shows_controls() for person in people),
        )

    def _is_quiet(self) -> bool:
        if self._model.open:
            return False
        return not any(person.shows_controls() for person in self._people.values())

    def _ran(self) -> list[str]:
        path = self._folder / "ran.txt"
        return path.read_text().splitlines() if path.exists() else []

    def _released(self) -> list[dict[str, Any]]:
        path = self._folder / "released.txt"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def _collect(self) -> None:
        record = self.record
        record.bots += [(began, time.time()) for began in self._listening.values()]
        record.outages = self._weather.outages_seen
        record.requests = self._model.requests
        record.log = [exchange.json() for exchange in self._model.log]
        record.ran = self._ran()
        record.released = self._released()
        record.posted = self._rig.posts()
        record.weather = self._weather.seen + (Counter() if self._failovers is None else self._failovers.seen)
        record.output = f"{self._rig.whole_log()}\n{self._rig.calls()}"
        for person in self._people.values():
            person.look_back()
