"""A real bot in its own process, in front of services that outlive it.

The checks use only the services' own logs: the workspace's content, the bot's API calls, the clicks with their acks,
and the model's requests. The parts for each platform are in `on_slack.py` and `on_discord.py`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from askback.domain.card_labels import EXPANDING
from askback_sandbox.model.call_results import list_calls, refusals
from askback_sandbox.model.model import Model
from askback_sandbox.model.script import ToolCall, call
from askback_sandbox.play.controls import Control
from askback_sandbox.revisions import Revisions
from askback_sandbox.services import Services
from support.outage import End
from support.processes import Launched, Launcher

WITHIN = 30.0
"""Seconds that any step may take before a test fails."""
LOOK = 0.1
DUMP_SECONDS = 1.0
"""Seconds that a bot gets to write the stacks of its tasks."""
ACK_SECONDS = 1.0
"""Seconds that the workspace waits for an ack; shorter than Slack's, so that dead bots cost little time."""
STREAM_SECONDS = 0.02
"""Pause of the model between two parts of a text. A text that is complete at once is not streamed."""
LONGEST_CALL = 400
"""Characters of a call's text in a report."""
BOT = Path(__file__).with_name("bot.py")
OURS = ("ASKBACK", "SLACK", "DISCORD")
USE = "Use this as your answer"
THREAD = "ship it"
"""The text with which the person begins the conversation."""


def question(prompt: str, *labels: str) -> ToolCall:
    options = [{"label": label, "description": ""} for label in labels]
    return call(
        "AskUserQuestion",
        questions=[{"question": prompt, "header": prompt[:12], "options": options, "multiSelect": False}],
    )


class Pressed(Protocol):
    """The outcome of a click."""

    @property
    def acked(self) -> bool | None: ...
    @property
    def error(self) -> str | None: ...


class Process(Protocol):
    """A bot that runs, or ran."""

    pid: int
    returncode: int | None

    async def wait(self) -> int: ...


class Link(Protocol):
    """The platform's connection to the bot."""

    @property
    def connections(self) -> int: ...
    async def connected(self) -> None: ...


