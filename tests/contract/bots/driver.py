"""The actions and checks of a scenario on any platform: people at a desk, a real bot, a scripted model.

A scenario uses only `Desk`. A platform implements `Desk` once; `conftest.py` runs every scenario on every platform.
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

from askback.domain.ask_limits import Limits
from askback.domain.ask_policy import Who
from askback.domain.card import EVERYTHING
from askback.domain.form import Form, Option, Outcome, Question
from askback.domain.identity import Actor, Place
from askback.runtime.app import Host
from askback_sandbox.model.model import Model
from askback_sandbox.model.script import ToolCall, call

T = TypeVar("T")

WITHIN = 30.0
"""Seconds that any step may take before a scenario fails; waits end as soon as they can."""
ACK_MS = 3_000.0
COMMIT_SECONDS = 60.0
"""Seconds within which a click must be committed here. A machine that stalls would make the bot refuse it after 2 s."""

ADA, BEN, CY = "ada", "ben", "cy"
"""The people at the desk."""
RELEASE = "release"
"""The group, or role, whose only member is ada."""
GENERAL, DEPLOYS = "general", "deploys"
"""The channels. People mention the bot in the first one by default."""

What = Literal["post", "text", "change", "field", "answer", "look"]
"""Calls of a bot to its platform: post a message, change one, open a text field, answer a click."""
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
    """A part of a card that people can use."""

    kind: Literal["button", "menu", "several"]
    label: str
    choices: tuple[Choice, ...] = ()
    searched: bool = False
    boxes: bool = False
    """True if the options of `several` are shown as separate boxes."""
    handle: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Card:
    """A message about a question, as a person sees it at one moment. Using an old one is a late click."""

    id: str
    talk: Talk
    text: str
    """All readable text, except the controls'."""
    notification: str
    """The text that a phone notification or a screen reader gives."""
    controls: tuple[Control, ...]
    handle: Any = field(default=None, compare=False, repr=False)

    @property
    def buttons(self) -> tuple[str, ...]:
        return tuple(control.label for control in self.controls if control.kind == "button")

    @property
    def is_live(self) -> bool:
        """True if the card still has something to decide."""
        return any(control.label != EVERYTHING for control in self.controls)

    def control(self, label: str) -> Control:
        """Return the button with that label, else the first that begins with it."""
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
        """The only menu or set of boxes."""
        (menu,) = (control for control in self.controls if control.kind != "button")
        return menu


@dataclass(frozen=True)
class TextField:
    """An open text field."""

    text: str
    """All readable text on it."""
    placeholder: str
    value: str
    errors: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """One public message of a conversation."""

    author: str
    text: str
    bot: bool
    card: bool = False
    links: tuple[str, ...] = ()
    """The targets of its links."""


@dataclass(frozen=True)
class Clicked:
    """The outcome of a click."""

    acked: bool
    ms: float | None
    error: str | None


class PlatformTests(Protocol):
    """The functions that a platform's module offers to `conftest.py` and to the scenarios."""

    def open_desk(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, limits: Limits | None = None, start: bool = True
    ) -> AbstractAsyncContextManager[Desk]:
        """Open a desk. Without `start`, the scenario runs the bot itself."""
        ...

    def allow(self, monkeypatch: pytest.MonkeyPatch, **lists: Sequence[str]) -> None:
        """Set `people`, `groups`, `channels`, `admins` and `admin_groups` who may talk to the bot, by names if they
        have any.
        """
        ...

    def accepted(self, messages: list[dict[str, Any]]) -> None:
        """Fail if the platform would reject the output of `askback preview`."""
        ...

    def readable(self, messages: list[dict[str, Any]]) -> str:
        """Return all readable text in the output of `askback preview`, except the controls'."""
        ...


