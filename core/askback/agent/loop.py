"""The agent: a loop over the Messages API that stores its state at every pause, so that a restart loses nothing.

A turn begins when the message to the model is committed. It ends with one commit of the model's answer, the asks in it,
and the texts for people. Between the two commits, memory holds nothing but a stream.
"""

from __future__ import annotations

__all__ = ["Agent"]

import asyncio
import logging
from collections.abc import Mapping
from datetime import timedelta

from askback.agent.cancellation import CancellableRunner
from askback.agent.client_loader import Client
from askback.agent.concurrency_slots import Slot
from askback.agent.file_blocks import add_references, list_references
from askback.agent.file_wait import FileWait
from askback.agent.history_reader import fetch_thread_history
from askback.agent.messages_api import ModelRequest, stream_response
from askback.agent.queued_text import QueuedTextStream
from askback.agent.reservation import Reservation
from askback.agent.settings import AgentSettings
from askback.agent.thread_history import EMPTY_HISTORY, ThreadHistory
from askback.agent.tool_calls import ToolCallHandler, fail_excess_questions
from askback.agent.tool_runner import ToolRunner
from askback.agent.transcript import (
    count_rounds_alone,
    replace_call_ids,
    to_api_messages,
)
from askback.agent.turn_end import TurnEndBuilder
from askback.agent.turn_input import build_omission_notice, compose_message
from askback.agent.turn_text import TurnText
from askback.domain.ask import Ask
from askback.domain.attached_file import FileProblem
from askback.domain.conversation import Conversation
from askback.domain.identity import Place
from askback.domain.outgoing_message import OutgoingMessage
from askback.domain.turn import Call, CallsToRun, Message, NextStep, TokenUsage, Turn, TurnEnd, TurnInput
from askback.manager import QuestionManager
from askback.observability import telemetry
from askback.ports.platform import (
    AgentStatus,
    DeliveryError,
    HistoryReader,
    MessageNotFound,
    Messages,
    Platform,
    RetryableError,
    TextStream,
)
from askback.store.errors import FilesPending, TurnTakenOver
from askback.store.queries.new_asks import TooManyOpenAsks
from askback.store.store import Store
from askback.store.transaction_events import ConversationStopped, Event
from askback.store.turn_transactions import TokenReservation
from askback.translations.catalogue import _, use_language

log = logging.getLogger("askback.agent")

BUDGET_PAUSE = 1.0
"""Seconds before a turn is retried if running calls may still return some of the budget."""


