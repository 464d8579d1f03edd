"""The asks of a door's callers: the same call attaches again, and a lost caller settles nothing.

A key names the caller (the principal), the kind of the call, what is asked, and the call itself. So nobody can reach
the ask of another principal, and a call with other content never gets an earlier answer.
"""

from __future__ import annotations

__all__ = ["CallerAsks", "NewAsk", "StoppedWaiting", "parse_kind"]

import asyncio
import hashlib
import json
import logging
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, get_args

from cachetools import FIFOCache
from pydantic import JsonValue

from askback.client.answer_contents import read_content
from askback.client.external_writes import write
from askback.client.presence import Loss, Presence
from askback.client.session import AskSession
from askback.domain.ask import Ask
from askback.domain.ask_policy import Policy
from askback.domain.attached_file import MessageFile
from askback.domain.form import Form
from askback.domain.identity import Place
from askback.domain.open_ask_limits import AGENT_PACE
from askback.domain.wait_report import WaitReport
from askback.domain.webhook import Webhook, WebhookDelivery
from askback.doors.results import CallKind
from askback.doors.shared_session import SharedSession
from askback.errors import AskbackError, OperatorError
from askback.internal.clock import monotonic, utc_now
from askback.manager import build_ask
from askback.settings.core import Settings
from askback.store.external_access import DatabaseLocation, DatabaseNotFound, DatabaseNotReady, read_snapshot
from askback.store.queries import asks, webhooks

log = logging.getLogger("askback.door")

_KINDS: Final[tuple[CallKind, ...]] = get_args(CallKind)
KEPT: Final = 1000
"""Maximum number of outcomes to keep for callers that were lost."""
KEPT_SECONDS: Final = 3600.0
"""Seconds after an outcome during which a call that is the same receives it, if no caller has."""
MOST_PENDING: Final = 100
"""Maximum number of open asks that a caller sees in a list."""


class StoppedWaiting(OperatorError):
    """Raised if this process ends while a caller waits."""

    def __init__(self) -> None:
        super().__init__("askback stopped waiting for this question, which stays open.")


@dataclass(frozen=True, slots=True)
class NewAsk:
    """A question that a caller wants to ask."""

    kind: CallKind
    form: Form
    place: Place
    build_policy: Callable[[], Policy]
    """Return the policy; its times count from the call."""
    who: JsonValue
    """The people who decide, as part of what identifies the question."""
    call: str | None = None
    """The caller's own id of the call, which is the same when the call is repeated."""
    webhook: Webhook | None = None
    """An address that gets the outcome. The same question with another address is still the same question."""

    def compute_digest(self) -> str:
        """Return a digest of what is asked, where, and of whom."""
        parts = [self.kind, self.form.model_dump(mode="json"), self.place.key, self.who]
        return _hash(json.dumps(parts, sort_keys=True))


