"""The engine without a bot: the real store, manager, worker, agent and anthropic client. The Messages API is local."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

from askback.agent.approvals import ApprovalRules
from askback.agent.budget import Budget
from askback.agent.loop import Agent
from askback.agent.settings import AgentSettings
from askback.agent.tool_runner import ToolRunner
from askback.domain.actions import Action, Operation
from askback.domain.ask import Ask
from askback.domain.bot_access import Access
from askback.domain.click_response import Notice
from askback.domain.identity import Actor, MessageRef, Place
from askback.domain.incoming_message import IncomingMessage
from askback.domain.open_ask_limits import Limits
from askback.inbound.answer_parser import TypedReplies
from askback.inbound.card_recovery import CardRecovery
from askback.inbound.message_edits import EditRouter
from askback.inbound.message_router import MessageRouter
from askback.internal.clock import utc_now
from askback.manager import QuestionManager
from askback.runtime.backend import build_signal_handler, open_backend
from askback.runtime.periodic import LOOK_AGAIN
from askback.runtime.turns import LocalTurnScheduler
from askback.runtime.worker import Worker
from askback.store.database import Database
from askback.store.errors import StoreBusy
from askback.store.sqlite.database import SqliteDatabase
from askback.store.store import Store
from askback.tools import get_tool
from askback.user_tools.function_tool import UserTool
from askback_sandbox.model.script import ToolCall, call
from askback_sandbox.services import Services
from support.board import ANN, HERE, WITHIN, Board
from support.stores import url_in

T = TypeVar("T")

_open: list[Worker] = []
"""The workers of the engines that run at the moment."""


class Engine:
    """Everything of one process except the bot."""

    def __init__(
        self,
        store: Store,
        board: Board,
        manager: QuestionManager,
        worker: Worker,
        agent: Agent,
        reception: MessageRouter,
        toolbox: ToolRunner,
        changes: EditRouter,
    ) -> None:
        self.changes = changes
        self.toolbox = toolbox
        self.store = store
        self.board = board
        self.manager = manager
        self.worker = worker
        self.agent = agent
        self.reception = reception
        self._written = 0

    async def write(self, text: str, author: Actor = ANN, place: Place = HERE, key: str | None = None) -> bool:
        self._written += 1
        heard = IncomingMessage(
            place=place, author=author, text=text, dedupe_key=key or f"{id(self)}:{self._written}", at=utc_now()
        )
        taken = await insisting(lambda: self.reception.receive(heard, begin=True))
        self.worker.wake()
        return taken.new

    async def stop(self, by: Actor, place: Place = HERE) -> str | None:
        self._written += 1
        refused = await self.reception.stop(place, by, key=f"{id(self)}:{self._written}")
        return None if refused is None else refused.notice

    async def press(
        self,
        ask: Ask,
        operation: Operation,
        actor: Actor = ANN,
        message: MessageRef | None = None,
        *,
        draw: bool = True,
        delivery: str | None = None,
    ) -> Any:
        """Handle a click as a bot does: commit, then draw."""
        known = [number for number, posted in self.board.messages.items() if posted.name == ask.id]
        message = message or (MessageRef(channel=ask.place.channel, id=known[0]) if known else None)
        action = Action(
            ask_id=ask.id,
            actor=actor,
            at=utc_now(),
            step=ask.interview.step,
            operation=operation,
            message=message,
            delivery=delivery,
        )
        response = await insisting(lambda: self.manager.act(action))
        if draw and (not isinstance(response, Notice) or response.card is not None):
            await self.manager.cards.draw(ask.id, self.board.show)
        return response

    async def cancel(self, ask_id: str, **more: Any) -> bool:
        """End an ask, as `QuestionManager.cancel` does."""
        return await insisting(lambda: self.manager.cancel(ask_id, **more))

    async def change_policy(self, ask_id: str, **changes: Any) -> None:
        """Change the policy of a stored ask, for example so that its deadline passes now."""
        await change_policy(self.store, ask_id, **changes)
        self.worker.wake()

    async def expire(self, ask_id: str) -> None:
        """Let the deadline of an ask pass now, regardless of its timeout."""
        await self.change_policy(ask_id, deadline=utc_now())

    async def asked(self, count: int = 1) -> list[Ask]:
        """Return the open cards, once there are `count`."""
        return await self.board.until(lambda: self.board.open() if len(self.board.open()) == count else None)

    async def recorded(self, *cards: Ask) -> None:
        """Wait until the location of these cards is stored."""

        async def known() -> bool:
            stored = [await self.manager.get(card.id) for card in cards]
            return all(ask is not None and ask.messages for ask in stored)

        await eventually(known)

    async def says(self, text: str) -> None:
        await self.board.until(lambda: any(text in said for said in self.board.texts()))


async def change_policy(store: Store, ask_id: str, **changes: Any) -> None:
    """Change the policy of a stored ask, for example so that its deadline passes now."""

    def decision(ask: Ask | None) -> tuple[Ask | None, None]:
        assert ask is not None
        return ask.evolve(policy=ask.policy.evolve(**changes)), None

    await insisting(lambda: store.decide(ask_id, decision))


async def insisting(do: Callable[[], Awaitable[T]]) -> T:
    """Repeat the call until it is committed, as people do who read that nothing was changed.

    A commit that takes longer than 2 s is refused, as promised. A test machine may stall for longer.
    """
    while True:
        try:
            return await do()
        except StoreBusy as refusal:
            if refusal.in_doubt:
                raise


def model_client(key: str, url: str) -> AsyncAnthropic:
    """Return a client of the local Messages API. It reads no certificates, which would take 25 ms for each test."""
    return AsyncAnthropic(api_key=key, base_url=url, max_retries=0, http_client=DefaultAsyncHttpxClient(verify=False))


@asynccontextmanager
async def engine(
    folder: Path,
    board: Board,
    services: Services | None = None,
    *,
    limits: Limits | None = None,
    tools: tuple[str, ...] = ("AskUserQuestion",),
    patience: float = 30.0,
    wait_for_people: float | None = None,
    give_up: float = 60.0,
    first_pause: float = 0.01,
    key: str = "sk-test",
    work: bool = True,
    access: Access | None = None,
    typed: TypedReplies = "off",
    budget: Budget | None = None,
    rounds: int = 25,
    compact_at: int | None = None,
    own: tuple[object, ...] = (),
    approvals: ApprovalRules | None = None,
    tool_timeout: float = WITHIN,
    **toolbox: int,
) -> AsyncGenerator[Engine]:
    """Run one process; a second one on the same folder is a restart.

    It works on a file in that folder, or on the PostgreSQL database that is named there (`stores.stored`).
    """
    async with AsyncExitStack() as stack:
        shared, served = url_in(folder), frozenset({board.name})
        if shared is None:
            kept = None
            database: Database = await asyncio.to_thread(SqliteDatabase, folder / "askback.db")
            stack.push_async_callback(database.close)
        else:
            kept = await stack.enter_async_context(open_backend(shared, served=served))
            database = kept.database
        store = Store(database, served)
        manager = QuestionManager(store, limits or Limits(seconds_between_asks=0))
        url = services.anthropic_url if services is not None else "http://127.0.0.1:9"
        client = await stack.enter_async_context(model_client(key, url))
        settings = AgentSettings(
            model="claude-test",
            tools=tuple(get_tool(name) for name in tools),
            timeout=wait_for_people,
            silence_timeout=patience,
            budget=budget or Budget(),
            rounds=rounds,
            compact_at=compact_at,
            approvals=approvals or ApprovalRules(),
        )
        box = ToolRunner(store, tuple(map(UserTool.from_object, own)), timeout=tool_timeout, **toolbox)
        await stack.enter_async_context(box)

        async def opened() -> AsyncAnthropic:
            return client

        agent = Agent(opened, store, manager, {board.name: board}, settings, box, {board.name: board})
        manager.access.add(board.name, access or Access(open=True), board.groups)
        reception = MessageRouter(store, manager, agent, {board.name: board}, typed)
        turns = (
            LocalTurnScheduler(store, agent.advance)
            if kept is None
            else kept.create_scheduler(store, agent.advance, served)
        )
        worker = Worker(
            store,
            manager,
            {board.name: board},
            turns if services is not None else None,
            alone=kept is None,
            look_again=LOOK_AGAIN if kept is None else kept.look_again,
            give_up=timedelta(seconds=give_up),
            first_pause=first_pause,
        )
        if kept is not None:
            await stack.enter_async_context(kept.listen(build_signal_handler(manager, worker, agent)))
        before = asyncio.all_tasks()
        _open.append(worker)
        task = asyncio.create_task(worker.run()) if work else None
        try:
            changes = EditRouter(store, manager, CardRecovery(store, manager, {board.name: board}), reception)
            yield Engine(store, board, manager, worker, agent, reception, box, changes)
        finally:
            _open.remove(worker)
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                assert task.cancelled(), task.exception()
            left = {one for one in asyncio.all_tasks() - before if one.get_name().startswith("askback")}
            # With other engines running, the tasks may be theirs; the last engine makes the check.
            assert not left or _open, left


def question(prompt: str = "Which colour?", *labels: str) -> ToolCall:
    options = [{"label": label, "description": ""} for label in labels or ("Green", "Blue")]
    return call(
        "AskUserQuestion",
        questions=[{"question": prompt, "header": prompt[:12], "options": options, "multiSelect": False}],
    )


def last_request(services: Services) -> list[dict[str, Any]]:
    """Return the messages of the model's newest request."""
    # Sort by the time of the request: an interrupted one may be recorded after the next.
    request: Any = max(services.model.log, key=lambda exchange: exchange.number).request
    return request["messages"]


def results(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [block for message in messages for block in message["content"] if block["type"] == "tool_result"]


async def eventually(look: Callable[[], Awaitable[Any]]) -> Any:
    """Return the first true result of `look`, for changes that only the database shows."""
    async with asyncio.timeout(WITHIN):
        while True:
            if found := await look():
                return found
            await asyncio.sleep(0.005)
