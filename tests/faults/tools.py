"""Tools that leave a trace of each run in a file, and what the model received of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from askback_sandbox.model.call_results import refusals

from .rig import Rig

TOOLS = '''
import asyncio
import time
from pathlib import Path

from askback import ToolContext, tool

RAN = Path("ran.txt")


def note(line: str) -> None:
    with RAN.open("a") as file:
        file.write(line + "\\n")


def deploy(where: str) -> str:
    """Deploy it."""
    note(f"deploy {where}")
    return f"deployed to {where}"


@tool(idempotent=True)
async def look(context: ToolContext) -> str:
    """Look at it."""
    note(f"look {context.call_id}")
    return "it is green"


def hang() -> str:
    note("hang")
    while Path("hold").exists():
        time.sleep(0.02)
    return "ended"


async def stubborn() -> str:
    note("stubborn")
    while Path("hold").exists():
        try:
            await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            note("stubborn indeed")
    return "ended"


tools = [deploy, look, hang, stubborn]
'''
INTERRUPTED = "I was interrupted while I ran"
DONE = "That is what came of it."
QUESTION = "Which colour?"


def ran(folder: Path) -> list[str]:
    path = folder / "ran.txt"
    return path.read_text().splitlines() if path.exists() else []


async def told(rig: Rig, *, said: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Return the final result of each call as the model received it, and check that only `said` was posted."""
    await rig.until(lambda: rig.whole(DONE))
    for sentence in said:
        await rig.until(lambda sentence=sentence: rig.says(sentence))
    log = [exchange.json() for exchange in rig.model.log]
    assert not refusals(log)
    request: Any = log[-1]["request"]
    blocks = [block for message in request["messages"] for block in message["content"]]
    called = [block["id"] for block in blocks if block["type"] == "tool_use"]
    results = [block for block in blocks if block["type"] == "tool_result"]
    assert [block["tool_use_id"] for block in results] == called
    assert len(rig.says(INTERRUPTED)) == len(said), rig.picture()
    await rig.stop()
    return results


async def run_to(rig: Rig, point: str, number: int = 1) -> None:
    await rig.start(point, number)
    rig.write()
    await rig.killed()
    await rig.start()
