"""The optional libraries for PostgreSQL, which may not be installed."""

from __future__ import annotations

__all__ = ["extra"]

from collections.abc import Generator
from contextlib import contextmanager

from askback.errors import OperatorError


@contextmanager
def extra() -> Generator[None]:
    """Import the PostgreSQL modules inside this block. Raises `OperatorError` if their libraries are missing."""
    try:
        yield
    except ImportError as error:
        missing = f" ({error.name.partition('.')[0]})" if error.name else ""
        raise OperatorError(
            f"PostgreSQL asks for more than is installed{missing}. Run pip install 'askback[postgres]'."
        ) from error
