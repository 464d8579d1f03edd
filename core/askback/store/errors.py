"""Errors between the start of a transaction and its commit."""

from __future__ import annotations

__all__ = ["FilesPending", "StoreBusy", "StoreError", "StoreUnavailable", "TurnTakenOver"]

from askback.errors import OperatorError


class StoreError(OperatorError):
    """Raised if the database did not commit.

    `in_doubt` matters to a caller that tries again. False means that the transaction was not applied, and will not be,
    even after a restart. True means that the COMMIT was under way or was interrupted, so it may or may not be applied.
    Check before you repeat it.
    """

    def __init__(self, message: str, *, in_doubt: bool = False) -> None:
        super().__init__(message)
        self.in_doubt = in_doubt


class StoreBusy(StoreError):
    """Raised if the caller's time limit passed before the commit, or another process kept the database locked."""


class StoreUnavailable(StoreError):
    """Raised if the database rejected the commit: disk full, I/O error, read-only, damaged or closed."""


class FilesPending(Exception):
    """Raised if a turn must not begin yet, because files of its messages are still to be read."""


class TurnTakenOver(StoreError):
    """Raised when another process has ended a turn, or writes its text."""
