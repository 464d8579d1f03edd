"""The real Claude Code in a separate folder, with a scripted model and the doors of askback."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import signal
import struct
import sys
import termios
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from askback_sandbox.json_values import as_object, as_text, objects
from askback_sandbox.model.call_results import DeliveredCall, Result, list_calls
from askback_sandbox.model.script import ToolCall, turn
from e2e.ask.office import WITHIN, Office
from support.claude_code import build_claude_environment, find_claude, prepare_session
from support.claude_goldens import FILE
from support.processes import ROOT
from support.pseudo_terminal import Terminal

PROMPT = "Do the work."
NEXT = "What is next?"
PERMIT = ("--permission-prompt-tool", "mcp__askback__permit")
GOLDENS: dict[str, str] = json.loads(FILE.read_text(encoding="utf-8"))["results"]
TOUCH, REMOVE = "touch approved", "rm -r build"


def ask_where(**more: Any) -> Any:
    """Return the call of `AskUserQuestion` of which the recorded sentences tell."""
    options = [
        {"label": "Staging", "description": "A copy.", **more},
        {"label": "Production, EU", "description": "For all."},
    ]
    return [{"question": "Where?", "header": "Where", "options": options, "multiSelect": False}]


def mcp_server(office: Office, *options: str, to: str = "#deploys") -> dict[str, Any]:
    """Return the entry of `askback mcp` in a file for `--mcp-config`."""
    paths = os.pathsep.join(str(ROOT / name) for name in ("core", "bots"))
    arguments = ("-m", "askback", "mcp", "--to", f"{office.platform}:{to}", "--who", "anyone", *options)
    return {
        "command": sys.executable,
        "args": list(arguments),
        "env": office.environment() | {"ASKBACK_QUESTION_PACE": "0s", "PYTHONPATH": paths},
    }


def program_server(file: Path) -> dict[str, Any]:
    """Return the entry of an MCP server in a Python file."""
    return {"command": sys.executable, "args": [str(file)]}


def http_hooks(address: str, token: str, event: str, *, matcher: str = "*") -> dict[str, Any]:
    """Return the settings with which Claude Code sends an event to `askback serve`."""
    hook = {
        "type": "http",
        "url": f"{address}/v1/hooks/claude-code",
        "headers": {"Authorization": f"Bearer {token}"},
        "timeout": 86400,
    }
    return {event: [{"matcher": matcher, "hooks": [hook]}]}


class Claude:
    """One run of `claude -p`. Its model makes the calls one after the other, whatever their results are."""

    def __init__(self, office: Office, process: asyncio.subprocess.Process, log: Path, since: int) -> None:
        self._office = office
        self._process = process
        self._log = log
        self._since = since

    @property
    def calls(self) -> tuple[DeliveredCall, ...]:
        """The calls of the model, each with the result that it has read."""
        log = [as_object(one.json()) for one in self._office.services.model.log if one.number > self._since]
        return list_calls(log)

    @property
    def notices(self) -> str:
        """The notices of Claude Code in the newest request to its model."""
        newest = self._office.services.model.log[-1]
        messages = objects(as_object(newest.request).get("messages"))
        blocks = [block for message in messages for block in objects(message.get("content"))]
        return "\n".join(text for block in blocks if "<task-notification>" in (text := as_text(block.get("text"))))

    @property
    def session(self) -> str:
        """The id of the newest session of this office."""
        found = (self._office.folder / "claude-config" / "projects").glob("*/*.jsonl")
        return max(found, key=lambda file: file.stat().st_mtime).stem

    async def ended(self) -> list[Result]:
        """Wait for its end; return the results that the model has read."""
        try:
            async with asyncio.timeout(WITHIN):
                await self._process.wait()
        except TimeoutError:
            raise AssertionError(f"it does not end:\n{self.calls}\n{self._office.picture()}") from None
        assert self._process.returncode == 0, self._log.read_text(encoding="utf-8")
        return [result for call in self.calls for result in call.results]

    async def kill(self) -> None:
        """Kill it and the MCP servers that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()

    async def kill_servers(self) -> None:
        """Kill the MCP servers that it started, but not itself."""
        await self._office.until(lambda: self._list_servers())
        for process in self._list_servers():
            os.kill(process, signal.SIGKILL)

    def _list_servers(self) -> list[int]:
        tasks = Path(f"/proc/{self._process.pid}/task").glob("*/children")
        return [int(child) for task in tasks for child in task.read_text(encoding="ascii").split()]


def build_command(office: Office, servers: dict[str, Any] | None, settings: dict[str, Any] | None) -> tuple[str, ...]:
    """Write the configuration, and return the command that starts Claude Code with it."""
    files = {"mcp.json": {"mcpServers": servers or {}}, "settings.json": settings or {}}
    for name, content in files.items():
        (office.folder / name).write_text(json.dumps(content), encoding="utf-8")
    mcp, own = (str(office.folder / name) for name in files)
    return (str(find_claude()), "--strict-mcp-config", "--mcp-config", mcp, "--settings", own)


@asynccontextmanager
async def claude(
    office: Office,
    *calls: ToolCall,
    options: tuple[str, ...] = (),
    servers: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncGenerator[Claude]:
    """Start Claude Code, whose model makes these calls and then ends. At the end, kill it if it still runs."""
    folder = office.folder / "claude"
    folder.mkdir(exist_ok=True)
    office.services.model.script(*(turn(call) for call in calls), turn("Done."), when=PROMPT)
    log = office.folder / "claude.log"
    command = (*build_command(office, servers, settings), "-p", PROMPT, *options)
    own = build_claude_environment(office.services.url, office.folder / "claude-config")
    since = max((one.number for one in office.services.model.log), default=0)
    with log.open("a", encoding="utf-8") as output:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=folder,
            env={**own, **(environment or {})},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    run = Claude(office, process, log, since)
    try:
        yield run
    finally:
        await run.kill()


@asynccontextmanager
async def claude_session(
    office: Office,
    *calls: ToolCall,
    servers: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
) -> AsyncGenerator[tuple[Claude, Terminal]]:
    """Start an interactive session at a terminal, whose model makes these calls and says that it is done.

    The session then goes on: the model says “Going on.” when its user writes `NEXT`.
    """
    folder, config = office.folder / "claude", office.folder / "claude-config"
    folder.mkdir(exist_ok=True)
    prepare_session(config, folder)
    office.services.model.script(*(turn(call) for call in calls), turn("Done."), turn("Going on."), when=PROMPT)
    # fmt: off
    command = (
        *build_command(office, servers, settings), "--ax-screen-reader", "--permission-mode", "default", PROMPT,
    )
    # fmt: on
    environment = build_claude_environment(office.services.url, config)
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 40, 120, 0, 0))
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=folder,
            env=environment | {"HOME": str(office.folder), "TERM": "xterm-256color"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
    finally:
        os.close(slave)
    terminal = Terminal(process, master)
    run = Claude(office, process, office.folder / "claude.log", 0)
    try:
        yield run, terminal
    finally:
        await run.kill()
        terminal.close()
