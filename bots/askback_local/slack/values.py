"""What the workspace is made of: frozen values, replaced and never changed."""

from dataclasses import dataclass
from typing import Literal

from askback_local.json_values import JsonObject

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
    """Their own workspace, where it is not this one: a guest in a shared channel."""


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
    """The workspace's own name."""

    id: str = "T0LOCAL"
    name: str = "Local"
    domain: str = "local"


@dataclass(frozen=True, kw_only=True)
class UserGroup:
    """A group of people, @handle, which is in use or was disabled."""

    id: str
    handle: str
    name: str
    users: tuple[str, ...] = ()
    enabled: bool = True


@dataclass(frozen=True, kw_only=True)
class Channel:
    """A place to talk in."""

    id: str
    name: str
    kind: ChannelKind = "channel"
    person: str | None = None
    bot_in: bool = True
    private: bool = False
    archived: bool = False


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message as it stands now."""

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
    reactions: tuple[str, ...] = ()

    @property
    def root(self) -> str:
        """The ts of the thread this message is in, or starts."""
        return self.thread_ts or self.ts


@dataclass(frozen=True, kw_only=True)
class OpenView:
    """A modal in front of a person. `view` is what Slack's API returns for it."""

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
    """One thing a person did that the bot was told about, and what became of it."""

    id: str
    kind: InteractionKind
    person: str
    acked: bool | None = None
    ack_ms: float | None = None
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class Status:
    """What the bot says that it is doing, under a thread."""

    channel: str
    thread_ts: str
    text: str
    since: float
    loading: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Session:
    """What an agent is doing in one thread. While it is processing, people have a button to stop it."""

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
