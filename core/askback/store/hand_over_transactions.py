"""Transactions that hand the outcome of a call over to an agent framework, at most once."""

from __future__ import annotations

__all__ = ["HandOverTransactions"]

import logging
from collections.abc import Callable, Iterable, Mapping

from sqlalchemy import Connection

from askback.domain.ask import Ask
from askback.domain.hand_over import (
    NOT_ASKED,
    CallId,
    ClaimResult,
    HandOver,
    build_known_notice,
    build_unknown_notice,
)
from askback.domain.outgoing_message import OutgoingMessage
from askback.store.notifications import Signal, send_signal
from askback.store.queries import asks, decisions, hand_overs, locks, outbox, receipts
from askback.store.transactions import Transactions

log = logging.getLogger("askback.store")


class HandOverTransactions(Transactions):
    """Transactions that hand the outcome of a call over to an agent framework, at most once."""

    async def announce_hand_over(self, call: CallId, digest: str) -> None:
        """Record that people are about to be asked about a call, so that a process that is killed leaves a trace."""

        def work(connection: Connection) -> None:
            _lock(connection, call.framework, call.run)
            if hand_overs.get(connection, call) is None:
                hand_overs.add(connection, call, NOT_ASKED, digest)

        await self._run(work)

    async def record_hand_over(self, call: CallId, ask_id: str, digest: str) -> None:
        """Record which ask is about a call, and the digest of what it shows. A claimed hand-over stays as it is."""

        def work(connection: Connection) -> None:
            _lock(connection, call.framework, call.run)
            before = hand_overs.get(connection, call)
            if before is None:
                hand_overs.add(connection, call, ask_id, digest)
            elif (before.ask_id, before.digest) != (ask_id, digest):
                hand_overs.replace(connection, call, ask_id, digest)

        await self._run(work)

    async def claim_hand_overs(
        self, digests: Mapping[CallId, str], holder: str, *, exclusive: bool = False
    ) -> ClaimResult:
        """Claim the hand-overs of these calls of one run: all of them, or none.

        The values are the digests of the calls that the framework would now continue. `holder` is a new name for each
        claim. The same claim may be repeated after an error. `exclusive` means that no other claim of the run may
        exist.
        """

        def work(connection: Connection) -> ClaimResult:
            _expire_all(connection, digests)
            found = {call: hand_overs.get(connection, call) for call in digests}
            for call, digest in digests.items():
                one = found[call]
                rejection: ClaimResult = "missing" if one is None else one.check_claim(digest, holder)
                if rejection != "claimed":
                    return rejection
            if exclusive and _is_held(connection, digests, holder):
                return "taken"
            for call, one in found.items():
                free = one is not None and one.state == "asked"
                if free and not hand_overs.claim(connection, call, digests[call], holder):
                    raise AssertionError("A hand-over changed although its run is locked.")
                if one is not None:
                    decisions.save_receipt(connection, one.ask_id)
            return "claimed"

        return await self._run(work)

    async def receive_hand_over(self, call: CallId) -> bool:
        """Record that a caller has received an outcome. Return False if that is known, or told as unknown already."""

        def work(connection: Connection) -> bool:
            found = hand_overs.get(connection, call)
            if found is None or not hand_overs.receive(connection, call):
                return False
            decisions.save_receipt(connection, found.ask_id)
            return True

        return await self._run(work)

    async def expire_hand_overs(self, framework: str) -> tuple[HandOver, ...]:
        """Mark the lost claims of a framework as unknown, and return them. People get a notice about each."""

        def work(connection: Connection) -> tuple[HandOver, ...]:
            lost = hand_overs.expire_of_framework(connection, framework)
            _report_lost(connection, lost)
            return lost

        return await self._run(work)

    async def renew_hand_overs(self, holder: str) -> bool:
        """Renew a claim while the framework works. Return False if it was lost."""
        return await self._run(lambda connection: hand_overs.renew(connection, holder))

    async def acknowledge_hand_overs(self, holder: str) -> bool:
        """Record that the framework has taken the outcomes of a claim, even if it seemed lost.

        People who were told that an outcome is unknown get a notice. Return False if the claim does not exist.
        """

        def work(connection: Connection) -> bool:
            is_acknowledged = hand_overs.acknowledge(connection, holder)
            # After it, none of this claim can become unknown any more.
            late = [one for one in hand_overs.list_of_holder(connection, holder) if one.state == "unknown"]
            found = [one for one in late if hand_overs.acknowledge_unknown(connection, one)]
            for one in found:
                _tell_people(connection, one, build_known_notice)
            return is_acknowledged or bool(found)

        return await self._run(work)

    async def abandon_hand_overs(self, holder: str) -> bool:
        """Record that the framework failed with the outcomes of a claim, so that nobody knows what it did.

        People get a notice. Return False if the claim does not exist.
        """

        def work(connection: Connection) -> bool:
            found = [one for one in hand_overs.list_of_holder(connection, holder) if one.state == "claimed"]
            lost = tuple(one for one in found if hand_overs.mark_unknown(connection, one))
            _report_lost(connection, lost)
            return bool(lost)

        return await self._run(work)

    async def unclaim_hand_overs(self, holder: str) -> bool:
        """End a claim with which nothing was handed over, so that others can claim. Return False if it was lost."""

        def work(connection: Connection) -> bool:
            found = [one.ask_id for one in hand_overs.list_of_holder(connection, holder) if one.state == "claimed"]
            is_ended = hand_overs.unclaim(connection, holder)
            for ask_id in found:
                receipts.expect(connection, ask_id, answered=True)
            return is_ended

        return await self._run(work)

    async def release_hand_overs(self, calls: Iterable[CallId]) -> bool:
        """Let unknown outcomes be handed over once more, since somebody decided so. Return False if none is unknown."""
        listed = tuple(calls)

        def work(connection: Connection) -> bool:
            _expire_all(connection, listed)
            return sum(hand_overs.release(connection, call) for call in listed) > 0

        return await self._run(work)

    async def delete_hand_over(self, hand_over: HandOver) -> bool:
        """Delete a hand-over for which no framework waits any more. Return False if it was claimed meanwhile."""
        return await self._run(lambda connection: hand_overs.delete_asked(connection, hand_over.id, hand_over.ask_id))

    async def list_hand_overs(self, framework: str, run: str) -> tuple[HandOver, ...]:
        """Return all hand-overs of a run, after lost claims were marked as unknown."""

        def work(connection: Connection) -> tuple[HandOver, ...]:
            _expire(connection, framework, run)
            return hand_overs.list_of_run(connection, framework, run)

        return await self._run(work)

    async def list_hand_overs_in_doubt(self, framework: str, run: str) -> tuple[HandOver, ...]:
        """Return the hand-overs of a run that are claimed or unknown. A lost claim stays as it is."""
        return await self._database.read(lambda connection: hand_overs.list_in_doubt(connection, framework, run))

    async def list_answered_runs(self, framework: str) -> tuple[str, ...]:
        """Return the runs in which an outcome waits to be handed over, or a claim was lost."""
        return await self._database.read(lambda connection: hand_overs.list_answered_runs(connection, framework))

    async def list_waiting_runs(self, framework: str) -> tuple[str, ...]:
        """Return the runs in which an outcome has not been handed over, whether or not people have answered."""
        return await self._database.read(lambda connection: hand_overs.list_waiting_runs(connection, framework))


