"""A thread that owns a connection to the database, for SQLite and PostgreSQL."""

from __future__ import annotations

__all__ = ["ConnectionThread"]

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future as ThreadFuture

log = logging.getLogger("askback.store")


class ConnectionThread:
    """A thread that has opened its connection when the constructor returns. Its end can be awaited.

    The constructor raises the error of `body` if that ends before it reports an open connection.
    """

    def __init__(self, name: str, body: Callable[[Callable[[], None]], None]) -> None:
        opened: ThreadFuture[None] = ThreadFuture()
        self._ended: ThreadFuture[None] = ThreadFuture()
        # Mark the future as running, so that a cancelled caller of `ended` cannot cancel it for the others.
        self._ended.set_running_or_notify_cancel()

        def run() -> None:
            try:
                body(lambda: opened.set_result(None))
            except BaseException as error:
                if opened.done():
                    log.critical(
                        "The database thread %s crashed. Restart askback, and please report the traceback.",
                        name,
                        exc_info=True,
                        extra={"action": "store_thread_ended"},
                    )
                else:
                    opened.set_exception(error)
            finally:
                self._ended.set_result(None)

        # Use a daemon thread, so that a program that forgets to close can still exit. Acknowledged changes are on the
        # disk by then.
        self._thread = threading.Thread(target=run, name=name, daemon=True)
        self._thread.start()
        try:
            opened.result()
        except BaseException:
            self._thread.join()
            raise

    @property
    def name(self) -> str:
        return self._thread.name

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    async def join(self) -> None:
        await asyncio.wrap_future(self._ended)
        self._thread.join()
