"""Errors for the callers of a transaction that was not committed, on either database."""

from __future__ import annotations

__all__ = ["build_closed_error", "build_not_committed_error", "build_timeout_error"]

from askback.store.errors import StoreBusy, StoreError, StoreUnavailable


def build_timeout_error(*, in_doubt: bool) -> StoreError:
    return build_not_committed_error(StoreBusy, " in time", None, in_doubt=in_doubt)


def build_not_committed_error(
    error_type: type[StoreError], how: str, error: BaseException | None, *, in_doubt: bool
) -> StoreError:
    """Return the error for a transaction that was not committed, on either database.

    `how` is appended to its first sentence.
    """
    then = "The change may or may not be saved." if in_doubt else "Nothing was changed."
    store_error = error_type(f"The database did not commit{how}. {then}", in_doubt=in_doubt)
    store_error.__cause__ = error
    return store_error


def build_closed_error() -> StoreUnavailable:
    return StoreUnavailable("The store is closed: askback is shutting down, or its database thread has ended.")
