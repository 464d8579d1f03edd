"""The part that the doors of agent frameworks share: it asks about calls, and hands each outcome over once.

The key of an ask names the framework, the run and the call. So a process that was killed finds its questions again.
"""

from __future__ import annotations

__all__ = ["CLAIMED_SECONDS", "ClosableDoor", "FrameworkDoor", "ResumableDoor"]

import asyncio
import json
import logging
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import NoReturn, Self, Unpack

from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval, Policy
from askback.domain.hand_over import CallId, HandOver
from askback.domain.timeout_action import TimeoutAction, find_default_problem
from askback.doors.call_question import CallQuestion
from askback.doors.caller_asks import CallerAsks
from askback.doors.door_options import DoorOptions, build_rules
from askback.doors.hand_over import HandOvers, NotClaimed, OutcomeUnknown
from askback.doors.new_ask import NewAsk
from askback.doors.resume_worker import ResumeWorker
from askback.doors.rules import AddressBook, Addressees, identify_rules
from askback.doors.tool_inputs import check_secrets
from askback.errors import AskbackError
from askback.settings.environment import load_settings
from askback.store.url import parse_database_url
from askback.translations.catalogue import Language

log = logging.getLogger("askback.door")

REPORT_SECONDS = 3600.0
"""Seconds between two reports of a wait, which nobody receives here."""
CLAIMED_SECONDS = 0.5
"""Seconds between two looks while another process hands an outcome over."""
CHANGED = "The agent asks again, since the call has changed."
OUTDATED = "The agent no longer waits for this."


class FrameworkDoor:
    """Asks people about the calls of a framework, and hands each outcome over once."""

    def __init__(self, framework: str, on_timeout: TimeoutAction, **options: Unpack[DoorOptions]) -> None:
        """`framework` separates agents that share a database. Raises `CallerError`."""
        settings = load_settings()
        where = parse_database_url(settings.database_url)
        self.framework = framework
        self.language: Language | None = settings.language
        """The language in which questions are built, as their cards."""
        self.hand_overs = HandOvers(where)
        self._rules = build_rules(settings, on_timeout, **options)
        self._asks = CallerAsks(settings, where, "framework", keeps_receipts=False)
        self._book = AddressBook(self._rules)

    async def ask(self, call: CallId, question: CallQuestion) -> Ask:
        """Store the ask about a call, or return the one of the same call before. The result may be settled."""
        check_secrets(question.form)
        for note in question.notes:
            log.info("%s", note, extra={"action": "not_editable"})
        people = await self._book.look_up(self._rules.places[0])

        def build_policy() -> Policy:
            return self._build_policy(people, question)

        policy = build_policy()
        policy.check(question.form)
        new = NewAsk(question.kind, question.form, people.found.place, build_policy, identify_rules(policy), call.call)
        # First the hand-over, so that a process that is killed here leaves no ask that nobody looks for.
        await self._asks.serve(people.found.place.platform)
        await self.hand_overs.announce(call, question.digest)
        ask = await self._asks.ask(_identify(call), new)
        await self.hand_overs.record(call, ask.id, question.digest)
        # A caller may have been lost before it recorded its ask.
        await self._cancel(call, CHANGED, other_than=ask.id)
        return ask

    async def find(self, hand_over: HandOver) -> Ask | None:
        """Return the ask of a hand-over. None if a process was killed before it asked."""
        return await self._asks.reader.find(_identify(hand_over.id), hand_over.ask_id)

    async def wait(self, ask: Ask, *, shows_presence: bool = False, ends_with_process: bool = False) -> Ask:
        """Return the ask once it is settled. A cancelled wait settles nothing.

        `shows_presence` is for a framework whose caller has to wait: without one, the card says so.
        `ends_with_process` means that no later process can take the outcome, and then the card says that.
        """

        async def ignore() -> None:
            """Report nothing: the caller of a framework waits."""

        loss = "with process" if ends_with_process else None
        shows_presence = shows_presence or ends_with_process
        return await self._asks.wait(ask, math.inf, REPORT_SECONDS, ignore, loss, shows_presence=shows_presence)

    @asynccontextmanager
    async def claim(
        self, digests: Mapping[CallId, str], is_taken: Callable[[], bool] = lambda: True, *, exclusive: bool = False
    ) -> AsyncGenerator[str]:
        """Resume the framework inside this block, as `HandOvers.claim` describes. If it fails, people get a notice."""
        try:
            async with self.hand_overs.claim(digests, is_taken, exclusive=exclusive) as claim:
                yield claim
        except NotClaimed:
            raise
        except Exception:
            await self._deliver()
            raise

    async def list_hand_overs(self, run: str) -> tuple[HandOver, ...]:
        """Return all hand-overs of a run, after lost claims were marked as unknown."""
        return await self.hand_overs.list_of_run(self.framework, run)

    async def list_unclaimed(self, run: str) -> tuple[HandOver, ...]:
        """Return all hand-overs of a run, once no process hands over any of them.

        A process that died with a claim has none after `CLAIM_SECONDS`; its outcomes are unknown then.
        """
        found = await self.list_hand_overs(run)
        while any(one.state == "claimed" for one in found):
            await asyncio.sleep(CLAIMED_SECONDS)
            found = await self.list_hand_overs(run)
        return found

    async def withdraw(self, outdated: Iterable[HandOver]) -> None:
        """End the questions about calls for which the framework no longer waits."""
        for one in outdated:
            # First the questions, so that a process that is killed here leaves a hand-over that is found again.
            await self._cancel(one.id, OUTDATED)
            await self.hand_overs.forget(one)

    async def acknowledge(self, finished: Iterable[HandOver]) -> None:
        """Record that the framework has acted on these outcomes, as its own state proves.

        Where people were told that it is unknown, they get a notice.
        """
        known = tuple(finished)
        for holder in {one.holder for one in known if one.holder is not None}:
            await self.hand_overs.acknowledge(holder)
        if any(one.state == "unknown" for one in known):
            await self._deliver()

    async def acknowledge_claim(self, run: str, claim: str | None) -> None:
        """Record that the framework has acted on the outcomes of a claim, which what it saved for this run names."""
        doubtful = await self.hand_overs.list_in_doubt(self.framework, run)
        await self.acknowledge(one for one in doubtful if one.holder == claim)

    async def raise_unknown(self, hand_over: HandOver, advice: str) -> NoReturn:
        """Deliver the notice about a hand-over, and raise `OutcomeUnknown`."""
        await self._deliver()
        raise OutcomeUnknown(hand_over, advice)

    async def find_platform(self) -> str:
        """Return the platform of the place where people are asked. Raises `AskbackError`."""
        return (await self._book.look_up(self._rules.places[0])).found.place.platform

    def receive_answers(self, platform: str) -> AbstractAsyncContextManager[None]:
        """Receive people's answers inside this block, if no bot does."""
        return self._asks.receive_answers(platform)

    async def close(self) -> None:
        """Stop waiting. Open questions stay open, and a later process finds them."""
        await self._asks.close()

    async def _cancel(self, call: CallId, reason: str, other_than: str | None = None) -> None:
        """End the open questions about a call, even those that a lost caller did not record."""
        for ask in await self._asks.reader.list_open(_identify(call)):
            if ask.id != other_than:
                await self._asks.cancel(ask, reason)

    async def _deliver(self) -> None:
        """Let pending notices be delivered, if no bot runs. An error is logged only, since the caller raises another.

        The notice stays in the outbox, so the next process on this database delivers it.
        """
        try:
            people = await self._book.look_up(self._rules.places[0])
            await self._asks.serve(people.found.place.platform)
        except AskbackError as error:
            log.warning("Could not deliver a notice now: %s", error, extra={"action": "notice_failed"})

    def _build_policy(self, people: Addressees, question: CallQuestion) -> Policy:
        if question.kind == "permit":
            policy = people.build_approval_policy(self._rules, question.digest, question.edits)
            return policy if question.vote is None else _use_options(policy, question.vote)
        action = self._rules.on_timeout
        if action == "default" and find_default_problem(question.form) is not None:
            action = "report"
        return people.build_policy(self._rules, question.vote, action)


