"""The single entry point for asking, answering and reading questions."""

from __future__ import annotations

__all__ = ["TOLD_AGAIN_SECONDS", "QuestionManager"]

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from enum import Enum, auto
from operator import itemgetter
from typing import TypeVar
from weakref import WeakValueDictionary

from askback.domain import late_answers as late
from askback.domain import schedule
from askback.domain.access import Access
from askback.domain.actions import Action
from askback.domain.ask import Ask, check_key, new_ask_id
from askback.domain.card import Notice, Response
from askback.domain.conversation import IncomingMessage
from askback.domain.decision import decided
from askback.domain.form import Form, Outcome
from askback.domain.identity import Actor, Place
from askback.domain.interview import settle, start
from askback.domain.policy import LONGEST_WAIT, Approval, Denied, Escalation, Limits, Policy, Who
from askback.errors import CallerError
from askback.internal.bounded_cache import Recent
from askback.internal.clock import utc_now
from askback.internal.throttle import Throttle
from askback.observability import telemetry
from askback.ports.platform import Messages
from askback.store.errors import StoreError
from askback.store.store import DecisionResult, Store

T = TypeVar("T")

log = logging.getLogger("askback.manager")

Paint = Callable[[Ask], Awaitable[Messages]]
"""Shows an ask to people, and returns the messages of its card."""


class Default(Enum):
    """Marks an omitted argument where None has a meaning."""

    DEFAULT = auto()


DEFAULT = Default.DEFAULT

LATE_SECONDS = 10.0
"""Seconds after a deadline at which a waiting caller settles the ask, if no one else has."""
REMEMBERED = 10_000
"""Asks whose groups are cached."""


TOLD_AGAIN_SECONDS = 30.0
"""Seconds between two notices to a person who may not act on a question, however often they click."""
AUDITED_AGAIN_SECONDS = 3600.0
"""Seconds between two entries about that in the audit."""

_Denial = tuple[str, str, str, Denied]
"""Ask, platform, person, and reason."""