class Desk(Protocol):
    """One workspace with people, one bot, and one model."""

    platform: str
    model: Model
    host: Host
    journal: Journal

    def bot(self) -> AbstractAsyncContextManager[None]:
        """Run the bot until the block ends, like one process."""
        ...

    def forget_nonces(self) -> None:
        """Let the platform post again under every name, as Discord does after some minutes."""
        ...

    def drop_undelivered(self) -> None:
        """Let the platform lose events that it cannot deliver at once, as after a long absence of the bot."""
        ...

    # people write

    async def mention(self, person: str, text: str, channel: str = GENERAL) -> Talk:
        """Mention the bot in a channel, which begins a conversation."""
        ...

    async def thread(self, person: str, text: str) -> Talk:
        """Begin a thread without the bot."""
        ...

    async def direct(self, person: str, text: str, *, thread: bool = False) -> Talk:
        """Write a direct message to the bot; with `thread`, the conversation is a thread there."""
        ...

    async def say(self, person: str, text: str, talk: Talk) -> None:
        """Write in a conversation, without a mention of the bot."""
        ...

    async def attach(self, person: str, text: str, talk: Talk, *files: str) -> None:
        """Post files in a conversation, without a mention of the bot; the text may be empty."""
        ...

    async def share(self, person: str, text: str, author: str, talk: Talk) -> None:
        """Share a message of `author`, with this text, from another channel; the person adds no words."""
        ...

    async def program(self, text: str, talk: Talk) -> str:
        """Let a program write that the author of this text made: a workflow or a webhook. Return its id."""
        ...

    async def mention_in(self, person: str, text: str, talk: Talk) -> None:
        """Mention the bot in an existing conversation."""
        ...

    async def edit(self, person: str, text: str, talk: Talk, *, which: int = -1) -> None:
        """Edit one's own message: the newest, or another one, counted from 0."""
        ...

    async def take_back(self, person: str, talk: Talk) -> None:
        """Delete one's own newest message."""
        ...

    async def redeliver_edit(self, which: int = -1) -> None:
        """Deliver an edit a second time: the newest, or another one, counted from 0."""
        ...

    async def delete_twice(self, card: Card) -> None:
        """Delete the message as a moderator; the platform sends the event twice."""
        ...

    async def unfurl(self, person: str, talk: Talk) -> None:
        """Let the platform add a preview to a person's newest message, and send the event of that change."""
        ...

    async def other_bot(self, text: str, talk: Talk) -> None:
        """Let another bot mention the bot under test."""
        ...

    async def joins(self, person: str, talk: Talk) -> None:
        """Let a person join the channel."""
        ...

    async def deliver_twice(self, times: int) -> None:
        """Deliver the next messages twice."""
        ...

    def can_stop(self, talk: Talk) -> bool:
        """Return True if the platform shows a button that stops the bot's work in a conversation."""
        ...

    async def stop(self, person: str, talk: Talk) -> None:
        """Press the stop button; return once the bot has handled it."""
        ...

    def mood(self, talk: Talk) -> str | None:
        """Return the bot's visible status in a conversation: "working", "waiting", or None."""
        ...

    # people use controls

    async def press(self, person: str, card: Card, label: str) -> Clicked: ...
    async def pick(self, person: str, card: Card, *labels: str) -> Clicked:
        """Set the card's menu or boxes to these entries, found by label."""
        ...

    async def search(self, person: str, card: Card, query: str) -> tuple[str, ...]:
        """Return the entries that the card's menu offers for this search text."""
        ...

    async def open_field(self, person: str, card: Card, label: str = "Something else…") -> TextField:
        """Press a button that opens a text field, and wait for it."""
        ...

    def field(self, person: str) -> TextField | None:
        """Return the open text field; None if there is none."""
        ...

    async def submit(self, person: str, text: str) -> tuple[str, ...]:
        """Send the open text field; return the reasons if it stays open."""
        ...

    def kept(self, person: str) -> str:
        """Return the rejected text, if the person can still see it."""
        ...

    async def close_field(self, person: str) -> None: ...
    async def replay(self, times: int = 1) -> list[Clicked]:
        """Deliver the last press or pick again, unchanged."""
        ...

    async def forged(self, person: str, card: Card, what: Literal["unknown", "foreign", "outsider"]) -> Clicked:
        """Click a control of an unknown ask, of another program, or as a person from elsewhere."""
        ...

    # what people see

    def cards(self, talk: Talk) -> tuple[Card, ...]:
        """Return all cards, oldest first, live and settled."""
        ...

    def lines(self, talk: Talk) -> tuple[Line, ...]:
        """Return all public messages, oldest first."""
        ...

    def notices(self, person: str) -> tuple[str, ...]:
        """Return the messages that only this person sees, oldest first."""
        ...

    def replies(self, person: str) -> tuple[str, ...]:
        """Return the bot's private answers to this person's messages."""
        ...

    def pings(self) -> tuple[str, ...]:
        """Return every mention in the bot's messages as the platform reads them, including names of groups."""
        ...

    def alone(self, person: str) -> str:
        """Return everything that only this person sees: ephemeral notices and open text fields."""
        ...

    # who is who

    def join_group(self, person: str) -> None:
        """Put the person into `RELEASE` from now on."""
        ...

    def leave_group(self, person: str) -> None:
        """Remove the person from `RELEASE`."""
        ...

    def actor(self, person: str) -> Actor: ...
    def place(self, talk: Talk) -> Place: ...

    # what goes wrong

    def slow_down(self, what: What, *, seconds: int = 1, times: int = 1) -> None:
        """Rate-limit these calls, with a Retry-After of `seconds`."""
        ...

    def cut(self, what: What) -> None:
        """Cut the connection of the next of these calls before it is executed."""
        ...

    def delay(self, what: What, *, seconds: float) -> Callable[[], bool]:
        """Execute the next of these calls only after `seconds`. Return a function that is true once it has arrived."""
        ...

    def refuse(self, what: What | Literal["everything"], *, times: int | None = 1) -> str:
        """Refuse these calls with a permanent error: not a member for `post`, too late for `field` and `answer`, no
        token.

        Return the words with which the bot reports the reason.
        """
        ...

    def lose_answer(self, what: What, *, times: int | None = 1) -> None:
        """Execute these calls, and lose the platform's answers. `times=None` means until `end_faults`."""
        ...

    def end_faults(self) -> None:
        """Let every call succeed again."""
        ...

    async def lose_connection(self, *, politely: bool = False) -> None:
        """Break the bot's connection (with `politely`, ask it to reconnect); return when it is gone."""
        ...

    async def lose_session(self) -> None:
        """Break the connection and lose the session, so that events in between are not delivered later."""
        ...

    async def reconnected(self) -> None: ...
    async def fall_silent(self) -> None:
        """Freeze the bot's connection: it answers nothing and is not closed. New connections work."""
        ...

    def signs_of_life(self) -> int:
        """Return how often the bot has sent a heartbeat on its connection."""
        ...

    async def press_into_silence(self, person: str, card: Card, label: str) -> Callable[[], Awaitable[Clicked]]:
        """Press while the connection is frozen. The returned function makes the platform deliver the click again."""
        ...

    async def press_in_vain(self, person: str, card: Card, label: str) -> str:
        """Press a button while the bot is away; return the error that the platform shows."""
        ...

    def connection_count(self) -> int:
        """Return how often the bot has connected."""
        ...

    async def delete(self, card: Card) -> None:
        """Delete the message as a moderator."""
        ...

    async def delete_part(self, card: Card, number: int) -> None:
        """Delete one message of a long card as a moderator, counted from 0."""
        ...

    def parts(self, talk: Talk) -> tuple[str, ...]:
        """Return the ids of all messages of cards, oldest first."""
        ...

    async def lose(self, card: Card) -> None:
        """Remove the message without an event for the bot."""
        ...

    async def close_room(self, talk: Talk) -> None:
        """Delete the thread, or archive the channel if threads cannot be deleted."""
        ...

    def posted(self, card: Card) -> list[dict[str, Any]]:
        """Return the messages of a card as first posted, in the form and with the ids of `askback preview`."""
        ...

    def api_calls(self) -> tuple[tuple[str, dict[str, Any]], ...]:
        """Return the bot's calls to the platform: method and arguments."""
        ...


