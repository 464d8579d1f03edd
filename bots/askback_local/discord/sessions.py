"""Gateway sessions: what was identified, what was sent to it, and which events it wants."""

import secrets
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

from askback_local.json_values import JsonObject

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
    """The connection a session has now."""

    def send(self, frame: JsonObject) -> None:
        """Queue a frame."""
        ...


@dataclass(eq=False)
class Session:
    """One identified session. It outlives its connections; what they miss is kept for RESUME."""

    intents: int
    shard: tuple[int, int] = (0, 1)
    """Which part of what happens it is told, and of how many parts."""
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    sequence: int = 0
    sink: Sink | None = None
    left: float = 0.0  # when the last connection was lost
    spared: bool = False  # whether it is told nothing more
    sent: deque[JsonObject] = field(default_factory=lambda: deque[JsonObject](maxlen=limits.KEPT_DISPATCHES))

    def wants(self, kind: str, *, dm: bool | None) -> bool:
        """Whether the intents ask for an event. `dm` is None when it belongs to no channel."""
        if dm is not None:
            by_kind = _IN_DM if dm else _IN_GUILD
            needed = by_kind.get(kind, Intent.DIRECT_MESSAGES if dm else Intent.GUILD_MESSAGES)
        else:
            needed = _WANTS.get(kind, Intent(0))
        return self.intents & needed == needed

    def serves(self, guild: str | None) -> bool:
        """Whether what happens in a guild, or in direct messages, is told to its shard."""
        number, count = self.shard
        # [dd events/gateway#sharding]
        return number == (0 if guild is None else (int(guild) >> 22) % count)

    def dispatch(self, kind: str, data: JsonObject) -> None:
        """Number an event, keep it, and send it if somebody is there."""
        self.sequence += 1
        frame: JsonObject = {"op": 0, "t": kind, "s": self.sequence, "d": data}
        self.sent.append(frame)
        if self.sink is not None:
            self.sink.send(frame)

    def missed(self, sequence: int) -> list[JsonObject] | None:
        """What was sent after `sequence`; None if that is not known any more."""
        if sequence > self.sequence:
            return None
        frames = [frame for frame in self.sent if _number(frame) > sequence]
        return frames if len(frames) == self.sequence - sequence else None


def _number(frame: JsonObject) -> int:
    number = frame["s"]
    return number if isinstance(number, int) else 0
