"""Run everything in one process: store, manager, worker, agent and bots."""

from __future__ import annotations

__all__ = ["Host", "open_host"]

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import cast

from askback.agent.budget import Budget
from askback.agent.client_loader import ModelClient, require_agent
from askback.agent.loop import Agent
from askback.agent.settings import AgentSettings
from askback.agent.tool_runner import ToolRunner
from askback.domain.conversation import RECENT, RecentConversation, StopDenial
from askback.domain.identity import Actor, Place
from askback.domain.incoming_message import IncomingMessage, MessageResult
from askback.domain.open_ask_limits import Limits
from askback.domain.outgoing_message import OfferChoice, OfferResult
from askback.inbound.card_recovery import CardRecovery
from askback.inbound.card_replies import CardTextAnswers
from askback.inbound.message_edits import EditRouter
from askback.inbound.message_router import NOT_HERE, MessageRouter
from askback.inbound.text_answers import UNKNOWN
from askback.internal.clock import utc_now
from askback.internal.garbage_collector import resume_collector
from askback.manager import QuestionManager
from askback.network.http_server import serve_http as serving
from askback.observability import telemetry
from askback.ports.bot import Bot, BotServices, Connection
from askback.ports.files import FileReader
from askback.ports.installed_bots import list_bot_names
from askback.ports.platform import HistoryReader, Platform
from askback.runtime.backend import build_signal_handler, open_backend
from askback.runtime.deleted_cards import DeletedCardChecker
from askback.runtime.health import Health
from askback.runtime.shutdown import end_tasks
from askback.runtime.worker import Worker
from askback.settings.address import Address
from askback.settings.core import Settings
from askback.settings.environment import load_settings
from askback.settings.working_directory import check_database, check_file
from askback.store.store import Store
from askback.translations.catalogue import _, use_language
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
) -> AsyncGenerator[Host]:
    """Run these bots until the block ends, then stop everything that was started.

    Without `agent`, people are only asked through `Host.manager`, and their own messages are left to other processes.
    `holder` names this process to others that try to open the same database file.
    Raises `OperatorError` when settings are missing, when another process works on the same database, or when a bot
    cannot continue; the block is cancelled then.
    """
    try:
        settings = settings or _load_settings()
        if agent:
            require_agent()
        async with _run_bots(bots, settings, agent=agent, limits=limits, holder=holder) as host:
            yield host
    except BaseExceptionGroup as group:
        # Task groups wrap each exception that passes through them: unwrap one that is alone in its group.
        raise _unwrap_group(group) from None


def _load_settings() -> Settings:
    """Read the settings. Raises `OperatorError` when settings or the database of an earlier release would be lost."""
    check_file()
    settings = load_settings()
    check_database(settings)
    return settings


def _unwrap_group(group: BaseExceptionGroup[BaseException]) -> BaseException:
    only = group.exceptions[0]
    if len(group.exceptions) > 1:
        return group
    return (
        _unwrap_group(cast("BaseExceptionGroup[BaseException]", only)) if isinstance(only, BaseExceptionGroup) else only
    )


