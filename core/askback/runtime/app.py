"""Run everything in one process: store, manager, worker, agent and bots."""

from __future__ import annotations

__all__ = ["Host", "open_host"]

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from askback.agent.budget import Budget
from askback.agent.client_loader import ModelClient, require_agent
from askback.agent.loop import Agent
from askback.agent.settings import AgentSettings
from askback.agent.tool_runner import ToolRunner
from askback.domain.open_ask_limits import Limits
from askback.inbound.card_recovery import CardRecovery
from askback.inbound.card_replies import CardTextAnswers
from askback.inbound.message_edits import EditRouter
from askback.inbound.message_router import MessageRouter
from askback.internal.error_groups import unwrap_group
from askback.internal.garbage_collector import resume_collector
from askback.manager import QuestionManager
from askback.network.http_server import serve_http as serving
from askback.observability import telemetry
from askback.ports.bot import Bot, Connection
from askback.ports.installed_bots import list_bot_names
from askback.ports.platform import Platform
from askback.runtime.backend import Backend, build_signal_handler, open_backend
from askback.runtime.bot_inputs import BotInputs
from askback.runtime.connected_bots import ConnectedBots
from askback.runtime.deleted_cards import DeletedCardChecker
from askback.runtime.health import Health
from askback.runtime.optional_bots import OptionalBots
from askback.runtime.shutdown import end_tasks
from askback.runtime.worker import Worker
from askback.settings.address import Address
from askback.settings.core import Settings
from askback.settings.environment import load_settings
from askback.settings.working_directory import check_database, check_file
from askback.store.store import Store
from askback.user_tools.loader import LoadedTools, load_tools

log = logging.getLogger("askback.host")

FINISH_SECONDS = 5.0
DRAIN_SECONDS = 4.0
"""Seconds that a running turn of the agent may continue after shutdown begins."""
LEAVE_SECONDS = 7.0
"""Seconds after shutdown begins until nothing more is shown. The rest of ten seconds is for closing."""
TOOL_SECONDS = 3.0
"""Seconds that running tools get to finish before they are cancelled; the outcome of a cancelled one is unknown."""


@dataclass(frozen=True, slots=True)
class Host:
    """A running askback."""

    manager: QuestionManager
    store: Store
    platforms: dict[str, Platform]
    connections: dict[str, Connection]
    health: Health
    wake: Callable[[], None]
    """Check for due work now. This happens automatically after commits of this process."""
    drain: Callable[[], Awaitable[None]]
    """Take nothing new, and wait some seconds for running work to finish. The next start takes up the rest."""


@asynccontextmanager
async def open_host(
    bots: Sequence[Bot],
    settings: Settings | None = None,
    *,
    agent: bool = True,
    limits: Limits | None = None,
    holder: str = "",
    others: Sequence[Bot] = (),
) -> AsyncGenerator[Host]:
    """Run these bots until the block ends, then stop everything that was started.

    Without `agent`, people are only asked through `Host.manager`, and their own messages are left to other processes.
    `holder` names this process to others that try to open the same database file. `others` run, too, as soon as and
    as long as they can: if one fails, the log says so, and it is tried again.
    Raises `OperatorError` when settings are missing, when another process works on the same database, or when a bot
    cannot continue; the block is cancelled then.
    """
    try:
        settings = settings or _load_settings()
        if agent:
            require_agent()
        async with _run_bots(bots, settings, with_agent=agent, limits=limits, holder=holder, others=others) as host:
            yield host
    except BaseExceptionGroup as group:
        raise unwrap_group(group) from None


def _load_settings() -> Settings:
    """Read the settings. Raises `OperatorError` when settings or the database of an earlier release would be lost."""
    check_file()
    settings = load_settings()
    check_database(settings)
    return settings


