"""The long fault run: `python -m tests.faults`. Exits with 1 if anything was lost, duplicated or left over."""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from support.postgres_servers import programs

from . import schedule, table
from .count import Tally
from .databases import STORES
from .record import DEADLINE_SECONDS, Order
from .scenarios import KINDS

PLATFORMS = ("slack", "discord")
DOORS = "--doors"
ROUND = 40
"""Kills in one round; each round has its own services and database."""
AGAIN = 3
"""Number of times that missed points are scheduled again."""
LARGEST = 2**26
END_SECONDS = 15.0


@dataclass
class Combination:
    """One store under one platform."""

    platform: str
    store: str
    replicas: int
    failovers: float = 0.0
    """The share of its rounds in which the database fails over."""
    orders: deque[Order] = field(default_factory=deque[Order])
    missed: list[str] = field(default_factory=list[str])
    again: int = AGAIN
    tally: Tally = field(default_factory=Tally)
    outputs: list[str] = field(default_factory=list[str])
    points: set[str] = field(default_factory=set[str])
    """The points of all its rounds."""

    def deal(self, points: list[str], dice: random.Random, size: int) -> None:
        self.points.update(points)
        for at in range(0, len(points), size):
            some = tuple(points[at : at + size])
            fails = self.store == "postgres" and dice.random() < self.failovers
            self.orders.append(
                Order(self.platform, self.store, dice.randrange(10**6), some, self.replicas, failovers=fails)
            )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults",
        description="Kills a real bot with SIGKILL, again and again, with work in flight, while deliveries are "
        "doubled, delayed and reordered, and counts what was lost or doubled from the services' own logs.",
    )
    parser.add_argument("--kills", type=int, default=1400, help="how many kills in all (1400)")
    parser.add_argument("--store", choices=[*STORES, "both"], default="both", help="which database (both)")
    parser.add_argument("--platform", choices=[*PLATFORMS, "both"], default="both", help="which platform (both)")
    parser.add_argument("--seed", type=int, default=1, help="what the dice begin with (1); timing is not in it")
    parser.add_argument("--rigs", type=int, default=2, help="how many rounds side by side (2)")
    parser.add_argument("--replicas", type=int, default=2, help="processes at once on PostgreSQL (2); SQLite has one")
    parser.add_argument(
        "--deadline", type=float, default=DEADLINE_SECONDS,
        help=f"seconds after which nobody is waited for ({DEADLINE_SECONDS:g}); people are reminded at a tenth of it",
    )  # fmt: skip
    parser.add_argument(
        "--failovers", type=float, default=0.5 if programs() else 0.0,
        help="in which part of the rounds on PostgreSQL it fails over, on servers of their own (0.5; 0 where there "
        "are no programs of PostgreSQL to start)",
    )  # fmt: skip
    parser.add_argument("--round", type=int, default=ROUND, help=f"kills on one database ({ROUND})")
    parser.add_argument(
        "--points",
        nargs="*",
        choices=[*schedule.POINTS, *schedule.MOMENTS, schedule.RANDOM],
        metavar="P",
        help="only these points; `approval` is all that begin so",
    )
    parser.add_argument(
        "--kinds", nargs="*", choices=KINDS, default=KINDS, metavar="K",
        help="only these kinds of conversations, and those that a point needs",
    )  # fmt: skip
    parser.add_argument(
        DOORS, action="store_true", help="kill programs that ask through the doors instead; `--doors --help` says more"
    )
    parser.add_argument("--spoil", help="spoil the program (see tests/faults/mutations.py), to see what is noticed")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the bots' output of each bad round here")
    parser.add_argument("--json", type=Path, help="write everything that was counted to this file")
    return parser.parse_args()


def combinations(given: argparse.Namespace) -> list[Combination]:
    dice = random.Random(given.seed)
    stores = STORES if given.store == "both" else (given.store,)
    platforms = PLATFORMS if given.platform == "both" else (given.platform,)
    found = [
        Combination(platform, store, given.replicas if store == "postgres" else 1, given.failovers)
        for store in stores
        for platform in platforms
    ]
    named = schedule.named(given.points or ())
    for store in stores:
        # One schedule is dealt over all platforms, so that each point occurs equally often.
        kills = given.kills // len(stores) + (given.kills % len(stores) if store == stores[0] else 0)
        points = schedule.dealt(kills, dice, named or schedule.OF_STORE[store], 0.0 if named else schedule.SHARE)
        alike = [one for one in found if one.store == store]
        for number, one in enumerate(alike):
            one.deal(points[number :: len(alike)], dice, given.round)
    return found