class Journal(logging.Handler):
    """All log records. Errors that a scenario did not announce make it fail."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.records: list[logging.LogRecord] = []
        self._announced: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def announce(self, *actions: str) -> None:
        """Expect errors with these `action`s, or of these loggers."""
        self._announced.update(actions)

    def actions(self) -> list[str]:
        return [str(getattr(record, "action", "")) for record in self.records]

    def unexpected(self) -> list[str]:
        """Return the errors that were not announced."""
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
    """Return True for the error that the services' server logs if a bot ends during a request."""
    error = record.exc_info[1] if record.exc_info else None
    return record.name == "aiohttp.server" and isinstance(error, ConnectionResetError)


# Waiting


async def until(condition: Callable[[], T | None], what: str, *, within: float = WITHIN, every: float = 0.005) -> T:
    """Return the condition's first value that is not None, False or empty; fail after `within` seconds."""
    end = time.monotonic() + within
    while True:
        found = condition()
        if found is not None and found is not False and found not in ((), [], ""):
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not within {within:g} s: {what}")
        await asyncio.sleep(every)


async def card(desk: Desk, talk: Talk, showing: str = "", *, without: str | None = None) -> Card:
    """Return the newest card with something to decide that shows this text."""

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
    """Return the newest card with nothing left to decide that shows this text."""

    def over() -> Card | None:
        return next((one for one in reversed(desk.cards(talk)) if not one.is_live and showing in one.text), None)

    try:
        return await until(over, f"a settled card with {showing!r}")
    except AssertionError as error:
        raise AssertionError(f"{error}; there is:\n{transcript(desk, talk)}") from None


async def line(desk: Desk, talk: Talk, text: str) -> Line:
    """Return a message of the bot that contains the text."""

    def said() -> Line | None:
        return next((one for one in desk.lines(talk) if one.bot and not one.card and text in one.text), None)

    try:
        return await until(said, f"the bot says {text!r}")
    except AssertionError as error:
        raise AssertionError(f"{error}; there is:\n{transcript(desk, talk)}") from None


async def notice(desk: Desk, person: str, text: str, *, count: int = 1) -> str:
    """Return the newest ephemeral notice; check that there are `count` in all, and that it contains the text."""

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


# A program's own asks


@asynccontextmanager
async def program_asks(
    desk: Desk,
    talk: Talk,
    form: Form,
    *people: str,
    who: Who | None = None,
    timeout: float | None = None,  # noqa: ASYNC109 - the ask's timeout
    **more: Any,
) -> AsyncGenerator[Asked]:
    """Ask these people (by default ada) from a program, in a conversation."""
    who = who or Who(people=tuple(map(desk.actor, people or (ADA,))))
    task = asyncio.create_task(desk.host.manager.ask(form, to=desk.place(talk), who=who, timeout=timeout, **more))
    try:
        yield Asked(task)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@dataclass(frozen=True)
class Asked:
    """An ask that waits for its answer."""

    task: asyncio.Task[Outcome]

    async def outcome(self) -> Outcome:
        async with asyncio.timeout(WITHIN):
            return await asyncio.shield(self.task)


def form_of(prompt: str, labels: Sequence[str], **more: Any) -> Form:
    """Return a form with one question; the options' values are v0, v1 …"""
    options = tuple(Option(value=f"v{index}", label=label) for index, label in enumerate(labels))
    return Form(questions=(Question(id="q", prompt=prompt, options=options, **more),))


# The model's requests


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
        """The texts of people in the newest message."""
        return [block["text"] for block in self.news if block["type"] == "text"]

    @property
    def all_texts(self) -> list[str]:
        """The texts of people in the whole conversation."""
        return [
            block["text"]
            for message in self.messages
            if message["role"] == "user"
            for block in message["content"]
            if block["type"] == "text"
        ]


def told(desk: Desk, about: str) -> list[Told]:
    """Return the requests of conversations whose first message contains `about`, except refused ones."""
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
    """Return the model's `number`th request of a conversation, counted from 1, once it exists."""

    def heard() -> Told | None:
        requests = told(desk, about)
        return requests[number - 1] if len(requests) >= number else None

    return await until(heard, f"request {number} of {about!r}; there are {len(told(desk, about))}")


# The model's questions


def option(label: str, description: str = "") -> dict[str, Any]:
    return {"label": label, "description": description}


def one(question: str, *labels: str, several: bool = False, header: str = "Choice") -> dict[str, Any]:
    """Return a question of `AskUserQuestion`."""
    return {
        "question": question,
        "header": header,
        "options": [option(label, f"About {label}") for label in labels],
        "multiSelect": several,
    }


def asks(*questions: dict[str, Any]) -> ToolCall:
    """Return a call of `AskUserQuestion` with these questions."""
    return call("AskUserQuestion", questions=list(questions))


def asks_of(prompt: str, labels: Sequence[str], **more: Any) -> ToolCall:
    """Return a call of `question` with one question of any number of options."""
    options = [{"value": f"v{index}", "label": label} for index, label in enumerate(labels)]
    return call("question", questions=[{"id": "q", "prompt": prompt, "options": options, **more}])
