"""What can go wrong between a transaction and its commit."""

from __future__ import annotations

__all__ = ["StoreBusy", "StoreError", "StoreUnavailable"]

from askback.errors import OperatorError


class StoreError(OperatorError):
    """The database did not commit.

    `in_doubt` is the whole difference for whoever tries again. False: certainly not applied, now or
    after a restart. True: the commit itself was under way or broke off, so that it may turn out
    either way; look before you repeat.
    """

    def __init__(self, message: str, *, in_doubt: bool = False) -> None:
        super().__init__(message)
        self.in_doubt = in_doubt


class StoreBusy(StoreError):
    """The time that the caller gave was over before the commit, or another process kept the database."""


class StoreUnavailable(StoreError):
    """The database refused: disk full, I/O error, read-only, damaged, closed."""
