"""A process of `askback serve`, next to the services of a test."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path


@asynccontextmanager
async def serving(callers: Path) -> AsyncGenerator[str]:
    """Yield the address of a server with the callers of this file."""
    command = Path(sys.executable).with_name("askback")
    server = await asyncio.create_subprocess_exec(
        command, "serve", "--http", "0", "--callers", callers, stderr=asyncio.subprocess.PIPE
    )
    try:
        assert server.stderr is not None
        async with asyncio.timeout(60):
            while not (found := re.search(rb"at (http\S+)/v1/asks", await server.stderr.readline())):
                assert server.returncode is None
        yield found[1].decode()
    finally:
        server.terminate()
        await server.communicate()