def _lock(connection: Connection, framework: str, run: str) -> None:
    locks.lock_key(connection, f"hand-over {framework} {run}")


def _is_held(connection: Connection, calls: Iterable[CallId], holder: str) -> bool:
    """Return True if another claim of the runs of these calls exists."""
    runs = {(call.framework, call.run) for call in calls}
    known = (one for run in runs for one in hand_overs.list_of_run(connection, *run))
    return any(one.state == "claimed" and one.holder != holder for one in known)


def _expire_all(connection: Connection, calls: Iterable[CallId]) -> None:
    for framework, run in sorted({(call.framework, call.run) for call in calls}):
        _expire(connection, framework, run)


def _expire(connection: Connection, framework: str, run: str) -> None:
    """Lock the hand-overs of a run, and mark its lost claims as unknown."""
    _lock(connection, framework, run)
    _report_lost(connection, hand_overs.expire(connection, framework, run))


def _report_lost(connection: Connection, lost: tuple[HandOver, ...]) -> None:
    for one in lost:
        log.warning(
            "A process ended while it handed over an answer, so the outcome is unknown. Check what the agent has done.",
            extra={"action": "hand_over_unknown", "ask_id": one.ask_id, "holder": one.holder},
        )
        _tell_people(connection, one, build_unknown_notice)


def _tell_people(
    connection: Connection, hand_over: HandOver, build: Callable[[Ask, HandOver], OutgoingMessage]
) -> None:
    ask = asks.get(connection, hand_over.ask_id)
    if ask is not None:
        outbox.enqueue_message(connection, build(ask, hand_over), ask.conversation_id, ask_id=ask.id)
        send_signal(connection, Signal(kind="look"))
