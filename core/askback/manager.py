"""The only door to questions: everybody who asks, answers or looks comes through here."""

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
from askback.domain.conversation import Heard
from askback.domain.decision import decided
from askback.domain.form import Form, Outcome
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.interview import settle, start
from askback.domain.policy import LONGEST_WAIT, Approval, Denied, Escalation, Limits, Policy, Who
from askback.errors import CallerError
from askback.internal.bounded_cache import Recent
from askback.internal.clock import utc_now
from askback.internal.throttle import Throttle
from askback.observability import telemetry
from askback.ports.platform import Messages
from askback.store.errors import StoreError
from askback.store.store import Acted, Store

T = TypeVar("T")

log = logging.getLogger("askback.manager")

Paint = Callable[[Ask], Awaitable[Messages]]
"""Shows an ask to people, and says where it stands then."""


class Default(Enum):
    """Stands for "nothing was said", where None says something."""

    DEFAULT = auto()


DEFAULT = Default.DEFAULT

LATE_SECONDS = 10.0
"""How long after a deadline whoever waits for the outcome sees to it, where nobody else has."""
REMEMBERED = 10_000
"""Asks of which it is known without looking whom they are for."""


TOLD_AGAIN_SECONDS = 30.0
"""Somebody who may not act on a question reads so once in this time, however often they click."""
AUDITED_AGAIN_SECONDS = 3600.0
"""In the audit, they stand once in this time."""

_Denial = tuple[str, str, str, Denied]
"""Ask, platform, person, and why."""


