"""What a scenario does and sees, whatever the platform: people at a desk, a real bot, a scripted model.

A scenario is written against `Desk` and nothing else. A platform implements `Desk` once; `conftest.py`
runs every scenario over every platform.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import pytest

from askback.domain.card import EVERYTHING
from askback.domain.form import Form, Option, Outcome, Question
from askback.domain.identity import Actor, Place
from askback.domain.policy import Limits, Who
from askback.runtime.app import Host
from askback_local.model.model import Model
from askback_local.model.script import ToolCall, call

T = TypeVar("T")

WITHIN = 30.0
"""Seconds that anything may take before a scenario fails: what is there at once is not waited for."""
ACK_MS = 3_000.0

ADA, BEN, CY = "ada", "ben", "cy"
"""Who sits at the desk."""
RELEASE = "release"
"""The group, or role, that ada alone is in."""
GENERAL, DEPLOYS = "general", "deploys"
"""The channels. People mention the bot in the first one, where they do not say otherwise."""

What = Literal["post", "change", "field", "answer", "look"]
"""What a bot does on its platform: post a message, change one, open a text field, answer a click."""
GROUPS = {"slack": "S0LOCALREL", "discord": "1100000000000000010"}
"""The id of `RELEASE` on each platform."""


@dataclass(frozen=True)
class Talk:
    """One conversation with the bot."""

    channel: str
    thread: str | None


@dataclass(frozen=True)
class Choice:
    """An entry of a menu or a set of boxes."""

    label: str
    on: bool


@dataclass(frozen=True)
class Control:
    """Something on a card that can be used."""

    kind: Literal["button", "menu", "several"]
    label: str
    choices: tuple[Choice, ...] = ()
    searched: bool = False
    boxes: bool = False
    """Whether all of `several` stand open, each with its own box."""
    handle: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Card:
    """A message about a question as a person sees it at one moment. Using an old one is a late click."""

    id: str
    talk: Talk
    text: str
    """Everything that can be read, controls excepted."""
    notification: str
    """What a phone or a screen reader says."""
    controls: tuple[Control, ...]
    handle: Any = field(default=None, compare=False, repr=False)

    @property
    def buttons(self) -> tuple[str, ...]:
        return tuple(control.label for control in self.controls if control.kind == "button")

    @property
    def is_live(self) -> bool:
        """Whether there is something to decide on it."""
        return any(control.label != EVERYTHING for control in self.controls)

    def control(self, label: str) -> Control:
        """The button of that label, else the first that begins with it."""
        buttons = [control for control in self.controls if control.kind == "button"]
        for control in buttons:
            if control.label == label:
                return control
        for control in buttons:
            if control.label.startswith(label):
                return control
        raise AssertionError(f"no button {label!r} among {self.buttons} on:\n{self.text}")

    @property
    def menu(self) -> Control:
        """The one menu or set of boxes."""
        (menu,) = (control for control in self.controls if control.kind != "button")
        return menu


@dataclass(frozen=True)
class TextField:
    """An open text field."""

    text: str
    """Everything that can be read on it."""
    placeholder: str
    value: str
    errors: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """One message of a conversation that everybody sees."""

    author: str
    text: str
    bot: bool
    card: bool = False
    links: tuple[str, ...] = ()
    """Where what can be clicked in it leads."""


@dataclass(frozen=True)
class Clicked:
    """What became of a click."""

    acked: bool
    ms: float | None
    error: str | None


class PlatformTests(Protocol):
    """What the module of a platform offers to `conftest.py` and to the scenarios."""

    def open_desk(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, limits: Limits | None = None
    ) -> AbstractAsyncContextManager[Desk]: ...
    def allow(self, monkeypatch: pytest.MonkeyPatch, **lists: Sequence[str]) -> None:
        """Set who may talk: `people`, `groups`, `channels`, `admins`, `admin_groups`, by names where there are such."""
        ...

    def accepted(self, messages: list[dict[str, Any]]) -> None:
        """Fails where the platform would not take what `askback preview` printed."""
        ...

    def readable(self, messages: list[dict[str, Any]]) -> str:
        """Everything that can be read in what `askback preview` printed, controls excepted."""
        ...


class Desk(Protocol):
    """One workspace with people, one bot, and one model."""

    platform: str
    model: Model
    host: Host
    journal: Journal

    # people write

    async def mention(self, person: str, text: str, channel: str = GENERAL) -> Talk:
        """Mention the bot in a channel: a new conversation."""
        ...

    async def thread(self, person: str, text: str) -> Talk:
        """Begin a thread that has nothing to do with the bot."""
        ...

    async def direct(self, person: str, text: str, *, thread: bool = False) -> Talk:
        """Write to the bot alone; with `thread`, the conversation is a thread there."""
        ...

    async def say(self, person: str, text: str, talk: Talk) -> None:
        """Write in a conversation, without naming the bot."""
        ...

    async def attach(self, person: str, text: str, talk: Talk, *files: str) -> None:
        """Write in a conversation, without naming the bot, with files beside it; there need be no text."""
        ...

    async def mention_in(self, person: str, text: str, talk: Talk) -> None:
        """Name the bot in a conversation that there is already."""
        ...

    async def edit(self, person: str, text: str, talk: Talk, *, which: int = -1) -> None:
        """Change one's own message: the newest, or another one, counted from 0."""
        ...

    async def take_back(self, person: str, talk: Talk) -> None:
        """Delete one's own newest message."""
        ...

    async def redeliver_edit(self, which: int = -1) -> None:
        """The platform delivers an edit once more: the newest, or another one, counted from 0."""
        ...

    async def delete_twice(self, card: Card) -> None:
        """A moderator deletes the message, and the platform says so twice."""
        ...

    async def unfurl(self, person: str, talk: Talk) -> None:
        """The platform adds a preview to a person's newest message, and says that the message changed."""
        ...

    async def other_bot(self, text: str, talk: Talk) -> None:
        """Another bot names ours."""
        ...

    async def joins(self, person: str, talk: Talk) -> None:
        """Somebody joins the channel."""
        ...

    async def deliver_twice(self, times: int) -> None:
        """The platform delivers the next messages twice."""
        ...

    def can_stop(self, talk: Talk) -> bool:
        """Whether the platform shows people a button that ends what the bot does in a conversation."""
        ...

    async def stop(self, person: str, talk: Talk) -> None:
        """Press it; returns when the bot has taken that."""
        ...

    def mood(self, talk: Talk) -> str | None:
        """What the platform shows of the bot in a conversation: "working", "waiting", or nothing."""
        ...

    # people use controls

    async def press(self, person: str, card: Card, label: str) -> Clicked: ...
    async def pick(self, person: str, card: Card, *labels: str) -> Clicked:
        """Set the card's menu or boxes to these entries, found by label."""
        ...

    async def search(self, person: str, card: Card, query: str) -> tuple[str, ...]:
        """The entries that the card's menu offers for what is typed."""
        ...

    async def open_field(self, person: str, card: Card, label: str = "Something else…") -> TextField:
        """Press a button that opens a text field, and wait for it."""
        ...

    def field(self, person: str) -> TextField | None:
        """The open text field."""
        ...

    async def submit(self, person: str, text: str) -> tuple[str, ...]:
        """Send the open text field; returns the reasons for which it stays open."""
        ...

    def kept(self, person: str) -> str:
        """The text that was not taken, where the person can still see it."""
        ...

    async def close_field(self, person: str) -> None: ...
    async def replay(self, times: int = 1) -> list[Clicked]:
        """The platform delivers the last press or pick again, as it was."""
        ...

    async def forged(self, person: str, card: Card, what: Literal["unknown", "foreign", "outsider"]) -> Clicked:
        """A click on a control of an ask that is unknown here, of another program, or by somebody from elsewhere."""
        ...

    # what people see

    def cards(self, talk: Talk) -> tuple[Card, ...]:
        """All cards, oldest first, live and settled."""
        ...

    def lines(self, talk: Talk) -> tuple[Line, ...]:
        """All messages that everybody sees, oldest first."""
        ...

    def notices(self, person: str) -> tuple[str, ...]:
        """What only this person was told, oldest first."""
        ...

    def replies(self, person: str) -> tuple[str, ...]:
        """What the bot told this person about a message of theirs, where it tells nobody else what it need not."""
        ...

    def pings(self) -> tuple[str, ...]:
        """Whom the bot's messages mention as the platform reads them, names of groups included; each time."""
        ...

    def alone(self, person: str) -> str:
        """Everything that only this person sees: private notices, and what stands open in front of them."""
        ...

    # who is who

    def join_group(self, person: str) -> None:
        """The person is in `RELEASE` from now on."""
        ...

    def leave_group(self, person: str) -> None:
        """The person is no longer in `RELEASE`."""
        ...

    def actor(self, person: str) -> Actor: ...
    def place(self, talk: Talk) -> Place: ...

    # what goes wrong

    def slow_down(self, what: What, *, seconds: int = 1, times: int = 1) -> None:
        """The platform answers "too often, come back in `seconds`"."""
        ...

    def refuse(self, what: What | Literal["everything"], *, times: int | None = 1) -> str:
        """The platform refuses for good: not a member for `post`, too late for `field` and `answer`, no token.

        Returns the words in which the bot says why.
        """
        ...

    def lose_answer(self, what: What, *, times: int = 1) -> None:
        """The platform does it, and the answer gets lost on the way."""
        ...

    async def lose_connection(self, *, politely: bool = False) -> None:
        """The bot's connection breaks off (or the platform asks it to come back); returns when it is gone."""
        ...

    async def lose_session(self) -> None:
        """The same, and what happens meanwhile is not delivered afterwards."""
        ...

    async def reconnected(self) -> None: ...
    async def fall_silent(self) -> None:
        """The bot's connection dies without a word: nothing is answered, nothing is closed. New ones work."""
        ...

    def signs_of_life(self) -> int:
        """How often the bot has asked whether its connection lives."""
        ...

    async def press_into_silence(self, person: str, card: Card, label: str) -> Callable[[], Awaitable[Clicked]]:
        """Press while the connection is silent. Calling what comes back lets the platform deliver it again."""
        ...

    async def press_in_vain(self, person: str, card: Card, label: str) -> str:
        """Press a button while the bot is away; returns what the platform tells the person."""
        ...

    def connection_count(self) -> int:
        """How often the bot has connected."""
        ...

    async def delete(self, card: Card) -> None:
        """A moderator deletes the message."""
        ...

    async def delete_part(self, card: Card, number: int) -> None:
        """A moderator deletes one of the messages that a long card consists of, counted from 0."""
        ...

    def parts(self, talk: Talk) -> tuple[str, ...]:
        """The ids of all messages that cards consist of, oldest first."""
        ...

    async def lose(self, card: Card) -> None:
        """The message is gone, and the bot does not hear of it."""
        ...

    async def close_room(self, talk: Talk) -> None:
        """The thread is deleted, or where threads cannot be, the channel archived."""
        ...

    def posted(self, card: Card) -> list[dict[str, Any]]:
        """The messages of a card as they were first posted, in the form and with the ids of `askback preview`."""
        ...

    def api_calls(self) -> tuple[tuple[str, dict[str, Any]], ...]:
        """What the bot asked of the platform: method and arguments."""
        ...


