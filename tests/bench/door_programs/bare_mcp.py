"""An MCP server that asks nobody: `python -m tests.bench.door_programs.bare_mcp [PIPE]`.

`ask` returns the time of its answer. `permit` allows a call of Claude Code as soon as a line comes from the pipe.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from mcp.server import MCPServer

from .program import QUIET_SECONDS

server = MCPServer("bare")


@server.tool(structured_output=False)
async def ask() -> str:
    """Wait, and return the time."""
    await asyncio.sleep(QUIET_SECONDS)
    return str(time.time())


@server.tool(structured_output=False)
async def permit(tool_name: str, input: dict[str, Any], tool_use_id: str = "") -> str:  # noqa: A002 - Claude Code's own
    """Allow a call."""
    del tool_name, tool_use_id
    await asyncio.to_thread(Path(sys.argv[1]).read_text, encoding="utf-8")
    return json.dumps({"behavior": "allow", "updatedInput": input})


if __name__ == "__main__":
    server.run("stdio")
