"""Hands the outcome of a call over to an agent framework, at most once, on behalf of one process."""

from __future__ import annotations

__all__ = ["HandOvers", "NotClaimed", "OutcomeUnknown"]

import asyncio
import logging
import os
import platform
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from askback.client.external_writes import write
from askback.domain.hand_over import CallId, ClaimResult, HandOver
from askback.errors import CallerError, OperatorError
from askback.store.errors import StoreError
from askback.store.external_access import DatabaseLocation, DatabaseNotFound, DatabaseNotReady
from askback.store.queries.hand_overs import CLAIM_SECONDS
from askback.store.store import Store

T = TypeVar("T")

log = logging.getLogger("askback.door")

RENEWALS = 3
"""Renewals of a claim within the time after which it is lost."""
CLAIMS = 3
"""Most attempts to claim, if it is unknown whether the commit of each earlier one succeeded."""
_REASONS: Final[Mapping[ClaimResult, str]] = {
    "taken": "Another process is handing it over now: wait for that one. If it has ended, call resume again after "
    f"{CLAIM_SECONDS:.0f} seconds.",
    "acknowledged": "It was handed over before, and the agent has continued from there: continue its newest state.",
    "unknown": "A process ended while it handed it over, so it is unknown what the agent did: check that first.",
    "changed": "The agent now waits for the outcome of another call than people were shown: ask again.",
    "missing": "Nobody was asked about this call: ask first.",
}


class NotClaimed(CallerError):
    """Raised if the outcome cannot be handed over now. `result` says why."""

    def __init__(self, result: ClaimResult) -> None:
        self.result = result
        super().__init__(f"The outcome was not handed over. {_REASONS[result]}")


class OutcomeUnknown(OperatorError):
    """Raised if a process ended or failed while it handed an outcome over. Nobody knows what the agent did with it."""

    def __init__(self, hand_over: HandOver, advice: str) -> None:
        self.hand_over = hand_over
        since = "" if hand_over.claimed_at is None else f" at {hand_over.claimed_at:%Y-%m-%d %H:%M} UTC"
        super().__init__(
            f"The answer to the question {hand_over.ask_id} was handed over to {hand_over.id.framework}{since} "
            f"({hand_over.id.run}), and the process was interrupted. So it is unknown what the agent has done with it: "
            f"check that first. {advice}"
        )


