"""The asks of a door's callers: the same call attaches again, and a lost caller settles nothing.

A key names the caller (the principal), the kind of the call, what is asked, and the call itself. So nobody can reach
the ask of another principal, and a call with other content never gets an earlier answer.
"""

from __future__ import annotations

__all__ = ["CallerAsks"]

import asyncio
import logging
import secrets
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from datetime import timedelta
from typing import Any, Final, TypeVar

from cachetools import FIFOCache

from askback.client.external_writes import write
from askback.client.presence import Loss, Presence
from askback.client.session import AskSession
from askback.domain.ask import Ask
from askback.domain.caller_absence import format_absence
from askback.domain.open_ask_limits import AGENT_PACE
from askback.domain.wait_report import WaitReport
from askback.doors.caller_ask_reader import CallerAskReader
from askback.doors.caller_limits import StorageLimits
from askback.doors.database_upgrade import upgrade_database
from askback.doors.new_ask import KeyReused, NewAsk, StoppedWaiting, hash_text
from askback.doors.receipt_records import ReceiptRecords
from askback.doors.shared_session import SharedSession
from askback.doors.stored_question import store_question
from askback.errors import AskbackError
from askback.internal.clock import monotonic, utc_now
from askback.manager import build_ask
from askback.runtime.shutdown import end_tasks
from askback.settings.core import Settings
from askback.store.external_access import DatabaseLocation, OutdatedDatabase
from askback.store.queries import asks, waits
from askback.store.queries.new_asks import KeyTaken
from askback.translations.catalogue import use_language

log = logging.getLogger("askback.door")

Found = TypeVar("Found")

APPROVAL_KEPT: Final = timedelta(hours=1)
"""The time after an approval during which a call that is the same gets it, if no call has."""
MOST_APPROVALS: Final = 1000
"""Maximum number of approvals to keep for calls that are the same."""


