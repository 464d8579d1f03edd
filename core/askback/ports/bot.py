"""How bots join: each package registers one under the entry points `askback.bots`."""

from __future__ import annotations

__all__ = [
    "Bot", "ChangesDoor", "ChooseOffer", "Connection", "Doors", "Hear", "Invitation", "NotInstalled", "Stop",
    "bot_named", "bot_names", "bots", "configured_bots",
]  # fmt: skip

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points
from typing import TYPE_CHECKING, Protocol, cast

from pydantic import JsonValue

from askback.domain.access import Access
from askback.domain.card import Card
from askback.domain.conversation import Chosen, Deleted, Edited, Heard, NotStopped, Taken
from askback.domain.identity import Actor, Place
from askback.errors import OperatorError
from askback.ports.directory import Directory
from askback.ports.findings import Finding, Scene
from askback.ports.platform import Platform

if TYPE_CHECKING:
    from aiohttp import web

    from askback.manager import QuestionManager

log = logging.getLogger("askback.bots")

GROUP = "askback.bots"


class Hear(Protocol):
    """Takes a message from a person; see `Reception.hear`."""

    def __call__(self, heard: Heard, *, begin: bool) -> Awaitable[Taken]: ...


class Stop(Protocol):
    """Ends what goes on in a place; see `Reception.stop`."""

    def __call__(self, place: Place, by: Actor, *, key: str) -> Awaitable[NotStopped | None]: ...


class ChangesDoor(Protocol):
    """Takes what people change or delete after they wrote it; see `Changes`."""

    def is_kept(self, key: str) -> Awaitable[bool]:
        """Return whether an edit of the message of that key can change anything."""
        ...

    def talks_in(self, place: Place) -> Awaitable[bool]:
        """Return whether an agent talks in a place, so that what people write there is kept."""
        ...

    def edited(self, edited: Edited) -> Awaitable[Taken]:
        """Take an edit. When this returns, it is stored."""
        ...

    def deleted(self, deleted: Deleted) -> Awaitable[None]:
        """Take a deletion. When this returns, what follows from it is stored."""
        ...


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
    changes: ChangesDoor
    missed: Callable[[], None]
    """To be called when the bot listens again after a time in which it may have missed deletions."""
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


@dataclass(frozen=True, slots=True)
class Invitation:
    """Where a bot is let in."""

    address: str
    remark: str = ""
    """What else has to be done, in words for whoever opens the address."""


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

    async def invite(self) -> Invitation:
        """Where somebody lets the bot in. Raises `OperatorError`."""
        ...

    def manifest(self) -> str:
        """Return what its platform is told, or has to be set to, when the bot is made there: JSON."""
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


class NotInstalled(OperatorError):
    """The libraries of a bot are not installed: its extra was left out."""


def bots() -> dict[str, Bot]:
    """Return every installed bot whose libraries are there, by name. Raises `OperatorError` where one is broken."""
    found, _ = _all()
    return found


def _all() -> tuple[dict[str, Bot], list[NotInstalled]]:
    """Return the bots by name, and what is to be said of those whose libraries are not installed."""
    found: dict[str, Bot] = {}
    lacking: list[NotInstalled] = []
    for entry in entry_points(group=GROUP):
        try:
            bot = _load(entry)
        except NotInstalled as error:
            lacking.append(error)
        else:
            found[bot.name] = bot
    return found, lacking


def _load(entry: EntryPoint) -> Bot:
    """Import a bot. Raises `NotInstalled` where its extra is missing, and `OperatorError` where anything else is."""
    try:
        return cast("Bot", entry.load())
    except ImportError as error:
        if missing := _missing(entry):
            distribution = "askback" if entry.dist is None else entry.dist.name
            raise NotInstalled(
                f"The bot for {entry.name} needs {' and '.join(missing)}: install it with "
                f"pip install '{distribution}[{entry.name}]'."
            ) from None
        raise OperatorError(
            f"The bot for {entry.name} is installed, but cannot be imported ({type(error).__name__}: {error}). "
            "Install it again, or uninstall it."
        ) from error


def _missing(entry: EntryPoint) -> list[str]:
    """Return the distributions that the bot's own extra asks for and that are not installed."""
    missing: list[str] = []
    for requirement in (entry.dist and entry.dist.requires) or ():
        name, _, condition = requirement.partition(";")
        extra = re.search(r"""extra\s*==\s*["']([\w.-]+)["']""", condition)
        wanted = re.match(r"[\w.-]+", name.strip())
        if extra is None or wanted is None or extra[1] != entry.name:
            continue
        try:
            distribution(wanted[0])
        except PackageNotFoundError:
            missing.append(wanted[0])
    return missing


def bot_names() -> list[str]:
    """The names of all bots that are known, without loading their libraries."""
    return [entry.name for entry in entry_points(group=GROUP)]


def configured_bots() -> list[Bot]:
    """The bots whose platforms have a token. Raises `OperatorError` when none has."""
    found, lacking = _all()
    for error in lacking:
        log.warning("%s Without that, it does not run.", error, extra={"action": "bot_not_installed"})
    chosen = [bot for bot in found.values() if bot.is_configured()]
    if not chosen:
        raise OperatorError(
            "No platform has a token. Set those of one at least; what is missing is said by "
            + " and ".join(f"`askback {name}`" for name in sorted(found))
            + "."
        )
    return chosen


def bot_named(name: str) -> Bot:
    """The bot for a platform. Raises `OperatorError` that says how to install it."""
    for entry in entry_points(group=GROUP, name=name):
        return _load(entry)
    known = ", ".join(sorted(entry.name for entry in entry_points(group=GROUP)))
    raise OperatorError(f"There is no bot for {name!r}; there are: {known}.")
