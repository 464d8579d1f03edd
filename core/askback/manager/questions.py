"""The question manager: asks people, applies their actions, and reads questions."""

from __future__ import annotations

__all__ = ["QuestionManager"]

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import Enum, auto

from askback.domain import late_answers as late
from askback.domain.actions import Action, Cancel, OpenDecline
from askback.domain.ask import Ask
from askback.domain.ask_policy import Approval
from askback.domain.click_response import Notice, Response
from askback.domain.decision import choose_language, decide
from askback.domain.form import Form
from askback.domain.identity import Actor, Place
from askback.domain.interview import settle
from askback.domain.open_ask_limits import Limits
from askback.domain.outcome import Outcome
from askback.domain.picked_names import add_names, list_unnamed
from askback.domain.timeout_action import TimeoutAction
from askback.domain.who import Who
from askback.internal.clock import utc_now
from askback.manager.access_control import AccessControl
from askback.manager.awaited_names import AwaitedNames
from askback.manager.callers import Callers
from askback.manager.cards import CardRenderer
from askback.manager.deadlines import Deadlines
from askback.manager.denials import DenialThrottle, describe_unread, reword
from askback.manager.new_asks import build_ask, build_policy
from askback.observability import telemetry
from askback.ports.membership import Resolved
from askback.store.ask_transactions import DecisionResult
from askback.store.store import Store
from askback.store.transaction_events import AskSettled, CommitUncertain, Event, FileSettled
from askback.translations.catalogue import Language, use_language

log = logging.getLogger("askback.manager")


class Default(Enum):
    """Marks an omitted argument where None has a meaning."""

    DEFAULT = auto()


DEFAULT = Default.DEFAULT

FILE_SECONDS = 2.0
"""Seconds until another check for files of an answer that are not read yet. Another process may read them."""
LATE_SECONDS = 10.0
"""Seconds after a deadline at which a waiting caller settles the ask, if no one else has."""


