"""The bots that are connected at the moment, by platform."""

from __future__ import annotations

__all__ = ["ConnectedBots", "Parts"]

from typing import NoReturn, TypeVar

from askback.manager import QuestionManager
from askback.ports.bot import Connection
from askback.ports.files import FileReader
from askback.ports.platform import HistoryReader, Platform, RetryableError

PartT = TypeVar("PartT")


class Parts(dict[str, PartT]):
    """One part of each connected bot. Whatever needs that of another bot is to be tried again later."""

    def __missing__(self, platform: str) -> NoReturn:
        raise RetryableError(f"{platform} is not connected.")


class ConnectedBots:
    """The parts of the connected bots, which other objects keep and read."""

    def __init__(self, manager: QuestionManager) -> None:
        self._access = manager.access
        self.connections: dict[str, Connection] = {}
        self.platforms: dict[str, Platform] = Parts()
        self.histories: dict[str, HistoryReader] = Parts()
        self.files: dict[str, FileReader] = Parts()

    def add(self, connection: Connection) -> None:
        """Use a bot from now on."""
        name = connection.platform.name
        self.connections[name] = connection
        self.platforms[name], self.histories[name] = connection.platform, connection.history
        self.files[name] = connection.files
        self._access.add(name, connection.access, connection.membership)

    def remove(self, name: str) -> None:
        """Stop using the bot of a platform."""
        for parts in (self.connections, self.platforms, self.histories, self.files):
            parts.pop(name, None)
        self._access.remove(name)