class ClosableDoor:
    """A door that waits for people until it is closed, or until its block ends."""

    def __init__(self, door: FrameworkDoor) -> None:
        self._door = door

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop waiting. Open questions stay open, and a later process finds them."""
        await self._door.close()


class ResumableDoor(ClosableDoor):
    """The methods of a door whose framework stores its runs. A run that was interrupted is resumed later."""

    async def list_answered(self) -> tuple[str, ...]:
        """Return the ids of the threads or conversations in which people have answered. They wait for `resume`."""
        return await self._door.hand_overs.list_answered_runs(self._door.framework)

    async def list_waiting(self) -> tuple[str, ...]:
        """Return the ids of all threads or conversations that wait for people, answered or not."""
        return await self._door.hand_overs.list_waiting_runs(self._door.framework)

    async def work(self, resume: Callable[[str], Awaitable[object]]) -> None:
        """Continue what people answer while no other process waits for it, until this is cancelled.

        `resume` is called with the id of a thread or conversation. Its errors are logged, and do not end this. Raises
        `AskbackError` if people cannot be asked at all.
        """
        await ResumeWorker(self._door, resume).run()


def _use_options(policy: Policy, vote: Approval) -> Policy:
    """Return the policy of an approval with other options than askback's own."""
    assert policy.approval is not None
    options = {"approving": vote.approving, "refusing": vote.refusing, "wider": vote.wider}
    return policy.evolve(approval=policy.approval.evolve(**options))


def _identify(call: CallId) -> str:
    return json.dumps([call.framework, call.run, call.call])