class HandOvers:
    """The hand-overs in one database."""

    def __init__(self, where: DatabaseLocation) -> None:
        self._where = where

    async def announce(self, call: CallId, digest: str) -> None:
        """Record that people are about to be asked about a call."""
        await self._write(lambda store: store.announce_hand_over(call, digest))

    async def record(self, call: CallId, ask_id: str, digest: str) -> None:
        """Record which ask is about a call."""
        await self._write(lambda store: store.record_hand_over(call, ask_id, digest))

    async def list_of_run(self, framework: str, run: str) -> tuple[HandOver, ...]:
        """Return all hand-overs of a run, after lost claims were marked as unknown."""
        return await self._list(lambda store: store.list_hand_overs(framework, run))

    async def list_in_doubt(self, framework: str, run: str) -> tuple[HandOver, ...]:
        """Return the hand-overs of a run that are claimed, by a live process or a dead one, or unknown."""
        return await self._list(lambda store: store.list_hand_overs_in_doubt(framework, run))

    async def list_answered_runs(self, framework: str) -> tuple[str, ...]:
        """Return the runs in which an outcome waits to be handed over, or a claim was lost."""
        return await self._list(lambda store: store.list_answered_runs(framework))

    async def list_waiting_runs(self, framework: str) -> tuple[str, ...]:
        """Return the runs in which an outcome has not been handed over, whether or not people have answered."""
        return await self._list(lambda store: store.list_waiting_runs(framework))

    async def release(self, calls: Iterable[CallId]) -> bool:
        """Let unknown outcomes be handed over once more. Return False if none is unknown."""
        listed = tuple(calls)
        return await self._write(lambda store: store.release_hand_overs(listed))

    async def acknowledge(self, holder: str) -> bool:
        """Record that the framework has taken the outcomes of a claim. Return False if the claim does not exist."""
        return await self._write(lambda store: store.acknowledge_hand_overs(holder))

    async def forget(self, hand_over: HandOver) -> bool:
        """Delete a hand-over for which no framework waits any more. Return False if it was claimed meanwhile."""
        return await self._write(lambda store: store.delete_hand_over(hand_over))

    async def receive(self, call: CallId) -> None:
        """Record that a caller has received an outcome."""
        await self._write(lambda store: store.receive_hand_over(call))

    async def expire(self, framework: str) -> tuple[HandOver, ...]:
        """Mark the lost claims of a framework as unknown, and return them. People get a notice about each."""
        return await self._list(lambda store: store.expire_hand_overs(framework))

    async def claim_once(self, call: CallId, digest: str, holder: str) -> ClaimResult:
        """Claim an outcome. Nobody renews the claim, so it must be acknowledged within seconds."""
        return await self._claim(dict.fromkeys([call], digest), holder)

    @asynccontextmanager
    async def claim(
        self, digests: Mapping[CallId, str], is_taken: Callable[[], bool] = lambda: True, *, exclusive: bool = False
    ) -> AsyncGenerator[str]:
        """Resume the framework inside this block. The values are the digests of the calls that it continues.

        The block gets the name of the claim, which no other claim has. `exclusive` is for a framework that cannot
        continue a run twice at once, with outcomes of different calls.

        Raises `NotClaimed` before the block. If the block raises or is cancelled, the outcome is unknown. If the
        framework has not taken it at the end of the block (`is_taken`), it can be claimed again.
        """
        holder = f"{platform.node()}:{os.getpid()}:{secrets.token_hex(4)}"
        result = await self._claim(digests, holder, exclusive=exclusive)
        if result != "claimed":
            raise NotClaimed(result)

        renewal = asyncio.create_task(self._keep_renewed(holder), name="askback claim")
        try:
            yield holder
        except BaseException:
            try:
                end = self._abandon if is_taken() else self._unclaim
                await asyncio.shield(self._end_claim(renewal, end, holder))
            except OperatorError as error:
                # Nobody renews the claim, so the outcome is unknown soon. The error of the block matters more.
                log.warning("Could not record that a claim failed: %s", error, extra={"action": "claim_not_ended"})
            raise
        end = self.acknowledge if is_taken() else self._unclaim
        await asyncio.shield(self._end_claim(renewal, end, holder))

    async def _end_claim(self, renewal: asyncio.Task[None], end: Callable[[str], Awaitable[bool]], holder: str) -> None:
        renewal.cancel()
        await asyncio.wait([renewal])
        await end(holder)

    async def _abandon(self, holder: str) -> bool:
        return await self._write(lambda store: store.abandon_hand_overs(holder))

    async def _unclaim(self, holder: str) -> bool:
        return await self._write(lambda store: store.unclaim_hand_overs(holder))

    async def _claim(self, digests: Mapping[CallId, str], holder: str, *, exclusive: bool = False) -> ClaimResult:
        def claim(store: Store) -> Awaitable[ClaimResult]:
            return store.claim_hand_overs(digests, holder, exclusive=exclusive)

        for _ in range(CLAIMS - 1):
            try:
                return await self._write(claim)
            except StoreError as error:
                if not error.in_doubt:
                    raise
        return await self._write(claim)

    async def _keep_renewed(self, holder: str) -> None:
        while True:
            await asyncio.sleep(CLAIM_SECONDS / RENEWALS)
            try:
                if not await self._write(lambda store: store.renew_hand_overs(holder)):
                    log.warning(
                        "This process was too slow to renew its claim, so another one may take the outcome as unknown.",
                        extra={"action": "claim_lost", "holder": holder},
                    )
                    return
            except OperatorError as error:
                log.warning("Could not renew a claim; trying again: %s", error, extra={"action": "claim_not_renewed"})

    async def _list(self, work: Callable[[Store], Awaitable[tuple[T, ...]]]) -> tuple[T, ...]:
        try:
            return await self._write(work)
        except (DatabaseNotFound, DatabaseNotReady):
            return ()  # the first question creates or upgrades the database

    async def _write(self, work: Callable[[Store], Awaitable[T]]) -> T:
        return await write(self._where, work)
