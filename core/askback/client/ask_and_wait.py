"""Ask from the caller's own process: next to a bot on the same database, or without one."""

from __future__ import annotations

__all__ = ["Progress", "UnknownKey", "ask_people"]

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from askback.client.key_check import check_names, check_question, format_other_wait, has_other_wait
from askback.client.parameter_names import PYTHON, Terms
from askback.client.request import AskRequest, Prepared, parse_address, prepare
from askback.client.result import AskOutcome, get_outcome
from askback.domain.ask import Ask
from askback.errors import AskbackError, CallerError, OperatorError
from askback.manager import QuestionManager
from askback.ports.bot import Bot
from askback.ports.installed_bots import get_bot, list_bot_names, load_bots
from askback.runtime.app import running
from askback.runtime.wakeup import wake_worker
from askback.settings.core import Settings
from askback.settings.environment import load_settings
from askback.settings.working_directory import describe_unread_database, describe_unread_file
from askback.store.external_access import (
    DatabaseLocation,
    DatabaseNotFound,
    DatabaseNotReady,
    OutdatedDatabase,
    find_worker_pid,
    list_worker_platforms,
    open_for_writing,
    read_snapshot,
)
from askback.store.notifications import LISTENING_BESIDE, Signal
from askback.store.postgres.address import PostgresAddress
from askback.store.queries import asks
from askback.store.sqlite.lockfile import ASKING, DatabaseInUse
from askback.store.store import Store
from askback.store.transaction_events import AskSettled, Event
from askback.store.url import parse_database_url

log = logging.getLogger("askback.ask")

LOOK_SECONDS = 0.5
"""Seconds between two checks for answers or votes, if the database sends no notifications."""
WATCH_SECONDS = 2.0
"""Seconds between two checks that a bot runs, or has ended."""
GRACE_SECONDS = 5.0
"""Seconds without a bot before this process runs one. Until then, a bot that restarts finds the database free."""
READY_SECONDS = 10.0
"""Seconds that another process may take to create the database."""
DRAW_SECONDS = 30.0
"""Seconds that the card of a settled question may take to show it."""


class UnknownKey(CallerError):
    """Raised when no question was asked with this key."""


class Progress:
    """Receives progress reports while the caller waits; the default ignores them."""

    terms: Terms = PYTHON
    """The caller's names for the parameters of a question."""

    def on_begin(self, ask: Ask, prepared: Prepared | None, *, again: bool) -> None:
        """Report that the ask is stored. `prepared` has the resolved names. `again` means that the key is not new."""

    def on_change(self, ask: Ask) -> None:
        """Report that the ask may be posted now, or that someone may have voted."""

    def note(self, sentence: str) -> None:
        """Report any other note."""


async def ask_people(request: AskRequest | None, key: str | None, progress: Progress) -> AskOutcome:
    """Ask a question, or resume the one that was asked with this key, and wait for its outcome.

    A cancellation leaves the question open. Raises `UnknownKey` or another `CallerError` if the request is wrong, and
    `OperatorError`.
    """
    form = approval = None
    if request is not None:
        # Raise errors in the request before anything is opened.
        form, approval = request.build_form(), request.build_approval()
    settings = load_settings()
    if not progress.terms.is_shell:  # the command reports this itself
        for unread in filter(None, (describe_unread_file(), describe_unread_database(settings))):
            log.warning("%s", unread, extra={"action": "unread_file"})
    where = parse_database_url(settings.database_url)
    if request is not None:
        request.check_secrets()
    known = None if key is None else await asyncio.to_thread(_find_by_key, where, key, alone=request is None)
    if known is not None:
        if request is not None and form is not None:
            check_question(known, form, approval, request.terms)
            await _check_names(known, request, progress)
        if (outcome := get_outcome(known)) is not None:
            return outcome
        if request is not None and has_other_wait(known, request.wait):
            progress.note(format_other_wait(progress.terms))
        return await _Waiting(settings, where, known, progress).run()
    if request is None:
        raise UnknownKey(
            f"This database has no question with the key {key!r}: check the key, or give the question and "
            f"{progress.terms.name('to')}."
        )
    prepared = await _prepare_request(request, key or secrets.token_hex(8))
    return await _Waiting(settings, where, prepared, progress).run()


async def _check_names(known: Ask, request: AskRequest, progress: Progress) -> None:
    """Raise `CallerError` if the names mean other people or places than when the question was first asked.

    Also raises the errors of `_prepare_request`.
    """
    try:
        prepared = await _prepare_request(request, known.key or "", again=True)
    except AskbackError:
        progress.note("This question was asked before. To wait for it without looking up the names, give only its key.")
        raise
    check_names(known, prepared, request.terms)