class QuestionManager:
    """Asks people, takes what they do, and tells whoever waits. Owns every effect on an ask."""

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
        self.deleted: Recent[MessageRef, None] = Recent(REMEMBERED)
        """Messages that people deleted, the newest ones."""
        self.may_end: Callable[[Actor], bool] = lambda _: False
        """Whether somebody may cancel what they were not asked: nobody, unless whoever runs this says so."""
        self.access: Mapping[str, Access] = {}
        """Who may talk to the bot, by platform. Without rules for a platform, nobody there is admitted."""
        self.members: Callable[[Place, tuple[str, ...]], Awaitable[Mapping[str, tuple[Actor, ...]]]] = _nobody_tells
        """Who is in groups of a platform, as far as it tells: it does not, unless whoever runs this asks it."""

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

        `timeout` is in seconds from the posting of the card, None waits for ever; where nothing is said,
        `Limits.timeout` holds. `approval`: several people decide. After each of the seconds in `remind`, those who are
        missing are reminded; after those in `escalate`, further people are asked: all before the timeout. With a `key`,
        a caller that restarted gets the ask that it made before, and its outcome. Cancelling the wait leaves the ask
        open. Raises `CallerError` when too many are open in this place, or the form cannot be decided so.
        """
        seconds = self._limits.timeout if isinstance(timeout, Default) else timeout
        policy = self.policy(who, seconds, approval=approval, remind=remind, escalate=escalate)
        ask = self.new_ask(form, to=to, policy=policy, key=key, asked_by=asked_by)
        return await self.outcome(await self.put(ask))

    async def put(self, ask: Ask) -> Ask:
        """Store an ask, to be posted, and wait for nothing. If its key was asked before, that ask is returned instead.

        Raises `CallerError` when too many are open in its place.
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
        """An ask that is not stored yet, for whoever commits it together with other things.

        Raises `CallerError` where the form cannot be decided by the policy, and where the key is none.
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
        """The policy of an ask that begins now; every time is in seconds from now on, and later from its posting on.

        Raises `CallerError` for a reminder or an escalation that is no time to come.
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
        """Wait for the outcome of an ask that is stored. Cancelling the wait leaves it open.

        Its deadline passes also where no process of its platform runs.
        """
        settled = asyncio.Event()
        self._waiting.setdefault(ask.id, set()).add(settled)
        try:
            while True:
                # Looked up after the event was registered: what settles in between is not missed.
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

    # What people do

    async def act(self, action: Action) -> Response:
        """Apply what a person did, and say what they get back. When this returns, it is committed.

        Raises `StoreBusy` when it cannot be committed within 2 s: nothing changed then, and the person
        has to be told.
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
        # Behind the ack: whoever clicked waits for nobody who is told of it.
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
        """Whether the audit keeps it: what strangers press is kept once an hour for each, or they would fill it."""
        denial = _denial(action, response)
        return denial is None or not self._audited.is_recent(denial)

    def _said(self, action: Action, response: Response) -> Response:
        """The same, with whether this person was told so a moment ago: strangers can click without end."""
        denial = _denial(action, response)
        if denial is None or not isinstance(response, Notice):
            return response
        self._audited.allows(denial)
        # What somebody wrote is given back to them each time.
        return response if self._told.allows(denial) or late.text(action) else response.evolve(told=True)

    def _follow(self, action: Action, acted: Acted[Response]) -> None:
        trace = None if acted.ask is None else acted.ask.trace
        with telemetry.clicked(trace, action.actor.platform, action.deed.kind, action.at):
            if not self._after(acted) and action.message is None:
                self.nudge()

    def admits(self, actor: Actor, place: Place) -> bool:
        """Whether the access rules let somebody talk to the bot in a place that others see, too."""
        access = self.access.get(place.platform)
        return access is not None and access.refusal(actor, place, direct=False) is None

    def refusal(self, ask: Ask, actor: Actor) -> str | None:
        """Return why this person may not act on an ask, in words for them. None means they may."""
        return ask.refusal(actor, self.admits)

    async def groups(self, ask_id: str) -> tuple[str, ...]:
        """For which groups an ask is, so that whether somebody is in them is known before they act. None: or unknown.

        By the id of an offer, for which those of the ask are that it is about.

        Whom it is for, also later on, is settled when it is asked: a click on a card that was shown here looks nothing
        up.
        """
        if ask_id not in self._groups:
            ask = await self._store.get(ask_id) or await self._store.offered_for(ask_id)
            if ask is None:
                return ()
            self._remember(ask)
            return self._groups_of(ask)
        return self._groups[ask_id]

    async def groups_in(self, place: Place) -> tuple[str, ...]:
        """For which groups the open asks of a place and its channel are: who writes there may answer them by that."""
        asks = await self._store.asked_near(place)
        return tuple(dict.fromkeys(group for ask in asks for group in self._groups_of(ask)))

    def _remember(self, ask: Ask) -> None:
        self._groups[ask.id] = self._groups_of(ask)

    def _groups_of(self, ask: Ask) -> tuple[str, ...]:
        """Return the groups that decide who may answer, those of the access rules included where these count."""
        access = self.access.get(ask.place.platform) if ask.policy.is_admission_needed else None
        return (*ask.policy.groups, *(() if access is None else access.groups))

    async def redraw(self, ask_id: str, paint: Paint, *, anyway: bool = False) -> None:
        """Show the newest state of an ask through `paint`, one drawing at a time.

        Whoever comes late finds it drawn already, unless they draw `anyway`; an older state never overwrites
        a newer one. Raises what `paint` raises; then `hand_over` leaves the drawing to the outbox.
        """
        async with self._drawing.setdefault(ask_id, asyncio.Lock()):
            ask = await self._store.get(ask_id)
            if ask is not None and (anyway or not ask.is_drawn):
                self._remember(ask)
                # By the clock that judges the deadline; a card that was posted before needs no look at it.
                at = None if ask.messages or ask.posted_at is not None else await self._store.now()
                messages = await paint(ask if at is None else ask.posted(at))
                again = await self._store.drawn(ask_id, ask.interview.revision, messages, before=ask.messages, at=at)
                if gone := tuple(message for message in messages if message in self.deleted):
                    # Its deletion was heard before it was known where the card stands.
                    again = await self._store.lost(ask_id, gone) or again
                # Reminders that have come due wait for a card that stands.
                if again or (ask.policy.reminders and not ask.messages):
                    self.nudge()

    def doubt(self, ask_id: str) -> None:
        """A commit about this ask took too long to be waited for: what became of it is looked up later."""
        self._in_doubt.add(ask_id)
        self.nudge()

    async def hand_over(self, ask_id: str) -> None:
        """Let the outbox draw an ask at once, since whoever was to do it could not."""
        await self._store.release(f"ask:{ask_id}")
        self.nudge()

    # Ending an ask from outside

    async def cancel(self, ask_id: str, *, by: Actor | None = None, reason: str | None = None) -> bool:
        """End an ask without an answer. False: it was over already, or there is none."""
        return await self._end(ask_id, Outcome(status="cancelled", at=utc_now(), by=by, reason=reason))

    async def reject(self, ask_id: str, reason: str) -> bool:
        """End an ask that cannot reach anybody. False: it was over already, or there is none."""
        return await self._end(ask_id, Outcome(status="undeliverable", at=utc_now(), reason=reason))

    async def attend(self, ask_id: str) -> bool:
        """Do what the time has come for: remind people, ask further ones, end the ask. True: it ended."""
        ask = await self._store.get(ask_id)
        groups = () if ask is None else schedule.unclear(ask, await self._store.now())
        members = schedule.NOTHING_KNOWN if ask is None or not groups else await self.members(ask.place, groups)
        ended = self._after(await self._store.attend(ask_id, lambda ask, now: schedule.due(ask, now, members)))
        if not ended:
            self.nudge()  # people are told, or see the card with those who are asked as well
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
        late: Callable[[Ask], Heard | None] | None = None,
        is_audited: Callable[[T], bool] = lambda _: True,
    ) -> Acted[T]:
        try:
            return await self._store.decide(ask_id, decision, action=action, late=late, is_audited=is_audited)
        except StoreError as error:
            if error.in_doubt:
                self.doubt(ask_id)
            raise

    async def resolve_doubts(self) -> None:
        """Find out what became of commits that took too long to be waited for: who waits is told of those too."""
        while self._in_doubt:
            ask_id = next(iter(self._in_doubt))
            ask = await self._store.newest(ask_id)
            self._in_doubt.discard(ask_id)
            if ask is not None:
                self._after(Acted(ask, None, ask.outcome is not None))
                # Whoever acted was refused, and draws nothing.
                await self.hand_over(ask_id)

    # Looking

    async def pending(self, place: Place | None = None) -> tuple[Ask, ...]:
        """The open asks, of one place or of all, oldest first."""
        return await self._store.pending(place)

    async def get(self, ask_id: str) -> Ask | None:
        """One ask, open or settled; None if there is none of that id."""
        return await self._store.get(ask_id)

    # Whoever works behind it

    def on_work(self, nudge: Callable[[], None]) -> None:
        """Call this when there is something new to show to people."""
        self._on_work.append(nudge)

    def on_settled(self, tell: Callable[[Ask], None]) -> None:
        """Call this after the commit that ended an ask."""
        self._on_settled.append(tell)

    def on_heard(self, tell: Callable[[], None]) -> None:
        """Call this after the commit that kept a message for an agent."""
        self._on_heard.append(tell)

    def heard(self) -> None:
        """A message was committed that an agent is to read."""
        for tell in self._on_heard:
            tell()

    def nudge(self) -> None:
        """Something was committed that people are to see."""
        for nudge in self._on_work:
            nudge()

    def recheck(self, ask_id: str | None = None) -> None:
        """Another process changed what is stored: whoever waits looks again, for that ask or for any."""
        if ask_id is not None:
            for event in self._waiting.get(ask_id, set()):
                event.set()
            return
        for waiting in self._waiting.values():
            for event in waiting:
                event.set()
        self.nudge()

    def settled(self, asks: tuple[Ask, ...]) -> None:
        """Tell whoever waits of asks that a commit of somebody else's ended."""
        for ask in asks:
            self._after(Acted(ask, None, True))
        self.nudge()

    def _after(self, acted: Acted[object]) -> bool:
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
