"""A Claude agent of the real SDK with a tool that deploys. Programs import this module, too."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from support.claude_code import build_claude_environment

DEPLOY = "mcp__shop__deploy"
DONE = "done.txt"
WORK = "work"


def options(folder: Path, url: str, *, dies: str = "", **more: Any) -> Any:
    """Return options with which the agent may deploy as it likes, as far as Claude Code's own rules go."""
    from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, tool

    @tool("deploy", "Deploy a version.", {"where": str})
    async def deploy(given: dict[str, Any]) -> dict[str, Any]:
        with (folder / DONE).open("a", encoding="utf-8") as file:
            file.write(f"{given['where']}\n")
        if dies == "with Claude Code":
            for claude in list_claudes():
                os.kill(claude, signal.SIGKILL)
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"content": [{"type": "text", "text": f"deployed to {given['where']}"}]}

    folder = folder.resolve()
    (folder / WORK).mkdir(exist_ok=True)
    given: dict[str, Any] = {
        "env": build_claude_environment(url, folder / "claude"),
        "cwd": folder / WORK,
        "setting_sources": [],
        "mcp_servers": {"shop": create_sdk_mcp_server("shop", tools=[deploy])},
        "strict_mcp_config": True,
        "settings": json.dumps({"permissions": {"allow": [DEPLOY]}}),
    }
    return ClaudeAgentOptions(**given | more)


def door(to: str, **more: Any) -> Any:
    """Return a door in which anyone may answer and approve."""
    from askback.doors.claude_agent_sdk import ClaudeAgentDoor

    given: dict[str, Any] = {"who": "anyone", "approvers": "anyone", "requires_approval": [DEPLOY]}
    return ClaudeAgentDoor(to=to, **given | more)


def done(folder: Path) -> list[str]:
    """Return the places to which the tool deployed."""
    file = folder / DONE
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def list_claudes() -> list[int]:
    """Return the ids of the processes of Claude Code that this process has started."""
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text(encoding="utf-8").split()
    names = {int(child): Path(f"/proc/{child}/comm") for child in children}
    return [child for child, name in names.items() if name.exists() and "claude" in name.read_text(encoding="utf-8")]


async def listen(messages: AsyncIterator[Any]) -> list[str]:
    """Read all messages; return the results of the calls, and what the agent said last."""
    from claude_agent_sdk import ResultMessage, ToolResultBlock, UserMessage

    said: list[str] = []
    async for message in messages:
        if isinstance(message, UserMessage):
            blocks = [block for block in message.content if isinstance(block, ToolResultBlock)]
            said += [_read(block.content) for block in blocks]
        if isinstance(message, ResultMessage) and message.deferred_tool_use is None:
            said.append(str(message.result))
    return said


def _read(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)
