"""The agent: a loop over the Messages API that stores its state at every pause, so that a restart loses nothing.

A turn begins when the message to the model is committed. It ends with one commit of the model's answer, the asks in it,
and the texts for people. Between the two commits, memory holds nothing but a stream.
"""

from __future__ import annotations

__all__ = ["Agent", "AgentSettings"]

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from pydantic import JsonValue

from askback.agent.approvals import ApprovalRules, givers
from askback.agent.audience import NOBODY, Answerers, Audience, audience
from askback.agent.budget import ROUNDS, Budget, Grant
from askback.agent.calls import Calls, refused
from askback.agent.cancellation import Cancellation
from askback.agent.client import Client
from askback.agent.compaction import COMPACT_AT
from askback.agent.history import NOTHING, Earlier
from askback.agent.meter import Meter
from askback.agent.model import ModelTurn, Request, stream_turn
from askback.agent.names import Namer
from askback.agent.prompt import SYSTEM_PROMPT
from askback.agent.queued_text import QueuedTextStream
from askback.agent.slots import Slot
from askback.agent.thread_history import read_earlier
from askback.agent.tool_runner import ToolRunner
from askback.agent.transcript import (
    merged,
    rounds_alone,
    sendable,
    spoken,
    spoken_earlier,
    stopped,
    with_new_ids,
)
from askback.domain.access import Access
from askback.domain.ask import Ask
from askback.domain.conversation import (
    PROSE,
    ApprovalContext,
    Call,
    Conversation,
    Message,
    News,
    OutgoingMessage,
    Spent,
    Turn,
    TurnEnd,
)
from askback.domain.identity import each
from askback.manager import QuestionManager
from askback.observability import telemetry
from askback.ports.platform import DeliveryError, MessageNotFound, Messages, Mood, Platform, RetryableError, TextStream
from askback.store.asking import TooManyOpen
from askback.store.errors import StoreError
from askback.store.leases import LeaseLost, keep_lease
from askback.store.store import Store
from askback.tools import QuestionTool, ToolInput

log = logging.getLogger("askback.agent")

