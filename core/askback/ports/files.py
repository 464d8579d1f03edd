"""The interface through which a bot reads the files that people attach to messages."""

from __future__ import annotations

__all__ = ["FileReader", "FileTooLarge", "TransferTooSlow"]

from typing import Protocol

from askback.domain.attached_file import AttachedFile
from askback.domain.identity import MessageRef
from askback.ports.platform import DeliveryError, RetryableError


class FileTooLarge(DeliveryError):
    """Raised for a file that has more bytes than the caller reads."""


class TransferTooSlow(RetryableError):
    """Raised for a file that does not arrive within the time that one attempt may take."""


class FileReader(Protocol):
    """Reads the files of one platform."""

    async def read(self, file: AttachedFile, message: MessageRef | None, at_most: int) -> bytes:
        """Return the content of a file that is attached to `message`.

        It is read only from the platform's own hosts. Raises `FileTooLarge` for more than `at_most` bytes,
        `MessageNotFound` if the file or its message no longer exists, `DeliveryError` if the bot may not read it, and
        `RetryableError`.
        """
        ...