class Rig(ABC):
    """Services, one bot, and Ada. A message has the type that the platform's services use."""

    platform: str
    receives: int
    """The number of events that the bot receives for a mention."""

    def __init__(self, services: Services, folder: Path, launcher: Launcher) -> None:
        self._launcher = launcher
        self.services = services
        self.model: Model = services.model
        self.kills = 0
        self._folder = folder
        self._process: Process | None = None
        self._starts = 0
        self.settings: dict[str, str] = {}
        """Settings of the bot, in addition to those that name the services."""

    # the bot

    async def start(
        self, point: str | None = None, number: int = 1, *, script: bool = False, spoil: str | None = None
    ) -> None:
        """Start the bot; it listens when this returns, unless it dies before at that point.

        With `script`, start the installed `askback` command, as users do.
        """
        if script:
            program = Path(sys.executable).with_name("askback")
            environment, output = self.surroundings()
            with output.open("wb") as errors:
                self._process = await asyncio.create_subprocess_exec(
                    program, self.platform, cwd=self._folder, env=environment, stdout=errors, stderr=errors
                )
        else:
            self._process = await self.launch(point, number, spoil=spoil)
        connected = asyncio.create_task(self.link.connected())
        died = asyncio.create_task(self._process.wait())
        try:
            async with asyncio.timeout(WITHIN):
                await asyncio.wait({connected, died}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            connected.cancel()
            died.cancel()
            await asyncio.gather(connected, died, return_exceptions=True)
        assert point is not None or self._process.returncode is None, self.log()

    async def launch(
        self,
        point: str | None = None,
        number: int = 1,
        *,
        halt: bool = False,
        spoil: str | None = None,
        pace: float | None = None,
        arguments: tuple[str, ...] = (),
    ) -> Launched:
        """Start a process and return before it listens; `bot.py` describes the order."""
        environment, output = self.surroundings()
        order = {
            "platform": self.platform,
            "point": point,
            "number": number,
            "halt": halt,
            "spoil": spoil,
            "pace": pace,
            "arguments": arguments,
        }
        return await self._launcher.start_into(
            output, json.dumps(order), folder=self._folder, environment=environment, program=BOT
        )

    def surroundings(self) -> tuple[dict[str, str], Path]:
        """Return the environment of the next process, and its log file."""
        self._starts += 1
        environment = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        environment |= self.services.environment
        environment["ASKBACK_DATABASE_URL"] = str(self._folder / "askback.db")
        if (self._folder / "askback.toml").exists():
            environment["ASKBACK_CONFIG"] = str(self._folder / "askback.toml")
        return environment | self.settings, self._folder / f"bot.{self._starts}.log"

    async def killed(self) -> None:
        """Wait until the bot has killed itself at its point."""
        assert self._process is not None
        async with asyncio.timeout(WITHIN):
            code = await self._process.wait()
        assert code == -signal.SIGKILL, f"the bot ended by itself ({code}):\n{self.log()}"
        await self._gone()

    async def kill(self) -> None:
        """Kill the bot now."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGKILL)
        await self.killed()

    async def stop(self) -> None:
        """End the bot with SIGTERM, like a service; it must exit with 0."""
        if self._process is not None and self._process.returncode is None:
            os.kill(self._process.pid, signal.SIGTERM)
            async with asyncio.timeout(WITHIN):
                code = await self._process.wait()
            assert code == 0, f"the bot ended with {code}:\n{self.log()}"

    async def close(self) -> None:
        if self._process is not None and self._process.returncode is None:
            os.kill(self._process.pid, signal.SIGKILL)
            await self._process.wait()

    async def _gone(self) -> None:
        self.kills += 1
        self._process = None
        await self.until(lambda: self.link.connections == 0)

    def log(self) -> str:
        """Return the end of the bots' output, for a failure's message."""
        return self.whole_log()[-6000:]

    def whole_log(self) -> str:
        return "\n".join(path.read_text(errors="replace") for path in sorted(self._folder.glob("bot.*.log")))

    # what a person does

    async def card(self, prompt: str) -> Any:
        """Return the card of this question once it can be used."""
        await self.until(lambda: self.usable(prompt))
        return self.usable(prompt)[0]

    def usable(self, prompt: str) -> list[Any]:
        return [message for message in self.bots() if prompt in self.reads(message) and self.list_acting(message)]

    async def answer(self, prompt: str, label: str, within: float = WITHIN) -> None:
        """Answer a question with as many clicks as the platform's errors make necessary; the last one counts."""
        async with asyncio.timeout(within):
            while not (await self.press(await self.card(prompt), label)).acked:
                await self.link.connected()

    async def until(self, holds: Callable[[], object], within: float = WITHIN) -> None:
        """Wait until this holds. Check after each change, and periodically, as refused calls change nothing."""
        try:
            async with asyncio.timeout(within):
                while not holds():
                    with suppress(TimeoutError):
                        async with asyncio.timeout(LOOK):
                            await self.state.changed_since(self.state.revision)
        except TimeoutError:
            log = self.log()
            raise AssertionError(f"not within {within:g} s:\n{self.picture()}\n{log}\n{await self._dump()}") from None

    async def _dump(self) -> str:
        """Return the stacks of the bot's tasks and threads."""
        process = self._process
        if process is None or process.returncode is not None:
            return "The bot has ended."
        before = len(self.whole_log())
        os.kill(process.pid, signal.SIGUSR1)
        await asyncio.sleep(DUMP_SECONDS)
        return self.whole_log()[before:]

    # what is visible

    def says(self, text: str) -> list[Any]:
        return [message for message in self.bots() if text in self.reads(message)]

    def picture(self) -> str:
        return "\n".join(f"[{number}] {self.reads(message)}" for number, message in enumerate(self.bots()))

    def whole(self, text: str) -> bool:
        """Return True if the agent has finished posting this text."""
        return any(self.reads(message).strip() == text and self.is_finished(message) for message in self.bots())

    async def ended(
        self,
        text: str,
        *,
        cards: dict[str, str],
        texts: tuple[str, ...] = (),
        turns: int,
        typed: tuple[str, ...] = (),
    ) -> None:
        """Check that the conversation has ended, and that each message is there exactly once.

        `text` is the agent's last message; `cards` has the answer of each question; `texts` are the agent's earlier
        messages; `turns` is the number of model calls without any kill; `typed` are Ada's typed answers.
        """
        await self.until(lambda: self.whole(text))
        await self.until(lambda: all(self.settled(prompt, label) for prompt, label in cards.items()))
        # All of a text may be visible before the edit that ends it.
        await self.until(lambda: not any(map(self.list_acting, self.bots())))
        log = [exchange.json() for exchange in self.model.log]
        # Each text and each card was posted once, and the agent posted nothing else.
        for said in (*texts, text):
            assert len(self.says(said)) == 1, (said, self.picture())
        for prompt in cards:
            assert len(self.says(prompt)) == 1, (prompt, self.picture())
        assert len(self.bots()) == len(cards) + len(texts) + 1, self.picture()
        posted = Counter(self.posted())
        assert not [name for name, times in posted.items() if times > 1], posted
        # The model received each answer once, and refused nothing.
        assert not refusals(log)
        heard = [one for one in list_calls(log) if not one.asked_again]
        assert [len(one.results) for one in heard] == [1] * len(cards), heard
        told = " ".join(result.text for one in heard for result in one.results)
        for prompt, label in cards.items():
            assert told.count(f'"{prompt}"="{label}"') == 1, told
        assert turns <= len(log) <= turns + self.kills, [entry["request"] for entry in log]
        # Each message of a person reached the model once.
        last: Any = log[-1]["request"]
        texts_heard = [block["text"] for message in last["messages"] for block in message["content"] if "text" in block]
        for words in self.written():
            times = 0 if words in typed else 1
            assert sum(words in heard_text for heard_text in texts_heard) == times, (words, texts_heard)
        await self.stop()

    async def offer(self) -> Any:
        """Return the offer to use a message as the answer, once Ada sees it."""
        await self.until(self.offers)
        return self.offers()[0]

    def offers(self) -> list[Any]:
        return [message for message in self.shown() if any(one.label == USE for one in self.buttons(message))]

    def list_acting(self, message: Any) -> tuple[Control, ...]:
        """Return the controls of a message, except buttons that only show more text."""
        return tuple(one for one in self.buttons(message) if one.label not in EXPANDING)

    def settled(self, prompt: str, label: str) -> bool:
        return any(
            not self.list_acting(message) and label in self.reads(message) and "Answered" in self.reads(message)
            for message in self.says(prompt)
        )

    # differences between the platforms

    @property
    @abstractmethod
    def link(self) -> Link: ...

    @property
    @abstractmethod
    def state(self) -> Revisions: ...

    @abstractmethod
    def shown(self) -> list[Any]:
        """Return everything that the bot shows to Ada, including ephemeral messages."""

    @abstractmethod
    def write(self, text: str = f"@askback {THREAD}", thread: str | None = None) -> str:
        """Post as Ada; return the thread's id."""

    @abstractmethod
    async def press(self, message: Any, label: str) -> Pressed:
        """Press a button as Ada, on a card as it was when it was read."""

    @abstractmethod
    async def open_field(self, message: Any, label: str) -> None:
        """Press a button that opens a text field, as Ada, and wait for the field."""

    @abstractmethod
    async def send_field(self, text: str) -> bool:
        """Send the open text field as Ada; return True if it was accepted."""

    @abstractmethod
    def outage(self, kind: str) -> End:
        """Make posting, changing and looking up messages fail in that way, until the returned function is called."""

    @abstractmethod
    def hold_drawings(self) -> None:
        """Block all changes to cards from now on."""

    @abstractmethod
    def release_drawings(self) -> None:
        """Allow changes to cards again."""

    @abstractmethod
    def drawings(self) -> int:
        """Return the number of times that the bot's outbox tried to change a message."""

    @abstractmethod
    def calls(self) -> str:
        """Return every call of the bots that changed something, one line each: time, call and outcome."""

    @abstractmethod
    def bots(self) -> list[Any]:
        """Return the bot's public messages, oldest first."""

    @abstractmethod
    def reads(self, message: Any) -> str: ...
    @abstractmethod
    def buttons(self, message: Any) -> tuple[Control, ...]: ...
    @abstractmethod
    def is_finished(self, message: Any) -> bool:
        """Return True if the text is complete."""

    def posted(self) -> list[str]:
        """Return the name of each message, once per post."""
        return [name for name, _ in self.posts()]

    @abstractmethod
    def posts(self) -> list[tuple[str, str]]:
        """Return the name and the first text of each message, once per post."""

    @abstractmethod
    def written(self) -> list[str]:
        """Return the texts that people wrote, without the bot's name."""