PAUSES = 8
"""Times in a row that a paused turn continues, before people are asked."""
LEFT_OUT = "I have not read {} here by others who may not talk with me. Whoever runs me can allow them."
BUDGET_PAUSE = 1.0
"""Seconds before the retry of a turn that waits for budget which other calls may leave."""
MISTAKES = 5
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
    patience: float = 120.0
    """Seconds that the model may be silent in the middle of an answer."""
    compact_at: int | None = COMPACT_AT
    """Number of tokens at which the API compacts a conversation. None means never."""
    budget: Budget = field(default_factory=Budget)
    rounds: int = ROUNDS
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
        access: Mapping[str, Access] | None = None,
    ) -> None:
        """`toolbox` holds the operator's own tools, which the model gets in addition to those of the settings.

        `access` maps platforms to access rules. On a platform without rules, the model reads everyone's earlier
        messages in a thread.
        """
        self._access: Mapping[str, Access] = access if access is not None else {}
        self._toolbox = toolbox or ToolRunner(store)
        self._client = client
        self._store = store
        self._manager = manager
        self._platforms = platforms
        self._settings = settings
        self._calls = Calls(manager, settings.tools, self._toolbox, settings.approvals, settings.timeout)
        self._steps = Cancellation(store)
        self._working: dict[str, Conversation] = {}
        """Conversations in which people see the agent at work."""
        self._paused: dict[str, int] = {}
        self._mistakes: dict[str, int] = {}

    def recheck(self, conversation_id: str | None = None) -> None:
        """Check for a stop, made here or in another process. A stop ends the running step, of which nothing counts.
        None checks all conversations."""
        self._steps.recheck(conversation_id)

    def rests(self, conversation: Conversation) -> None:
        """End the running step after a commit that ended the conversation's work, and show people that the agent is
        idle."""
        self._steps.recheck(conversation.id)
        self._presence(conversation, "idle")

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
                self._presence(working, "idle")

    async def _step(self, conversation_id: str, slot: Slot) -> bool:
        """Take one turn. Return False if there is nothing to do for now."""
        await self._run_tools(conversation_id, slot)
        await slot.take()
        earlier = await self._earlier(conversation_id)
        answered: list[tuple[Call, Ask]] = []

        def compose(news: News) -> Message:
            answered[:] = [(call, ask) for call, ask in news.calls if ask is not None]
            return self._compose(earlier, news)

        turn = await self._store.begin_turn(conversation_id, compose, _left_out(conversation_id, earlier))
        if turn is None:
            # There is still work if people approved a call after the tools ran.
            return await self._store.calls_to_run(conversation_id) is not None
        if rounds_alone(turn.history) >= self._settings.rounds:
            await self._rest(
                turn,
                f"I have called the model {self._settings.rounds} times without a word from you. "
                "Write “go on” and I go on.",
            )
            return False
        request, reservation = self._request(turn), secrets.token_urlsafe(16)
        meter = Meter(request.most_read)
        try:
            grant = await self._reserve(conversation_id, reservation, request, meter)
            if not grant.tokens:
                await (self._rest(turn, grant.problem) if grant.problem else self._wait(conversation_id))
                return False
            if grant.write < request.max_tokens:
                request = request.evolve(max_tokens=grant.write, is_rationed=True)
            answers = [ask.trace for _, ask in answered]
            with telemetry.taking_turn(turn.conversation.trace, answers, resumed=turn.resumed):
                for call, ask in answered:
                    telemetry.told_result(call.tool, ask.status, ask.trace)
                await self._take(turn, request, reservation, meter)
        except BaseException:
            # Runs to completion even if this task is cancelled. It does nothing if the turn was committed.
            await asyncio.shield(self._settle(reservation, meter))
            raise
        return True

    async def _reserve(self, conversation_id: str, reservation: str, request: Request, meter: Meter) -> Grant:
        """Reserve the tokens of a call of the model, if the budget allows the call."""

        def grant(spent: Spent) -> Grant:
            return self._settings.budget.grant(spent, meter.most, request.max_tokens)

        spent = await self._store.reserve(conversation_id, reservation, lambda spent: grant(spent).tokens)
        return grant(spent)

    async def _settle(self, reservation: str, meter: Meter) -> None:
        """Count the tokens of a call of the model whose turn commits nothing."""
        try:
            await self._store.settle(reservation, meter.tokens)
        except StoreError as error:
            log.warning(
                "What a call of the model used up could not be stored; it counts as much as was reserved: %s",
                error,
                extra={"action": "not_settled"},
            )

    async def _adjust(self, reservation: str, request: Request, meter: Meter) -> None:
        """Replace the estimate in a reservation with the input tokens that the service has reported."""
        if self._settings.budget.is_set:
            await self._store.adjust(reservation, meter.read + meter.cached + request.max_tokens)

    async def _wait(self, conversation_id: str) -> None:
        """Retry soon, since running calls of other conversations may leave some of the budget."""
        log.info(
            "A turn waits until others have ended: what they may use up is all that is left of the budget.",
            extra={"action": "budget_waits", "conversation_id": conversation_id},
        )
        await self._store.put_off(conversation_id, timedelta(seconds=BUDGET_PAUSE))

    async def _run_tools(self, conversation_id: str, slot: Slot) -> None:
        """Run the model's tool calls, including those that an earlier process left without a result."""
        work = await self._store.calls_to_run(conversation_id)
        if work is None:
            return
        self._presence(work.conversation, "working")
        try:
            slot.leave()
            await self._toolbox.run(work)
        finally:
            # A call may have queued a text for people.
            self._manager.nudge()
        if await self._store.is_asking(conversation_id):
            self._presence(work.conversation, "waiting")

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
        self._presence(turn.conversation, "idle")
        self._manager.nudge()

    async def _earlier(self, conversation_id: str) -> Earlier:
        """Return the messages in the thread from before the conversation began, if there can be any."""
        place = await self._store.begins_midway(conversation_id)
        platform = None if place is None else self._platforms.get(place.platform)
        if place is None or platform is None:
            return NOTHING
        return await read_earlier(platform, place, self._access.get(place.platform))

    def _presence(self, conversation: Conversation, mood: Mood) -> None:
        if mood == "working":
            self._working[conversation.id] = conversation
        else:
            self._working.pop(conversation.id, None)
        platform = self._platforms.get(conversation.place.platform)
        if platform is not None:
            platform.presence(conversation.place, mood, conversation.starter)

    async def _take(self, turn: Turn, request: Request, reservation: str, meter: Meter) -> None:
        conversation = turn.conversation
        name = _name(turn)
        platform = self._platforms[conversation.place.platform]
        self._presence(conversation, "working")
        mood: Mood = "idle"
        try:
            begun = conversation.prose or (await self._begun(platform, conversation, name) if turn.resumed else ())
            prose = await self._prose(platform, conversation, name, begun)
            try:
                follow = self._follow(prose, conversation, lambda: self._adjust(reservation, request, meter))
                said = await stream_turn(await self._client(), request, follow, meter)
                said = with_new_ids(said, turn.history)
                requested, those = await self._requested(turn, said), await self._audience(turn, said)
                end = self._end(turn, said, prose, requested, those)
                end = end.evolve(tokens=meter.tokens, reservation=reservation)
                taken_at = asyncio.get_running_loop().time()
                ended = await self._end_turn(end)
            except BaseException:
                await prose.abandon()
                raise
            if not ended:
                await prose.abandon()
                return
            await self._finish(prose, end, taken_at)
            mood = _mood(end)
            self._manager.nudge()
        finally:
            self._presence(conversation, mood)

    async def _end_turn(self, end: TurnEnd) -> bool:
        """Commit a turn. Return False if someone stopped it, or another process has ended it."""
        while True:
            try:
                return await self._store.end_turn(end, self._manager.limits) is not None
            except TooManyOpen as error:
                # Each retry asks fewer questions, since others may ask in this place at the same time.
                end = end.evolve(calls=refused(end.calls, error.limit, error.free))

    async def _begun(self, platform: Platform, conversation: Conversation, name: str) -> Messages | None:
        """Return messages of this text that an earlier process posted but did not record. None means unknown for
        now."""
        try:
            return await platform.find(conversation.place, f"{PROSE}{name}")
        except (DeliveryError, MessageNotFound, RetryableError) as error:
            log.warning("A text cannot be looked up: %s", error, extra={"action": "no_prose"})
            return None if isinstance(error, RetryableError) else ()

    async def _prose(
        self, platform: Platform, conversation: Conversation, name: str, begun: Messages | None
    ) -> TextStream:
        """Begin the text of a turn, after any earlier text that is still to be posted."""
        target = f"{PROSE}{name}"

        def begin() -> TextStream:
            return platform.prose(conversation.place, target, conversation.starter, begun)

        async def waits() -> bool:
            return await self._store.text_waits(conversation.id, before=target)

        if begun:
            return begin()
        prose = QueuedTextStream(waits, begin)
        await prose.start()
        return prose

    def _follow(
        self, prose: TextStream, conversation: Conversation, begins: Callable[[], Awaitable[None]]
    ) -> Callable[[str], Awaitable[None]]:
        recorded, begun = bool(conversation.prose), False

        async def follow(text: str) -> None:
            nonlocal recorded, begun
            if not begun:
                begun = True
                await begins()
            await prose.append(text)
            if not recorded and prose.messages:
                recorded = True
                await self._store.set_prose(conversation, prose.messages)

        return follow

    async def _finish(self, prose: TextStream, end: TurnEnd, taken_at: float) -> None:
        """Post the complete text under the lease taken at `taken_at`, a time of the running loop.

        The outbox delivers what cannot be posted now. Raises `LeaseLost`.
        """
        if end.say is None:
            await prose.abandon()
            return
        try:
            async with keep_lease(self._store, end.say.target, taken_at):
                await prose.finish(end.say.text)
        except LeaseLost:
            await prose.abandon()
            raise
        except (MessageNotFound, RetryableError, DeliveryError) as error:
            log.warning("A text is left to the outbox: %s", error, extra={"action": "prose_left"})
            await self._store.release(end.say.target)
        except asyncio.CancelledError:
            await asyncio.shield(self._store.release(end.say.target))
            raise
        else:
            await self._store.said(end.say.target)

    def _request(self, turn: Turn) -> Request:
        return Request(
            model=self._settings.model,
            system=self._settings.system_prompt,
            max_tokens=self._settings.max_tokens,
            messages=merged(turn.history),
            tools=self._calls.offered,
            compact_at=self._settings.compact_at,
            patience=self._settings.patience,
        )

    async def _requested(self, turn: Turn, said: ModelTurn) -> ApprovalContext:
        """Collect the facts that the approval of a turn's calls depends on; empty if no call needs approval."""
        if not self._calls.need_approval(said.calls):
            return ApprovalContext()
        place, starter = turn.conversation.place, turn.conversation.starter
        tools = frozenset(str(block["name"]) for block in said.calls)
        requested = await self._store.requested(turn.conversation.id, tools)
        rules, platform = self._settings.approvals, self._platforms[place.platform]
        groups = rules.groups(place.platform)
        return requested.evolve(
            givers=await platform.grouped(place, givers(rules, requested.settled), groups),
            alone=await platform.alone(place, starter, groups),
            members=await platform.members(place, groups) if groups else {},
            wrong=await self._calls.wrong(turn.conversation, said.calls),
        )

    async def _audience(self, turn: Turn, said: ModelTurn) -> Audience:
        """Return the people who may answer the questions of a turn."""
        if not self._calls.ask_people(said.calls):
            return NOBODY
        conversation, rules = turn.conversation, self._settings.answerers
        place, platform = conversation.place, self._platforms[conversation.place.platform]
        groups = rules.groups(place.platform)
        people = await self._store.participants(conversation.id)
        if groups:
            people = await platform.grouped(place, people, groups)
        return audience(rules, conversation, people, await platform.alone(place, conversation.starter, groups))

    def _end(
        self, turn: Turn, said: ModelTurn, prose: TextStream, requested: ApprovalContext, those: Audience
    ) -> TurnEnd:
        conversation, name = turn.conversation, _name(turn)
        problem = said.problem
        stuck = _in_a_row(self._paused, conversation.id, said.paused) > PAUSES
        if stuck:
            del self._paused[conversation.id]
            problem = "I paused too often without getting on. Write “go on” and I try again."
        calls = tuple(
            self._calls.unread(block, said.unreadable[number])
            if number in said.unreadable
            else self._calls.called(conversation, block, requested, those)
            for number, block in enumerate(said.calls)
        )
        # Calls that failed at once go straight back to the model. This must not repeat without end.
        mistaken = bool(calls) and all(call.result is not None for call in calls)
        rest = _in_a_row(self._mistakes, conversation.id, mistaken) >= MISTAKES
        if rest:
            del self._mistakes[conversation.id]
            problem = "I tried to ask you something and did not manage to. Write “go on” and I try again."
        told = dict.fromkeys(text for text in (problem, *(call.notice for call in calls)) if text is not None)
        return TurnEnd(
            conversation_id=conversation.id,
            content=sendable(said.content),
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

    def _compose(self, earlier: Earlier, news: News) -> Message:
        """Compose the next message to the model: exactly one result for each call, then people's messages."""
        keys = {one.key for one in news.written}
        earlier = earlier.evolve(said=tuple(one for one in earlier.said if one.key not in keys))
        halt = news.halt if news.written else None
        authors = each(
            (
                *news.answering,
                *(() if halt is None or halt.by is None else (halt.by,)),
                *(one.author for one in earlier.said if not one.ours),
                *(one.author for one in news.written),
            )
        )
        voters = (vote.by for _, ask in news.calls if ask is not None and ask.outcome for vote in ask.outcome.votes)
        namer = Namer((*news.known, *authors, *voters, *(one.author for one in earlier.said)))
        content: list[dict[str, JsonValue]] = [self._calls.result(call, ask, namer) for call, ask in news.calls]
        if halt is not None:
            content.append(stopped(halt, namer))
        context = spoken_earlier(earlier, namer)
        if context is not None:
            content.append(context)
        content.extend(spoken(one, namer) for one in news.written)
        return Message(seq=0, role="user", content=tuple(content), authors=authors)


def _left_out(conversation_id: str, earlier: Earlier) -> OutgoingMessage | None:
    """Return the notice to people about messages that the model has not read; None if there are none."""
    if not earlier.left_out:
        return None
    text = LEFT_OUT.format("1 message" if earlier.left_out == 1 else f"{earlier.left_out} messages")
    return OutgoingMessage(target=f"left_out:{conversation_id}", text=text, markdown=False)


def _mood(end: TurnEnd) -> Mood:
    """Return the agent's presence after a turn. Tools to run take precedence over open questions."""
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
