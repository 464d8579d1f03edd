"""The only door to questions: everybody who asks, answers or looks comes through here."""

from __future__ import annotations

__all__ = ["QuestionManager", "decided"]

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from enum import Enum, auto
from typing import TypeVar
from weakref import WeakValueDictionary

from askback import telemetry
from askback.actions import Action, Cancel, Open, Postpone, Write
from askback.asks import Ask, new_ask_id
from askback.card import AskText, FieldErrors, Notice, Redraw, Response, reason_field, text_field
from askback.clock import utc_now
from askback.errors import PersonError
from askback.identity import Actor, MessageRef, Place
from askback.interview import Closed, Interview, settle, start, step
from askback.platform import Messages
from askback.policy import Limits, Policy, Who
from askback.questions import Form, Outcome
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

UNKNOWN = "This question is not known here any more, or belongs to another bot. Your click changed nothing."


class QuestionManager:
    """Asks people, takes what they do, and tells whoever waits. Owns every effect on an ask."""

    def __init__(self, store: Store, limits: Limits | None = None) -> None:
        self._store = store
        self._limits = limits or Limits()
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._drawing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._in_doubt: set[str] = set()
        self._on_work: list[Callable[[], None]] = []
        self._on_settled: list[Callable[[Ask], None]] = []
        self.may_end: Callable[[Actor], bool] = lambda _: False
        """Whether somebody may cancel what they were not asked: nobody, unless whoever runs this says so."""

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
        key: str | None = None,
        asked_by: Actor | None = None,
    ) -> Outcome:
        """Ask people and wait for the outcome.

        `timeout` is in seconds, None waits for ever; where nothing is said, `Limits.timeout` holds. With a
        `key`, a caller that restarted gets the ask that it made before, and its outcome. Cancelling the
        wait leaves the ask open. Raises `CallerError` when too many are open in this place.
        """
        seconds = self._limits.timeout if isinstance(timeout, Default) else timeout
        ask = self.new_ask(form, to=to, policy=self.policy(who, seconds), key=key, asked_by=asked_by)
        stored = await self._store.ask(ask, self._limits)
        self.nudge()
        return await self._outcome(stored)

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
        """An ask that is not stored yet, for whoever commits it together with other things."""
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

    def policy(self, who: Who, seconds: float | None) -> Policy:
        """The policy of an ask that begins now."""
        return Policy(who=who, deadline=None if seconds is None else utc_now() + timedelta(seconds=seconds))

    async def _outcome(self, ask: Ask) -> Outcome:
        settled = asyncio.Event()
        self._waiting.setdefault(ask.id, set()).add(settled)
        try:
            while True:
                # Looked up after the event was registered: what settles in between is not missed.
                newest = await self._store.get(ask.id)
                if newest is not None and newest.outcome is not None:
                    return newest.outcome
                await settled.wait()
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
        acted = await self._decide(action.ask_id, lambda ask: decided(ask, action, ends_any=ends_any), action)
        if acted.ask is None:
            log.warning(
                "An answer came for a question that is not known here; it was ignored.",
                extra={"action": "unknown_ask", "ask_id": action.ask_id, "platform": action.actor.platform},
            )
        trace = None if acted.ask is None else acted.ask.trace
        with telemetry.clicked(trace, action.actor.platform, action.deed.kind, action.at):
            if not self._after(acted) and action.message is None:
                self.nudge()
        return acted.answer

    async def redraw(self, ask_id: str, paint: Paint, *, anyway: bool = False) -> None:
        """Show the newest state of an ask through `paint`, one drawing at a time.

        Whoever comes late finds it drawn already, unless they draw `anyway`; an older state never overwrites
        a newer one. Raises what `paint` raises; then `hand_over` leaves the drawing to the outbox.
        """
        async with self._drawing.setdefault(ask_id, asyncio.Lock()):
            ask = await self._store.get(ask_id)
            if ask is not None and (anyway or not ask.is_drawn):
                messages = await paint(ask)
                await self._store.drawn(ask_id, ask.interview.revision, messages, before=ask.messages)

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

    async def expire(self, ask_id: str) -> bool:
        """End an ask that nobody answered by its deadline."""

        def decision(ask: Ask | None) -> tuple[Ask | None, None]:
            due = ask is not None and ask.policy.deadline is not None and ask.policy.deadline <= utc_now()
            if ask is None or not due or ask.outcome is not None:
                return None, None
            return _with(ask, settle(ask.interview, Outcome(status="timed_out", at=utc_now()))), None

        return self._after(await self._decide(ask_id, decision))

    async def _end(self, ask_id: str, outcome: Outcome) -> bool:
        def decision(ask: Ask | None) -> tuple[Ask | None, None]:
            if ask is None or ask.outcome is not None:
                return None, None
            return _with(ask, settle(ask.interview, outcome)), None

        return self._after(await self._decide(ask_id, decision))

    async def _decide(
        self, ask_id: str, decision: Callable[[Ask | None], tuple[Ask | None, T]], action: Action | None = None
    ) -> Acted[T]:
        try:
            return await self._store.decide(ask_id, decision, action=action)
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

    def nudge(self) -> None:
        """Something was committed that people are to see."""
        for nudge in self._on_work:
            nudge()

    def recheck(self) -> None:
        """Another process changed what is stored: everybody who waits looks again."""
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