async def _prepare_request(request: AskRequest, key: str, *, again: bool = False) -> Prepared:
    platform, place = parse_address(request.to, list_bot_names(), request.terms)
    bot = _get_only_bot(request.terms) if platform is None else get_bot(platform)
    async with bot.open_directory() as directory:
        return await prepare(request, place, directory, key, again=again)


def _get_only_bot(terms: Terms) -> Bot:
    configured = [bot for bot in load_bots().values() if bot.is_configured()]
    if len(configured) != 1:
        names = " or ".join(terms.format_parameter("to", f"{name}:#channel") for name in list_bot_names())
        raise CallerError(f"Not exactly one platform has a token, so name the platform: {names}.")
    return configured[0]


def _find_by_key(where: DatabaseLocation, key: str, *, alone: bool) -> Ask | None:
    """Return the ask with this key, or None. `alone` means that the caller gave the key alone, without a question.

    If `alone`, this raises `OutdatedDatabase` for a database of an earlier release, since the ask may be in it.
    Otherwise the key is looked up again once the database is up to date.
    """
    try:
        return read_snapshot(where, lambda connection: asks.get_by_key(connection, key))
    except OutdatedDatabase as older:
        if alone:
            raise OutdatedDatabase(
                f"{older} Or give the question as well: askback then upgrades the database if no bot is running."
            ) from None
        return None
    except (DatabaseNotFound, DatabaseNotReady):
        return None


