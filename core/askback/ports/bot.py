"""The interface of bots. Each package registers a `BotFactory` under the entry points `askback.bots`."""

from __future__ import annotations

__all__ = [
    "Bot",
    "BotFactory",
    "BotOptions",
    "BotServices",
    "BotSetup",
    "Connection",
    "EditHandler",
    "Invitation",
    "MessageHandler",
    "OfferHandler",
    "StopHandler",
]  # fmt: skip

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pydantic import JsonValue, SecretStr

from askback.domain.bot_access import Access
from askback.domain.card import Card
from askback.domain.conversation import RecentConversation, StopDenial
from askback.domain.identity import Actor, Place
from askback.domain.incoming_message import DeletedMessages, EditedMessage, IncomingMessage, MessageResult
from askback.domain.outgoing_message import OfferChoice, OfferResult
from askback.ports.directory import Directory
from askback.ports.files import FileReader
from askback.ports.findings import Finding, Scene
from askback.ports.membership import Membership
from askback.ports.platform import HistoryReader, Platform
from askback.ports.setup_guide import SetupGuide

if TYPE_CHECKING:
    from aiohttp import web

    from askback.manager import QuestionManager


class MessageHandler(Protocol):
    """Handles a message from a person; see `MessageRouter.receive`.

    `is_repeatable` is True if the bot gets the message again later when this raises `MembersUnknown`.
    """

    def __call__(
        self, incoming: IncomingMessage, *, begin: bool, is_repeatable: bool = False
    ) -> Awaitable[MessageResult]: ...


class StopHandler(Protocol):
    """Stops the agent's turn, its tools and its questions in a place; see `MessageRouter.stop`."""

    def __call__(self, place: Place, by: Actor, *, key: str) -> Awaitable[StopDenial | None]: ...


class EditHandler(Protocol):
    """Takes edits and deletions of people's messages; see `EditRouter`."""

    def is_stored(self, key: str) -> Awaitable[bool]:
        """Return True if an edit of the message with that key can change anything."""
        ...

    def is_history_due(self) -> Awaitable[bool]:
        """Return True if an agent is about to read earlier messages of some thread. Any of them may be edited now."""
        ...

    def has_conversation(self, place: Place) -> Awaitable[bool]:
        """Return True if an agent talks in a place, so that people's messages there are kept."""
        ...

    def handle_edit(self, edited: EditedMessage, *, is_repeatable: bool = False) -> Awaitable[MessageResult]:
        """Handle an edit. Returns after the commit. `is_repeatable` is as in `MessageHandler`."""
        ...

    def handle_deletion(self, deleted: DeletedMessages) -> Awaitable[bool]:
        """Take a deletion. Its consequences are stored when this returns. False means that it concerns nothing here."""
        ...


class OfferHandler(Protocol):
    """Takes the choice of any person on an offer; see `TextAnswers.choose`."""

    def __call__(self, offer_id: str, by: Actor, choice: OfferChoice, /) -> Awaitable[OfferResult]: ...


@dataclass(frozen=True, slots=True)
class BotServices:
    """The functions and objects that a bot may call."""

    manager: QuestionManager
    has_agent: bool
    """True if an agent runs here. Otherwise, what people write beyond the cards of this process is for others."""
    receive: MessageHandler
    stop: StopHandler
    choose: OfferHandler
    changes: EditHandler
    missed: Callable[[], None]
    """Call this when the bot has reconnected and may have missed deletions."""
    list_recent: Callable[[], Awaitable[tuple[RecentConversation, ...]]]
    """Return this platform's conversations of the last day, for a bot whose platform never repeats an event."""
    routes: Sequence[web.RouteDef] = ()
    """Health routes. The bot serves them if it listens for HTTP itself."""


class Connection(Protocol):
    """A bot that is connected to its platform."""

    @property
    def platform(self) -> Platform: ...

    @property
    def history(self) -> HistoryReader: ...

    @property
    def membership(self) -> Membership: ...

    @property
    def files(self) -> FileReader: ...

    @property
    def access(self) -> Access:
        """The rules that say who may talk to the bot."""
        ...

    async def serve(self) -> None:
        """Receive and handle events until cancelled. Raises `OperatorError` when it cannot continue."""
        ...

    def is_connected(self) -> bool:
        """Return True if the bot receives events."""
        ...

    async def drain(self) -> None:
        """Stop receiving events, and finish handling earlier ones. Returns within seconds."""
        ...


@dataclass(frozen=True, slots=True)
class Invitation:
    """An address for adding the bot to a workspace or server."""

    address: str
    remark: str = ""
    """Further steps, in words for the person who opens the address."""


class BotSetup(Protocol):
    """Helps an operator to create the bot on its platform, to add it to a server, and to check that it works."""

    def get_manifest(self) -> str:
        """Return the JSON manifest with which the bot is created or configured on its platform."""
        ...

    def get_guide(self) -> SetupGuide:
        """Return the steps for somebody who creates the bot for the first time."""
        ...

    async def examine_credential(self, key: str, given: Mapping[str, SecretStr], seconds: float) -> Sequence[Finding]:
        """Check one credential of the guide: its form, and then whether the platform accepts it.

        `given` has the credentials that are known so far, by their keys. The first finding is about the credential
        itself. A finding never contains a secret. Open no connection that a running bot may hold.
        """
        ...

    async def get_invitation(self) -> Invitation:
        """Return the address at which a person adds the bot. Raises `OperatorError`."""
        ...

    async def examine(self, scene: Scene) -> Sequence[Finding]:
        """Check everything that the bot needs from its platform, each call within `scene.seconds`.

        Open no connection that a running bot already holds. A finding never contains a secret.
        """
        ...

    def preview(self, card: Card) -> Sequence[dict[str, JsonValue]]:
        """Return the messages that the bot would post for a card."""
        ...


class Bot(Protocol):
    """One platform's bot."""

    @property
    def name(self) -> str:
        """The platform's name in places and actors, and the command that runs the bot."""
        ...

    @property
    def setup(self) -> BotSetup:
        """The part that helps an operator to set the bot up."""
        ...

    def is_configured(self) -> bool:
        """Return True if a token for its platform is set."""
        ...

    def check(self) -> None:
        """Read the bot's own settings. Raises `OperatorError` with one line for each that is missing or wrong."""
        ...

    def connect(self, services: BotServices) -> AbstractAsyncContextManager[Connection]:
        """Connect with the bot's own settings. Raises `OperatorError` if they are missing or wrong."""
        ...

    def open_directory(self) -> AbstractAsyncContextManager[Directory]:
        """Look up names until the block ends. This needs only the token, and opens nothing that a running bot holds.

        Raises `OperatorError` if the settings are missing or wrong, or the platform rejects the token.
        """
        ...


@dataclass(frozen=True, slots=True)
class BotOptions:
    """The ways for a bot to receive events. They override its settings; None keeps the setting."""

    http: str | None = None
    """The address at which the bot receives events over signed HTTP instead of a socket, such as `127.0.0.1:3000`."""
    shard: str | None = None
    """The shard of the events that the bot receives, such as `0/2`. Other processes receive the other shards."""


class BotFactory(Protocol):
    """Creates a platform's bot.

    A module `settings` in the same package holds the bot's `TomlSettings`, so that a misspelt variable is noticed. It
    must not import the platform's library.
    """

    def __call__(self, options: BotOptions) -> Bot:
        """Return the bot. Raises `OperatorError` if an option is wrong, or the platform does not support it."""
        ...
