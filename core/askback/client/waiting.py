"""Asking from a process of one's own: beside a bot that runs on the same database, or by itself where none does."""

from __future__ import annotations

__all__ = ["Progress", "UnknownKey", "ask_people"]

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from askback.client.request import AskRequest, Prepared, address, prepare
from askback.client.result import AskOutcome, outcome_of
from askback.client.same import check_names, check_question, other_wait, waits_otherwise
from askback.client.terms import PYTHON, Terms
from askback.domain.ask import Ask
from askback.errors import AskbackError, CallerError, OperatorError
from askback.manager import QuestionManager
from askback.ports.bot import Bot, bot_named, bot_names, bots
from askback.runtime.app import running
from askback.runtime.wakeup import nudge
from askback.settings.core import Settings
from askback.settings.reading import load
from askback.settings.unread import unread_database, unread_file
from askback.store import asks
from askback.store.external_access import NoDatabase, NotReady, Older, Where, look, served_beside, worker_of, writing
from askback.store.notifications import LISTENING_BESIDE, Signal
from askback.store.postgres.address import PostgresAddress
from askback.store.sqlite.lockfile import ASKING, InUse
from askback.store.store import Store
from askback.store.url import database_of

log = logging.getLogger("askback.ask")

LOOK_SECONDS = 0.5
"""How often it is looked whether people have answered, where nothing tells of it, or voted."""
WATCH_SECONDS = 2.0
"""How often it is looked whether a bot runs, or has ended."""
GRACE_SECONDS = 5.0
"""How long no bot has to be there before its place is taken: one that is started anew finds it free."""
READY_SECONDS = 10.0
"""How long a database may take to be made by whoever works on it."""
DRAW_SECONDS = 30.0
"""How long the card of a question that is over may take to show it."""


class UnknownKey(CallerError):
    """Nothing was ever asked by that key."""


class Progress:
    """What whoever waits is told meanwhile: nothing, unless they want to know."""

    terms: Terms = PYTHON
    """How they write what a question is asked with."""

    def begun(self, ask: Ask, prepared: Prepared | None, *, again: bool) -> None:
        """It is stored. `prepared`: with what was looked up for it; `again`: it was asked before, by that key."""

    def changed(self, ask: Ask) -> None:
        """It may be posted now, or somebody may have voted."""

    def note(self, sentence: str) -> None:
        """Something else that whoever waits may want to know."""


async def ask_people(request: AskRequest | None, key: str | None, progress: Progress) -> AskOutcome:
    """Ask, or come back to what was asked by this key, and wait for the outcome. Cancelling it leaves it open.

    Raises `UnknownKey` or another `CallerError` where the request is wrong, and `OperatorError`.
    """
    form = approval = None
    if request is not None:
        form, approval = request.form(), request.approval()  # what is wrong is told before anything is opened
    settings = load(Settings)
    if not progress.terms.is_shell:  # the command has said so itself
        for unread in filter(None, (unread_file(), unread_database(settings))):
            log.warning("%s", unread, extra={"action": "unread_file"})
    where = database_of(settings.database_url)
    known = None if key is None else await asyncio.to_thread(_by_key, where, key, alone=request is None)
    if known is not None:
        if request is not None and form is not None:
            check_question(known, form, approval, request.terms)
            await _check_names(known, request, progress)
        if (outcome := outcome_of(known)) is not None:
            return outcome
        if request is not None and waits_otherwise(known, request.wait):
            progress.note(other_wait(progress.terms))
        return await _Waiting(settings, where, known, progress).run()
    if request is None:
        raise UnknownKey(
            f"Nothing was asked by the key {key!r} in this database: write the question, and "
            f"{progress.terms.name('to')}."
        )
    prepared = await _prepared(request, key or secrets.token_hex(8))
    return await _Waiting(settings, where, prepared, progress).run()


async def _check_names(known: Ask, request: AskRequest, progress: Progress) -> None:
    """Raises `CallerError` where the names stand for others than when it was asked, and what `_prepared` raises."""
    try:
        prepared = await _prepared(request, known.key or "", again=True)
    except AskbackError:
        progress.note("This was asked before. Its key alone leads back to it, and looks no names up.")
        raise
    check_names(known, prepared, request.terms)