class _Waiting:
    """Waits for one question. Runs a bot in this process if no other process serves the question."""

    def __init__(
        self, settings: Settings, where: DatabaseLocation, subject: Prepared | Ask, progress: Progress
    ) -> None:
        # Health checks and retention are for the bot to handle.
        self._settings = settings.model_copy(update={"health": None, "retention": None})
        self._where = where
        self._subject = subject
        """The prepared question; the ask once it is stored."""
        self._progress = progress
        self._has_begun = False
        self._changed = asyncio.Event()
        """Set when someone may have answered."""

    async def run(self) -> AskOutcome:
        beside = await asyncio.to_thread(self._is_served)
        while True:
            outcome = await (self._wait_for_other_process() if beside else self._run_bot())
            if outcome is not None:
                return outcome
            beside = not beside

    @property
    def _platform(self) -> str:
        subject = self._subject
        return (subject.found.place if isinstance(subject, Prepared) else subject.place).platform

    def _is_served(self, *, surely: bool = False) -> bool:
        """Return True if another process can deliver the question and receive its answers.

        On PostgreSQL, that process must serve the question's platform. With `surely`, one that has not announced its
        platforms does not count. Raises `OperatorError` if the only process that may open the file serves other
        platforms.
        """
        if not isinstance(self._where, PostgresAddress):
            return find_worker_pid(self._where) is not None and self._is_platform_served(self._where)
        from askback.store.postgres.external_access import list_processes

        try:
            there = read_snapshot(self._where, list_processes)
        except OperatorError:
            return False  # nothing exists yet, or opening the database reports the error
        return there.serve(self._platform) if surely else there.may_serve(self._platform)

    def _is_platform_served(self, path: Path) -> bool:
        served = list_worker_platforms(path)
        if served is None or self._platform in served:
            return True
        if not served:
            raise OperatorError(
                f"Another process uses this SQLite database and runs no bot. Let that process run the {self._platform} "
                "bot (the first argument of `running`), or use PostgreSQL, where several processes can work."
            )
        raise OperatorError(
            f"The process that uses this SQLite database serves {' and '.join(sorted(served))}, not {self._platform}. "
            "Run both bots in one process (`askback run`), or use PostgreSQL."
        )

    async def _put(self, manager: QuestionManager) -> Ask:
        """Store the ask, or return the one that was asked with the same key."""
        subject = self._subject
        if isinstance(subject, Prepared):
            wanted = subject.build_ask()
            stored = await manager.submit(wanted)
            again, prepared = stored.id != wanted.id, subject
            if again:
                check_question(stored, wanted.interview.form, wanted.policy.approval, self._progress.terms)
                check_names(stored, subject, self._progress.terms)
                if has_other_wait(stored, subject.wait) and stored.outcome is None:
                    self._progress.note(format_other_wait(self._progress.terms))
        else:
            again, prepared, stored = True, None, subject
        self._subject = stored
        if not self._has_begun:
            self._has_begun = True
            self._progress.on_begin(stored, prepared, again=again)
        return stored

    # Without another process

    async def _run_bot(self) -> AskOutcome | None:
        """Run the bot here until the question is settled. Return None if another process takes over."""
        bot = get_bot(self._platform)
        bot.check()
        serving = [bot]
        if not isinstance(self._where, PostgresAddress):
            # While this process holds the file, no other can serve it. So serve the other platforms' questions, too.
            serving += [other for other in load_bots().values() if other.name != bot.name and _is_whole(other)]
        try:
            async with running(serving, self._settings, agent=False, holder=ASKING) as host:
                host.store.subscribe(self._on_event)
                ask = await self._put(host.manager)
                newest = await self._watch(ask.id, host.manager.get, self._has_company)
                if newest is None:
                    self._progress.note("A bot has started on this database, and takes over the question.")
                    return None
                await self._wait_until_drawn(newest, host.manager.get)
                return get_outcome(newest)
        except DatabaseInUse:
            return None  # another process was faster

    def _on_event(self, event: Event) -> None:
        if isinstance(event, AskSettled):
            self._changed.set()

    async def _has_company(self) -> bool:
        """Return True if another bot has started (PostgreSQL only). Two bots would split people's messages."""
        return isinstance(self._where, PostgresAddress) and await asyncio.to_thread(self._is_served, surely=True)

    async def _wait_until_drawn(self, ask: Ask, get: Callable[[str], Awaitable[Ask | None]]) -> None:
        """Wait until the card shows the outcome, up to `DRAW_SECONDS`."""
        until = time.monotonic() + DRAW_SECONDS
        newest: Ask | None = ask
        while newest is not None and not newest.is_drawn and newest.messages:
            if time.monotonic() > until:
                self._progress.note("The card does not show the outcome yet. The next bot on this database updates it.")
                return
            await asyncio.sleep(LOOK_SECONDS / 5)
            newest = await get(ask.id)

    # With another process

    async def _wait_for_other_process(self) -> AskOutcome | None:
        """Wait while another process serves the question. Return None if none does any more."""
        await self._wait_until_ready()
        async with open_for_writing(self._where) as database:
            ask = await self._put(QuestionManager(Store(database), self._settings.limits))
        if not isinstance(self._where, PostgresAddress):
            wake_worker(self._where)
        alone_since: float | None = None

        async def is_unserved() -> bool:
            nonlocal alone_since
            if await asyncio.to_thread(self._is_served):
                alone_since = None
                return False
            if alone_since is None:
                alone_since = time.monotonic()
                self._progress.note("The bot has stopped. Unless one starts within seconds, this command replaces it.")
            return time.monotonic() - alone_since >= GRACE_SECONDS

        async def get(ask_id: str) -> Ask | None:
            return await asyncio.to_thread(read_snapshot, self._where, lambda connection: asks.get(connection, ask_id))

        async with self._listen_for_signals(ask.id):
            newest = await self._watch(ask.id, get, is_unserved)
        return None if newest is None else get_outcome(newest)

    @asynccontextmanager
    async def _listen_for_signals(self, ask_id: str) -> AsyncGenerator[None]:
        """Receive signals about the answer until the block ends, if the database sends any."""
        if not isinstance(self._where, PostgresAddress):
            yield
            return
        from askback.runtime.postgres_backend import listen

        def on_signal(signal: Signal) -> None:
            if signal.kind == "look" or signal.id == ask_id:
                self._changed.set()

        async with listen(self._where, on_signal, LISTENING_BESIDE):
            yield

    async def _wait_until_ready(self) -> None:
        """Wait until the database can be read: another process may just be creating it."""
        until = time.monotonic() + READY_SECONDS
        while True:
            try:
                return await asyncio.to_thread(read_snapshot, self._where, lambda _: None)
            except (DatabaseNotFound, DatabaseNotReady):
                if time.monotonic() > until:
                    raise
            await asyncio.sleep(LOOK_SECONDS)

    async def _watch(
        self, ask_id: str, get: Callable[[str], Awaitable[Ask | None]], given_up: Callable[[], Awaitable[bool]]
    ) -> Ask | None:
        """Return the ask once it is settled. Return None if `given_up` returned True first."""
        looked = time.monotonic()
        while True:
            self._changed.clear()
            ask = await get(ask_id)
            if ask is None:
                raise OperatorError(f"The question {ask_id} was deleted from the database.")
            self._subject = ask
            self._progress.on_change(ask)
            if ask.outcome is not None:
                return ask
            if time.monotonic() - looked >= WATCH_SECONDS:
                looked = time.monotonic()
                if await given_up():
                    return None
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._changed.wait()


def _is_whole(bot: Bot) -> bool:
    """Return True if the bot has all its settings, so that questions on its platform can be served."""
    try:
        bot.check()
    except OperatorError:
        return False
    return bot.is_configured()