@asynccontextmanager
async def _run_bots(
    bots: Sequence[Bot], settings: Settings, *, agent: bool, limits: Limits | None, holder: str
) -> AsyncGenerator[Host]:
    async with AsyncExitStack() as stack:
        served = frozenset(bot.name for bot in bots)
        kept = await stack.enter_async_context(open_backend(settings.database_url, holder, served))
        store = Store(kept.database, served, frozenset(list_bot_names()) | served)
        health = Health(kept.database)
        await stack.enter_async_context(health.track_event_loop())
        if settings.health is not None:
            address = await stack.enter_async_context(
                serving(health.create_application(), Address.read(settings.health))
            )
            log.info("Serving health checks at http://%s/healthz and /readyz.", address, extra={"action": "health"})
        manager = QuestionManager(store, limits or settings.limits, settings.language)
        stack.enter_context(telemetry.observe_open_asks(store.count_open))
        platforms: dict[str, Platform] = {}
        histories: dict[str, HistoryReader] = {}
        readers: dict[str, FileReader] = {}
        brain = toolbox = model = None
        if agent:
            model = await stack.enter_async_context(ModelClient(settings.model_key))
            tools = load_tools(settings.tools, settings.folder, settings.approval_tools)
            toolbox = ToolRunner(
                store, tools.user_tools, timeout=settings.tool_timeout, result_limit=settings.tool_result_limit
            )
            await stack.enter_async_context(toolbox)
            brain = Agent(
                model.get, store, manager, platforms, _build_agent_settings(settings, tools), toolbox, histories
            )
        retention = None if settings.retention is None else timedelta(seconds=settings.retention)
        turns = None if brain is None else kept.create_scheduler(store, brain.advance, served)
        worker = Worker(
            store,
            manager,
            platforms,
            turns,
            alone=not kept.is_shared,
            look_again=kept.look_again,
            retention=retention,
            readers=readers,
        )
        await stack.enter_async_context(kept.listen(build_signal_handler(manager, worker, brain)))

        cards = CardRecovery(store, manager, platforms)
        reception = (
            None if brain is None else MessageRouter(store, manager, brain, platforms, settings.typed_replies, cards)
        )
        changes = EditRouter(store, manager, cards, reception)
        sweep = DeletedCardChecker(store, cards, platforms)

        under_cards = CardTextAnswers(store, manager, settings.typed_replies, cards, agent=reception is not None)

        async def receive(incoming: IncomingMessage, *, begin: bool, is_repeatable: bool = False) -> MessageResult:
            author = await manager.access.identify_author(
                incoming.author, incoming.place, begin=begin, is_repeatable=is_repeatable
            )
            incoming = incoming.evolve(author=author)
            with use_language(author.language or manager.language):
                return await receive_from(incoming, begin=begin)

        async def receive_from(incoming: IncomingMessage, *, begin: bool) -> MessageResult:
            counted = None if incoming.hidden else await under_cards.receive(incoming, begin=begin)
            if counted is not None:
                return counted
            if reception is None:
                return MessageResult(new=False, is_for_others=True)
            return await reception.receive(incoming, begin=begin)

        async def stop(place: Place, by: Actor, *, key: str) -> StopDenial | None:
            if reception is None:
                with use_language(by.language or manager.language):
                    return NOT_HERE.evolve(notice=_(NOT_HERE.notice))
            with use_language(by.language or manager.language):
                return await reception.stop(place, await manager.access.identify_author(by, place), key=key)

        async def choose(offer_id: str, by: Actor, choice: OfferChoice, /) -> OfferResult:
            if reception is None:
                with use_language(by.language):
                    return OfferResult(over=False, notice=_(UNKNOWN), known=False)
            sender = await manager.access.identify(by, offer_id)
            return await reception.replies.choose(offer_id, sender.people[0], choice)

        async def list_recent(name: str) -> tuple[RecentConversation, ...]:
            return () if reception is None else await store.list_recent(name, utc_now() - RECENT)

        def build_services(name: str) -> BotServices:
            return BotServices(
                manager=manager,
                has_agent=reception is not None,
                receive=receive,
                stop=stop,
                choose=choose,
                changes=changes,
                missed=partial(sweep.schedule_check, name),
                list_recent=partial(list_recent, name),
                routes=health.list_routes(),
            )

        connections = [await stack.enter_async_context(bot.connect(build_services(bot.name))) for bot in bots]
        for connection in connections:
            name = connection.platform.name
            platforms[name], histories[name] = connection.platform, connection.history
            readers[name] = connection.files
            manager.access.add(name, connection.access, connection.membership)
            if reception is not None:
                level = logging.WARNING if connection.access.is_closed else logging.INFO
                log.log(level, "%s", connection.access.describe(), extra={"action": "access", "platform": name})
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        started = [tasks.create_task(worker.run(), name="askback worker")]
        started += [
            tasks.create_task(connection.serve(), name=f"askback {connection.platform.name}")
            for connection in connections
        ]
        started.append(tasks.create_task(sweep.run(), name="askback sweep"))
        loading = [tasks.create_task(_finish_loading(model), name="askback model")]
        by_name = {connection.platform.name: connection for connection in connections}
        health.watch((*started, *kept.parts), by_name, None if toolbox is None else toolbox.check_state)
        leave_at: float | None = None

        async def drain() -> None:
            nonlocal leave_at
            leave_at = time.monotonic() + LEAVE_SECONDS
            health.is_draining = True
            await asyncio.gather(worker.drain_turns(DRAIN_SECONDS), *(connection.drain() for connection in connections))

        try:
            yield Host(
                manager=manager,
                store=store,
                platforms=platforms,
                connections=by_name,
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
                await end_tasks((*started, *loading))


async def _finish_loading(model: ModelClient | None) -> None:
    """Load the parts that the bot does not need in order to listen, and then resume the garbage collector."""
    try:
        if model is not None:
            await model.load()
    finally:
        resume_collector()


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
        budget=Budget(conversation=settings.budget_conversation, day=settings.budget_day),
    )
