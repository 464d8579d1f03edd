"""Programs that ask people while the bot runs: `askback ask`, each in a separate process.

They get the environment of this process, in which the demo has set the addresses of the services and the database.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from pydantic import JsonValue, TypeAdapter, ValidationError

from askback_sandbox.json_values import JsonObject

from .stage import Wrong
from .transcript import Transcript

__all__ = ["Programs"]

_OBJECT: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)
_END_SECONDS = 10.0


@dataclass(frozen=True)
class _Running:
    process: asyncio.subprocess.Process
    ending: asyncio.Task[tuple[bytes, bytes]]


class Programs:
    """The programs of one play. Those that still wait when the block ends are stopped."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._running: list[_Running] = []
        self._told = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one in self._running:
            with suppress(ProcessLookupError):
                one.process.terminate()
        for one in self._running:
            try:
                async with asyncio.timeout(_END_SECONDS):
                    await one.ending
            except TimeoutError:
                one.process.kill()
                await one.process.wait()

    @property
    def count(self) -> int:
        """The number of programs that were started."""
        return len(self._running)

    async def start(self, form: JsonObject, to: str, approvers: Sequence[str]) -> None:
        """Start a program that asks this form there."""
        arguments = ["ask", "--form", "-", "--to", to, *(word for name in approvers for word in ("--approvers", name))]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "askback", *arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        ending = asyncio.create_task(process.communicate(json.dumps(form).encode()))
        self._running.append(_Running(process, ending))
        self._transcript.did(f"a program asks: askback {' '.join(arguments)}")

    def check_running(self) -> None:
        """Raise `Wrong` if the newest program has ended already, since it should wait for people."""
        newest = self._running[-1]
        if newest.ending.done():
            raise Wrong(f"the program ended before anybody answered:\n{_read_errors(newest)}")

    async def expect_outcome(self, wanted: JsonObject, within: float) -> None:
        """Wait until the next program has ended, and check these fields of the JSON that it printed.

        Raises:
            Wrong: it does not end in time, prints no JSON, or prints something else.
        """
        if self._told == len(self._running):
            raise Wrong("no program asks that has not printed its outcome: put a step program = {…} before this one")
        program = self._running[self._told]
        try:
            async with asyncio.timeout(within):
                out, _ = await asyncio.shield(program.ending)
        except TimeoutError:
            raise Wrong(f"not within {within:g} s: the program still waits for its outcome") from None
        try:
            printed = _OBJECT.validate_json(out)
        except ValidationError:
            raise Wrong(f"the program printed no outcome:\n{_read_errors(program)}") from None
        self._told += 1
        self._transcript.printed(out.decode().strip())
        differing = [name for name, value in wanted.items() if printed.get(name) != value]
        if differing:
            listed = "\n".join(
                f"  {name}: expected {_line(wanted[name])}, but it printed {_line(printed.get(name))}"
                for name in differing
            )
            raise Wrong(f"the program got another outcome:\n{listed}")

    def find_unread(self) -> list[str]:
        """Return a problem for each program whose outcome no step has checked."""
        unread = len(self._running) - self._told
        return [] if unread == 0 else [f"no step checks the outcome of {unread} of the programs: add expect.outcome"]


def _line(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _read_errors(program: _Running) -> str:
    errors = program.ending.result()[1].decode(errors="replace").strip()
    return errors or f"it said nothing, and its exit code is {program.process.returncode}"
