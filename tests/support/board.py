"""A board to read on: the port that every bot implements, on a dictionary."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from askback.domain.ask import Ask
from askback.domain.group import GroupMembers
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.incoming_message import HistoryMessage
from askback.domain.outgoing_message import OutgoingMessage
from askback.ports.membership import Resolved
from askback.ports.platform import AgentStatus, MessageNotFound, Messages, Remainder, TextStream

WITHIN = 30.0
HERE = Place(platform="board", tenant="T1", channel="C1", thread="1")
ANN = Actor(platform="board", tenant="T1", id="U1", name="Ann")
BEN = Actor(platform="board", tenant="T1", id="U2", name="Ben")


@dataclass
class Posted:
    """A message on the board."""

    place: Place
    name: str
    text: str
    ask: Ask | None = None
    revisions: list[int] = field(default_factory=list)
    """Every revision of a card that was ever drawn here, in order."""


class Board:
    """A platform port on a dictionary. A call first waits for `holds[call]`, then raises the next of `faults[call]`."""

    name = "board"

    def __init__(self) -> None:
        self.messages: dict[str, Posted] = {}
        self.calls: list[str] = []
        self.at: list[float] = []
        self.faults: defaultdict[str, deque[Exception]] = defaultdict(deque)
        self.after: defaultdict[str, deque[Exception]] = defaultdict(deque)
        """Errors that are raised after the call has done its work, like a lost answer."""
        self.holds: dict[str, asyncio.Event] = {}
        self.before: tuple[HistoryMessage, ...] = ()
        """The earlier messages of the thread."""
        self.groups = BoardGroups()
        self.statuses: list[AgentStatus] = []
        self.said: list[OutgoingMessage] = []
        """All messages of the bot, in order."""
        self._changed = asyncio.Event()
        self._last = 0

    def touch(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def until(self, holds: Callable[[], Any], within: float = WITHIN) -> Any:
        try:
            async with asyncio.timeout(within):
                while not (found := holds()):
                    await self._changed.wait()
                return found
        except TimeoutError:
            raise AssertionError(f"not within {within:g} s: {self.texts()} {self.cards()}") from None

    async def _begin(self, name: str) -> None:
        self.calls.append(name)
        self.at.append(asyncio.get_running_loop().time())
        self.touch()
        if name in self.holds:
            await self.holds[name].wait()
        if self.faults[name]:
            raise self.faults[name].popleft()

    def _end(self, name: str) -> None:
        self.touch()
        if self.after[name]:
            raise self.after[name].popleft()

    def add(self, posted: Posted) -> MessageRef:
        self._last += 1
        self.messages[str(self._last)] = posted
        return MessageRef(channel=posted.place.channel, id=str(self._last))

    # the port

    async def show(self, ask: Ask) -> Messages:
        await self._begin("show")
        if ask.messages:
            known = self.messages.get(ask.messages[0].id)
            if known is None:
                raise MessageNotFound("no such message")
            for surplus in ask.messages[1:]:
                self.messages.pop(surplus.id, None)
            where = ask.messages[:1]
        else:
            known = Posted(ask.place, ask.id, "", ask)
            where = (self.add(known),)
        known.ask = ask
        known.revisions.append(ask.interview.revision)
        self._end("show")
        return where

    async def post(self, place: Place, message: OutgoingMessage) -> Messages:
        await self._begin("post")
        text = message.text if message.link is None else f"{message.text} {message.link}"
        if message.messages:
            if message.messages[0].id not in self.messages:
                raise MessageNotFound("no such message")
            self.messages[message.messages[0].id].text = text
            where = message.messages
        else:
            where = (self.add(Posted(place, message.target, text)),)
        self.said.append(message)
        self._end("post")
        return where

    def open_stream(
        self, place: Place, name: str, reader: Actor, messages: Messages | None, *, resumed: bool
    ) -> TextStream:
        return _TextStream(self, place, name, messages)

    async def find_posted(
        self, place: Place, name: str, *, message: OutgoingMessage | None = None, since: Any = None, after: Any = None
    ) -> Messages:
        await self._begin("find_posted")
        return tuple(
            MessageRef(channel=place.channel, id=number)
            for number, posted in self.messages.items()
            if posted.place == place and posted.name == name
        )

    async def find_missing(self, place: Place, messages: Messages) -> Messages:
        await self._begin("missing")
        return tuple(message for message in messages if message.id not in self.messages)

    async def get_permalink(self, message: MessageRef) -> str | None:
        await self._begin("link")
        return f"board://{message.id}"

    async def read(self, place: Place) -> tuple[HistoryMessage, ...]:
        await self._begin("read")
        return self.before

    def set_status(self, place: Place, status: AgentStatus, reader: Actor) -> None:
        if not self.statuses or self.statuses[-1] != status:
            self.statuses.append(status)
        self.touch()

    # what is visible

    def texts(self) -> list[str]:
        return [posted.text for posted in self.messages.values() if posted.ask is None]

    def cards(self) -> list[Ask]:
        return [posted.ask for posted in self.messages.values() if posted.ask is not None]

    def open(self) -> list[Ask]:
        return [ask for ask in self.cards() if ask.outcome is None]


class BoardGroups:
    """Knows the groups of nobody. It records the groups that it is asked for."""

    def __init__(self) -> None:
        self.resolved: list[tuple[str, ...]] = []
        self.members: dict[str, GroupMembers] = {}

    async def resolve(self, place: Place, people: Iterable[Actor], groups: Iterable[str]) -> Resolved:
        self.resolved.append(tuple(groups))
        return Resolved(tuple(person.evolve(groups=()) for person in people))

    async def list_members(self, place: Place, groups: Iterable[str]) -> Mapping[str, GroupMembers]:
        return self.members

    async def find_sole_viewer(self, place: Place, person: Actor, groups: Iterable[str]) -> Actor | None:
        return person if place.channel.startswith("D") else None


class _TextStream:
    def __init__(self, board: Board, place: Place, name: str, messages: Messages | None) -> None:
        self._board, self._place, self._name, self._text = board, place, name, ""
        self._messages, self._unsure = messages or (), messages is None

    @property
    def messages(self) -> Messages:
        return self._messages

    async def append(self, text: str) -> None:
        self._text += text
        await self._board._begin("append")
        if self._text and not self._unsure:
            self._write(self._text)

    async def finish(self, text: str) -> Messages:
        await self._board._begin("finish")
        if self._unsure:
            self._messages, self._unsure = await self._board.find_posted(self._place, self._name), False
        self._write(text)
        return self._messages

    async def abandon(self, keep: Remainder = "text") -> None:
        if keep == "nothing":
            for message in self._messages:
                self._board.messages.pop(message.id, None)

    def _write(self, text: str) -> None:
        if not self._messages:
            self._messages = (self._board.add(Posted(self._place, self._name, text)),)
        self._board.messages[self._messages[0].id].text = text
        self._board.touch()
