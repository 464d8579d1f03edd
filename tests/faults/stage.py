"""The environment of a round: its own services, database and folder."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from askback_sandbox.discord import limits as discord_limits
from askback_sandbox.discord.guild import Guild
from askback_sandbox.services import Services
from askback_sandbox.slack.workspace import Workspace
from support.clocks import SharedClock
from support.processes import Launcher

from . import databases
from .actors import discord_id, slack_id
from .approving import APPROVERS, QUORUM
from .failovers import Failovers, failing_over
from .network_faults import StormySocket, Weather, outages, replays
from .on_discord import DiscordRig
from .on_slack import SlackRig
from .record import Order, Record, lead_of
from .reminding import ESCALATE, REMIND
from .rig import ACK_SECONDS, Rig
from .round import Round, Watched

SETTINGS = """\
tools = ["AskUserQuestion", "rig_tools:tools"]
approvers = {approvers}
approval_quorum = {quorum}
approval_timeout = {seconds}
approval_remind = {remind}
approval_escalate_after = {later}
approval_escalate_to = {lead}
"""
TOOLS = '''
import json
import time
from pathlib import Path

from askback import tool

RAN = Path("ran.txt")
RELEASED = Path("released.txt")


def note(line: str) -> None:
    with RAN.open("a") as file:
        file.write(line + "\\n")


def deploy(where: str) -> str:
    """Deploy it."""
    note(f"began {where}")
    time.sleep(0.12)
    note(f"ended {where}")
    return f"deployed {where}"


def keep(what: str, arguments: dict) -> None:
    with RELEASED.open("a") as file:
        file.write(json.dumps({"what": what, "arguments": arguments, "at": time.time()}) + "\\n")


@tool(approval=True)
def release(where: str, version: str, with_notes: list[str]) -> str:
    """Release it."""
    arguments = {"where": where, "version": version, "with_notes": with_notes}
    keep("began", arguments)
    time.sleep(0.12)
    keep("ended", arguments)
    return f"released {where}"


tools = [deploy, release]
'''


@asynccontextmanager
async def rigged(order: Order, launcher: Launcher, folder: Path) -> AsyncGenerator[Round]:
    """Yield a round with its services and a fresh database."""
    (folder / "rig_tools.py").write_text(TOOLS, encoding="utf-8")
    who = slack_id if order.platform == "slack" else discord_id
    approvers = json.dumps([f"{order.platform}:{who(number)}" for number in range(APPROVERS)])
    settings = SETTINGS.format(
        approvers=approvers,
        quorum=QUORUM,
        seconds=order.deadline,
        remind=[share * order.deadline for share in REMIND],
        later=ESCALATE * order.deadline,
        lead=json.dumps([f"{order.platform}:{who(lead_of(order))}"]),
    )
    (folder / "askback.toml").write_text(settings, encoding="utf-8")
    weather = Weather(random.Random(order.seed + 1), calm=order.calm)
    model = Watched()
    before = discord_limits.RESPONSE_SECONDS
    discord_limits.RESPONSE_SECONDS = ACK_SECONDS  # type: ignore[misc]
    try:
        async with AsyncExitStack() as stack:
            failovers: Failovers | None = None
            clock = SharedClock()
            await stack.enter_async_context(clock.running())
            if order.failovers:
                dice = random.Random(order.seed + 2)
                url, failovers = await stack.enter_async_context(failing_over(dice))
            else:
                url = stack.enter_context(databases.fresh(order.store, folder))
            if order.platform == "slack":
                workspace = Workspace()
                socket = StormySocket(workspace, ack_seconds=ACK_SECONDS, event_retries=(0.1,) * 1000)
                socket.weather = weather
                async with (
                    Services(port=0, workspace=workspace, socket=socket, model=model) as services,
                    _outages(rig := SlackRig(services, folder, launcher), weather),
                ):
                    yield _round(order, rig, folder, weather, model, url, failovers, clock)
            else:
                guild = Guild()
                async with Services(port=0, guild=guild, model=model) as services:
                    doubling = asyncio.create_task(replays(guild, weather))
                    try:
                        async with _outages(rig := DiscordRig(services, folder, launcher), weather):
                            yield _round(order, rig, folder, weather, model, url, failovers, clock)
                    finally:
                        doubling.cancel()
    finally:
        discord_limits.RESPONSE_SECONDS = before  # type: ignore[misc]


@asynccontextmanager
async def _outages(rig: Rig, weather: Weather) -> AsyncGenerator[None]:
    task = asyncio.create_task(outages(rig, weather))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _round(
    order: Order,
    rig: Rig,
    folder: Path,
    weather: Weather,
    model: Watched,
    url: str,
    failovers: Failovers | None,
    clock: SharedClock,
) -> Round:
    rig.settings = {"ASKBACK_DATABASE_URL": url, "ASKBACK_TIMEOUT": str(order.deadline), "ASKBACK_LOG_LEVEL": "INFO"}
    return Round(order, rig, folder, weather, model, clock, failovers)


async def play(order: Order, launcher: Launcher, on_kill: Callable[[], None] = lambda: None) -> Record:
    """Play one round, with its own services and database."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="askback-faults-"))
    try:
        async with rigged(order, launcher, folder) as played:
            played.on_kill = on_kill
            try:
                return await played.play()
            finally:
                await played.end()
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
