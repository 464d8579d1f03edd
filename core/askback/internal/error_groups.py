"""Unwraps errors that passed through task groups."""

from __future__ import annotations

__all__ = ["unwrap_group"]

from typing import cast


def unwrap_group(error: BaseException) -> BaseException:
    """Return the error itself if it is alone in its group: task groups wrap each one that passes through them."""
    while isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        only, *others = group.exceptions
        if others:
            return group
        error = only
    return error
