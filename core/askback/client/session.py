"""Serves the asks of this process: next to a bot on the same database, or with its own bot.

One session serves any number of asks on one platform. It changes over when a bot starts or ends.
"""

from __future__ import annotations

__all__ = ["AskSession", "open_session"]

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from sqlalchemy import Connection

from askback.client.ask_access import AskAccess, OtherProcess, OwnBot
from askback.client.change_watch import ChangeWatch
from askback.client.serving_process import is_connecting, is_served
from askback.domain.ask import Ask
from askback.domain.wait_report import WaitReport
from askback.errors import OperatorError
from askback.ports.installed_bots import get_bot, load_whole_bots
from askback.runtime.app import open_host
from askback.runtime.shutdown import end_tasks
from askback.settings.core import Settings
from askback.store.external_access import (
    DatabaseLocation,
    DatabaseNotFound,
    DatabaseNotReady,
)
from askback.store.notifications import LISTENING_BESIDE, Signal
from askback.store.postgres.address import PostgresAddress
from askback.store.snapshot_reader import SnapshotReader
from askback.store.sqlite.lockfile import ASKING, DatabaseInUse
from askback.store.transaction_events import AskSettled, Event
from askback.translations.catalogue import use_language

T = TypeVar("T")

LOOK_SECONDS = 0.5
"""Seconds between two checks that the database is there."""
WATCH_SECONDS = 2.0
"""Seconds between two checks that a bot runs, or has ended."""
GRACE_SECONDS = 5.0
"""Seconds without a bot before this process runs one. Until then, a bot that restarts finds the database free."""
READY_SECONDS = 10.0
"""Seconds that another process may take to create the database."""
DRAW_SECONDS = 30.0
"""Seconds that the card of a settled question may take to show it."""


@asynccontextmanager
async def open_session(
    settings: Settings, where: DatabaseLocation, platform: str, note: Callable[[str], None]
) -> AsyncGenerator[AskSession]:
    """Serve asks on a platform until the block ends. `note` receives a sentence about each change-over.

    The methods of the session raise the `OperatorError` that prevents it from serving.
    """
    session = AskSession(settings, where, platform, note)
    session.start()
    try:
        yield session
        await session.finish()
    finally:
        await session.end()