class Journal(logging.Handler):
    """Everything that was logged. Errors that a scenario did not announce make it fail."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.records: list[logging.LogRecord] = []
        self._announced: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def announce(self, *actions: str) -> None:
        """Errors with these `action`s, or of these loggers, belong to the scenario."""
        self._announced.update(actions)

    def actions(self) -> list[str]:
        return [str(getattr(record, "action", "")) for record in self.records]

    def unexpected(self) -> list[str]:
        """Error lines that nobody announced."""
        formatter = logging.Formatter("%(name)s: %(message)s")
        return [
            formatter.format(record)
            for record in self.records
            if record.levelno >= logging.ERROR
            and str(getattr(record, "action", "")) not in self._announced
            and not any(record.name.startswith(name) for name in self._announced if name)
            and not _left_midway(record)
        ]


def _left_midway(record: logging.LogRecord) -> bool:
    """A bot that is ended in the middle of a request: the services' server logs that as an error of its own."""
    error = record.exc_info[1] if record.exc_info else None
    return record.name == "aiohttp.server" and isinstance(error, ConnectionResetError)


# Waiting


async def until(condition: Callable[[], T | None], what: str, *, within: float = WITHIN, every: float = 0.005) -> T:
    """The condition's value as soon as it is one, and nothing empty; fails after `within` seconds."""
    end = time.monotonic() + within
    while True:
        found = condition()
        if found is not None and found is not False and found not in ((), [], ""):
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not within {within:g} s: {what}")
        await asyncio.sleep(every)


