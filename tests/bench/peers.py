"""An answer until the waiting program continues, compared with alternatives. They run in turn, on one disk.

Each runs in its own process; see `peer.py`.
"""

from __future__ import annotations

import importlib.util
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

from .bot import Child, child
from .figures import Database, Figure, measured
from .fsyncs import counting
from .runner import Bench

TITLES = {
    "askback": "`QuestionManager.act` → `ask` returns, askback",
    "langgraph": "`Command(resume=…)` → the node continues, LangGraph with its SQLite checkpointer",
    "dbos": "`DBOS.send` → `recv` returns, DBOS on SQLite",
}
MODULES = {"askback": "askback", "langgraph": "langgraph.checkpoint.sqlite", "dbos": "dbos"}
TIMES = {"askback": 100, "langgraph": 100, "dbos": 15}
COUNTED = 3


async def run(bench: Bench) -> AsyncIterator[Figure]:
    names = [name for name in TITLES if _is_installed(MODULES[name])]
    for name in set(TITLES) - set(names):
        bench.say(f"without {name}, which is not installed: pip install -e '.[bench]'")
    async with AsyncExitStack() as stack:
        peers: dict[str, Child] = {}
        for name in names:
            peers[name] = await stack.enter_async_context(child("peer", name, str(bench.folder / name)))
        took: dict[str, list[float]] = {name: [] for name in names}
        for name in names:
            await peers[name].tell("once")  # the first is slower everywhere
        order = [name for name in names for _ in range(bench.times(TIMES[name], 2))]
        random.shuffle(order)
        for name in order:
            began, went_on = await _once(peers[name])
            took[name].append((went_on - began) * 1000)
        for name in names:
            async with counting(peers[name].pid) as counted:
                spans = [await _once(peers[name]) for _ in range(bench.times(COUNTED, 1))]
            mode, synchronous = (await peers[name].tell("facts")).split()
            database = Database(journal_mode=mode, synchronous=synchronous, file_system=bench.database.file_system)
            yield measured(TITLES[name], "ms", took[name], database=database, fsyncs=counted.within(spans))


async def _once(peer: Child) -> tuple[float, float]:
    """Return the times of the answer and of the continuation."""
    began, went_on = (await peer.tell("once")).split()
    return float(began), float(went_on)


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
