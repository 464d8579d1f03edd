"""Programs with a LangGraph graph behind its door, in this process or in one that can be killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from askback.doors.langgraph import LangGraphDoor
from e2e.ask.office import Office, Process

TESTS = Path(__file__).parents[2]
WRITE = "Write an answer…"
THREAD: Any = {"configurable": {"thread_id": "thread"}}
FINISHED = "The outcome is known now: the program has finished its work after this answer."
PROGRAM = """
import asyncio, os, signal, sys
from pathlib import Path

sys.path.insert(0, {tests!r})
from askback.doors.langgraph import LangGraphDoor
from askback.store.queries import hand_overs
from e2e.doors.graphs import Dying, asking

hand_overs.CLAIM_SECONDS = 1.0

async def main():
    async with asking(Path("."), "Which version?", then={then}) as graph:
        async with LangGraphDoor({graph}, to="{platform}:#deploys", who="anyone") as door:
            print(await door.{call})

asyncio.run(main())
"""


def door(office: Office, graph: Any, **more: Any) -> LangGraphDoor:
    return LangGraphDoor(graph, to=f"{office.platform}:#deploys", **({"who": "anyone"} | more))


async def program(office: Office, call: str, then: str = "None", graph: str = "graph") -> Process:
    """Start a process that runs or resumes the graph."""
    file = office.folder / f"program-{len(office._processes)}.py"
    given = {"tests": str(TESTS), "platform": office.platform, "call": call, "then": then, "graph": graph}
    file.write_text(PROGRAM.format(**given), encoding="utf-8")
    return await office.start(program=file, ASKBACK_QUESTION_PACE="0s")


def done(office: Office) -> list[str]:
    """Return the answers that nodes have noted."""
    file = office.folder / "done.txt"
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []
