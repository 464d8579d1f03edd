"""The actions and checks of a scenario on any platform, as protocols that each platform implements."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol

import pytest
from pydantic import JsonValue

from askback.domain.identity import Actor, Place
from askback.domain.open_ask_limits import Limits
from askback.runtime.app import Host
from askback_sandbox.attached import Attached
from askback_sandbox.model.model import Model
from askback_sandbox.play.controls import Control as Field

from .journal import Journal
from .values import GENERAL, Card, Clicked, Line, Talk, TextField, What


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
        """Return all readable text in the output of `askback preview`, with that of the controls."""
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

    async def attach(self, person: str, text: str, talk: Talk, *files: str | Attached) -> None:
        """Post files in a conversation, without a mention of the bot; the text may be empty.

        A file that is only a name cannot be read.
        """
        ...

    def delete_files(self, person: str, talk: Talk) -> None:
        """Delete the files of the person's newest message. The message stays."""
        ...

    def refuse_files(self, status: int, location: str = "", *, times: int = 1) -> None:
        """Answer requests for contents of files with this status, and with a redirect to `location`."""
        ...

    def delay_files(self, seconds: float) -> None:
        """Answer the next request for the content of a file only after `seconds`."""
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

    async def choose(self, person: str, card: Card, *names: str) -> Clicked:
        """Choose people or channels in the platform's own picker, such as "ben", "#deploys", or the bot itself."""
        ...

    async def choose_strange(self, person: str, card: Card, picked: str) -> Clicked:
        """Send a choice in the picker with an id that no client sends."""
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

    async def submit(
        self, person: str, text: str, *, way: str | None = None, when: datetime | None = None
    ) -> tuple[str, ...]:
        """Send the open text field; return the reasons if it stays open.

        `way` is one of the ways to leave a question for now, and `when` the time of a reminder.
        """
        ...

    def kept(self, person: str) -> str:
        """Return the rejected text, if the person can still see it."""
        ...

    async def open_form(self, person: str, card: Card, label: str = "Answer all…") -> tuple[Field, ...]:
        """Press the button that opens the modal of several questions, and return the fields of the modal."""
        ...

    def form(self, person: str) -> tuple[Field, ...]:
        """Return the fields of the open modal; none if there is none."""
        ...

    async def send_form(self, person: str, entries: Mapping[str, str | Sequence[str]]) -> tuple[str, ...]:
        """Fill in the open modal and send it; return the reasons if it stays open or is offered again.

        `entries` has a text or the labels of the chosen options for the label of each field that is changed.
        """
        ...

    async def open_files(self, person: str, card: Card) -> Field:
        """Press the button that opens the modal for files, and return its field."""
        ...

    async def send_files(self, person: str, *files: JsonValue) -> tuple[str, ...]:
        """Choose files in the open modal, as `read_attached` takes them, and send it; return the reasons against it."""
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

    def speaks(self, person: str, locale: str) -> None:
        """Set the language of a person's client."""
        ...

    def server_speaks(self, locale: str) -> None:
        """Set the language of the server, before the bot starts. Discord tells no other for the author of a message."""
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
