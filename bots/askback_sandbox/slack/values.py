"""The values in a workspace; they are frozen, so that a change replaces them."""

from dataclasses import dataclass
from typing import Literal

from askback_sandbox.json_values import JsonObject

ChannelKind = Literal["channel", "dm"]
InteractionKind = Literal["block_actions", "view_submission", "view_closed", "block_suggestion", "event"]
SessionStatus = Literal["active", "processing", "suspended", "closed"]


@dataclass(frozen=True)
class Person:
    """Someone who reads and clicks."""

    id: str
    name: str
    real_name: str
    deleted: bool = False
    team: str | None = None
    """The person's own workspace, if it is another one: a guest in a shared channel."""
    tz: str = "Etc/UTC"
    """The name of their time zone."""
    locale: str = "en-US"
    """The language of their client."""


@dataclass(frozen=True)
class Bot:
    """The one app installed here, as a user, a bot and an app."""

    id: str = "U0LOCALBOT"
    bot_id: str = "B0LOCALBOT"
    app_id: str = "A0LOCALAPP"
    name: str = "askback"
    token: str = "xoxb-local"  # noqa: S105 - good on this machine only
    app_token: str = "xapp-local"  # noqa: S105
    scopes: tuple[str, ...] = (
        "app_mentions:read",
        "assistant:write",
        "channels:history",
        "channels:read",
        "chat:write",
        "files:read",
        "groups:history",
        "groups:read",
        "im:history",
        "im:write",
        "mpim:history",
        "usergroups:read",
        "users:read",
    )


@dataclass(frozen=True)
class Team:
    """The workspace's id, name and domain."""

    id: str = "T0LOCAL"
    name: str = "Local"
    domain: str = "local"


@dataclass(frozen=True, kw_only=True)
class UserGroup:
    """A group of people, @handle, which is enabled or disabled."""

    id: str
    handle: str
    name: str
    users: tuple[str, ...] = ()
    enabled: bool = True


@dataclass(frozen=True, kw_only=True)
class Channel:
    """A channel or a direct message."""

    id: str
    name: str
    kind: ChannelKind = "channel"
    person: str | None = None
    bot_in: bool = True
    private: bool = False
    archived: bool = False


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message in its current version."""

    channel: str
    ts: str
    user: str
    text: str
    blocks: tuple[JsonObject, ...] = ()
    thread_ts: str | None = None
    bot: bool = False
    username: str = ""
    edited_ts: str | None = None
    streaming: bool = False
    stream_started: float = 0.0
    ephemeral_to: str | None = None
    markdown: str | None = None
    metadata: JsonObject | None = None
    client_msg_id: str | None = None
    files: tuple[JsonObject, ...] = ()
    attachments: tuple[JsonObject, ...] = ()
    program: str | None = None
    """The id of the workflow or webhook that wrote it; such a message has no user."""
    reactions: tuple[str, ...] = ()

    @property
    def root(self) -> str:
        """The ts of the thread that contains this message, or that it starts."""
        return self.thread_ts or self.ts


@dataclass(frozen=True, kw_only=True)
class OpenView:
    """A modal that a person has open; `view` is the object that Slack's API returns for it."""

    id: str
    person: str
    view: JsonObject
    root_id: str
    previous_id: str | None = None
    errors: tuple[tuple[str, str], ...] = ()

    @property
    def hash(self) -> str:
        return str(self.view.get("hash"))


@dataclass(frozen=True, kw_only=True)
class Interaction:
    """A person's act that is sent to the bot, and its result."""

    id: str
    kind: InteractionKind
    person: str
    acked: bool | None = None
    ack_ms: float | None = None
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class Status:
    """The bot's free status text under a thread."""

    channel: str
    thread_ts: str
    text: str
    since: float
    loading: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Session:
    """An agent's session in one thread; while it is processing, people have a button to stop it."""

    channel: str
    thread_ts: str
    status: SessionStatus
    title: str | None = None
    initiator: str | None = None
    stopped_by: str | None = None


@dataclass(frozen=True, kw_only=True)
class Trigger:
    """The right to open one modal, for three seconds."""

    id: str
    person: str
    issued: float
    view_id: str | None = None
    used: bool = False


@dataclass(frozen=True, kw_only=True)
class ResponseUrl:
    """The right to answer one interaction a few times."""

    token: str
    channel: str
    ts: str
    person: str
    issued: float
    uses: int = 0


@dataclass(frozen=True, kw_only=True)
class ApiCall:
    """One request of the bot, without its token."""

    method: str
    arguments: JsonObject
    status: int
    answer: JsonObject
    at: float
    ms: float
