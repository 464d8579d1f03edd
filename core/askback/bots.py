"""How bots join: each package registers one under the entry points `askback.bots`."""

from __future__ import annotations

__all__ = [
    "Bot", "ChooseOffer", "Connection", "Doors", "Hear", "Stop", "bot_named", "bot_names", "bots", "configured_bots",
]  # fmt: skip

from collections.abc import Awaitable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol, cast

from pydantic import JsonValue

from askback.card import Card
from askback.conversations import Chosen, Heard, Taken
from askback.directory import Directory
from askback.doctor.findings import Finding, Scene
from askback.errors import OperatorError
from askback.identity import Actor, Place
from askback.manager import QuestionManager
from askback.messages.access import Access
from askback.platform import Platform

if TYPE_CHECKING:
    from aiohttp import web

GROUP = "askback.bots"


class Hear(Protocol):
    """Takes a message from a person; see `Reception.hear`."""

    def __call__(self, heard: Heard, *, begin: bool) -> Awaitable[Taken]: ...


class Stop(Protocol):
    """Ends what goes on in a place; see `Reception.stop`."""

    def __call__(self, place: Place, by: Actor, *, key: str) -> Awaitable[str | None]: ...


class ChooseOffer(Protocol):
    """Takes what a person chose on an offer, whoever they are; see `Replies.choose`."""

    def __call__(self, offer_id: str, by: Actor, *, use: bool) -> Awaitable[Chosen]: ...


@dataclass(frozen=True, slots=True)
class Doors:
    """What a bot may call."""

    manager: QuestionManager
    hear: Hear
    stop: Stop
    choose: ChooseOffer
    routes: Sequence[web.RouteDef] = ()
    """What else is served where the bot itself listens for HTTP: whether this process is well."""


class Connection(Protocol):
    """A bot that is connected to its platform."""

    @property
    def platform(self) -> Platform: ...

    @property
    def access(self) -> Access:
        """Who may talk to the bot."""
        ...

    async def serve(self) -> None:
        """Take what people do until cancelled. Raises `OperatorError` when it cannot go on."""
        ...

    def is_connected(self) -> bool:
        """Whether what people do comes in."""
        ...

    async def drain(self) -> None:
        """Take nothing new, for good; what came in before is still answered. Returns within seconds."""
        ...


class Bot(Protocol):
    """One platform's bot."""

    @property
    def name(self) -> str:
        """The platform's name in places and actors, and the command that runs the bot."""
        ...

    def check(self) -> None:
        """Read the bot's own settings. Raises `OperatorError` with one line for each that is missing or wrong."""
        ...

    def is_configured(self) -> bool:
        """Whether a token for its platform is set at all."""
        ...

    def over_http(self, address: str) -> Bot:
        """The same bot, which takes what the platform sends over signed HTTP there instead of a socket.

        Raises `OperatorError` where its platform is not served like that.
        """
        ...

    def of_shard(self, shard: str) -> Bot:
        """The same bot, which hears one part of what happens; other processes hear the others. Such as `0/2`.

        Raises `OperatorError` where that is no shard, or the platform has none.
        """
        ...

    async def invite(self) -> str:
        """The address where somebody lets the bot in. Raises `OperatorError`."""
        ...

    async def examine(self, scene: Scene) -> Sequence[Finding]:
        """Look at everything that the bot needs of its platform, each call within `scene.seconds`.

        Beside a running bot, nothing that it holds is opened a second time. No secret stands in a finding.
        """
        ...

    def connect(self, doors: Doors) -> AbstractAsyncContextManager[Connection]:
        """Connect by the bot's own settings. Raises `OperatorError` where they are missing or wrong."""
        ...

    def directory(self) -> AbstractAsyncContextManager[Directory]:
        """What names stand for, until the block ends: by its token alone, nothing that a running bot holds is opened.

        Raises `OperatorError` where its settings are missing or wrong, or the platform does not take its token.
        """
        ...

    def preview(self, card: Card) -> Sequence[dict[str, JsonValue]]:
        """The messages that it would post for a card."""
        ...


def bots() -> dict[str, Bot]:
    """Every bot that is installed and whose libraries are, by name."""
    found: dict[str, Bot] = {}
    for entry in entry_points(group=GROUP):
        try:
            bot = cast("Bot", entry.load())
        except ModuleNotFoundError:
            continue  # its extra is not installed: `bot_named` says so to whoever wants it
        found[bot.name] = bot
    return found


def bot_names() -> list[str]:
    """The names of all bots that are known, without loading their libraries."""
    return [entry.name for entry in entry_points(group=GROUP)]


def configured_bots() -> list[Bot]:
    """The bots whose platforms have a token. Raises `OperatorError` when none has."""
    chosen = [bot for bot in bots().values() if bot.is_configured()]
    if not chosen:
        raise OperatorError(
            "No platform has a token. Set those of one at least; what is missing is said by "
            + " and ".join(f"`askback {name}`" for name in sorted(bots()))
            + "."
        )
    return chosen


def bot_named(name: str) -> Bot:
    """The bot for a platform. Raises `OperatorError` that says how to install it."""
    for entry in entry_points(group=GROUP, name=name):
        try:
            return cast("Bot", entry.load())
        except ModuleNotFoundError as error:
            raise OperatorError(
                f"The bot for {name} needs {error.name}: install it with pip install 'askback[{name}]'."
            ) from None
    known = ", ".join(sorted(entry.name for entry in entry_points(group=GROUP)))
    raise OperatorError(f"There is no bot for {name!r}; there are: {known}.")