def decided(ask: Ask | None, action: Action, *, ends_any: bool = False) -> tuple[Ask | None, Response]:
    """Policy, then interview. Pure; runs inside the commit, on the newest state.

    `ends_any`: the person is an administrator, who may cancel without being asked, as whoever asked may.
    """
    if ask is None:
        return None, Notice(text=UNKNOWN)
    refusal = ask.policy.refusal(action.actor)
    asker = ask.asked_by is not None and ask.asked_by.is_same_person(action.actor)
    if refusal is not None and not (isinstance(action.deed, Cancel) and (ends_any or asker)):
        return None, Notice(text=refusal)
    adopted = _adopt(ask, action.message)
    try:
        interview = step(ask.interview, action)
    except Closed:
        return adopted, Notice(text=_over(ask), card=ask.card())
    except PersonError as error:
        return adopted, Notice(text=str(error), card=ask.card())
    after = _with(adopted, interview)
    if isinstance(action.deed, Open):
        return after, AskText(field=text_field(ask.id, interview))
    if isinstance(action.deed, Postpone):
        return after, AskText(field=reason_field(ask.id, interview))
    stayed = interview.turn == ask.interview.turn
    if stayed and isinstance(action.deed, Write) and interview.draft.unsent is not None:
        message = interview.question.rules.problem(interview.draft.unsent) or ""
        return after, FieldErrors(message=message, field=text_field(ask.id, interview))
    return after, Redraw(card=after.card())


def _with(ask: Ask, interview: Interview) -> Ask:
    return ask.evolve(interview=interview)


def _adopt(ask: Ask, message: MessageRef | None) -> Ask:
    """A card that was clicked is a card that stands there, whatever was recorded when it was posted."""
    if message is None or ask.messages[:1] == (message,):
        return ask
    # Not drawn: what stood there before, if it still does, becomes a part that the next drawing removes.
    others = tuple(other for other in ask.messages if other != message)
    return ask.evolve(messages=(message, *others), drawn_revision=-1 if ask.messages else ask.drawn_revision)


def _over(ask: Ask) -> str:
    outcome = ask.outcome
    ended = {
        "answered": "was answered already",
        "cancelled": "was cancelled",
        "declined": "was declined",
        "timed_out": "has timed out: nobody answered in time",
        "undeliverable": "could not be delivered, and is closed",
    }
    how = "is closed" if outcome is None else ended[outcome.status]
    return f"This question {how}. Your click changed nothing."
