"""Gateway sessions: their intents, the events that they want, and the events that were sent."""

import secrets
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

from askback_sandbox.json_values import JsonObject

from . import limits
from .values import Intent

_WANTS: dict[str, Intent] = {
    "GUILD_CREATE": Intent.GUILDS,
    "CHANNEL_CREATE": Intent.GUILDS,
    "CHANNEL_UPDATE": Intent.GUILDS,
    "CHANNEL_DELETE": Intent.GUILDS,
    "THREAD_CREATE": Intent.GUILDS,
    "THREAD_UPDATE": Intent.GUILDS,
    "THREAD_DELETE": Intent.GUILDS,
    "GUILD_MEMBER_ADD": Intent.GUILD_MEMBERS,
    "GUILD_MEMBER_UPDATE": Intent.GUILD_MEMBERS,
}
_IN_GUILD = {"TYPING_START": Intent.GUILD_MESSAGE_TYPING}
_IN_DM = {"TYPING_START": Intent.DIRECT_MESSAGE_TYPING}


class Sink(Protocol):
    """The present connection of a session."""

    def send(self, frame: JsonObject) -> None:
        """Queue a frame."""
        ...


@dataclass(eq=False)
class Session:
    """One identified session. It outlives its connections, and keeps the events that they miss for RESUME."""

    intents: int
    shard: tuple[int, int] = (0, 1)
    """The number of the session's shard, and the number of all shards."""
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    sequence: int = 0
    sink: Sink | None = None
    left: float = 0.0  # time of the loss of the last connection
    spared: bool = False  # True if no further event is sent to it
    sent: deque[JsonObject] = field(default_factory=lambda: deque[JsonObject](maxlen=limits.KEPT_DISPATCHES))

    def wants(self, kind: str, *, dm: bool | None) -> bool:
        """Return True if the intents ask for an event; `dm` is None for an event without a channel."""
        if dm is not None:
            by_kind = _IN_DM if dm else _IN_GUILD
            needed = by_kind.get(kind, Intent.DIRECT_MESSAGES if dm else Intent.GUILD_MESSAGES)
        else:
            needed = _WANTS.get(kind, Intent(0))
        return self.intents & needed == needed

    def serves(self, guild: str | None) -> bool:
        """Return True if the session's shard receives the events of a guild; None means direct messages."""
        number, count = self.shard
        # [dd events/gateway#sharding]
        return number == (0 if guild is None else (int(guild) >> 22) % count)

    def dispatch(self, kind: str, data: JsonObject) -> None:
        """Number an event, keep it, and send it if there is a connection."""
        self.sequence += 1
        frame: JsonObject = {"op": 0, "t": kind, "s": self.sequence, "d": data}
        self.sent.append(frame)
        if self.sink is not None:
            self.sink.send(frame)

    def missed(self, sequence: int) -> list[JsonObject] | None:
        """Return the events after `sequence`; None if they are not kept any more, or `sequence` is too large."""
        if sequence > self.sequence:
            return None
        frames = [frame for frame in self.sent if _number(frame) > sequence]
        return frames if len(frames) == self.sequence - sequence else None


def _number(frame: JsonObject) -> int:
    number = frame["s"]
    return number if isinstance(number, int) else 0