class QuestionManager:
    """Asks people, applies their actions, and notifies callers that wait. Owns every effect on an ask."""

    def __init__(self, store: Store, limits: Limits | None = None, language: Language | None = None) -> None:
        """`language` is that of every card. None means the language of the person who began the conversation."""
        self._store = store
        self.language: Language | None = language
        self.limits = limits or Limits()
        self.access = AccessControl(store)
        self.cards = CardRenderer(store, self.access)
        self.deadlines = Deadlines(store, self.access)
        self.callers = Callers()
        self.awaited_names = AwaitedNames()
        self._denials = DenialThrottle()
        self._in_doubt: set[str] = set()
        store.subscribe(self._on_event)

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
        on_timeout: TimeoutAction = "report",
        key: str | None = None,
        asked_by: Actor | None = None,
    ) -> Outcome:
        """Ask people and wait for the outcome.

        `timeout` is in seconds from the posting of the card. None means no deadline; if it is omitted, `Limits.timeout`
        applies. With `approval`, several people decide. `remind` holds seconds; after each, people who have not
        answered get a reminder. `escalate` maps seconds to further people, who are asked after that time. All of these
        times must be before the timeout. `on_timeout` decides about a timeout: "report" only reports it, "halt" also
        sets `Outcome.halted`, and with "default" the form's own defaults are in `Outcome.fallback`.

        With a `key`, a caller that restarted gets its earlier ask and that ask's outcome. Cancelling the wait leaves
        the ask open. Raises `CallerError` if too many asks are open in this place, or if the form cannot be decided so.
        """
        seconds = self.limits.timeout if isinstance(timeout, Default) else timeout
        with use_language(self.language or (None if asked_by is None else asked_by.language)):
            policy = build_policy(
                who, seconds, approval=approval, remind=remind, escalate=escalate, on_timeout=on_timeout
            )
        ask = build_ask(form, to=to, policy=policy, key=key, asked_by=asked_by)
        return await self.wait_for_outcome(await self.submit(ask))

    async def submit(self, ask: Ask) -> Ask:
        """Store an ask for posting, without waiting. If an ask with its key exists, that one is returned instead.

        Raises `CallerError` if too many asks are open in the same place.
        """
        return await self._store.ask(ask, self.limits)

    async def wait_for_outcome(self, ask: Ask) -> Outcome:
        """Wait for the outcome of a stored ask. Cancelling the wait leaves the ask open.

        This settles the ask after its deadline even if no process serves its platform.
        """
        with self.callers.register(ask.id) as changed:
            while True:
                # Read after the registration, so as not to miss a settlement in between.
                newest = await self._store.get(ask.id)
                over = None if newest is None else newest.outcome
                if newest is not None and over is not None and newest.is_complete:
                    return await self._complete_names(newest, over)
                deadline = None if newest is None else newest.policy.deadline
                late = None if over is None else FILE_SECONDS
                if over is None and deadline is not None:
                    late = (deadline - await self._store.get_current_time()).total_seconds() + LATE_SECONDS
                try:
                    async with asyncio.timeout(None if late is None else max(late, 0.0)):
                        await changed.wait()
                except TimeoutError:
                    if over is None:
                        await self.deadlines.apply(ask.id)
                changed.clear()

    async def _complete_names(self, ask: Ask, outcome: Outcome) -> Outcome:
        """Return the outcome with the names of picked people and channels, if a bot learns them within seconds."""
        if not list_unnamed(ask.interview):
            return outcome
        await self.awaited_names.wait(ask.id)
        newest = await self._store.get(ask.id)
        return outcome if newest is None or newest.outcome is None else newest.outcome

    # Actions of people

    async def act(self, action: Action) -> Response:
        """Apply a person's action, and return the response to them. It is committed when this returns.

        Raises `StoreBusy` if it cannot be committed within 2 s. Then nothing has changed, and the caller has to notify
        the person.
        """
        sender = await self.access.identify(
            action.actor, action.ask_id, ends=isinstance(action.operation, Cancel | OpenDecline)
        )
        if sender.people[0] is not action.actor:
            action = action.evolve(actor=sender.people[0])
        # Looked up here: the decision itself is pure, and may run twice.
        ends_any = self.access.is_admin(action.actor)
        if any(not one.name for one in action.picked):
            self.awaited_names.expect(action.ask_id)
        acted = await self._store.decide(
            action.ask_id,
            lambda ask: decide(ask, action, is_admitted=self.access.is_admitted, ends_any=ends_any),
            action=action,
            late=lambda ask: late.to_message(ask, action, self.access.is_admitted),
            is_audited=lambda response: self._denials.is_audited(action, response),
        )
        if acted.ask is None:
            log.warning(
                "Ignored a click on a question that is not in this database; another bot of the app may have asked it.",
                extra={"action": "unknown_ask", "ask_id": action.ask_id, "platform": action.actor.platform},
            )
        if acted.ask is not None:
            self.cards.keep(acted.ask)
        if acted.ask is None or not list_unnamed(acted.ask.interview):
            self.awaited_names.forget(action.ask_id)
        if not acted.settled:
            # After the ack, so that the person who clicked does not wait for it.
            asyncio.get_running_loop().call_soon(_trace_click, action, acted.ask)
        with use_language(choose_language(acted.ask, action.actor)):
            return self._complete(action, acted, sender)

    def _complete(self, action: Action, acted: DecisionResult[Response], sender: Resolved) -> Response:
        """Return what the person reads, in the current language."""
        if not acted.kept or acted.ask is None:
            return self._denials.limit(action, acted.answer, unread=describe_unread(sender))
        log.info(
            "Kept a text that was too late as an answer: the agent reads it as a message.",
            extra={"action": "late_text", "ask_id": action.ask_id},
        )
        return Notice(text=late.get_late_text_notice(acted.ask, kept=True), card=acted.ask.to_card(), kept=True)

    async def restate(self, action: Action, response: Response) -> Response:
        """Return the response to an action that changed nothing, in the language that the actor now has.

        A platform may tell the language of a person only after their first click. This commits nothing. If the newest
        state calls for another response, the words stay as they are.
        """
        sender = await self.access.identify(
            action.actor, action.ask_id, ends=isinstance(action.operation, Cancel | OpenDecline)
        )
        action = action.evolve(actor=sender.people[0])
        ends_any = self.access.is_admin(action.actor)
        ask = await self._store.get(action.ask_id)
        again = decide(ask, action, is_admitted=self.access.is_admitted, ends_any=ends_any)[1]
        if type(again) is not type(response):
            return response
        with use_language(choose_language(ask, action.actor)):
            return reword(again, describe_unread(sender))

    async def add_names(self, ask_id: str, names: Mapping[str, str]) -> None:
        """Store the names of picked people and channels that the platform told after the click, by their ids."""

        def add(ask: Ask | None) -> tuple[Ask | None, None]:
            return None if ask is None else ask.evolve(interview=add_names(ask.interview, names)), None

        named = await self._store.decide(ask_id, add)
        if named.ask is None or not list_unnamed(named.ask.interview):
            self.awaited_names.forget(ask_id)

    # Ending an ask from outside

    async def cancel(
        self, ask_id: str, *, by: Actor | None = None, reason: str | None = None, undeliverable: bool = False
    ) -> bool:
        """End an ask without an answer. Return False if it has ended already or does not exist.

        `undeliverable` is True if the ask can reach no one.
        """
        status = "undeliverable" if undeliverable else "cancelled"
        return await self._end(ask_id, Outcome(status=status, at=utc_now(), by=by, reason=reason))

    async def _end(self, ask_id: str, outcome: Outcome) -> bool:
        def settle_if_open(ask: Ask | None) -> tuple[Ask | None, None]:
            if ask is None or ask.outcome is not None:
                return None, None
            return ask.evolve(interview=settle(ask.interview, outcome)), None

        return (await self._store.decide(ask_id, settle_if_open)).settled

    async def resolve_doubts(self) -> None:
        """Look up the results of commits that took too long to wait for, and notify callers that wait for these
        asks."""
        while self._in_doubt:
            ask_id = next(iter(self._in_doubt))
            ask = await self._store.get_latest(ask_id)
            self._in_doubt.discard(ask_id)
            if ask is not None:
                if ask.outcome is not None:
                    self._announce(ask)
                # The caller that acted got an error, so it draws nothing.
                await self.cards.leave_to_outbox(ask_id)

    # Reading

    async def list_open_asks(self, place: Place | None = None) -> tuple[Ask, ...]:
        """Return the open asks, of one place or of all, oldest first."""
        return await self._store.list_open(place)

    async def get(self, ask_id: str) -> Ask | None:
        """Return one ask, open or settled; None if no ask has that id."""
        return await self._store.get(ask_id)

    # Events

    def _on_event(self, event: Event) -> None:
        match event:
            case AskSettled(ask=ask, action=action):
                with nullcontext() if action is None else _open_click_span(action, ask):
                    self._announce(ask)
            case FileSettled(ask_id=str() as ask_id):
                self.callers.wake(ask_id)
            case CommitUncertain(ask_ids=ask_ids):
                self._in_doubt.update(ask_ids)
            case _:
                pass

    def _announce(self, ask: Ask) -> None:
        """Log that an ask has ended, and wake the callers that wait for it."""
        log.info(
            "A question was %s.",
            ask.status.replace("_", " "),
            extra={"action": "ask_settled", "ask_id": ask.id, "status": ask.status},
        )
        if ask.outcome is not None:
            telemetry.record_settled(ask.trace, ask.status, ask.created_at, ask.outcome.at)
        self.callers.wake(ask.id)


def _open_click_span(action: Action, ask: Ask | None) -> AbstractContextManager[object]:
    trace = None if ask is None else ask.trace
    return telemetry.trace_click(trace, action.actor.platform, action.operation.kind, action.at)


def _trace_click(action: Action, ask: Ask | None) -> None:
    with _open_click_span(action, ask):
        pass