class CallerAsks:
    """Asks for callers, and waits for them. Owns the sessions that serve the asks."""

    def __init__(
        self,
        settings: Settings,
        where: DatabaseLocation,
        door: str,
        *,
        keeps_receipts: bool = True,
        storage: StorageLimits | None = None,
    ) -> None:
        """`door` begins the key of each ask, so that no door reaches the asks of another.

        `keeps_receipts` is False for a door that has its own hand-overs. `storage` limits what principals store.
        """
        self._storage = storage
        self._receipts = ReceiptRecords(where) if keeps_receipts else None
        # The callers are agents, so the pace of agents applies.
        pace = AGENT_PACE if settings.question_pace is None else settings.question_pace
        self._settings = settings.model_copy(update={"question_pace": pace})
        self._where = where
        self.reader: Final = CallerAskReader(where, door, self._receipts)
        self._sessions: dict[str, SharedSession] = {}
        self._followed: dict[str, asyncio.Task[None]] = {}
        self._settled: dict[str, asyncio.Future[Ask]] = {}
        self._waiting: dict[str, int] = {}
        """The number of callers that wait for each ask."""
        self._approvals: FIFOCache[str, tuple[str, ...]] = FIFOCache(MOST_APPROVALS)
        """The approvals that this process asked for and no call has received, by the beginnings of their keys."""
        self._asking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """A lock for each platform, since the question on one may have to wait until that is connected."""
        self._presence = Presence(self._record_waits)
        self._platform = ""
        """The platform whose session reports the waits: that of the newest."""
        self._listeners: list[Callable[[], None]] = []
        self._upgrading: asyncio.Task[None] | None = None
        self._is_closed = False

    @property
    def location(self) -> DatabaseLocation:
        return self._where

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever an ask is settled that this process serves. It must neither block nor raise."""
        self._listeners.append(listener)

    def _notify(self) -> None:
        for listener in self._listeners:
            listener()

    async def resume(self, principals: Sequence[str], platforms: Collection[str]) -> None:
        """Serve the open asks of these principals, which an earlier process of this door asked.

        A database of an earlier release is upgraded first, on one of these platforms and in the background. An error is
        logged only, since each later call reports its reason.
        """
        try:
            for principal in principals:
                found = await self.reader.list_open(principal)
                for ask in found:
                    log.info("Resumed an open question.", extra={"action": "resumed", "ask_id": ask.id})
                    self._follow(ask)
                if found and self._receipts is not None:
                    await self._receipts.track(*found)
        except OutdatedDatabase:
            again = upgrade_database(self.serve, platforms, lambda: self.resume(principals, platforms))
            self._upgrading = asyncio.create_task(again, name="askback upgrade")
            return
        except AskbackError as error:
            log.warning("Could not look for open questions: %s", error, extra={"action": "resume"})
        if self._receipts is not None:
            self._receipts.start(self.serve)

    async def ask(self, principal: str, new: NewAsk) -> Ask:
        """Store the ask, or return the one of an earlier call that was the same. The result may be settled.

        A key finds only its own question. Otherwise, a call is also the same if it asks the same while the first is
        open, or while no call has received the outcome. An approval is given to one call only, so a waiting one is
        never shared. Raises `KeyReused` and `TooManyRequests`.
        """
        prefix = self.reader.get_prefix(principal)
        beginning = f"{prefix}{new.kind}:{new.compute_digest()}:"
        key = beginning + (secrets.token_hex(16) if new.call is None else hash_text(new.call))
        platform = new.place.platform
        async with self._asking[platform], self._get_session(platform).use() as session:
            ask = await self._find_same(session, new, beginning, key)
            if ask is None:
                # Other processes may store asks meanwhile, so only the transaction can tell if the key is free.
                only_key = (prefix, key.removeprefix(beginning[:-1])) if new.is_key else None
                with nullcontext() if self._storage is None else self._storage.count(principal, new.count_bytes()):
                    ask = await self._store(session, new, key, only_key)
            elif (webhook := new.webhook) is not None:
                found = ask.id
                await write(self._where, lambda store: store.add_webhook(found, webhook), wakes=False)
            self._follow(ask)
            if new.kind == "permit" and ask.outcome is None:
                self._approvals[beginning] = tuple(dict.fromkeys((*self._approvals.get(beginning, ()), ask.id)))
                await self._withdraw_lost(session, beginning, ask)
        if new.webhook is not None and ask.is_complete:
            self._notify()
        return ask

    async def _store(self, session: AskSession, new: NewAsk, key: str, only_key: tuple[str, str] | None) -> Ask:
        try:
            storing = session.submit(
                lambda: build_ask(new.form, to=new.place, policy=new.build_policy(), key=key).evolve(
                    webhook=new.webhook, only_key=only_key, keeps_receipt=self._receipts is not None
                )
            )
            return await store_question(storing, lambda one: None if self._is_closed else self._follow(one))
        except KeyTaken:
            raise KeyReused(new.call) from None

    async def _find_same(self, session: AskSession, new: NewAsk, beginning: str, key: str) -> Ask | None:
        same = await session.read(lambda connection: asks.get_by_key(connection, key))
        if same is not None:
            return same
        if new.is_key:
            return None
        if new.kind == "permit":
            return await self._find_approval(session, beginning)
        if (receipts := self._receipts) is not None:
            run = beginning.removesuffix(":")
            left = await session.read(lambda connection: receipts.find_unreceived(connection, run))
            if left is not None:
                return await session.get(left)
        found = await session.read(lambda connection: asks.list_open_with_key(connection, beginning))
        if found and receipts is not None:
            await receipts.track(found[-1])
        return found[-1] if found else None

    async def _find_approval(self, session: AskSession, beginning: str) -> Ask | None:
        """Return an approval that this process asked for, and for which no call waits."""
        for left in self._approvals.get(beginning, ()):
            if left in self._waiting:
                continue
            ask = await session.get(left)
            if ask is not None and (ask.outcome is None or utc_now() - ask.outcome.at < APPROVAL_KEPT):
                return ask
            self._forget_approval(beginning, left)
        return None

    async def _withdraw_lost(self, session: AskSession, beginning: str, ask: Ask) -> None:
        """End the other asks for the same approval whose outcomes no call can receive: their processes have ended."""
        found = await session.read(lambda connection: asks.list_open_with_key(connection, beginning))
        others = [one.id for one in found if one.id != ask.id]
        if not others:
            return
        with use_language(ask.policy.language):
            reason = format_absence("gone")
        for lost in await session.read(lambda connection: waits.list_lost(connection, others)):
            await session.cancel(lost, reason)

    async def wait(
        self,
        ask: Ask,
        seconds: float,
        every: float,
        report: Callable[[], Awaitable[None]],
        loss: Loss | None = None,
        *,
        closed: asyncio.Future[None] | None = None,
        shows_presence: bool = True,
    ) -> Ask:
        """Return the ask once it is settled, or as it is after this time, or once the caller is gone (`closed`).

        A cancelled wait settles nothing. `report` is called again after each interval of `every` seconds. With a
        `loss`, no later call can receive the outcome. `shows_presence` is False if a later process takes the outcome,
        so that the card never says that no caller waits.
        """
        if ask.is_complete:
            return ask
        self._follow(ask)
        # A caller that does not wait comes back in its own time.
        with self._show_presence(ask, loss) if shows_presence and seconds > 0 else nullcontext():
            newest = await self._wait(ask, seconds, every, report, closed)
        if newest.outcome is not None:
            self._presence.forget(ask.id)
        return newest

    def note_poll(self, ask: Ask) -> None:
        """Count the caller as waiting, since its protocol lets it ask again every few seconds."""
        if ask.outcome is None:
            self._platform = ask.place.platform
            self._presence.start()
            self._presence.poll(ask.id)

    @contextmanager
    def _show_presence(self, ask: Ask, loss: Loss | None) -> Generator[None]:
        self._platform = ask.place.platform
        self._presence.start()
        with self._presence.wait(ask.id, loss):
            yield

    async def _record_waits(self, report: WaitReport) -> None:
        # One session reports all of them: they are in one database. That of another platform may wait for its platform.
        serving = (platform for platform, session in self._sessions.items() if session.is_serving)
        async with self._get_session(next(serving, self._platform)).use() as session:
            await session.record_waits(report)

    async def _wait(
        self,
        ask: Ask,
        seconds: float,
        every: float,
        report: Callable[[], Awaitable[None]],
        closed: asyncio.Future[None] | None,
    ) -> Ask:
        settled = self._settled[ask.id]
        ends: set[asyncio.Future[Any]] = {settled} if closed is None else {settled, closed}
        until = monotonic() + seconds
        self._waiting[ask.id] = self._waiting.get(ask.id, 0) + 1
        try:
            while True:
                left = until - monotonic()
                await asyncio.wait(ends, timeout=max(min(left, every), 0.0), return_when=asyncio.FIRST_COMPLETED)
                if closed is not None and closed.done():
                    return ask  # the outcome is for the next call that is the same
                if settled.done():
                    return settled.result()
                if left <= every:
                    return ask
                await report()
        finally:
            self._waiting[ask.id] -= 1
            if not self._waiting[ask.id]:
                del self._waiting[ask.id]

    async def claim(self, ask: Ask, call: str | None) -> bool:
        """Record that a call acts on an approval, before it gets it. Return False if another call does.

        If this process ends before the response is written, nobody knows if that call has received it.
        """
        self._forget_approval(_get_beginning(ask), ask.id)
        return self._receipts is None or await self._receipts.claim(ask, None if call is None else hash_text(call))

    def note_received(self, ask: Ask) -> None:
        """Record that a caller has received the outcome, so that the same question is asked again from now on."""
        self._forget_approval(_get_beginning(ask), ask.id)
        if self._receipts is not None:
            self._receipts.note_received(ask)

    def _forget_approval(self, beginning: str, ask_id: str) -> None:
        left = tuple(one for one in self._approvals.pop(beginning, ()) if one != ask_id)
        if left:
            self._approvals[beginning] = left

    async def cancel(self, ask: Ask, reason: str) -> Ask:
        """End an ask without an answer, if it is open. Return its newest state."""
        async with self._get_session(ask.place.platform).use() as session:
            await session.cancel(ask.id, reason)
            return await session.get(ask.id) or ask

    async def serve(self, platform: str) -> None:
        """Serve for some seconds: the database exists then, and pending messages are delivered even without a bot."""
        async with self._get_session(platform).use() as session:
            await session.read(lambda _: None)

    @asynccontextmanager
    async def receive_answers(self, platform: str) -> AsyncGenerator[None]:
        """Receive people's answers on a platform inside this block, if no bot does."""
        async with self._get_session(platform).use():
            yield

    async def close(self) -> None:
        """Stop serving. Open asks stay open."""
        self._is_closed = True
        if self._upgrading is not None:
            await end_tasks([self._upgrading])
        await self._presence.close()
        if self._receipts is not None:
            await self._receipts.close()
        for task in self._followed.values():
            task.cancel()
        if self._followed:
            await asyncio.wait(self._followed.values())
        await asyncio.gather(*(session.close() for session in self._sessions.values()))
        await self.reader.close()

    def _get_session(self, platform: str) -> SharedSession:
        if platform not in self._sessions:
            self._sessions[platform] = SharedSession(
                lambda: AskSession(self._settings, self._where, platform, _log_note)
            )
        return self._sessions[platform]

    def _follow(self, ask: Ask) -> None:
        """Serve an open ask until it is settled and its card shows that, even if its caller is lost."""
        if ask.id in self._followed or ask.is_complete:
            return
        self._settled[ask.id] = asyncio.get_running_loop().create_future()
        self._followed[ask.id] = asyncio.create_task(self._serve(ask), name="askback door")

    async def _serve(self, ask: Ask) -> None:
        settled = self._settled[ask.id]
        try:
            async with self._get_session(ask.place.platform).use() as session:
                newest = await session.wait(ask.id)
                settled.set_result(newest)
                self._presence.forget(ask.id)
                self._notify()
                await session.wait_until_drawn(newest)
        except AskbackError as error:
            log.error("Could not wait for a question: %s", error, extra={"action": "not_served", "ask_id": ask.id})
            if not settled.done():
                settled.set_exception(error)
        finally:
            del self._followed[ask.id], self._settled[ask.id]
            if not settled.done():
                settled.set_exception(StoppedWaiting())
            if not settled.cancelled():
                settled.exception()  # a caller may not be waiting for it


def _get_beginning(ask: Ask) -> str:
    return (ask.key or "").rpartition(":")[0] + ":"


def _log_note(sentence: str) -> None:
    log.info("%s", sentence, extra={"action": "change_over"})
