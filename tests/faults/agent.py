"""Run an agent of a framework through its door, and end it with SIGKILL at a window of its hand-over.

The argument is a line of JSON: door, window (or null), call (`run`, `resume` or `again`), to, run, site and model. The
last line of its output is a line of JSON: how the call ended, and its result. `doors/windows.py` lists the windows.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path

import kill_points

from askback.doors import hand_over
from askback.doors.hand_over import NotClaimed, OutcomeUnknown
from askback.store.queries import hand_overs
from faults.doors.frameworks import FRAMEWORKS, CallGone, Job
from faults.doors.record import GONE
from faults.doors.windows import TOOL_BEGAN, TOOL_ENDED

CLAIM_SECONDS = 3.0
"""Seconds after which the claim of a killed process is lost. The program renews its own three times as often."""
RAN = Path("deployed.jsonl")
"""The file in which the tool takes effect. All processes share it."""


def arm(window: str | None) -> None:
    if window in (TOOL_BEGAN, TOOL_ENDED):
        kill_points.left, kill_points.halts = 1, False
    elif window is not None:
        kill_points.arm(window, 1, halt=False)


def build_tool(window: str | None, run: str) -> Callable[[str], None]:
    """Return the effect of the tool: a line in a file."""

    def deploy(answer: str) -> None:
        if window == TOOL_BEGAN:
            kill_points.reached()
        with RAN.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"run": run, "answer": answer}) + "\n")
        if window == TOOL_ENDED:
            kill_points.reached()

    return deploy


async def main(order: dict[str, str]) -> None:
    for module in (hand_overs, hand_over):
        module.CLAIM_SECONDS = CLAIM_SECONDS  # type: ignore[attr-defined]
    window = order["window"]
    job = Job(Path.cwd(), order["to"], order["run"], order["site"], order["model"], build_tool(window, order["run"]))
    arm(window)
    async with FRAMEWORKS[order["door"]](job) as agent:
        try:
            found = await (agent.run() if order["call"] == "run" else agent.resume(again=order["call"] == "again"))
        except OutcomeUnknown:
            print(json.dumps({"end": "unknown"}), flush=True)
        except CallGone:
            print(json.dumps({"end": GONE}), flush=True)
        except NotClaimed as error:
            print(json.dumps({"end": error.result}), flush=True)
        else:
            print(json.dumps({"end": "done", "value": str(found)}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