async def card(desk: Desk, talk: Talk, showing: str = "", *, without: str | None = None) -> Card:
    """The newest card on which there is something to decide, and on which that can be read."""

    def live() -> Card | None:
        for one in reversed(desk.cards(talk)):
            if one.is_live and showing in one.text and (without is None or without not in one.text):
                return one
        return None

    try:
        return await until(live, f"a live card with {showing!r}")
    except AssertionError as error:
        raise AssertionError(f"{error}; there is:\n{transcript(desk, talk)}") from None


async def settled(desk: Desk, talk: Talk, showing: str = "") -> Card:
    """The newest card on which nothing is to be decided any more, and on which that can be read."""

    def over() -> Card | None:
        return next((one for one in reversed(desk.cards(talk)) if not one.is_live and showing in one.text), None)

    try:
        return await until(over, f"a settled card with {showing!r}")
    except AssertionError as error:
        raise AssertionError(f"{error}; there is:\n{transcript(desk, talk)}") from None


async def line(desk: Desk, talk: Talk, text: str) -> Line:
    """A message of the bot's that holds the text."""

    def said() -> Line | None:
        return next((one for one in desk.lines(talk) if one.bot and not one.card and text in one.text), None)

    try:
        return await until(said, f"the bot says {text!r}")
    except AssertionError as error:
        raise AssertionError(f"{error}; there is:\n{transcript(desk, talk)}") from None


