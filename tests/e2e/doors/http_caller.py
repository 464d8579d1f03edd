"""A program that speaks HTTP, connected to a real process of `askback serve`."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from e2e.ask.office import Office, Process

FIRST, SECOND = "first-token-of-a-caller-1", "second-token-of-a-caller-2"
FEW_FILES = Path(__file__).parents[2] / "contract" / "bots" / "few_files.py"
QUESTION: dict[str, Any] = {"question": "Deploy 1.4.2?", "options": ["Yes", "No"]}


@dataclass
class HttpCaller:
    """A caller with a token."""

    session: aiohttp.ClientSession
    address: str
    token: str | None = FIRST

    async def request(self, method: str, path: str, *, token: str | None = None, **more: Any) -> tuple[int, Any]:
        """Send a request; return the status and the body."""
        async with self.open(method, path, token=token, **more) as response:
            return response.status, await response.json(content_type=None)

    def open(self, method: str, path: str, *, token: str | None = None, **more: Any) -> Any:
        used = self.token if token is None else token
        headers = {"Authorization": f"Bearer {used}"} | more.pop("headers", {})
        return self.session.request(method, self.address + path, headers=headers, **more)

    async def ask(self, wait: float = 0, key: str | None = None, **given: Any) -> dict[str, Any]:
        """Ask if version 1.4.2 may be deployed, or what is given. The request must succeed."""
        headers = {} if key is None else {"Idempotency-Key": key}
        status, found = await self.request("POST", f"/v1/asks?wait={wait}", json=given or QUESTION, headers=headers)
        assert status == (202 if found.get("status") == "open" else 200), found
        return found

    async def get(self, ask_id: str, wait: float = 0) -> dict[str, Any]:
        status, found = await self.request("GET", f"/v1/asks/{ask_id}?wait={wait}")
        assert status == 200, found
        return found

    async def problem(self, status: int, method: str, path: str, **more: Any) -> str:
        """Send a request that must be refused with this status; return the detail of the problem."""
        found, body = await self.request(method, path, **more)
        assert (found, body["status"]) == (status, status), body
        return body["detail"]


def write_callers(office: Office, *, first: str = "", second: str = "") -> Path:
    """Write the file of the callers. `first` and `second` are further lines of their tables."""
    file = office.folder / "callers.toml"
    file.write_text(
        f'[first]\ntoken = "{FIRST}"\nto = "{office.platform}:#deploys"\nwho = "anyone"\n{first}\n'
        f'[second]\ntoken = "{SECOND}"\nto = "{office.platform}:#deploys"\nwho = "anyone"\n{second}\n'
    )
    file.chmod(0o600)
    return file


async def serve(
    office: Office,
    *,
    file: Path | None = None,
    files: int | None = None,
    program: Path | None = None,
    **environment: str,
) -> tuple[Process, str]:
    """Start a server, which may open this number of files; return it and its address."""
    words = ("serve", "--http", "0", "--callers", str(file or write_callers(office)))
    limited = () if files is None else (str(files),)
    program = program if files is None else FEW_FILES
    process = await office.start(*limited, *words, program=program, ASKBACK_QUESTION_PACE="0s", **environment)
    await process.said("Serving HTTP at ")
    (address,) = re.findall(r"Serving HTTP at (http\S+)/v1/asks\.", process.err)
    return process, address


@asynccontextmanager
async def caller(office: Office, **options: Any) -> AsyncGenerator[HttpCaller]:
    """Start a server and return its first caller."""
    _, address = await serve(office, **options)
    async with aiohttp.ClientSession() as session:
        yield HttpCaller(session, address)
