"""The real command next to the running bot, on the same database."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from support.processes import communicate

ASKBACK = Path(sys.executable).with_name("askback")


async def askback(*arguments: str) -> tuple[int | None, str]:
    """Run the command in its own process; return its exit code and what it printed."""
    process = await asyncio.create_subprocess_exec(
        ASKBACK, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await communicate(process)
    return process.returncode, said.decode()
