"""The agent: a loop over the Messages API that stores its state at every pause, so that a restart loses nothing.

A turn begins when the message to the model is committed. It ends with one commit of the model's answer, the asks in it,
and the texts for people. Between the two commits, memory holds nothing but a stream.
"""

from __future__ import annotations

__all__ = ["Agent", "AgentSettings"]

import asyncio
import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from pydantic import JsonValue

from askback.agent.anthropic_client import Client
from askback.agent.approvals import ApprovalRules, standing_approvers
from askback.agent.audience import NO_ADDRESSEES, Addressees, Answerers, resolve_addressees
from askback.agent.budget import MAX_ROUNDS, Budget, Grant
from askback.agent.calls import ToolCallHandler, fail_excess_questions
from askback.agent.cancellation import CancellableRunner
from askback.agent.compaction import COMPACT_AT
from askback.agent.concurrency_slots import Slot
from askback.agent.history import EMPTY_HISTORY, ThreadHistory
from askback.agent.messages_api import ModelRequest, ModelResponse, stream_response
from askback.agent.meter import TokenMeter
from askback.agent.names import NameFormatter
from askback.agent.prompt import SYSTEM_PROMPT
from askback.agent.queued_text import QueuedTextStream
from askback.agent.thread_history import fetch_thread_history
from askback.agent.tool_runner import ToolRunner
from askback.agent.transcript import (
    count_rounds_alone,
    render_history,
    render_message,
    render_stop_note,
    to_api_blocks,
    to_api_messages,
    with_new_ids,
)
from askback.agent.turn_text import TurnText
from askback.domain.ask import Ask
from askback.domain.conversation import (
    PROSE,
    ApprovalContext,
    Call,
    CallsToRun,
    Conversation,
    Message,
    OutgoingMessage,
    TokenUsage,
    Turn,
    TurnEnd,
    TurnInput,
)
from askback.domain.identity import Place, unique_accounts
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
from askback.store.ask_transactions import TooManyOpenAsks
from askback.store.errors import StoreError, TurnTakenOver
from askback.store.events import ConversationStopped, Event
from askback.store.store import Store
from askback.tools import QuestionTool, ToolInput

log = logging.getLogger("askback.agent")

