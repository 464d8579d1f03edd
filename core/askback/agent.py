"""The agent: a loop over the Messages API whose every pause is rows, so that a restart loses nothing.

A turn is begun by committing the message to the model and ended by committing what it said, the
asks that this led to, and what people are to read. Between the two nothing is kept but a stream.
"""

from __future__ import annotations

__all__ = ["Agent", "AgentSettings"]

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from anthropic import AsyncAnthropic
from pydantic import JsonValue

from askback.asks import Ask
from askback.conversations import PROSE, Call, Conversation, Heard, Message, Say, ToolCall, Turn, TurnEnd
from askback.errors import CallerError, ModelError
from askback.identity import Actor
from askback.manager import QuestionManager
from askback.model import ModelTurn, Request, stream_turn
from askback.platform import Gone, Messages, Platform, Prose, TryLater, Undeliverable
from askback.policy import Who
from askback.prompt import SYSTEM_PROMPT
from askback.store.store import Store
from askback.tools import QuestionTool, ToolInput
from askback.transcript import merged, sendable, spoken, with_new_ids

log = logging.getLogger("askback.agent")

PAUSES = 8
"""How often in a row a paused turn is gone on with, before people are asked."""
MISTAKES = 5
"""How often in a row the model may call tools wrongly, before people are asked."""
LINK_SECONDS = 1.0
"""How long the address of a question is waited for: the platform waits for the ack of what was written."""


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """How the agent behaves."""

    model: str
    tools: tuple[QuestionTool[ToolInput], ...]
    system_prompt: str = SYSTEM_PROMPT
    max_tokens: int = 8192
    timeout: float | None = None
    """Seconds that a question waits for people. None: for ever."""
    patience: float = 120.0
    """Seconds that the model may be silent in the middle of an answer."""