@asynccontextmanager
async def _run_bots(
    bots: Sequence[Bot],
    settings: Settings,
    *,
    with_agent: bool,
    limits: Limits | None,
    holder: str,
    others: Sequence[Bot],
) -> AsyncGenerator[Host]:
    async with AsyncExitStack() as stack:
        needed = frozenset(bot.name for bot in bots)
        served = needed | {bot.name for bot in others}
        backend = await stack.enter_async_context(open_backend(settings.database_url, holder, needed, served - needed))
        store = Store(backend.database, served, frozenset(list_bot_names()) | served)
        health = Health(backend.database)
        await stack.enter_async_context(health.track_event_loop())
        if settings.health is not None:
            address = await stack.enter_async_context(
                serving(health.create_application(), Address.read(settings.health))
            )
            log.info("Serving health checks at http://%s/healthz and /readyz.", address, extra={"action": "health"})
        manager = QuestionManager(store, limits or settings.limits, settings.language)
        stack.enter_context(telemetry.observe_open_asks(store.count_open))
        connected = ConnectedBots(manager)
        platforms = connected.platforms
        agent = model = toolbox = None
        if with_agent:
            agent, model, toolbox = await _open_agent(stack, settings, store, manager, connected)
        retention = None if settings.retention is None else timedelta(seconds=settings.retention)
        turns = None if agent is None else backend.create_scheduler(store, agent.advance, served)
        worker = Worker(
            store,
            manager,
            platforms,
            turns,
            alone=not backend.is_shared,
            look_again=backend.look_again,
            retention=retention,
            readers=connected.files,
        )
        await stack.enter_async_context(backend.listen(build_signal_handler(manager, worker, agent)))

        cards = CardRecovery(store, manager, platforms)
        router = (
            None if agent is None else MessageRouter(store, manager, agent, platforms, settings.typed_replies, cards)
        )
        deleted_cards = DeletedCardChecker(store, cards, platforms)
        inputs = BotInputs(
            store,
            manager,
            CardTextAnswers(store, manager, settings.typed_replies, cards, agent=router is not None),
            router,
            EditRouter(store, manager, cards, router),
            deleted_cards,
            takes_typed_answers=settings.typed_replies != "off",
            routes=health.list_routes(),
        )

        optional = OptionalBots(others, connected, worker, inputs.build_services, partial(_announce, backend, needed))
        connections: list[Connection] = []
        leave_at: float | None = None

        async def drain() -> None:
            nonlocal leave_at
            leave_at = time.monotonic() + LEAVE_SECONDS
            health.is_draining = True
            draining = (connection.drain() for connection in {*connections, *connected.connections.values()})
            await asyncio.gather(worker.drain_turns(DRAIN_SECONDS), *draining)

        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        started: list[asyncio.Task[None]] = []

        def start(name: str, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
            started.append(tasks.create_task(work, name=f"askback {name}"))
            return started[-1]

        try:
            parts: list[asyncio.Task[None]] = []
            if others:
                # Begin before the other bots are connected: a platform that does not answer delays nothing here.
                parts += [start("worker", worker.run()), start("sweep", deleted_cards.run())]
                parts.append(start("optional bots", optional.run()))
            for bot in bots:
                connection = await stack.enter_async_context(bot.connect(inputs.build_services(bot.name)))
                connections.append(connection)
                connected.add(connection)
                worker.wake()
                if router is not None:
                    level = logging.WARNING if connection.access.is_closed else logging.INFO
                    extra = {"action": "access", "platform": bot.name}
                    log.log(level, "%s", connection.access.describe(), extra=extra)
            if not others:
                parts += [start("worker", worker.run()), start("sweep", deleted_cards.run())]
            parts += [start(connection.platform.name, connection.serve()) for connection in connections]
            start("model", _finish_loading(model))
            by_name = {connection.platform.name: connection for connection in connections}
            health.watch((*parts, *backend.parts), by_name, None if toolbox is None else toolbox.check_state)
            yield Host(
                manager=manager,
                store=store,
                platforms=platforms,
                connections=connected.connections,
                health=health,
                wake=worker.wake,
                drain=drain,
            )
            # Show what finished last before this ends. A cancelled or failed block skips this and ends at once.
            left = FINISH_SECONDS if leave_at is None else leave_at - time.monotonic()
            await worker.finish(min(max(left, 0.0), FINISH_SECONDS))
        finally:
            try:
                if toolbox is not None:
                    await toolbox.finish(TOOL_SECONDS)
            finally:
                await end_tasks(started)


def _announce(backend: Backend, needed: frozenset[str], others: frozenset[str], away: Mapping[str, str]) -> None:
    """Let other processes know which platforms this process serves, and why it does not serve others."""
    backend.announce(needed | others, away)


async def _finish_loading(model: ModelClient | None) -> None:
    """Load the parts that the bot does not need in order to listen, and then resume the garbage collector."""
    try:
        if model is not None:
            await model.load()
    finally:
        resume_collector()


async def _open_agent(
    stack: AsyncExitStack, settings: Settings, store: Store, manager: QuestionManager, connected: ConnectedBots
) -> tuple[Agent, ModelClient, ToolRunner]:
    """Open the agent, the client of its model, and the runner of its tools. The stack closes them."""
    model = await stack.enter_async_context(ModelClient(settings.model_key))
    tools = load_tools(settings.tools, settings.folder, settings.approval_tools)
    runner = ToolRunner(store, tools.user_tools, timeout=settings.tool_timeout, result_limit=settings.tool_result_limit)
    await stack.enter_async_context(runner)
    given = _build_agent_settings(settings, tools)
    agent = Agent(model.get, store, manager, connected.platforms, given, runner, connected.histories)
    return agent, model, runner


def _build_agent_settings(settings: Settings, tools: LoadedTools) -> AgentSettings:
    return AgentSettings(
        model=settings.model,
        tools=tools.questions,
        system_prompt=settings.system_prompt,
        max_tokens=settings.max_tokens,
        timeout=settings.timeout,
        approvals=settings.approvals,
        answerers=settings.asked,
        compact_at=settings.compact_at,
        rounds=settings.rounds,
        earlier_answers=settings.earlier_answers,
        budget=Budget(conversation=settings.budget_conversation, day=settings.budget_day),
    )