MAX_PAUSES = 8
"""Times in a row that a paused turn continues, before people are asked."""
OMITTED_MESSAGES_TEXT = "I have not read {} here by others who may not talk with me. Whoever runs me can allow them."
BUDGET_PAUSE = 1.0
"""Seconds before the retry of a turn that waits for budget which other calls may leave."""
MAX_FAILED_TURNS = 5
"""Turns in a row with only failed tool calls after which people are asked."""


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The agent's settings."""

    model: str
    tools: tuple[QuestionTool[ToolInput], ...]
    system_prompt: str = SYSTEM_PROMPT
    max_tokens: int = 8192
    timeout: float | None = None
    """Seconds that a question waits for people. None means no deadline."""
    silence_timeout: float = 120.0
    """Seconds that the model may be silent in the middle of an answer."""
    compact_at: int | None = COMPACT_AT
    """Number of tokens at which the API compacts a conversation. None means never."""
    budget: Budget = field(default_factory=Budget)
    rounds: int = MAX_ROUNDS
    """Most calls of the model without a message from a person."""
    approvals: ApprovalRules = field(default_factory=ApprovalRules)
    """The rules for the operator's tools that need approval."""
    answerers: Answerers = field(default_factory=Answerers)
    """The people who may answer questions."""


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
        self._steps = CancellableRunner(store)
        self._working: dict[str, Conversation] = {}
        """Conversations in which people see the agent at work."""
        self._paused: dict[str, int] = {}
        self._mistakes: dict[str, int] = {}
        store.subscribe(self._on_event)

    def check_for_stop(self, conversation_id: str | None = None) -> None:
        """Check for a stop, made here or in another process. A stop ends the running step, of which nothing counts.
        None checks all conversations."""
        self._steps.check_for_stop(conversation_id)

    def _on_event(self, event: Event) -> None:
        """End the running step of a conversation that somebody stopped, and show people that the agent is idle."""
        if isinstance(event, ConversationStopped):
            self._steps.check_for_stop(event.conversation.id)
            self._set_status(event.conversation, "idle")

    async def advance(self, conversation_id: str, slot: Slot | None = None) -> None:
        """Take turns until the conversation waits for people or is done. Others may use `slot` while tools run."""
        held = slot or Slot()

        async def step(conversation_id: str) -> bool:
            return await self._step(conversation_id, held)

        try:
            while await self._steps.run(conversation_id, step):
                pass
        finally:
            # Between two steps the presence stays unchanged, so that nothing flickers. A stop may have arrived in
            # between.
            working = self._working.get(conversation_id)
            if working is not None:
                self._set_status(working, "idle")

    async def _step(self, conversation_id: str, slot: Slot) -> bool:
        """Take one turn. Return False if there is nothing to do for now."""
        step = await self._store.next_step(conversation_id)
        if step.calls is not None:
            await self._run_tools(step.calls, slot)
        await slot.acquire()
        earlier = await self._earlier(step.history_place)
        answered: list[tuple[Call, Ask]] = []

        def compose(news: TurnInput) -> Message:
            answered[:] = [(call, ask) for call, ask in news.calls if ask is not None]
            return self._compose(earlier, news)

        turn = await self._store.begin_turn(conversation_id, compose, _left_out(conversation_id, earlier))
        if turn is None:
            # There is still work if people approved a call after the tools ran.
            return (await self._store.next_step(conversation_id)).calls is not None
        if count_rounds_alone(turn.history) >= self._settings.rounds:
            await self._rest(
                turn,
                f"I have called the model {self._settings.rounds} times without a word from you. "
                "Write “go on” and I go on.",
            )
            return False
        request, reservation = self._request(turn), secrets.token_urlsafe(16)
        meter = TokenMeter(request.input_estimate)
        try:
            grant = await self._reserve(conversation_id, reservation, request, meter)
            if not grant.tokens:
                await (self._rest(turn, grant.problem) if grant.problem else self._wait(conversation_id))
                return False
            if grant.output_tokens < request.max_tokens:
                request = request.evolve(max_tokens=grant.output_tokens, is_rationed=True)
            answers = [ask.trace for _, ask in answered]
            with telemetry.trace_turn(turn.conversation.trace, answers, resumed=turn.resumed):
                for call, ask in answered:
                    telemetry.record_tool_result(call.tool, ask.status, ask.trace)
                await self._take(turn, request, reservation, meter)
        except TurnTakenOver:
            log.warning(
                "A turn is dropped: another process works on it.",
                extra={"action": "turn_dropped", "conversation_id": conversation_id},
            )
            await self._settle(reservation, meter)
        except BaseException:
            # Runs to completion even if this task is cancelled. It does nothing if the turn was committed.
            await asyncio.shield(self._settle(reservation, meter))
            raise
        return True

    async def _reserve(self, conversation_id: str, reservation: str, request: ModelRequest, meter: TokenMeter) -> Grant:
        """Reserve the tokens of a call of the model, if the budget allows the call."""

        def grant(spent: TokenUsage) -> Grant:
            return self._settings.budget.grant(spent, meter.input_estimate, request.max_tokens)

        spent = await self._store.reserve(conversation_id, reservation, lambda spent: grant(spent).tokens)
        return grant(spent)

    async def _settle(self, reservation: str, meter: TokenMeter) -> None:
        """Count the tokens of a call of the model whose turn commits nothing."""
        try:
            await self._store.settle(reservation, meter.total_tokens)
        except StoreError as error:
            log.warning(
                "What a call of the model used up could not be stored; it counts as much as was reserved: %s",
                error,
                extra={"action": "not_settled"},
            )

    async def _adjust(self, reservation: str, request: ModelRequest, meter: TokenMeter) -> None:
        """Replace the estimate in a reservation with the input tokens that the service has reported."""
        if self._settings.budget.is_set:
            await self._store.adjust(reservation, meter.input_tokens + meter.cached_tokens + request.max_tokens)

    async def _wait(self, conversation_id: str) -> None:
        """Retry soon, since running calls of other conversations may leave some of the budget."""
        log.info(
            "A turn waits until others have ended: what they may use up is all that is left of the budget.",
            extra={"action": "budget_waits", "conversation_id": conversation_id},
        )
        await self._store.put_off(conversation_id, timedelta(seconds=BUDGET_PAUSE))

    async def _run_tools(self, work: CallsToRun, slot: Slot) -> None:
        """Run the model's tool calls, including those that an earlier process left without a result."""
        self._set_status(work.conversation, "working")
        slot.release()
        await self._toolbox.run(work)
        if await self._store.has_open_asks(work.conversation.id):
            self._set_status(work.conversation, "waiting")

    async def _rest(self, turn: Turn, problem: str) -> None:
        """Tell people why no further turn follows. The model gets their messages together with their next one."""
        notice = OutgoingMessage(target=f"rest:{_name(turn)}", text=problem, markdown=False)
        end = TurnEnd(
            conversation_id=turn.conversation.id,
            notice=notice,
            rest=True,
            stops=turn.conversation.stops,
            after=turn.history[-1].seq,
        )
        await self._store.end_turn(end, self._manager.limits)
        self._set_status(turn.conversation, "idle")

    async def _earlier(self, place: Place | None) -> ThreadHistory:
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

    async def _take(self, turn: Turn, request: ModelRequest, reservation: str, meter: TokenMeter) -> None:
        conversation = turn.conversation
        name = _name(turn)
        platform = self._platforms[conversation.place.platform]
        self._set_status(conversation, "working")
        status: AgentStatus = "idle"
        try:
            begun = conversation.prose or (await self._begun(platform, conversation, name) if turn.resumed else ())
            prose = self._prose(platform, turn, name, begun)
            text = TurnText(self._store, turn, prose, lambda: self._adjust(reservation, request, meter))
            try:
                said = await stream_response(await self._client(), request, text.follow, meter)
                said = with_new_ids(said, turn.history)
                requested, those = await self._requested(turn, said), await self._audience(turn, said)
                end = self._end(turn, said, prose, requested, those)
                end = end.evolve(tokens=meter.total_tokens, reservation=reservation)
                taken_at = asyncio.get_running_loop().time()
                ended = await self._end_turn(end)
            except Exception:
                await text.abandon(will_retry=True)
                raise
            except BaseException:
                await text.abandon()
                raise
            if not ended:
                log.info(
                    "A turn is dropped: somebody stopped it, or another process ended it.",
                    extra={"action": "turn_dropped", "conversation_id": conversation.id},
                )
                await text.abandon()
                return
            await text.finish(end.say, taken_at)
            status = _status_after(end)
        finally:
            self._set_status(conversation, status)

    async def _end_turn(self, end: TurnEnd) -> bool:
        """Commit a turn. Return False if someone stopped it, or another process has ended it."""
        while True:
            try:
                return await self._store.end_turn(end, self._manager.limits) is not None
            except TooManyOpenAsks as error:
                # Each retry asks fewer questions, since others may ask in this place at the same time.
                end = end.evolve(calls=fail_excess_questions(end.calls, error.limit, error.free))

    async def _begun(self, platform: Platform, conversation: Conversation, name: str) -> Messages | None:
        """Return messages of this text that an earlier process posted but did not record. None means unknown for
        now."""
        try:
            return await platform.find_posted(conversation.place, f"{PROSE}{name}")
        except (DeliveryError, MessageNotFound, RetryableError) as error:
            log.warning("A text cannot be looked up: %s", error, extra={"action": "no_prose"})
            return None if isinstance(error, RetryableError) else ()

    def _prose(self, platform: Platform, turn: Turn, name: str, begun: Messages | None) -> TextStream:
        """Begin the text of a turn, after any earlier text that is still to be posted."""
        conversation, target = turn.conversation, f"{PROSE}{name}"

        def begin() -> TextStream:
            return platform.open_stream(conversation.place, target, conversation.starter, begun)

        async def waits() -> bool:
            return await self._store.has_earlier_text(conversation.id, before=target)

        if begun:
            return begin()
        return QueuedTextStream(waits, begin, waiting=turn.has_earlier_text)

    def _request(self, turn: Turn) -> ModelRequest:
        return ModelRequest(
            model=self._settings.model,
            system=self._settings.system_prompt,
            max_tokens=self._settings.max_tokens,
            messages=to_api_messages(turn.history),
            tools=self._calls.definitions,
            compact_at=self._settings.compact_at,
            silence_timeout=self._settings.silence_timeout,
        )

    async def _requested(self, turn: Turn, said: ModelResponse) -> ApprovalContext:
        """Collect the facts that the approval of a turn's calls depends on; empty if no call needs approval."""
        if not self._calls.need_approval(said.calls):
            return ApprovalContext()
        place, starter = turn.conversation.place, turn.conversation.starter
        tools = frozenset(str(block["name"]) for block in said.calls)
        requested = await self._store.get_approval_context(turn.conversation.id, tools)
        rules, access = self._settings.approvals, self._manager.access
        groups = rules.groups(place.platform)
        return requested.evolve(
            givers=await access.refresh(place, standing_approvers(rules, requested.settled), groups),
            alone=await access.sole_viewer(place, starter, groups),
            members=await access.members(place, groups),
            wrong=await self._calls.find_input_errors(turn.conversation, said.calls),
        )

    async def _audience(self, turn: Turn, said: ModelResponse) -> Addressees:
        """Return the people who may answer the questions of a turn."""
        if not self._calls.has_questions(said.calls):
            return NO_ADDRESSEES
        conversation, rules = turn.conversation, self._settings.answerers
        place, access = conversation.place, self._manager.access
        groups = rules.groups(place.platform)
        people = await self._store.list_participants(conversation.id)
        if groups:
            people = await access.refresh(place, people, groups)
        return resolve_addressees(
            rules, conversation, people, await access.sole_viewer(place, conversation.starter, groups)
        )

    def _end(
        self, turn: Turn, said: ModelResponse, prose: TextStream, requested: ApprovalContext, those: Addressees
    ) -> TurnEnd:
        conversation, name = turn.conversation, _name(turn)
        problem = said.problem
        stuck = _in_a_row(self._paused, conversation.id, said.paused) > MAX_PAUSES
        if stuck:
            del self._paused[conversation.id]
            problem = "I paused too often without getting on. Write “go on” and I try again."
        calls = tuple(
            self._calls.fail_unreadable_call(block, said.parse_errors[number])
            if number in said.parse_errors
            else self._calls.prepare_call(conversation, block, requested, those)
            for number, block in enumerate(said.calls)
        )
        # Calls that failed at once go straight back to the model. This must not repeat without end.
        mistaken = bool(calls) and all(call.result is not None for call in calls)
        rest = _in_a_row(self._mistakes, conversation.id, mistaken) >= MAX_FAILED_TURNS
        if rest:
            del self._mistakes[conversation.id]
            problem = "I tried to ask you something and did not manage to. Write “go on” and I try again."
        told = dict.fromkeys(text for text in (problem, *(call.notice for call in calls)) if text is not None)
        return TurnEnd(
            conversation_id=conversation.id,
            content=to_api_blocks(said.content),
            calls=calls,
            say=OutgoingMessage(target=f"{PROSE}{name}", text=said.text, markdown=True, messages=prose.messages)
            if said.text
            else None,
            notice=OutgoingMessage(target=f"problem:{name}", text="\n".join(told), markdown=False) if told else None,
            forget=said.forget,
            again=said.paused and not stuck,
            rest=rest,
            stops=conversation.stops,
            after=turn.history[-1].seq,
        )

    def _compose(self, earlier: ThreadHistory, news: TurnInput) -> Message:
        """Compose the next message to the model: exactly one result for each call, then people's messages."""
        keys = {one.key for one in news.written}
        earlier = earlier.evolve(messages=tuple(one for one in earlier.messages if one.key not in keys))
        halt = news.halt if news.written else None
        authors = unique_accounts(
            (
                *news.answering,
                *(() if halt is None or halt.by is None else (halt.by,)),
                *(one.author for one in earlier.messages if not one.ours),
                *(one.author for one in news.written),
            )
        )
        voters = (vote.by for _, ask in news.calls if ask is not None and ask.outcome for vote in ask.outcome.votes)
        namer = NameFormatter((*news.known, *authors, *voters, *(one.author for one in earlier.messages)))
        content: list[dict[str, JsonValue]] = [
            self._calls.to_result_block(call, ask, namer) for call, ask in news.calls
        ]
        if halt is not None:
            content.append(render_stop_note(halt, namer))
        context = render_history(earlier, namer)
        if context is not None:
            content.append(context)
        content.extend(render_message(one, namer) for one in news.written)
        return Message(seq=0, role="user", content=tuple(content), authors=authors)


def _left_out(conversation_id: str, earlier: ThreadHistory) -> OutgoingMessage | None:
    """Return the notice to people about messages that the model has not read; None if there are none."""
    if not earlier.omitted_count:
        return None
    text = OMITTED_MESSAGES_TEXT.format(
        "1 message" if earlier.omitted_count == 1 else f"{earlier.omitted_count} messages"
    )
    return OutgoingMessage(target=f"left_out:{conversation_id}", text=text, markdown=False)


def _status_after(end: TurnEnd) -> AgentStatus:
    """Return the agent's status after a turn. Tools to run take precedence over open questions."""
    if any(call.ask is None and call.result is None for call in end.calls):
        return "working"
    return "waiting" if any(call.ask is not None for call in end.calls) else "idle"


def _in_a_row(counts: dict[str, int], conversation_id: str, happened: bool) -> int:
    """Return how often something has happened in a row, this time included, so that the caller can limit it."""
    before = counts.pop(conversation_id, 0)
    if not happened:
        return 0
    counts[conversation_id] = before + 1
    return before + 1


def _name(turn: Turn) -> str:
    """Return the name for all texts of this turn: the conversation's id and the seq of the model's answer."""
    return f"{turn.conversation.id}:{turn.history[-1].seq + 1}"