class QuestionManager:
    """Asks people, applies their actions, and notifies callers that wait. Owns every effect on an ask."""

    def __init__(self, store: Store, limits: Limits | None = None) -> None:
        self._store = store
        self._limits = limits or Limits()
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._drawing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._in_doubt: set[str] = set()
        self._groups: Recent[str, tuple[str, ...]] = Recent(REMEMBERED)
        self._told: Throttle[_Denial] = Throttle(TOLD_AGAIN_SECONDS)
        self._audited: Throttle[_Denial] = Throttle(AUDITED_AGAIN_SECONDS)
        self._on_work: list[Callable[[], None]] = []
        self._on_settled: list[Callable[[Ask], None]] = []
        self._on_heard: list[Callable[[], None]] = []
        self.may_end: Callable[[Actor], bool] = lambda _: False
        """Returns True if a person may cancel an ask without being asked. By default, nobody may."""
        self.access: Mapping[str, Access] = {}
        """Access rules by platform. A platform without rules admits nobody."""
        self.members: Callable[[Place, tuple[str, ...]], Awaitable[Mapping[str, tuple[Actor, ...]]]] = _nobody_tells
        """Returns the members of groups, as far as the platform reveals them. By default, none are known."""

    @property
    def limits(self) -> Limits:
        return self._limits

    # Asking

    async def ask(
        self,
        form: Form,
        *,
        to: Place,
        who: Who,
        timeout: float | Default | None = DEFAULT,  # noqa: ASYNC109 - a row keeps the time, not a task
        approval: Approval | None = None,
        remind: Sequence[float] = (),
        escalate: Mapping[float, Who] | None = None,
        key: str | None = None,
        asked_by: Actor | None = None,
    ) -> Outcome:
        """Ask people and wait for the outcome.

        `timeout` is in seconds from the posting of the card. None means no deadline; if it is omitted, `Limits.timeout`
        applies. With `approval`, several people decide. `remind` holds seconds; after each, people who have not
        answered get a reminder. `escalate` maps seconds to further people, who are asked after that time. All of these
        times must be before the timeout.

        With a `key`, a caller that restarted gets its earlier ask and that ask's outcome. Cancelling the wait leaves
        the ask open. Raises `CallerError` if too many asks are open in this place, or if the form cannot be decided so.
        """
        seconds = self._limits.timeout if isinstance(timeout, Default) else timeout
        policy = self.policy(who, seconds, approval=approval, remind=remind, escalate=escalate)
        ask = self.new_ask(form, to=to, policy=policy, key=key, asked_by=asked_by)
        return await self.outcome(await self.put(ask))

    async def put(self, ask: Ask) -> Ask:
        """Store an ask for posting, without waiting. If an ask with its key exists, that one is returned instead.

        Raises `CallerError` if too many asks are open in the same place.
        """
        stored = await self._store.ask(ask, self._limits)
        self.nudge()
        return stored

    def new_ask(
        self,
        form: Form,
        *,
        to: Place,
        policy: Policy,
        key: str | None = None,
        conversation_id: str | None = None,
        asked_by: Actor | None = None,
    ) -> Ask:
        """Return an ask that is not stored yet, for callers that commit it together with other things.

        Raises `CallerError` if the form cannot be decided by the policy, or the key is invalid.
        """
        policy.check(form)
        if key is not None:
            check_key(key)
        now = utc_now()
        return Ask(
            id=new_ask_id(),
            key=key,
            place=to,
            policy=policy,
            interview=start(form),
            conversation_id=conversation_id,
            asked_by=asked_by,
            created_at=now,
            post_after=now,
            trace=telemetry.asked(to.platform),
        )

    def policy(
        self,
        who: Who,
        seconds: float | None,
        *,
        approval: Approval | None = None,
        remind: Sequence[float] = (),
        escalate: Mapping[float, Who] | None = None,
    ) -> Policy:
        """Return the policy of an ask that begins now. Times are in seconds from now; the posting moves them later.

        Raises `CallerError` for a reminder or an escalation that is not above 0 seconds and at most ten years away.
        """
        for after in (*remind, *(escalate or {})):
            if not 0 < after <= LONGEST_WAIT:
                raise CallerError(
                    f"Nobody is reminded or asked after {after:g} seconds: give a number above 0, ten years at most."
                )
        now = utc_now()
        return Policy(
            who=who,
            deadline=None if seconds is None else now + timedelta(seconds=seconds),
            approval=approval,
            reminders=tuple(now + timedelta(seconds=after) for after in sorted(remind)),
            escalations=tuple(
                Escalation(at=now + timedelta(seconds=after), who=others)
                for after, others in sorted((escalate or {}).items(), key=itemgetter(0))
            ),
        )

    async def outcome(self, ask: Ask) -> Outcome:
        """Wait for the outcome of a stored ask. Cancelling the wait leaves the ask open.

        Its deadline also takes effect if no process of its platform runs.
        """
        settled = asyncio.Event()
        self._waiting.setdefault(ask.id, set()).add(settled)
        try:
            while True:
                # Read after the event was registered, so that a settlement in between is not missed.
                newest = await self._store.get(ask.id)
                if newest is not None and newest.outcome is not None:
                    return newest.outcome
                deadline = None if newest is None else newest.policy.deadline
                late = None
                if deadline is not None:
                    late = (deadline - await self._store.now()).total_seconds() + LATE_SECONDS
                try:
                    async with asyncio.timeout(None if late is None else max(late, 0.0)):
                        await settled.wait()
                except TimeoutError:
                    await self.attend(ask.id)
                settled.clear()
        finally:
            waiting = self._waiting.get(ask.id, set())
            waiting.discard(settled)
            if not waiting:
                self._waiting.pop(ask.id, None)

    # Actions of people

    async def act(self, action: Action) -> Response:
        """Apply a person's action, and return the response to them. It is committed when this returns.

        Raises `StoreBusy` if it cannot be committed within 2 s. Then nothing has changed, and the caller has to notify
        the person.
        """
        ends_any = self.may_end(action.actor)  # looked up here: the decision itself is pure, and may run twice
        acted = await self._decide(
            action.ask_id,
            lambda ask: decided(ask, action, admits=self.admits, ends_any=ends_any),
            action,
            late=lambda ask: late.heard(ask, action, self.admits),
            is_audited=lambda response: self._is_audited(action, response),
        )
        if acted.ask is None:
            log.warning(
                "An answer came for a question that is not known here; it was ignored.",
                extra={"action": "unknown_ask", "ask_id": action.ask_id, "platform": action.actor.platform},
            )
        # After the ack, so that the person who clicked does not wait for these notifications.
        asyncio.get_running_loop().call_soon(self._follow, action, acted)
        if not acted.kept or acted.ask is None:
            return self._said(action, acted.answer)
        log.info(
            "A text that came too late to be an answer is kept as a message.",
            extra={"action": "late_text", "ask_id": action.ask_id},
        )
        self.heard()
        return Notice(text=late.notice(acted.ask, kept=True), card=acted.ask.card(), kept=True)

    def _is_audited(self, action: Action, response: Response) -> bool:
        """Return True if the audit keeps it. A stranger's clicks are kept once an hour, since they would fill it
        otherwise."""
        denial = _denial(action, response)
        return denial is None or not self._audited.is_recent(denial)

    def _said(self, action: Action, response: Response) -> Response:
        """Return the response, marked if this person has received the same refusal lately. Strangers can click
        endlessly."""
        denial = _denial(action, response)
        if denial is None or not isinstance(response, Notice):
            return response
        self._audited.allows(denial)
        # A person gets their own text back each time.
        return response if self._told.allows(denial) or late.text(action) else response.evolve(told=True)

    def _follow(self, action: Action, acted: DecisionResult[Response]) -> None:
        trace = None if acted.ask is None else acted.ask.trace
        with telemetry.clicked(trace, action.actor.platform, action.deed.kind, action.at):
            if not self._after(acted) and action.message is None:
                self.nudge()

    def admits(self, actor: Actor, place: Place) -> bool:
        """Return True if the access rules admit a person to the bot in a place that others see, too."""
        access = self.access.get(place.platform)
        return access is not None and access.refusal(actor, place, direct=False) is None

    def refusal(self, ask: Ask, actor: Actor) -> str | None:
        """Return the reason this person may not act on an ask, in words for them; None if they may."""
        return ask.refusal(actor, self.admits)

    async def groups(self, ask_id: str) -> tuple[str, ...]:
        """Return the ids of the groups that may answer; empty if there are none or the ask is unknown.

        `ask_id` may also be the id of an offer, which has the groups of its ask.

        Callers look up which of these a person is in, before the person acts. The groups of an ask are fixed when it is
        made, those of escalations included. So a click on a card that was shown here needs no query.
        """
        if ask_id not in self._groups:
            ask = await self._store.get(ask_id) or await self._store.offered_for(ask_id)
            if ask is None:
                return ()
            self._remember(ask)
            return self._groups_of(ask)
        return self._groups[ask_id]

    async def groups_in(self, place: Place) -> tuple[str, ...]:
        """Return the groups of the open asks in a place and its channel. A message there may answer these asks."""
        asks = await self._store.asked_near(place)
        return tuple(dict.fromkeys(group for ask in asks for group in self._groups_of(ask)))

    def _remember(self, ask: Ask) -> None:
        self._groups[ask.id] = self._groups_of(ask)

    def _groups_of(self, ask: Ask) -> tuple[str, ...]:
        """Return the groups that decide who may answer, including those of the access rules if these apply."""
        access = self.access.get(ask.place.platform) if ask.policy.is_admission_needed else None
        return (*ask.policy.groups, *(() if access is None else access.groups))

    async def redraw(self, ask_id: str, paint: Paint, *, anyway: bool = False) -> None:
        """Render the newest state of an ask through `paint`, one drawing at a time.

        A state that is drawn already is not drawn again, unless `anyway` is True. An older state never overwrites a
        newer one. Raises what `paint` raises; the caller then uses `hand_over` to leave the drawing to the outbox.
        """
        async with self._drawing.setdefault(ask_id, asyncio.Lock()):
            ask = await self._store.get(ask_id)
            if ask is not None and (anyway or not ask.is_drawn):
                self._remember(ask)
                # The time comes from the clock that judges the deadline. A card that was posted before does not need
                # it.
                at = None if ask.messages or ask.posted_at is not None else await self._store.now()
                messages = await paint(ask if at is None else ask.posted(at))
                again = await self._store.drawn(ask_id, ask.interview.revision, messages, before=ask.messages, at=at)
                # Due reminders wait until the card is posted.
                if again or (ask.policy.reminders and not ask.messages):
                    self.nudge()

    def doubt(self, ask_id: str) -> None:
        """Note that a commit about this ask took too long to wait for. Its result is looked up later."""
        self._in_doubt.add(ask_id)
        self.nudge()

    async def hand_over(self, ask_id: str) -> None:
        """Let the outbox draw an ask at once, because the caller that should draw it could not."""
        await self._store.release(f"ask:{ask_id}")
        self.nudge()

    # Ending an ask from outside

    async def cancel(self, ask_id: str, *, by: Actor | None = None, reason: str | None = None) -> bool:
        """End an ask without an answer. Return False if it has ended already or does not exist."""
        return await self._end(ask_id, Outcome(status="cancelled", at=utc_now(), by=by, reason=reason))

    async def reject(self, ask_id: str, reason: str) -> bool:
        """End an ask that cannot reach anyone. Return False if it has ended already or does not exist."""
        return await self._end(ask_id, Outcome(status="undeliverable", at=utc_now(), reason=reason))

    async def attend(self, ask_id: str) -> bool:
        """Do what is due for an ask: remind people, ask further ones, or end it. Return True if it ended."""
        ask = await self._store.get(ask_id)
        groups = () if ask is None else schedule.unclear(ask, await self._store.now())
        members = schedule.NOTHING_KNOWN if ask is None or not groups else await self.members(ask.place, groups)
        ended = self._after(await self._store.attend(ask_id, lambda ask, now: schedule.due(ask, now, members)))
        if not ended:
            self.nudge()  # to send reminders, or to redraw the card for the people who are asked as well
        return ended

    async def _end(self, ask_id: str, outcome: Outcome) -> bool:
        def decision(ask: Ask | None) -> tuple[Ask | None, None]:
            if ask is None or ask.outcome is not None:
                return None, None
            return ask.evolve(interview=settle(ask.interview, outcome)), None

        return self._after(await self._decide(ask_id, decision))

    async def _decide(
        self,
        ask_id: str,
        decision: Callable[[Ask | None], tuple[Ask | None, T]],
        action: Action | None = None,
        late: Callable[[Ask], IncomingMessage | None] | None = None,
        is_audited: Callable[[T], bool] = lambda _: True,
    ) -> DecisionResult[T]:
        try:
            return await self._store.decide(ask_id, decision, action=action, late=late, is_audited=is_audited)
        except StoreError as error:
            if error.in_doubt:
                self.doubt(ask_id)
            raise

    async def resolve_doubts(self) -> None:
        """Look up the results of commits that took too long to wait for, and notify callers that wait for these
        asks."""
        while self._in_doubt:
            ask_id = next(iter(self._in_doubt))
            ask = await self._store.newest(ask_id)
            self._in_doubt.discard(ask_id)
            if ask is not None:
                self._after(DecisionResult(ask, None, ask.outcome is not None))
                # The caller that acted got an error, so it draws nothing.
                await self.hand_over(ask_id)

    # Reading

    async def pending(self, place: Place | None = None) -> tuple[Ask, ...]:
        """Return the open asks, of one place or of all, oldest first."""
        return await self._store.pending(place)

    async def get(self, ask_id: str) -> Ask | None:
        """Return one ask, open or settled; None if no ask has that id."""
        return await self._store.get(ask_id)

    # Listeners

    def on_work(self, nudge: Callable[[], None]) -> None:
        """Register a callback for new things to show to people."""
        self._on_work.append(nudge)

    def on_settled(self, tell: Callable[[Ask], None]) -> None:
        """Register a callback for after the commit that ended an ask."""
        self._on_settled.append(tell)

    def on_heard(self, tell: Callable[[], None]) -> None:
        """Register a callback for after the commit that kept a message for an agent."""
        self._on_heard.append(tell)

    def heard(self) -> None:
        """Notify listeners that a message for an agent was committed."""
        for tell in self._on_heard:
            tell()

    def nudge(self) -> None:
        """Notify listeners that something for people was committed."""
        for nudge in self._on_work:
            nudge()

    def recheck(self, ask_id: str | None = None) -> None:
        """Make waiting callers read the store again, for that ask or for all, after another process changed it."""
        if ask_id is not None:
            for event in self._waiting.get(ask_id, set()):
                event.set()
            return
        for waiting in self._waiting.values():
            for event in waiting:
                event.set()
        self.nudge()

    def settled(self, asks: tuple[Ask, ...]) -> None:
        """Notify callers that wait for asks which another commit ended."""
        for ask in asks:
            self._after(DecisionResult(ask, None, True))
        self.nudge()

    def _after(self, acted: DecisionResult[object]) -> bool:
        if not acted.settled or acted.ask is None:
            return False
        ask = acted.ask
        log.info(
            "A question was %s.",
            ask.status.replace("_", " "),
            extra={"action": "ask_settled", "ask_id": ask.id, "status": ask.status},
        )
        if ask.outcome is not None:
            telemetry.settled(ask.trace, ask.status, ask.created_at, ask.outcome.at)
        for event in self._waiting.get(ask.id, set()):
            event.set()
        for tell in self._on_settled:
            tell(ask)
        self.nudge()
        return True


def _denial(action: Action, response: Response) -> _Denial | None:
    if not isinstance(response, Notice) or response.denied is None:
        return None
    return action.ask_id, action.actor.platform, action.actor.id, response.denied


async def _nobody_tells(place: Place, groups: tuple[str, ...]) -> Mapping[str, tuple[Actor, ...]]:
    del place, groups
    return schedule.NOTHING_KNOWN
