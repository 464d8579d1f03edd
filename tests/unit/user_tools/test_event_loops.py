"""The tools' event loop never keeps a process from exiting, even if a tool blocks it or catches its cancellation."""

from __future__ import annotations

import subprocess
import sys

SECONDS = 60
"""Seconds, far more than a process takes to exit."""

HANGS = """
import asyncio
from askback.user_tools import event_loops, worker_threads

event_loops.END_SECONDS = 0.01
begun = asyncio.Event()


async def hang():
    begun.set()
    while True:
        try:
            await asyncio.sleep(3600)
        except BaseException:
            pass


async def main():
    tools = event_loops.ToolLoops(worker_threads.ToolThreadPool(1))
    tools.submit(event_loops.AsyncCall("hang", None, hang))
    waits = event_loops.AsyncCall("wait", None, begun.wait)
    tools.submit(waits)
    await waits.future
    await tools.close()


asyncio.run(main())
print("ended")
"""


def test_a_coroutine_that_catches_everything_does_not_keep_the_process_from_its_end() -> None:
    command = [sys.executable, "-c", HANGS]
    process = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (0, "ended\n", "")