async def _prepared(request: AskRequest, key: str, *, again: bool = False) -> Prepared:
    platform, place = address(request.to, bot_names(), request.terms)
    bot = _only_bot(request.terms) if platform is None else bot_named(platform)
    async with bot.directory() as directory:
        return await prepare(request, place, directory, key, again=again)


def _only_bot(terms: Terms) -> Bot:
    configured = [bot for bot in bots().values() if bot.is_configured()]
    if len(configured) != 1:
        names = " or ".join(terms.given("to", f"{name}:#channel") for name in sorted(bot_names()))
        raise CallerError(f"Say on which platform: {names}.")
    return configured[0]


def _by_key(where: Where, key: str, *, alone: bool) -> Ask | None:
    """The ask by this key. `alone`: there is no question to ask otherwise.

    Raises `Older` then, since it may be there; a question is looked for once more when the database is up to date.
    """
    try:
        return look(where, lambda connection: asks.by_key(connection, key))
    except Older as older:
        if alone:
            raise Older(f"{older} Or write the question as well, which does the same where no bot runs.") from None
        return None
    except (NoDatabase, NotReady):
        return None


class _Waiting:
    """Waits for one question, by itself or beside others, whichever is possible at the time."""

    def __init__(self, settings: Settings, where: Where, subject: Prepared | Ask, progress: Progress) -> None:
        # What this process does besides is for the bot to do.
        self._settings = settings.model_copy(update={"health": None, "retention": None})
        self._where = where
        self._subject = subject
        """What is to be asked; once it is stored, the ask."""
        self._progress = progress
        self._has_begun = False
        self._told = asyncio.Event()
        """Somebody may have answered."""

    async def run(self) -> AskOutcome:
        beside = await asyncio.to_thread(self._is_served)
        while True:
            outcome = await (self._beside() if beside else self._alone())
            if outcome is not None:
                return outcome
            beside = not beside

    @property
    def _platform(self) -> str:
        subject = self._subject
        return (subject.found.place if isinstance(subject, Prepared) else subject.place).platform

    def _is_served(self, *, surely: bool = False) -> bool:
        """Whether a bot of its platform works on this database, or another process that waits for answers where there
        can be one. `surely`: one that begins does not count before it says which platforms it serves.

        Raises `OperatorError` where the only process that there can be serves other platforms.
        """
        if not isinstance(self._where, PostgresAddress):
            return worker_of(self._where) is not None and self._serves_it(self._where)
        from askback.store.postgres.external_access import processes

        try:
            there = look(self._where, processes)
        except OperatorError:
            return False  # nothing is there yet; or whoever opens it says what is wrong
        return there.serve(self._platform) if surely else there.may_serve(self._platform)

    def _serves_it(self, path: Path) -> bool:
        served = served_beside(path)
        if served is None or self._platform in served:
            return True
        if not served:
            raise OperatorError(
                f"The process that works on this database runs no bot: let it run the one of {self._platform} (the "
                "first argument of `running`), or take PostgreSQL, where others can."
            )
        raise OperatorError(
            f"The process that works on this database serves {' and '.join(sorted(served))}, and not {self._platform}: "
            "run the bots of both in one process (`askback run`), or on PostgreSQL."
        )

    async def _put(self, manager: QuestionManager) -> Ask:
        """Ask, unless it was asked before."""
        subject = self._subject
        if isinstance(subject, Prepared):
            wanted = subject.ask(manager)
            stored = await manager.put(wanted)
            again, prepared = stored.id != wanted.id, subject
            if again:
                check_question(stored, wanted.interview.form, wanted.policy.approval, self._progress.terms)
                check_names(stored, subject, self._progress.terms)
                if waits_otherwise(stored, subject.wait) and stored.outcome is None:
                    self._progress.note(other_wait(self._progress.terms))
        else:
            again, prepared, stored = True, None, subject
        self._subject = stored
        if not self._has_begun:
            self._has_begun = True
            self._progress.begun(stored, prepared, again=again)
        return stored

    # By itself

    async def _alone(self) -> AskOutcome | None:
        """None: a bot has come, which does it from now on."""
        bot = bot_named(self._platform)
        bot.check()
        serving = [bot]
        if not isinstance(self._where, PostgresAddress):
            # No other process can: what is open elsewhere is served as well, also the question of another such one.
            serving += [other for other in bots().values() if other.name != bot.name and _is_whole(other)]
        try:
            async with running(serving, self._settings, agent=False, holder=ASKING) as host:
                host.manager.on_settled(lambda _: self._told.set())
                ask = await self._put(host.manager)
                newest = await self._watch(ask.id, host.manager.get, self._has_company)
                if newest is None:
                    self._progress.note("A bot runs here now: it goes on with this.")
                    return None
                await self._drawn(newest, host.manager.get)
                return outcome_of(newest)
        except InUse:
            return None  # somebody was faster

    async def _has_company(self) -> bool:
        """On PostgreSQL, a bot may come while this process serves: two would share what people write to it."""
        return isinstance(self._where, PostgresAddress) and await asyncio.to_thread(self._is_served, surely=True)

    async def _drawn(self, ask: Ask, get: Callable[[str], Awaitable[Ask | None]]) -> None:
        """Wait until people see that it is over."""
        until = time.monotonic() + DRAW_SECONDS
        newest: Ask | None = ask
        while newest is not None and not newest.is_drawn and newest.messages:
            if time.monotonic() > until:
                self._progress.note("Its card does not show that yet: a bot that runs here later sees to it.")
                return
            await asyncio.sleep(LOOK_SECONDS / 5)
            newest = await get(ask.id)

    # Beside others

    async def _beside(self) -> AskOutcome | None:
        """None: nobody works on it any more."""
        await self._ready()
        async with writing(self._where) as database:
            ask = await self._put(QuestionManager(Store(database), self._settings.limits))
        if not isinstance(self._where, PostgresAddress):
            nudge(self._where)
        alone_since: float | None = None

        async def deserted() -> bool:
            nonlocal alone_since
            if await asyncio.to_thread(self._is_served):
                alone_since = None
                return False
            if alone_since is None:
                alone_since = time.monotonic()
                self._progress.note("The bot has ended. If none is started, this goes on without it in a moment.")
            return time.monotonic() - alone_since >= GRACE_SECONDS

        async def get(ask_id: str) -> Ask | None:
            return await asyncio.to_thread(look, self._where, lambda connection: asks.get(connection, ask_id))

        async with self._hearing(ask.id):
            newest = await self._watch(ask.id, get, deserted)
        return None if newest is None else outcome_of(newest)

    @asynccontextmanager
    async def _hearing(self, ask_id: str) -> AsyncGenerator[None]:
        """Hear of the answer, until the block ends, where the database tells of it."""
        if not isinstance(self._where, PostgresAddress):
            yield
            return
        from askback.runtime.postgres_backend import hearing

        def recheck(signal: Signal) -> None:
            if signal.kind == "look" or signal.id == ask_id:
                self._told.set()

        async with hearing(self._where, recheck, LISTENING_BESIDE):
            yield

    async def _ready(self) -> None:
        """Whoever works on the database may just have begun it."""
        until = time.monotonic() + READY_SECONDS
        while True:
            try:
                return await asyncio.to_thread(look, self._where, lambda _: None)
            except (NoDatabase, NotReady):
                if time.monotonic() > until:
                    raise
            await asyncio.sleep(LOOK_SECONDS)

    async def _watch(
        self, ask_id: str, get: Callable[[str], Awaitable[Ask | None]], given_up: Callable[[], Awaitable[bool]]
    ) -> Ask | None:
        """The ask once it is over. None: `given_up` said so."""
        looked = time.monotonic()
        while True:
            self._told.clear()
            ask = await get(ask_id)
            if ask is None:
                raise OperatorError(f"The question {ask_id} is not in the database any more.")
            self._subject = ask
            self._progress.changed(ask)
            if ask.outcome is not None:
                return ask
            if time.monotonic() - looked >= WATCH_SECONDS:
                looked = time.monotonic()
                if await given_up():
                    return None
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._told.wait()


def _is_whole(bot: Bot) -> bool:
    """Whether it has all its settings. What is open on its platform is served as well."""
    try:
        bot.check()
    except OperatorError:
        return False
    return bot.is_configured()