class CallerAsks:
    """Asks for callers, and waits for them. Owns the sessions that serve the asks."""

    def __init__(self, settings: Settings, where: DatabaseLocation, door: str) -> None:
        """`door` begins the key of each ask, so that no door reaches the asks of another."""
        self._door = door
        # The callers are agents, so the pace of agents applies.
        pace = AGENT_PACE if settings.question_pace is None else settings.question_pace
        self._settings = settings.model_copy(update={"question_pace": pace})
        self._where = where
        self._sessions: dict[str, SharedSession] = {}
        self._followed: dict[str, asyncio.Task[None]] = {}
        self._settled: dict[str, asyncio.Future[Ask]] = {}
        self._waiting: dict[str, int] = {}
        """The number of callers that wait for each ask."""
        self._unclaimed: FIFOCache[str, str] = FIFOCache(KEPT)
        """The ids of asks whose outcome no caller has received yet, by the beginning of their keys."""
        self._receivers: FIFOCache[str, str] = FIFOCache(KEPT)
        """The first call that received the outcome of each ask."""
        self._asking = asyncio.Lock()
        self._presence = Presence(self._record_waits)
        self._platform = ""
        """The platform whose session reports the waits: that of the newest."""
        self._listeners: list[Callable[[], None]] = []

    @property
    def location(self) -> DatabaseLocation:
        return self._where

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever an ask is settled that this process serves. It must neither block nor raise."""
        self._listeners.append(listener)

    def _notify(self) -> None:
        for listener in self._listeners:
            listener()

    async def resume(self, principals: Sequence[str]) -> None:
        """Serve the open asks of these principals, which an earlier process of this door asked.

        An error is logged only, since each later call reports its reason.
        """
        try:
            for principal in principals:
                for ask in await self.list_pending(principal):
                    log.info("Resumed an open question.", extra={"action": "resumed", "ask_id": ask.id})
                    self._follow(ask)
                    if parse_kind(ask) != "permit":
                        self._unclaimed[_get_beginning(ask)] = ask.id
        except AskbackError as error:
            log.warning("Could not look for open questions: %s", error, extra={"action": "resume"})

    async def ask(self, principal: str, new: NewAsk) -> Ask:
        """Store the ask, or return the one of an earlier call that was the same. The result may be settled.

        Without an id of the call, a call is the same if it asks the same while the first is open, or while no call has
        received the outcome. An approval is given to one call only, so a waiting one is never shared.
        """
        beginning = f"{self._get_prefix(principal)}{new.kind}:{new.compute_digest()}:"
        key = beginning + (secrets.token_hex(16) if new.call is None else _hash(new.call))
        async with self._asking, self._get_session(new.place.platform).use() as session:
            ask = await self._find_same(session, new, beginning, key)
            if ask is None:
                ask = await session.submit(
                    lambda: build_ask(new.form, to=new.place, policy=new.build_policy(), key=key).evolve(
                        webhook=new.webhook
                    )
                )
            elif (webhook := new.webhook) is not None:
                found = ask.id
                await write(self._where, lambda store: store.add_webhook(found, webhook), wakes=False)
            self._follow(ask)
        self._unclaimed[beginning] = ask.id
        if new.webhook is not None and ask.is_complete:
            self._notify()
        return ask

    async def _find_same(self, session: AskSession, new: NewAsk, beginning: str, key: str) -> Ask | None:
        same = await session.read(lambda connection: asks.get_by_key(connection, key))
        if same is not None:
            return same
        left = self._unclaimed.get(beginning)
        if left is not None and not (new.kind == "permit" and left in self._waiting):
            ask = await session.get(left)
            if ask is not None and (
                ask.outcome is None or utc_now() - ask.outcome.at < timedelta(seconds=KEPT_SECONDS)
            ):
                return ask
        if new.kind == "permit":
            return None
        found = await session.read(lambda connection: asks.list_open_with_key(connection, beginning))
        return found[-1] if found else None

    async def wait(
        self,
        ask: Ask,
        seconds: float,
        every: float,
        report: Callable[[], Awaitable[None]],
        loss: Loss | None = None,
        *,
        shows_presence: bool = True,
    ) -> Ask:
        """Return the ask once it is settled, or as it is after this time. A cancelled wait settles nothing.

        `report` is called again after each interval of `every` seconds. With a `loss`, no later call can receive the
        outcome. `shows_presence` is False if a later process takes the outcome, so that the card never says that no
        caller waits.
        """
        if ask.is_complete:
            return ask
        self._follow(ask)
        # A caller that does not wait comes back in its own time.
        with self._show_presence(ask, loss) if shows_presence and seconds > 0 else nullcontext():
            newest = await self._wait(ask, seconds, every, report)
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
        # One session reports all of them: they are in one database.
        async with self._get_session(self._platform).use() as session:
            await session.record_waits(report)

    async def _wait(self, ask: Ask, seconds: float, every: float, report: Callable[[], Awaitable[None]]) -> Ask:
        settled = self._settled[ask.id]
        until = monotonic() + seconds
        self._waiting[ask.id] = self._waiting.get(ask.id, 0) + 1
        try:
            while True:
                left = until - monotonic()
                await asyncio.wait({settled}, timeout=max(min(left, every), 0.0))
                if settled.done():
                    return settled.result()
                if left <= every:
                    return ask
                await report()
        finally:
            self._waiting[ask.id] -= 1
            if not self._waiting[ask.id]:
                del self._waiting[ask.id]

    def claim(self, ask: Ask, call: str | None) -> bool:
        """Record that a call receives the outcome. Return False if another call has received it already."""
        beginning = _get_beginning(ask)
        if self._unclaimed.get(beginning) == ask.id:
            del self._unclaimed[beginning]
        call = secrets.token_hex(16) if call is None else call
        return self._receivers.setdefault(ask.id, call) == call

    async def find(self, principal: str, ask_id: str) -> Ask | None:
        """Return an ask of this principal; None if no ask of this principal has that id."""
        try:
            ask = await asyncio.to_thread(read_snapshot, self._where, lambda connection: asks.get(connection, ask_id))
        except (DatabaseNotFound, DatabaseNotReady):
            return None
        return ask if ask is not None and (ask.key or "").startswith(self._get_prefix(principal)) else None

    async def read_file(self, ask: Ask, file_id: str) -> tuple[MessageFile, bytes] | None:
        """Return a file of the answers to an ask with its contents. None if there is none, or if it was not read."""
        return await asyncio.to_thread(read_content, self._where, ask.id, file_id)

    async def list_webhooks(self, ask: Ask) -> tuple[WebhookDelivery, ...]:
        """Return the addresses that get the outcome of an ask."""
        return await asyncio.to_thread(
            read_snapshot, self._where, lambda connection: webhooks.list_of_ask(connection, ask.id)
        )

    async def cancel(self, ask: Ask, reason: str) -> Ask:
        """End an ask without an answer, if it is open. Return its newest state."""
        async with self._get_session(ask.place.platform).use() as session:
            await session.cancel(ask.id, reason)
            return await session.get(ask.id) or ask

    async def list_pending(self, principal: str) -> tuple[Ask, ...]:
        """Return the open asks of this principal, oldest first."""
        prefix = self._get_prefix(principal)
        try:
            found = await asyncio.to_thread(
                read_snapshot, self._where, lambda connection: asks.list_open_with_key(connection, prefix)
            )
        except (DatabaseNotFound, DatabaseNotReady):
            return ()
        return found[:MOST_PENDING]

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
        await self._presence.close()
        for task in self._followed.values():
            task.cancel()
        if self._followed:
            await asyncio.wait(self._followed.values())
        await asyncio.gather(*(session.close() for session in self._sessions.values()))

    def _get_prefix(self, principal: str) -> str:
        return f"{self._door}:{_hash(principal)}:"

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


def parse_kind(ask: Ask) -> CallKind | None:
    """Return the kind of the call that asked; None if no call of a door did."""
    parts = (ask.key or "").split(":")
    return next((kind for kind in _KINDS if len(parts) == 5 and parts[2] == kind), None)


def _get_beginning(ask: Ask) -> str:
    return (ask.key or "").rpartition(":")[0] + ":"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _log_note(sentence: str) -> None:
    log.info("%s", sentence, extra={"action": "change_over"})