class Hall:
    """Rounds that run in parallel, each in its own process."""

    def __init__(
        self,
        given: argparse.Namespace,
        found: list[Combination],
        on_kill: Callable[[], None],
        on_wrong: Callable[[str], None],
    ) -> None:
        self._given = given
        self._found = found
        self._on_kill = on_kill
        self._on_wrong = on_wrong

    async def play(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._given.rigs):
                tasks.create_task(self._rig())

    def _next(self) -> tuple[Combination, Order] | None:
        """Return the next round of the combination that has the most rounds left."""
        for one in self._found:
            if not one.orders and one.missed and one.again:
                one.again -= 1
                one.deal(one.missed, random.Random(self._given.seed + one.again), self._given.round)
                one.missed = []
        one = max(self._found, key=lambda one: len(one.orders))
        return (one, one.orders.popleft()) if one.orders else None

    async def _rig(self) -> None:
        worker = await asyncio.create_subprocess_exec(
            sys.executable, "-m", f"{__package__}.worker",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=LARGEST, start_new_session=True,
        )  # fmt: skip
        assert worker.stdin is not None
        assert worker.stdout is not None
        try:
            while (found := self._next()) is not None:
                one, order = found
                given = asdict(order) | {
                    "spoil": self._given.spoil,
                    "kinds": self._given.kinds,
                    "deadline": self._given.deadline,
                }
                worker.stdin.write(json.dumps(given).encode() + b"\n")
                await self._hear(one, order, worker.stdout.readline)
        finally:
            worker.stdin.close()
            with suppress(ProcessLookupError):
                worker.send_signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(END_SECONDS):
                    await worker.wait()
            except TimeoutError:
                worker.kill()

    async def _hear(self, one: Combination, order: Order, readline: Callable[[], Awaitable[bytes]]) -> None:
        while line := await readline():
            answer: dict[str, Any] = json.loads(line)
            if "kill" in answer:
                self._on_kill()
                continue
            tally = Tally.read(answer["tally"])
            for wrong in tally.all_violations:
                self._on_wrong(wrong)
            one.tally.add(tally)
            one.missed += answer["missed"]
            if answer["output"]:
                one.outputs.append(answer["output"])
                if self._given.keep is not None:
                    (self._given.keep / f"{one.platform}-{one.store}-{order.seed}.log").write_text(answer["output"])
            return
        raise RuntimeError("a round broke off: see above")


async def run(given: argparse.Namespace, found: list[Combination]) -> bool:
    """Play all rounds; return True if the run was completed."""
    errors = Console(stderr=True)
    bar = Progress(
        TextColumn("kills"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.fields[wrong]}"),
        console=errors, disable=not errors.is_terminal,
    )  # fmt: skip
    task = bar.add_task("kills", total=given.kills, wrong="")
    kills = 0

    def on_kill() -> None:
        nonlocal kills
        kills += 1
        wrong = sum(one.tally.count for one in found)
        bar.update(task, completed=kills, wrong=f"{wrong} violations" if wrong else "")
        if bar.disable and kills % 50 == 0:
            errors.print(f"{kills} of {given.kills} kills, {wrong} violations")

    def on_wrong(wrong: str) -> None:
        errors.print(wrong, markup=False, highlight=False)

    playing = asyncio.create_task(Hall(given, found, on_kill, on_wrong).play())
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, playing.cancel)
    with bar:
        try:
            await playing
        except asyncio.CancelledError:
            errors.print("Broken off. What follows is of the rounds that came to their end.")
            return False
        except ExceptionGroup as broken:
            errors.print(f"A round failed, and with it the run: {broken.exceptions}")
            return False
    return True


def main() -> None:
    if DOORS in sys.argv[1:]:
        from .doors import command

        sys.exit(command.main([one for one in sys.argv[1:] if one != DOORS]))
    given = arguments()
    if given.keep is not None:
        given.keep.mkdir(parents=True, exist_ok=True)
    found = combinations(given)
    began = time.monotonic()
    whole = asyncio.run(run(given, found))
    seconds = time.monotonic() - began
    total = Tally()
    for one in found:
        total.add(one.tally)
    table.show(Console(), [(f"{one.platform}\n{one.store}", one.tally) for one in found], total, seconds)
    if given.json is not None:
        figures = {
            "seed": given.seed,
            "whole": whole,
            "seconds": seconds,
            "kills_per_minute": 60 * total.kills / seconds,
            "combinations": [
                {"platform": one.platform, "store": one.store, "replicas": one.replicas, **one.tally.json(),
                 "output": one.outputs}
                for one in found
            ],
            "total": total.json(),
        }  # fmt: skip
        given.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    unreached = set[str]().union(*(one.points for one in found)) - set(total.points)
    if unreached:
        print(f"No bot reached these points: {', '.join(sorted(unreached))}.", file=sys.stderr)
    sys.exit(1 if total.count or unreached else 0)


if __name__ == "__main__":
    main()
