"""`python -m tests.faults --doors`: exits with 1 if an answer was lost, or used twice."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
import signal
import sys
import time
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from e2e.ask import office
from faults.databases import STORES
from support.processes import Launcher

from . import scene, schedule, table
from .record import Order, Tally
from .round import play
from .schedule import DOORS, PLATFORMS

LAUNCHER = Path(__file__).with_name("launcher.py")
PATIENCE = 180.0
"""Seconds that any step of a story may take."""
ROUND = 12
"""Stories on one database."""
AGAIN = 3
"""The number of times that windows which no process reached are tried again."""
SAID = 25
"""Kills between two lines of progress."""


def parse(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults --doors",
        description="Kills programs that ask people through the doors of askback, in each window of the hand-over of "
        "an answer, and lets others continue. Counts answers that were lost, or used twice.",
    )
    parser.add_argument("--kills", type=int, default=500, help="how many runs are killed at least once (500)")
    parser.add_argument("--door", nargs="+", choices=DOORS, default=DOORS, metavar="NAME", help=f"{', '.join(DOORS)}")
    parser.add_argument("--store", choices=[*STORES, "both"], default="both", help="which database (both)")
    parser.add_argument("--platform", choices=[*PLATFORMS, "both"], default="both", help="which platform (both)")
    parser.add_argument("--seed", type=int, default=1, help="what the dice begin with (1); timing is not in it")
    parser.add_argument("--rigs", type=int, default=3, help="how many rounds side by side (3)")
    parser.add_argument("--round", type=int, default=ROUND, help=f"runs on one database ({ROUND})")
    parser.add_argument("--json", type=Path, help="write everything that was counted to this file")
    return parser.parse_args(given)


class Hall:
    """Rounds that run side by side."""

    def __init__(self, given: argparse.Namespace, launcher: Launcher) -> None:
        self._given = given
        self._launcher = launcher
        self._dice = random.Random(given.seed)
        self._orders = deque(
            schedule.deal(
                given.kills,
                self._dice,
                doors=given.door,
                platforms=PLATFORMS if given.platform == "both" else (given.platform,),
                stores=STORES if given.store == "both" else (given.store,),
                size=given.round,
            )
        )
        self._again = AGAIN
        self._kills = 0
        self.tally = Tally()

    async def play(self) -> None:
        """Play all rounds."""
        while self._orders:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(self._given.rigs):
                    tasks.create_task(self._rig())

    async def _rig(self) -> None:
        while self._orders:
            order = self._orders.popleft()
            tally = await play(order, self._launcher, self._note)
            for wrong in tally.wrong:
                print(f"{order.platform}, {order.store}, seed {order.seed}: {wrong}", file=sys.stderr)
            self.tally.add(tally)
            self._deal_missed(order, tally)

    def _deal_missed(self, order: Order, tally: Tally) -> None:
        if tally.missed and self._again:
            self._again -= 1
            seed = self._dice.randrange(10**6)
            again = Order(order.platform, order.store, seed, tuple(tally.missed), order.with_bot)
            self._orders.append(again)

    def _note(self, kills: int) -> None:
        before, self._kills = self._kills, self._kills + kills
        if before // SAID != self._kills // SAID:
            print(f"{self._kills} kills", file=sys.stderr, flush=True)


async def run(given: argparse.Namespace) -> Tally:
    """Play all rounds, or those that come to their end before a signal."""
    # The launcher ends a moment after its last client, and takes its files away.
    folder = TemporaryDirectory(ignore_cleanup_errors=True)
    with folder, closing(Launcher(Path(folder.name) / "launcher", LAUNCHER)) as launcher:
        hall = Hall(given, launcher)
        playing = asyncio.create_task(hall.play())
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, playing.cancel)
        try:
            await playing
        except asyncio.CancelledError:
            print("Broken off. What follows is of the rounds that came to their end.", file=sys.stderr)
        return hall.tally


def main(arguments: Sequence[str]) -> int:
    """Run it with these arguments. Return 1 if anything was lost, doubled or not reached."""
    given = parse(arguments)
    # aiohttp would log every peer that dies while sending, which is the point of these runs.
    logging.getLogger("aiohttp").setLevel(logging.CRITICAL)
    # A run measures no speed, and the machine may have other work.
    office.WITHIN = scene.WITHIN = PATIENCE
    began = time.monotonic()
    tally = asyncio.run(run(given))
    seconds = time.monotonic() - began
    table.show(Console(width=max(Console().width, 110)), tally, seconds)
    if given.json is not None:
        cells = [{"door": door, "window": window, **asdict(cell)} for (door, window), cell in tally.cells.items()]
        figures = {"seed": given.seed, "seconds": seconds, "cells": cells, "wrong": tally.wrong}
        given.json.write_text(json.dumps(figures | {"circumstances": tally.circumstances}, indent=1), encoding="utf-8")
    unreached = {*tally.missed} - {key for key, cell in tally.cells.items() if cell.kills}
    if unreached:
        print(f"No process reached these windows: {sorted(unreached)}.", file=sys.stderr)
    return 1 if tally.wrong or unreached else 0