class Agent:
    """Hears people, calls the model, asks people for it."""

    def __init__(
        self,
        client: AsyncAnthropic,
        store: Store,
        manager: QuestionManager,
        platforms: Mapping[str, Platform],
        settings: AgentSettings,
    ) -> None:
        self._client = client
        self._store = store
        self._manager = manager
        self._platforms = platforms
        self._settings = settings
        self._tools = {tool.name: tool for tool in settings.tools}
        self._offered: tuple[dict[str, JsonValue], ...] = tuple(
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
            for tool in settings.tools
        )
        self._paused: dict[str, int] = {}
        self._mistakes: dict[str, int] = {}

    async def hear(self, heard: Heard, *, begin: bool) -> bool:
        """Take a message from a person. False: it was heard before, or belongs to no conversation.

        When this returns, the message is stored. `begin`: start a conversation where there is none.
        """
        received = await self._store.receive(heard, begin=begin)
        if received is None or received.duplicate:
            return False
        if received.waiting_for:
            await self._tell_waiting(received.conversation, received.waiting_for, heard)
        self._manager.nudge()
        return True

    async def _tell_waiting(self, conversation: Conversation, asks: tuple[Ask, ...], heard: Heard) -> None:
        """Say once what the conversation waits for: what people write meanwhile is kept for later."""
        ask = asks[0]
        platform = self._platforms.get(ask.place.platform)
        link = None
        if platform is not None and ask.messages:
            try:
                async with asyncio.timeout(LINK_SECONDS):
                    link = await platform.link(ask.messages[0])
            except (Undeliverable, Gone, TryLater, TimeoutError) as error:
                log.warning("The link to a question is not to be had: %s", error, extra={"action": "no_link"})
        people = ask.policy.who.people
        whose = "your" if any(one.is_same_person(heard.author) for one in people) else _whose(people)
        count = f" (and {len(asks) - 1} more)" if len(asks) > 1 else ""
        where = f": {link}" if link else "."
        text = (
            f"I have noted that. I am waiting for {whose} answer to the question above{count} and go on after it{where}"
        )
        await self._store.queue(Say(target=f"wait:{ask.id}", text=text, markdown=False), conversation.id)

    async def advance(self, conversation_id: str) -> None:
        """Take turns until the conversation waits for people or is done."""
        while True:
            turn = await self._store.begin_turn(conversation_id, self._compose)
            if turn is None:
                return
            await self._take(turn)

    async def _take(self, turn: Turn) -> None:
        conversation = turn.conversation
        # The seq of the message that the model answers names everything that this turn says.
        name = f"{conversation.id}:{turn.history[-1].seq + 1}"
        platform = self._platforms[conversation.place.platform]
        begun = conversation.prose or (await self._begun(platform, conversation, name) if turn.resumed else ())
        prose = platform.prose(conversation.place, f"{PROSE}{name}", conversation.starter, begun)
        try:
            said = await stream_turn(self._client, self._request(turn), self._follow(prose, conversation))
        except BaseException:
            await prose.abandon()
            raise
        end = self._end(conversation, name, with_new_ids(said, turn.history), prose)
        try:
            await self._store.end_turn(end, self._manager.limits)
        except CallerError as error:
            # Too many questions at once: the model hears it as the result of each call.
            await self._store.end_turn(end.evolve(calls=_refused(end.calls, str(error))), self._manager.limits)
        await self._finish(prose, end)
        self._manager.nudge()

    async def _begun(self, platform: Platform, conversation: Conversation, name: str) -> Messages:
        """What an ended process had shown of this text, where it ended before it could say where that stands."""
        try:
            return await platform.find(conversation.place, f"{PROSE}{name}")
        except (Undeliverable, Gone, TryLater) as error:
            log.warning("A text cannot be looked up: %s", error, extra={"action": "no_prose"})
            return ()

    def _follow(self, prose: Prose, conversation: Conversation) -> Callable[[str], Awaitable[None]]:
        recorded = bool(conversation.prose)

        async def follow(text: str) -> None:
            nonlocal recorded
            await prose.append(text)
            if not recorded and prose.messages:
                recorded = True
                await self._store.set_prose(conversation.id, prose.messages)

        return follow

    async def _finish(self, prose: Prose, end: TurnEnd) -> None:
        """Bring the text to its end; what cannot be done now is the outbox's."""
        if end.say is None:
            await prose.abandon()
            return
        try:
            await prose.finish(end.say.text)
        except (Gone, TryLater, Undeliverable) as error:
            log.warning("A text is left to the outbox: %s", error, extra={"action": "prose_left"})
            await self._store.release(end.say.target)
        else:
            await self._store.said(end.say.target)

    def _request(self, turn: Turn) -> Request:
        return Request(
            model=self._settings.model,
            system=self._settings.system_prompt,
            max_tokens=self._settings.max_tokens,
            messages=merged(turn.history),
            tools=self._offered,
            patience=self._settings.patience,
        )

    def _end(self, conversation: Conversation, name: str, said: ModelTurn, prose: Prose) -> TurnEnd:
        paused = 0
        if said.paused:
            paused = self._paused.get(conversation.id, 0) + 1
        self._paused[conversation.id] = paused
        problem = said.problem
        if paused > PAUSES:
            problem = "I paused too often without getting on. Write “go on” and I try again."
        if not paused:
            del self._paused[conversation.id]
        calls = tuple(self._call(conversation, block) for block in said.calls)
        # Calls that failed at once go straight back to the model: it must not go on like that for ever.
        mistakes = 0
        if calls and all(call.ask is None for call in calls):
            mistakes = self._mistakes.get(conversation.id, 0) + 1
        if 0 < mistakes < MISTAKES:
            self._mistakes[conversation.id] = mistakes
        else:
            self._mistakes.pop(conversation.id, None)
        rest = mistakes >= MISTAKES
        if rest:
            problem = "I tried to ask you something and did not manage to. Write “go on” and I try again."
        return TurnEnd(
            conversation_id=conversation.id,
            content=sendable(said.content),
            calls=calls,
            say=Say(target=f"{PROSE}{name}", text=said.text, markdown=True, messages=prose.messages)
            if said.text
            else None,
            notice=None if problem is None else Say(target=f"problem:{name}", text=problem, markdown=False),
            forget=said.forget,
            again=said.paused and paused <= PAUSES,
            rest=rest,
        )

    def _call(self, conversation: Conversation, block: Mapping[str, JsonValue]) -> ToolCall:
        tool_use_id, tool_name, data = str(block["id"]), str(block["name"]), block.get("input")
        tool = self._tools.get(tool_name)
        if tool is None:
            known = ", ".join(self._tools)
            return ToolCall(
                tool_use_id=tool_use_id,
                tool=tool_name,
                input=data,
                result=f"There is no tool {tool_name!r}. There are: {known}.",
                is_error=True,
            )
        try:
            form = tool.parse(data)
        except ModelError as error:
            refusal = tool.refusal(error)
            log.warning(
                "A question of the model could not be understood.",
                extra={"action": "question_refused", "tool": tool_name, "conversation_id": conversation.id},
            )
            return ToolCall(
                tool_use_id=tool_use_id, tool=tool_name, input=data, result=refusal.text, is_error=refusal.is_error
            )
        ask = self._manager.new_ask(
            form,
            to=conversation.place,
            policy=self._manager.policy(Who.only(conversation.starter), self._settings.timeout),
            conversation_id=conversation.id,
            asked_by=None,
        )
        return ToolCall(tool_use_id=tool_use_id, tool=tool_name, input=data, ask=ask)

    def _compose(
        self,
        conversation: Conversation,
        calls: tuple[tuple[Call, Ask | None], ...],
        written: tuple[tuple[Actor, str], ...],
    ) -> Message:
        """The next message to the model: exactly one result for each call, then what people wrote."""
        content: list[dict[str, JsonValue]] = [self._result(call, ask) for call, ask in calls]
        content.extend(spoken(author, text) for author, text in written)
        return Message(seq=0, role="user", content=tuple(content))

    def _result(self, call: Call, ask: Ask | None) -> dict[str, JsonValue]:
        text, is_error = call.result, call.is_error
        if ask is not None and ask.outcome is not None:
            tool = self._tools.get(call.tool)
            if tool is None:
                # Asked under another setting of ASKBACK_TOOLS: the answer is told all the same.
                text = ask.outcome.model_dump_json(include={"status", "answers", "reason"})
            else:
                result = tool.result(call.input, ask.outcome)
                text, is_error = result.text, result.is_error
        block: dict[str, JsonValue] = {"type": "tool_result", "tool_use_id": call.tool_use_id, "content": text or ""}
        if is_error:
            block["is_error"] = True
        return block


def _whose(people: tuple[Actor, ...]) -> str:
    names = " or ".join(one.name or one.id for one in people)
    return f"{names}'s" if names else "an"


def _refused(calls: tuple[ToolCall, ...], why: str) -> tuple[ToolCall, ...]:
    return tuple(
        call if call.ask is None else call.evolve(ask=None, result=f"Nobody was asked: {why}", is_error=True)
        for call in calls
    )
