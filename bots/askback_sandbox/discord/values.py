"""The values in a Discord guild; they are frozen, so that a change replaces them."""

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Literal

from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject

PlaceKind = Literal["channel", "forum", "thread", "dm"]
DoneKind = Literal["component", "modal_submit"]


class Permission(IntFlag):
    """The permissions that matter to a bot that asks."""

    VIEW_CHANNEL = 1 << 10
    SEND_MESSAGES = 1 << 11
    MANAGE_MESSAGES = 1 << 13
    EMBED_LINKS = 1 << 14
    ATTACH_FILES = 1 << 15
    READ_MESSAGE_HISTORY = 1 << 16
    MENTION_EVERYONE = 1 << 17
    MANAGE_THREADS = 1 << 34
    CREATE_PUBLIC_THREADS = 1 << 35
    SEND_MESSAGES_IN_THREADS = 1 << 38


MEMBER_PERMISSIONS = (
    Permission.VIEW_CHANNEL
    | Permission.SEND_MESSAGES
    | Permission.EMBED_LINKS
    | Permission.ATTACH_FILES
    | Permission.READ_MESSAGE_HISTORY
    | Permission.CREATE_PUBLIC_THREADS
    | Permission.SEND_MESSAGES_IN_THREADS
)


class Intent(IntFlag):
    """The gateway intents that have an effect here."""

    GUILDS = 1 << 0
    GUILD_MEMBERS = 1 << 1
    GUILD_PRESENCES = 1 << 8
    GUILD_MESSAGES = 1 << 9
    GUILD_MESSAGE_TYPING = 1 << 11
    DIRECT_MESSAGES = 1 << 12
    DIRECT_MESSAGE_TYPING = 1 << 14
    MESSAGE_CONTENT = 1 << 15


KNOWN_INTENTS = 0b11_0011_1111_1111_1111_1111_1111  # [dd events/gateway]: 0 to 16, 20, 21, 24 and 25 are assigned
PRIVILEGED = Intent.GUILD_MEMBERS | Intent.GUILD_PRESENCES | Intent.MESSAGE_CONTENT


class Flag(IntFlag):
    """Message flags."""

    SUPPRESS_EMBEDS = 1 << 2
    HAS_THREAD = 1 << 5
    EPHEMERAL = 1 << 6
    LOADING = 1 << 7
    SUPPRESS_NOTIFICATIONS = 1 << 12
    COMPONENTS_V2 = 1 << 15


class PostType(IntEnum):
    """Message types: a message, a reply, and Discord's own messages about threads."""

    DEFAULT = 0
    THREAD_CREATED = 18
    REPLY = 19
    THREAD_STARTER = 21


class Kind(IntEnum):
    """Component types."""

    ACTION_ROW = 1
    BUTTON = 2
    STRING_SELECT = 3
    TEXT_INPUT = 4
    USER_SELECT = 5
    ROLE_SELECT = 6
    MENTIONABLE_SELECT = 7
    CHANNEL_SELECT = 8
    SECTION = 9
    TEXT_DISPLAY = 10
    THUMBNAIL = 11
    MEDIA_GALLERY = 12
    FILE = 13
    SEPARATOR = 14
    CONTAINER = 17
    LABEL = 18
    FILE_UPLOAD = 19
    RADIO_GROUP = 21
    CHECKBOX_GROUP = 22
    CHECKBOX = 23


SELECTS = (
    Kind.STRING_SELECT,
    Kind.USER_SELECT,
    Kind.ROLE_SELECT,
    Kind.MENTIONABLE_SELECT,
    Kind.CHANNEL_SELECT,
)


@dataclass(frozen=True)
class Window:
    """A rate limit: the number of requests in a number of seconds."""

    requests: int
    seconds: float
    refuses: bool = False
    """True if it refuses further requests; otherwise it never reports that none are left."""


@dataclass(frozen=True)
class Role:
    """A role of the guild."""

    id: str
    name: str
    permissions: int = 0
    managed: bool = False
    boosts: bool = False  # given to members who boost the server; it is reported as managed, too


@dataclass(frozen=True)
class Member:
    """Someone in the guild: a person, or the bot."""

    id: str
    name: str
    global_name: str
    roles: tuple[str, ...] = ()
    bot: bool = False
    locale: str = "en-US"
    """The language of their client."""


@dataclass(frozen=True, kw_only=True)
class App:
    """The one application installed here; its bot user has the same id."""

    id: str = "1100000000000000100"
    name: str = "askback"
    token: str = "local-discord-token"  # noqa: S105 - good on this machine only
    role: str = "1100000000000000101"
    privileged: int = int(PRIVILEGED)  # the intents that are enabled in the developer portal
    public: bool = False  # True if anyone, and not only its owner, may add the bot to a server
    clicks_url: str | None = None  # the interactions endpoint
    shards: int = 1  # the number that Discord recommends
    least_shards: int = 1  # the smallest number that Discord accepts
    sessions_left: int = 1000  # the number of times that the bot may still identify today


@dataclass(frozen=True, kw_only=True)
class Place:
    """A channel or forum of the guild, a thread, or a direct message.

    `denied` holds the permissions that the bot does not have there.
    """

    id: str
    name: str
    kind: PlaceKind = "channel"
    parent: str | None = None
    person: str | None = None
    owner: str | None = None
    archived: bool = False
    locked: bool = False
    auto_archive_minutes: int = 4_320
    changed: float = 0.0
    denied: int = 0


@dataclass(frozen=True, kw_only=True)
class Neighbour:
    """Another guild that the bot is in; it can be looked up, but it has no events."""

    id: str
    name: str
    channels: tuple[Place, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Post:
    """A message in its current version."""

    id: str
    channel: str
    author: str
    sent: float
    type: int = PostType.DEFAULT
    content: str = ""
    components: tuple[JsonObject, ...] = ()
    embeds: tuple[JsonObject, ...] = ()
    attachments: tuple[JsonObject, ...] = ()
    snapshots: tuple[JsonObject, ...] = ()
    """The forwarded messages. Discord leaves the author out."""
    flags: int = 0
    edited: float | None = None
    ephemeral_to: str | None = None
    reference: str | None = None
    reference_channel: str | None = None
    mentions: tuple[str, ...] = ()
    mention_roles: tuple[str, ...] = ()
    mention_everyone: bool = False
    nonce: str | None = None
    webhook: bool = False
    interaction: str | None = None


@dataclass(frozen=True, kw_only=True)
class OpenModal:
    """A modal that a person has open, and the place where it was opened."""

    person: str
    modal: JsonObject
    channel: str
    message: str | None

    @property
    def custom_id(self) -> str:
        return str(self.modal.get("custom_id"))


@dataclass(frozen=True, kw_only=True)
class Done:
    """A person's act that is sent to the bot, and its result."""

    id: str
    token: str
    kind: DoneKind
    person: str
    channel: str
    message: str | None
    issued: float
    custom_id: str = ""
    acked: bool | None = None
    ack_ms: float | None = None
    error: str | None = None
    callback: int | None = None  # the type of the initial response
    original: str | None = None  # the message that is @original


@dataclass(frozen=True, kw_only=True)
class Typing:
    """A member who is typing."""

    channel: str
    user: str
    since: float


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request of the bot, without its token. `operation` is the operationId of Discord's OpenAPI document."""

    operation: str
    method: str
    path: str
    body: JsonObject
    status: int
    answer: JsonValue
    at: float
    ms: float