async def notice(desk: Desk, person: str, text: str, *, count: int = 1) -> str:
    """The newest private notice; there are `count` in all, and it holds the text."""

    def told() -> str | None:
        notices = desk.notices(person)
        return notices[-1] if len(notices) >= count else None

    newest = await until(told, f"{count} private notices for {person}, there is {desk.notices(person)}")
    assert len(desk.notices(person)) == count, desk.notices(person)
    assert text in newest, newest
    return newest


def transcript(desk: Desk, talk: Talk) -> str:
    lines = [f"{'·' if one.card else ' '} {one.author}: {one.text}" for one in desk.lines(talk)]
    lines += [f"! {record.getMessage()}" for record in desk.journal.records if record.levelno >= logging.WARNING]
    return "\n".join(lines)


async def gather(*work: Awaitable[T]) -> list[T]:
    return list(await asyncio.gather(*work))


# What a program asks by itself


@asynccontextmanager
async def program_asks(
    desk: Desk,
    talk: Talk,
    form: Form,
    *people: str,
    who: Who | None = None,
    timeout: float | None = None,  # noqa: ASYNC109 - it is the ask's
    **more: Any,
) -> AsyncGenerator[Asked]:
    """A program with a loop of its own asks these people in a conversation; none named: ada."""
    who = who or Who(people=tuple(map(desk.actor, people or (ADA,))))
    task = asyncio.create_task(desk.host.manager.ask(form, to=desk.place(talk), who=who, timeout=timeout, **more))
    try:
        yield Asked(task)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@dataclass(frozen=True)
class Asked:
    """What waits for an answer."""

    task: asyncio.Task[Outcome]

    async def outcome(self) -> Outcome:
        async with asyncio.timeout(WITHIN):
            return await asyncio.shield(self.task)


def form_of(prompt: str, labels: Sequence[str], **more: Any) -> Form:
    """A form of one question; the options' values are v0, v1 …"""
    options = tuple(Option(value=f"v{index}", label=label) for index, label in enumerate(labels))
    return Form(questions=(Question(id="q", prompt=prompt, options=options, **more),))


# What the model was told


@dataclass(frozen=True)
class Told:
    """One request to the model."""

    messages: tuple[dict[str, Any], ...]

    @property
    def news(self) -> list[dict[str, Any]]:
        """The blocks of the newest message."""
        return list(self.messages[-1]["content"])

    @property
    def results(self) -> dict[str, str]:
        """The newest message's tool results, by the id of their call."""
        return {block["tool_use_id"]: block["content"] for block in self.news if block["type"] == "tool_result"}

    @property
    def result(self) -> str:
        (one,) = self.results.values()
        return one

    @property
    def texts(self) -> list[str]:
        """What people wrote, in the newest message."""
        return [block["text"] for block in self.news if block["type"] == "text"]

    @property
    def all_texts(self) -> list[str]:
        """What people wrote, in the whole conversation."""
        return [
            block["text"]
            for message in self.messages
            if message["role"] == "user"
            for block in message["content"]
            if block["type"] == "text"
        ]


def told(desk: Desk, about: str) -> list[Told]:
    """The requests of conversations whose first message holds the word; refused ones are none."""
    found: list[Told] = []
    for exchange in desk.model.log:
        request: Any = exchange.request
        if exchange.status != 200 or not isinstance(request, dict):
            continue
        one = Told(tuple(request["messages"]))
        if one.all_texts and about in one.all_texts[0]:
            found.append(one)
    return found


async def turn_of(desk: Desk, about: str, number: int) -> Told:
    """The model's `number`th request of a conversation, counted from 1, as soon as there is one."""

    def heard() -> Told | None:
        requests = told(desk, about)
        return requests[number - 1] if len(requests) >= number else None

    return await until(heard, f"request {number} of {about!r}; there are {len(told(desk, about))}")


# What the model asks


def option(label: str, description: str = "") -> dict[str, Any]:
    return {"label": label, "description": description}


def one(question: str, *labels: str, several: bool = False, header: str = "Choice") -> dict[str, Any]:
    """A question of `AskUserQuestion`."""
    return {
        "question": question,
        "header": header,
        "options": [option(label, f"About {label}") for label in labels],
        "multiSelect": several,
    }


def asks(*questions: dict[str, Any]) -> ToolCall:
    """`AskUserQuestion` with these questions."""
    return call("AskUserQuestion", questions=list(questions))


def asks_of(prompt: str, labels: Sequence[str], **more: Any) -> ToolCall:
    """`question` with one question of any number of options."""
    options = [{"value": f"v{index}", "label": label} for index, label in enumerate(labels)]
    return call("question", questions=[{"id": "q", "prompt": prompt, "options": options, **more}])