class AskSession:
    """Stores asks, and waits for their outcomes."""

    def __init__(self, settings: Settings, where: DatabaseLocation, platform: str, note: Callable[[str], None]) -> None:
        # Health checks and retention are for the bot to handle.
        self._settings = settings.model_copy(update={"health": None, "retention": None})
        self._where = where
        self._platform = platform
        self._note = note
        self._access: AskAccess | None = None
        self._entered = asyncio.Event()
        """Set while `_access` may be used."""
        self._has_served = False
        self._uses = 0
        self._unused = asyncio.Event()
        self._unused.set()
        self._finishing = asyncio.Event()
        self._reader = SnapshotReader(where)
        self._changes = ChangeWatch(self._reader)
        self._serving: asyncio.Task[None] | None = None

    # Asks

    async def submit(self, build: Callable[[], Ask]) -> Ask:
        """Store the ask that `build` returns, or return the one that was asked with the same key.

        Its times count from the call of `build`, which may come late: first, this waits until the ask can be served.
        """

        def build_in_language() -> Ask:
            with use_language(self._settings.language):
                return build()

        return await self._use(lambda access: access.submit(build_in_language))

    async def get(self, ask_id: str) -> Ask | None:
        """Return one ask, open or settled; None if no ask has that id."""
        return await self._use(lambda access: access.get(ask_id))

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on a snapshot of the database, which exists and is up to date by then."""
        return await self._use(lambda _: self._reader.read(work))

    async def cancel(self, ask_id: str, reason: str | None = None) -> bool:
        """End an ask without an answer. Return False if it has ended already or does not exist."""
        return await self._use(lambda access: access.cancel(ask_id, reason))

    async def record_waits(self, report: WaitReport) -> None:
        """Record the asks for which this process waits."""
        await self._use(lambda access: access.record_waits(report))

    async def wait(self, ask_id: str, on_change: Callable[[Ask], None] | None = None) -> Ask:
        """Return the ask once it is settled. `on_change` receives every state that someone may have changed."""
        with self._changes.register(ask_id) as waiting:
            while True:
                waiting.begin_read()
                ask = await self.get(ask_id)
                if ask is None:
                    raise OperatorError(f"The question {ask_id} was deleted from the database: ask it again.")
                if on_change is not None:
                    on_change(ask)
                if ask.is_complete:
                    return ask
                await waiting.wait(ask)

    async def wait_until_drawn(self, ask: Ask) -> None:
        """Wait until the card shows the outcome, up to `DRAW_SECONDS`, if a bot of this process draws it."""
        until = time.monotonic() + DRAW_SECONDS
        newest: Ask | None = ask
        while isinstance(self._access, OwnBot) and newest is not None and not newest.is_drawn and newest.messages:
            if time.monotonic() > until:
                self._note("The card does not show the outcome yet. The next bot on this database updates it.")
                return
            await asyncio.sleep(LOOK_SECONDS / 5)
            newest = await self.get(ask.id)

    # Serving

    @property
    def is_serving(self) -> bool:
        """True if its asks are served now."""
        return self._access is not None

    @property
    def is_over(self) -> bool:
        """True if it has stopped serving, with or without an error."""
        return self._serving is not None and self._serving.done()

    def start(self) -> None:
        """Begin to serve."""
        self._serving = asyncio.create_task(self._serve(), name="askback session")
        # Those that wait then receive its error.
        self._serving.add_done_callback(lambda _: self._changes.wake())
        self._changes.start()

    async def finish(self) -> None:
        """Show what was settled last, and stop serving. Raises the error that ended it."""
        self._finishing.set()
        # If it never served, there is nothing to show, and its platform may never answer.
        if self._serving is not None and (self._has_served or self._serving.done()):
            await self._serving

    async def end(self) -> None:
        """Stop serving at once."""
        await self._changes.close()
        if self._serving is not None:
            await end_tasks([self._serving])
            if not self._serving.cancelled():
                self._serving.exception()  # the users of the session have received it
        await self._reader.close()

    async def _use(self, work: Callable[[AskAccess], Awaitable[T]]) -> T:
        """Run `work` as soon as the asks are served. A change-over waits for it."""
        while (access := self._access) is None:
            await self._guard(self._entered.wait())
        self._uses += 1
        self._unused.clear()
        try:
            return await self._guard(work(access))
        finally:
            self._uses -= 1
            if not self._uses:
                self._unused.set()

    async def _guard(self, work: Awaitable[T]) -> T:
        """Wait for `work`. Raises the error that ends the serving meanwhile."""
        assert self._serving is not None
        doing = asyncio.ensure_future(work)
        try:
            await asyncio.wait({doing, self._serving}, return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                self._serving.result()
                raise OperatorError("askback stopped serving questions in this process. Ask again.")
            return doing.result()
        finally:
            if not doing.done():
                await end_tasks([doing])

    async def _serve(self) -> None:
        beside = await asyncio.to_thread(is_served, self._where, self._platform)
        while not self._finishing.is_set():
            await (self._work_beside() if beside else self._run_bot())
            beside = not beside

    @asynccontextmanager
    async def _offer(self, access: AskAccess) -> AsyncGenerator[None]:
        """Let the asks be used in this way until the block ends, and until each use has ended."""
        self._access = access
        self._has_served = True
        self._entered.set()
        try:
            yield
        finally:
            self._access = None
            self._entered.clear()
        await self._unused.wait()

    async def _stay_until(self, given_up: Callable[[], Awaitable[bool]]) -> bool:
        """Return True as soon as `given_up` returns True. Return False if the session finishes first."""
        while not self._finishing.is_set():
            try:
                async with asyncio.timeout(WATCH_SECONDS):
                    await self._finishing.wait()
            except TimeoutError:
                if await given_up():
                    return True
        return False

    # Without another process

    async def _run_bot(self) -> None:
        """Run the bot here until the session finishes, or another process takes over."""
        bot = get_bot(self._platform)
        bot.check()
        # While this process holds a file, no other can serve it. So serve the other platforms' questions, too.
        is_alone = not isinstance(self._where, PostgresAddress)
        others = [other for other in load_whole_bots() if other.name != bot.name] if is_alone else []
        try:
            async with open_host([bot], self._settings, agent=False, holder=ASKING, others=others) as host:
                host.store.subscribe(self._on_event)
                async with self._offer(OwnBot(host.manager, host.store)):
                    if await self._stay_until(self._has_company):
                        self._note("A bot has started on this database, and takes over the question.")
        except DatabaseInUse:
            return  # another process was faster

    def _on_event(self, event: Event) -> None:
        if isinstance(event, AskSettled):
            self._changes.wake(event.ask.id)

    async def _has_company(self) -> bool:
        """Return True if another bot has started (PostgreSQL only). Two bots would split people's messages."""
        if not isinstance(self._where, PostgresAddress):
            return False
        return await asyncio.to_thread(is_served, self._where, self._platform, surely=True)

    # With another process

    async def _work_beside(self) -> None:
        """Let another process serve the asks until the session finishes, or no process serves them any more."""
        await self._wait_until_ready()
        await self._wait_until_connected()
        alone_since: float | None = None

        async def is_unserved() -> bool:
            nonlocal alone_since
            if await asyncio.to_thread(is_served, self._where, self._platform):
                alone_since = None
                return False
            if alone_since is None:
                alone_since = time.monotonic()
                self._note("The bot has stopped. Unless one starts within seconds, this command replaces it.")
            return time.monotonic() - alone_since >= GRACE_SECONDS

        other = OtherProcess(self._settings, self._where, self._reader)
        async with self._listen_for_signals(), self._offer(other):
            await self._stay_until(is_unserved)

    @asynccontextmanager
    async def _listen_for_signals(self) -> AsyncGenerator[None]:
        """Receive signals about answers until the block ends, if the database sends any."""
        if not isinstance(self._where, PostgresAddress):
            yield
            return
        from askback.runtime.postgres_backend import listen

        def on_signal(signal: Signal) -> None:
            # Each new question is such a signal, too. Those that wait for others need not read.
            if signal.kind == "look":
                self._changes.look()
            else:
                self._changes.wake(signal.id)

        async with listen(self._where, on_signal, LISTENING_BESIDE):
            yield

    async def _wait_until_ready(self) -> None:
        """Wait until the database can be read: another process may just be creating it."""
        until = time.monotonic() + READY_SECONDS
        while True:
            try:
                return await self._reader.read(lambda _: None)
            except (DatabaseNotFound, DatabaseNotReady):
                if time.monotonic() > until:
                    raise
            await asyncio.sleep(LOOK_SECONDS)

    async def _wait_until_connected(self) -> None:
        """Wait while the process on the file is still connecting to the platform. Raises the error that it gets."""
        while not self._finishing.is_set():
            if not await asyncio.to_thread(is_connecting, self._where, self._platform):
                return
            await asyncio.sleep(LOOK_SECONDS)
