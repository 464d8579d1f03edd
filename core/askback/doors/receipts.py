"""The outcomes that a response contains. They count as received once the response was written.

Until then, a call that is the same gets them: the server, the connection or the client may end in between. If the
connection ends first, the call waits no longer.
"""

from __future__ import annotations

__all__ = ["Receipts", "get_receipts", "responding"]

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar


class Receipts:
    """The receipts of the outcomes in one response, which are confirmed once it was written."""

    def __init__(self) -> None:
        self._waiting: list[Callable[[], None]] = []
        self._closed: asyncio.Future[None] | None = None
        self._is_closed = False

    @property
    def closed(self) -> asyncio.Future[None]:
        """Return a future that is done once no response can be written any more."""
        if self._closed is None:
            self._closed = asyncio.get_running_loop().create_future()
            if self._is_closed:
                self._closed.set_result(None)
        return self._closed

    def add(self, confirm: Callable[[], None]) -> None:
        """Call `confirm` once the response was written. It must neither block nor raise."""
        self._waiting.append(confirm)

    def confirm(self) -> None:
        """Note that the response was written."""
        while self._waiting:
            self._waiting.pop()()

    def close(self) -> None:
        """Note that no response can be written any more: it was, or the connection has ended."""
        self._is_closed = True
        if self._closed is not None and not self._closed.done():
            self._closed.set_result(None)


_RECEIPTS: ContextVar[Receipts | None] = ContextVar("askback_receipts", default=None)


def get_receipts() -> Receipts:
    """Return the receipts of the request that this task answers.

    Without `responding`, the same task must write the response, and then it finds them here.
    """
    found = _RECEIPTS.get()
    if found is None:
        found = Receipts()
        _RECEIPTS.set(found)
    return found


@contextmanager
def responding() -> Generator[Receipts]:
    """Answer one request inside this block, also in tasks that begin there. The caller confirms its receipts."""
    found = Receipts()
    token = _RECEIPTS.set(found)
    try:
        yield found
    finally:
        _RECEIPTS.reset(token)