class Agent:
    """Calls the model, and asks people on its behalf."""

    def __init__(
        self,
        client: Client,
        store: Store,
        manager: QuestionManager,
        platforms: Mapping[str, Platform],
        settings: AgentSettings,
        toolbox: ToolRunner | None = None,
        histories: Mapping[str, HistoryReader] | None = None,
    ) -> None:
        """`toolbox` holds the operator's own tools, which the model gets in addition to those of the settings.

        `histories` maps platforms to readers of earlier messages. On a platform without one, the model reads none.
        """
        self._histories: Mapping[str, HistoryReader] = histories if histories is not None else {}
        self._toolbox = toolbox or ToolRunner(store)
        self._client = client
        self._store = store
        self._manager = manager
        self._platforms = platforms
        self._settings = settings
        self._calls = ToolCallHandler(settings.tools, self._toolbox, settings.approvals, settings.timeout)
        self._ends = TurnEndBuilder(store, manager.access, self._calls, settings.approvals, settings.answerers)
        self._steps = CancellableRunner(store)
        self._files = FileWait(store)
        self._working: dict[str, Conversation] = {}
        """Conversations in which people see the agent at work."""
        store.subscribe(self._on_event)

    def check_for_stop(self, conversation_id: str | None = None) -> None:
        """Check whether this or another process stopped a conversation. A stop discards the running step. None checks
        all conversations."""
        self._steps.check_for_stop(conversation_id)

    def _on_event(self, event: Event) -> None:
        """End the running step of a conversation that somebody stopped, and show people that the agent is idle."""
        if isinstance(event, ConversationStopped):
            self._steps.check_for_stop(event.conversation.id)
            self._set_status(event.conversation, "idle")

    async def advance(self, conversation_id: str, slot: Slot | None = None) -> None:
        """Take turns until the conversation waits for people or is done. Others may use `slot` while tools run."""
        held = slot or Slot()
        try:
            goes_on = True
            while goes_on:
                step = await self._store.get_next_step(conversation_id)
                with use_language(self._manager.language or step.language):
                    run = self._run_step(conversation_id, step, held)
                    goes_on = await self._steps.run(conversation_id, step.stops, run)
        finally:
            # The status does not change between two steps, so that it does not flicker. A stop may have arrived in
            # between.
            working = self._working.get(conversation_id)
            if working is not None:
                self._set_status(working, "idle")

    async def _run_step(self, conversation_id: str, step: NextStep, slot: Slot) -> bool:
        """Take one turn. Return False if there is nothing to do for now."""
        if step.calls is not None:
            await self._run_tools(step.calls, slot)
        await slot.acquire()
        await self._manager.awaited_names.wait()
        earlier = await self._fetch_history(step.history_place)
        reservation = Reservation(self._store, self._settings.budget)
        try:
            try:
                return await self._take_turn(conversation_id, earlier, reservation, waits_for_files=True)
            except FilesPending:
                slot.release()
                await self._files.wait(conversation_id)
                await slot.acquire()
                return await self._take_turn(conversation_id, earlier, reservation)
        except TurnTakenOver:
            log.warning(
                "Dropped a turn: another process has taken it over.",
                extra={"action": "turn_dropped", "conversation_id": conversation_id},
            )
            await reservation.settle()
        except BaseException:
            # Runs to completion even if this task is cancelled.
            await asyncio.shield(reservation.settle())
            raise
        return True

    async def _take_turn(
        self,
        conversation_id: str,
        earlier: ThreadHistory,
        reservation: Reservation,
        *,
        waits_for_files: bool = False,
    ) -> bool:
        """Commit the message to the model with the tokens of the call, and call it. Return False if it was not
        called."""
        answered: list[tuple[Call, Ask]] = []

        def compose(news: TurnInput) -> Message:
            answered[:] = [(call, ask) for call, ask in news.calls if ask is not None]
            return compose_message(self._calls, earlier, news)

        def reserve(turn: Turn, spent: TokenUsage) -> int:
            return 0 if self._find_pause(turn) is not None else reservation.decide(self._build_request(turn), spent)

        turn = await self._store.begin_turn(
            conversation_id,
            compose,
            build_omission_notice(conversation_id, earlier),
            earlier=earlier.messages,
            reservation=TokenReservation(reservation.id, reserve),
            waits_for_files=waits_for_files,
        )
        if turn is None:
            # There is still work if people approved a call after the tools ran.
            return (await self._store.get_next_step(conversation_id)).calls is not None
        request, grant = reservation.request, reservation.grant
        pause = self._find_pause(turn)
        if pause is not None:
            await self._end_with_notice(turn, pause)
            return False
        assert request is not None
        if not grant.tokens:
            await (self._end_with_notice(turn, grant.problem) if grant.problem else self._wait(conversation_id))
            return False
        answers = [ask.trace for _, ask in answered]
        with telemetry.trace_turn(turn.conversation.trace, answers, resumed=turn.resumed):
            for call, ask in answered:
                telemetry.record_tool_result(call.tool, ask.status, ask.trace)
            await self._call_model(turn, request, reservation)
        return True

    def _find_pause(self, turn: Turn) -> str | None:
        """Return the sentence for people if the model must not be called before one of them writes. None if it may."""
        if turn.halted:
            return _("Nobody answered in time, so I have stopped. Write “continue” and I will.")
        if count_rounds_alone(turn.history) >= self._settings.rounds:
            return _(
                "I have called the model {count} times without a message from you. Write “continue” and I will."
            ).format(count=self._settings.rounds)
        return None

    async def _wait(self, conversation_id: str) -> None:
        """Retry soon, since running calls of other conversations may leave some of the budget."""
        log.info(
            "A turn waits for budget: running calls have reserved all that is left. It is retried in some seconds.",
            extra={"action": "budget_waits", "conversation_id": conversation_id},
        )
        await self._store.postpone(conversation_id, timedelta(seconds=BUDGET_PAUSE))

    async def _run_tools(self, work: CallsToRun, slot: Slot) -> None:
        """Run the model's tool calls, including those that an earlier process left without a result."""
        self._set_status(work.conversation, "working")
        slot.release()
        await self._toolbox.run(work)
        if await self._store.has_open_asks(work.conversation.id):
            self._set_status(work.conversation, "waiting")

    async def _end_with_notice(self, turn: Turn, problem: str) -> None:
        """Tell people why no further turn follows. The model gets their messages together with their next one."""
        notice = OutgoingMessage(target=f"rest:{turn.text_name}", text=problem, markdown=False)
        end = TurnEnd(
            conversation_id=turn.conversation.id,
            notice=notice,
            waits_for_person=True,
            stops=turn.conversation.stops,
            after=turn.history[-1].seq,
        )
        await self._store.end_turn(end, self._manager.limits)
        self._set_status(turn.conversation, "idle")

    async def _fetch_history(self, place: Place | None) -> ThreadHistory:
        """Return the messages in the thread from before the conversation began, if there can be any."""
        reader = None if place is None else self._histories.get(place.platform)
        if place is None or reader is None:
            return EMPTY_HISTORY
        return await fetch_thread_history(reader, place, self._manager.access)

    def _set_status(self, conversation: Conversation, status: AgentStatus) -> None:
        if status == "working":
            self._working[conversation.id] = conversation
        else:
            self._working.pop(conversation.id, None)
        platform = self._platforms.get(conversation.place.platform)
        if platform is not None:
            platform.set_status(conversation.place, status, conversation.starter)

    async def _call_model(self, turn: Turn, request: ModelRequest, reservation: Reservation) -> None:
        conversation = turn.conversation
        platform = self._platforms[conversation.place.platform]
        self._set_status(conversation, "working")
        status: AgentStatus = "idle"
        try:
            begun = conversation.text_messages or (await self._find_posted(platform, turn) if turn.resumed else ())
            stream = self._open_stream(platform, turn, begun)
            text = TurnText(self._store, turn, stream, reservation.adjust)
            try:
                client = await self._client()
                contents = await self._store.load_file_contents(list_references(request.messages))
                request = request.evolve(contents=contents)
                response = await text.read(stream_response(client, request, text.follow, reservation.meter))
                if response.rejected_files:
                    await self._store.reject_files(response.rejected_files, FileProblem(code="refused"))
                end = await self._ends.build(turn, replace_call_ids(response, turn.history), stream.messages)
                end = end.evolve(tokens=reservation.meter.total_tokens, reservation=reservation.id)
                if end.outgoing is None:
                    # Before the commit, because no process looks for a placeholder of a turn that has ended.
                    await text.abandon()
                taken_at = asyncio.get_running_loop().time()
                ended = await self._end_turn(end)
            except Exception:
                await text.abandon(will_retry=True)
                raise
            except BaseException:
                await text.abandon(will_retry=not self._steps.is_stopped(conversation.id))
                raise
            if not ended:
                await text.abandon()
                log.info(
                    "Dropped a turn: a person stopped it, or another process committed it first.",
                    extra={"action": "turn_dropped", "conversation_id": conversation.id},
                )
                return
            if end.outgoing is not None:
                await text.finish(end.outgoing, taken_at)
            status = _get_status_after_turn(end)
        finally:
            self._set_status(conversation, status)

    async def _end_turn(self, end: TurnEnd) -> bool:
        """Commit a turn. Return False if someone stopped it, or another process has ended it."""
        while True:
            try:
                return await self._store.end_turn(end, self._manager.limits) is not None
            except TooManyOpenAsks as error:
                # Each retry asks fewer questions, since other callers may ask in this place at the same time.
                end = end.evolve(calls=fail_excess_questions(end.calls, error.limit, error.free))

    async def _find_posted(self, platform: Platform, turn: Turn) -> Messages | None:
        """Return messages of this text that an earlier process posted but did not record. None means unknown for
        now."""
        try:
            return await platform.find_posted(turn.conversation.place, turn.text_target)
        except (DeliveryError, MessageNotFound, RetryableError) as error:
            log.warning(
                "Could not look up whether a text is already posted, so the turn starts without it: %s",
                error,
                extra={"action": "text_not_found"},
            )
            return None if isinstance(error, RetryableError) else ()

    def _open_stream(self, platform: Platform, turn: Turn, begun: Messages | None) -> TextStream:
        """Begin the text of a turn, after any earlier text that is still to be posted."""
        conversation, target = turn.conversation, turn.text_target

        def begin() -> TextStream:
            return platform.open_stream(conversation.place, target, conversation.starter, begun, resumed=turn.resumed)

        async def has_earlier_text() -> bool:
            return await self._store.has_earlier_text(conversation.id, before=target)

        if begun:
            return begin()
        return QueuedTextStream(has_earlier_text, begin, waiting=turn.has_earlier_text)

    def _build_request(self, turn: Turn) -> ModelRequest:
        return ModelRequest(
            model=self._settings.model,
            system=self._settings.system_prompt,
            max_tokens=self._settings.max_tokens,
            messages=to_api_messages(add_references(turn.history, turn.files)),
            tools=self._calls.definitions,
            compact_at=self._settings.compact_at,
            silence_timeout=self._settings.silence_timeout,
        )


def _get_status_after_turn(end: TurnEnd) -> AgentStatus:
    """Return the agent's status after a turn. Tools to run take precedence over open questions."""
    if any(call.ask is None and call.result is None for call in end.calls):
        return "working"
    return "waiting" if any(call.ask is not None for call in end.calls) else "idle"
