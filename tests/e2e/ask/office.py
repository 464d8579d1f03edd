"""People on a local platform, and the real `askback` processes connected to it."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from askback.domain.card_labels import EDIT, EXPANDING
from askback_sandbox.play.controls import Control
from askback_sandbox.revisions import Revisions
from askback_sandbox.services import Services
from support.processes import Launched, Launcher

WITHIN = 40.0
"""Seconds that any step may take before a test fails."""
LOOK = 0.1
CHOICE = "askback:choice"
"""The id of the options next to a text field, on both platforms."""
OURS = ("ASKBACK", "SLACK", "DISCORD", "ANTHROPIC")
OPTIONS = ("--option", "Yes", "--option", "No")


class Process:
    """An `askback` process that runs, or ran."""

    def __init__(self, process: Launched, office: Office, out: Path, err: Path) -> None:
        self._process = process
        self._office = office
        self._out = out
        self._err = err

    @property
    def err(self) -> str:
        """Return its standard error so far."""
        return self._err.read_text()

    @property
    def is_over(self) -> bool:
        return self._process.returncode is not None

    async def said(self, words: str, times: int = 1) -> None:
        """Wait until these words are on its standard error, so many times."""
        await self._office.until(lambda: self.err.count(words) >= times or self.is_over, what=lambda: self.err)
        assert self.err.count(words) >= times, self.err

    async def ended(self) -> tuple[int, str]:
        """Wait for its end; return its exit code and all of its standard output."""
        try:
            async with asyncio.timeout(WITHIN):
                code = await self._process.wait()
        except TimeoutError:
            raise AssertionError(f"it does not end:\n{self.err}\n{self._office.picture()}") from None
        return code, self._out.read_text()

    async def outcome(self, code: int = 0) -> dict[str, Any]:
        """Check that it ended with this code and printed one line of JSON; return that."""
        found, out = await self.ended()
        assert found == code, f"{found}: {self.err}{out}"
        (line,) = out.splitlines()
        return json.loads(line)

    async def refused(self, code: int = 2) -> str:
        """Check that it ended with this code and printed nothing to standard output; return its standard error."""
        found, out = await self.ended()
        assert (found, out) == (code, ""), self.err
        return self.err

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    async def kill(self) -> None:
        self.signal(signal.SIGKILL)
        await self.ended()


class Office:
    """A platform with people, and the processes. A message has the type that the platform's services use."""

    platform: str

    def __init__(self, services: Services, folder: Path, launcher: Launcher) -> None:
        self.launcher = launcher
        self.services = services
        self.folder = folder
        self.settings: dict[str, str] = {}
        self._processes: list[Process] = []
        self._numbers = itertools.count()

    @property
    def database(self) -> Path:
        return self.folder / "askback.db"

    def environment(self) -> dict[str, str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        wanted = {n: v for n, v in self.services.environment.items() if self.platform.upper() in n}
        return environment | wanted | {"ASKBACK_DATABASE_URL": str(self.database), "COLUMNS": "200"} | self.settings

    async def start(self, *arguments: str, program: Path | None = None, **more: str) -> Process:
        """Start `askback` with these arguments, or another program."""
        number = next(self._numbers)  # two may start at once, and each writes to its own files
        out, err = (self.folder / f"{self.platform}-{number}.{name}" for name in ("out", "err"))
        launched = await self.launcher.start_into(
            out, *arguments, errors=err, program=program, folder=self.folder, environment=self.environment() | more
        )
        process = Process(launched, self, out, err)
        self._processes.append(process)
        return process

    async def ask(self, *arguments: str, to: str = "#deploys", approvers: str = "anyone") -> Process:
        """Start `askback ask "Deploy 1.4.2?"` with a Yes and a No."""
        return await self.start(
            "ask", "Deploy 1.4.2?", "--to", f"{self.platform}:{to}", *OPTIONS, "--approvers", approvers, *arguments
        )

    async def bot(self) -> Process:
        """Start the bot; return once it listens."""
        process = await self.start(self.platform, ANTHROPIC_API_KEY="sk-local", ANTHROPIC_BASE_URL=self.services.url)
        await self.until(lambda: self.connections == 1 or process.is_over, what=lambda: process.err)
        return process

    async def close(self) -> None:
        for process in self._processes:
            await process.kill()

    async def until(self, holds: Callable[[], object], *, what: Callable[[], str] = str) -> None:
        try:
            async with asyncio.timeout(WITHIN):
                while not holds():
                    with suppress(TimeoutError):
                        async with asyncio.timeout(LOOK):
                            await self.state.changed_since(self.state.revision)
        except TimeoutError:
            said = "\n".join(process.err for process in self._processes)
            raise AssertionError(f"not within {WITHIN:g} s: {what()}\n{self.picture()}\n{said}") from None

    async def card(self, words: str = "Deploy 1.4.2?") -> Any:
        """Return the usable card, once there is one."""

        def usable() -> list[Any]:
            return [one for one in self.shown() if words in self.reads(one) and self.list_acting(one)]

        await self.until(usable)
        return usable()[0]

    def list_acting(self, message: Any) -> tuple[Control, ...]:
        """Return the controls of a message, except buttons that only show more text."""
        return tuple(one for one in self.buttons(message) if one.label not in EXPANDING)

    async def settled(self, *words: str) -> str:
        """Return the text of the card, once it accepts no more clicks and shows these words."""

        def over() -> list[str]:
            texts = [self.reads(one) for one in self.shown() if not self.list_acting(one)]
            return [text for text in texts if all(word in text for word in words)]

        await self.until(over)
        return over()[0]

    async def click(self, person: str, label: str, words: str = "Deploy 1.4.2?") -> None:
        """Press that button on the current card, until a click is accepted."""
        async with asyncio.timeout(WITHIN):
            while True:
                if await self.press(person, await self.card(words), label):
                    return
                await asyncio.sleep(LOOK)

    async def fill(
        self, person: str, label: str, text: str, words: str = "Deploy 1.4.2?", *, option: int | None = None
    ) -> None:
        """Press a button that opens a text field, and submit the text: as a note, if an option is given."""
        await self.click(person, label, words)
        await self.until(lambda: self.has_field(person))
        await self.submit(person, text, option)

    async def change(self, person: str, entries: Mapping[str, str], words: str) -> bool:
        """Change arguments of a call, by their names. Return True if the values are refused."""
        await self.click(person, EDIT, words)
        await self.until(lambda: self.has_field(person))
        return await self.send_fields(person, entries)

    async def connected(self, count: int) -> None:
        """Wait until N processes receive events."""
        await self.until(lambda: self.connections == count, what=lambda: f"{self.connections} connections")

    def picture(self) -> str:
        return "\n".join(self.reads(message) for message in self.shown())

    # The differences between the platforms.

    @property
    def state(self) -> Revisions:
        raise NotImplementedError

    @property
    def connections(self) -> int:
        raise NotImplementedError

    def shown(self) -> list[Any]:
        raise NotImplementedError

    def private(self) -> list[str]:
        """Return all ephemeral messages, oldest first."""
        raise NotImplementedError

    def reads(self, message: Any) -> str:
        raise NotImplementedError

    def buttons(self, message: Any) -> tuple[Control, ...]:
        raise NotImplementedError

    async def press(self, person: str, message: Any, label: str) -> bool:
        raise NotImplementedError

    async def choose(self, person: str, message: Any, name: str) -> str:
        """Choose a person in the picker of a card; return that person's id."""
        raise NotImplementedError

    async def tick(self, person: str, message: Any, *labels: str) -> None:
        """Choose several options of a card."""
        raise NotImplementedError

    def find_list(self, message: Any, labels: tuple[str, ...]) -> tuple[Control, list[str]]:
        """Return the list of a card of which several options can be chosen, and the values of these labels."""
        found = next(one for one in self.buttons(message) if one.kind in ("menu of several", "checkboxes"))
        return found, [choice.value for choice in found.choices if choice.label.endswith(labels)]

    def has_field(self, person: str) -> bool:
        """Return True if this person has a text field open."""
        raise NotImplementedError

    async def submit(self, person: str, text: str, option: int | None = None) -> None:
        """Submit the text of the open field, as a note to the option with this index if one is given."""
        raise NotImplementedError

    async def send_fields(self, person: str, entries: Mapping[str, str]) -> bool:
        """Fill in fields of the open modal, by the beginnings of their labels. Return True if a value is refused."""
        raise NotImplementedError

    def write(self, person: str, message: Any, text: str) -> None:
        """Write in the channel of a card."""
        raise NotImplementedError

    def write_under(self, person: str, message: Any, text: str) -> None:
        """Answer a card as people on the platform do: in its thread, or as a reply."""
        raise NotImplementedError

    def write_in_thread(self, person: str, message: Any, text: str) -> None:
        """Write in the thread of a card."""
        raise NotImplementedError

    def told(self, person: str) -> list[str]:
        """Return the bot's private messages to this person, or its replies to them if it never answers privately."""
        raise NotImplementedError

    def refuse_posts(self) -> None:
        """Forbid the bot to post from now on."""
        raise NotImplementedError

    def put_group(self, name: str, *people: str) -> None:
        """Create a group, or role, of these people."""
        raise NotImplementedError

    def take_from_group(self, name: str, person: str) -> None:
        """Remove a person from it."""
        raise NotImplementedError
