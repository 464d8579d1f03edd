"""A bot with a primary and its standby: after any failure of the database, it serves again within seconds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path

import aiohttp
import psycopg
import pytest

from askback.manager.denials import NOT_SAVED, UNCERTAIN
from askback_sandbox.model.script import turn
from faults import on_discord, on_slack
from faults.rig import Rig, question
from faults.ship import list_private_texts
from support.clocks import SharedClock
from support.free_port import free_port
from support.postgres_servers import Pair, server_pair
from support.processes import Launcher

from .proxy import Proxy, proxy

PATIENCE = 90.0
"""Seconds for which a person clicks repeatedly, including the outage."""
SERVES_WITHIN = 5.0
"""Seconds for a click and a turn, once the database accepts commits again."""
LINES_A_MINUTE = 20
PLATFORMS = {"discord": on_discord.rigged, "slack": on_slack.rigged}
numbers = count()


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with server_pair() as pair:
        yield pair


class Office:
    """A bot, its environment, and Ada."""

    def __init__(self, rig: Rig, pair: Pair, way: Proxy, health: str, database: str) -> None:
        self.rig = rig
        self.pair = pair
        self.way = way
        self.health = health
        self.database = database
        self._asked = 0

    async def status(self, path: str) -> tuple[int, str]:
        async with aiohttp.ClientSession() as session, session.get(f"http://{self.health}{path}") as response:
            return response.status, await response.text()

    def lines(self) -> int:
        """Return the number of lines that the bot has logged, including tracebacks.

        It leaves out lines about clicks whose time is up: here the platform waits only for a second.
        """
        return sum("action=answer_lost" not in line for line in self.rig.whole_log().splitlines())

    async def ask(self) -> str:
        """Make a request as Ada, and wait for the question."""
        self._asked += 1
        prompt, done = f"Which colour has number {self._asked}?", f"Number {self._asked} is painted."
        self.rig.model.script(turn(question(prompt, "Green", "Blue")), turn(done), when=f"number {self._asked} ")
        self.rig.write(f"@askback paint number {self._asked} please")
        await self.rig.card(prompt)
        return prompt

    async def answer(self, prompt: str) -> None:
        """Click as Ada until the answer counts, again if told that it may not, and wait for the agent's text."""
        # She begins before the database fails; the time until a click counts after its return is measured separately.
        rig, number = self.rig, prompt.removesuffix("?").rpartition(" ")[2]

        def refusals() -> int:
            return sum(one.startswith((NOT_SAVED, UNCERTAIN)) for one in list_private_texts(rig))

        async with asyncio.timeout(PATIENCE):
            while True:
                await rig.until(lambda: rig.settled(prompt, "Green") or rig.usable(prompt), PATIENCE)
                if rig.settled(prompt, "Green"):
                    break
                known = refusals()
                if (await rig.press(rig.usable(prompt)[0], "Green")).acked:
                    await rig.until(lambda known=known: rig.settled(prompt, "Green") or refusals() > known)
                else:
                    await rig.link.connected()
        await rig.until(lambda: rig.whole(f"Number {number} is painted."))

    async def commits(self) -> None:
        """Wait until another client can commit through the bot's proxy, which includes the standby's confirmation."""

        def attempt() -> bool:
            try:
                with psycopg.connect(self.way.url(self.database), connect_timeout=2, autocommit=True) as one:
                    one.execute("SELECT pg_logical_emit_message(true, 'askback', 'commit')")
            except psycopg.Error:
                return False
            return True

        async with asyncio.timeout(30):
            while not await asyncio.to_thread(attempt):  # noqa: ASYNC110 - only the server knows
                await asyncio.sleep(0.05)

    async def weathers(self, away: Callable[[], Awaitable[None]], *, alive: bool = True) -> float:
        """Let a person wait for an answer while the database is away; return the seconds until it serves again."""
        clock = SharedClock()
        async with clock.running():
            return await self._weathers(away, clock.monotonic, alive=alive)

    async def _weathers(self, away: Callable[[], Awaitable[None]], now: Callable[[], float], *, alive: bool) -> float:
        # Measure the machine's own time for all that, under its current load.
        began = now()
        await self.answer(await self.ask())
        usual = now() - began
        prompt = await self.ask()
        lines, began = self.lines(), now()
        impatient = asyncio.create_task(self.answer(prompt))
        try:
            await away()
            await self.commits()
            back = now()
            await impatient
            seconds = now() - back
        finally:
            impatient.cancel()
            await asyncio.gather(impatient, return_exceptions=True)
        # A person who writes from now on is served as well, by every part of the bot.
        await self.answer(await self.ask())
        logged, minutes = self.lines() - lines, max(1.0, (now() - began) / 60)
        print(f"served again after {seconds:.1f} s; {logged} lines in {now() - began:.0f} s")
        # The click that waits and the turn after it each take the machine's own time.
        assert seconds - 2 * usual < SERVES_WITHIN, self.rig.log()
        assert logged <= LINES_A_MINUTE * minutes, self.rig.log()
        if alive:
            assert await self.status("/healthz") == (200, "ok\n")
        async with asyncio.timeout(SERVES_WITHIN):
            while (await self.status("/readyz"))[0] != 200:  # noqa: ASYNC110 - only the bot knows
                await asyncio.sleep(0.05)
        return seconds


@pytest.fixture
async def office(platform: str, pair: Pair, tmp_path: Path, launcher: Launcher) -> AsyncIterator[Office]:
    async with AsyncExitStack() as stack:
        # The database is part of its servers, either of which may be the primary by then.
        database = pair.primary.made(f"office_{next(numbers)}")
        way = await stack.enter_async_context(proxy(pair.primary.socket))
        rig = await stack.enter_async_context(PLATFORMS[platform](tmp_path, launcher))
        health = f"127.0.0.1:{free_port()}"
        rig.settings = {
            "ASKBACK_DATABASE_URL": way.url(database),
            "ASKBACK_HEALTH": health,
            "ASKBACK_LOG_LEVEL": "INFO",
        }
        office = Office(rig, pair, way, health, database)
        await rig.start()
        yield office
        await rig.stop()


async def test_after_a_standby_was_all_that_there_was_every_part_of_the_bot_finds_the_primary_again(
    office: Office,
) -> None:
    """The proxy leads to the standby before it is promoted, so every connection of the bot ends up there."""

    async def to_the_standby_and_back() -> None:
        office.way.target = office.pair.standby.socket
        office.way.cut()
        await asyncio.sleep(6)
        assert (await office.status("/readyz"))[0] == 503
        assert await office.status("/healthz") == (200, "ok\n")
        office.way.target = office.pair.primary.socket

    await office.weathers(to_the_standby_and_back)


async def test_a_switch_to_the_standby_and_back_loses_nothing(office: Office) -> None:
    """A person clicks all the time; the primary dies suddenly, and the standby takes over."""
    for _ in range(2):

        async def switched() -> None:
            office.way.target = None
            await asyncio.to_thread(office.pair.switch)
            office.way.target = office.pair.primary.socket

        await office.weathers(switched)
        await asyncio.to_thread(office.pair.rejoin)


async def test_a_server_that_is_made_read_only_is_waited_for(office: Office) -> None:
    def read_only(on: bool) -> None:
        office.pair.primary.execute(f"ALTER SYSTEM SET default_transaction_read_only = {'on' if on else 'off'}")
        office.pair.primary.execute("SELECT pg_reload_conf()")

    async def made_read_only() -> None:
        await asyncio.to_thread(read_only, True)
        office.way.cut()
        await asyncio.sleep(4)
        assert (await office.status("/readyz"))[0] == 503
        await asyncio.to_thread(read_only, False)

    try:
        await office.weathers(made_read_only)
    finally:
        await asyncio.to_thread(read_only, False)


async def test_a_server_that_is_restarted_is_waited_for(office: Office) -> None:
    async def restarted() -> None:
        await asyncio.to_thread(office.pair.primary.stop)
        await asyncio.sleep(3)
        await asyncio.to_thread(office.pair.primary.start)

    await office.weathers(restarted)


@pytest.mark.parametrize("words", [b"COMMIT", b"BEGIN", b"UPDATE asks"])
async def test_connections_that_are_cut_in_the_middle_of_a_transaction_lose_no_click(
    office: Office, words: bytes
) -> None:
    """Every connection that sends these words is cut at that point, for two seconds."""

    async def cut() -> None:
        office.way.cut_on(words)
        await asyncio.sleep(2)
        office.way.cut_on(None)
        assert office.way.cuts

    await office.weathers(cut)


async def test_connections_that_nobody_answers_any_more_are_given_up(office: Office) -> None:
    """Like a proxy whose server is gone: connections stay open, and no data arrives."""

    async def swallowed() -> None:
        office.way.swallow()
        await asyncio.sleep(4)
        office.way.answer()

    await office.weathers(swallowed)


async def test_a_heartbeat_that_was_cut_off_holds_up_no_turn(office: Office) -> None:
    """The connection goes silent once the server has the heartbeat: what it locked must not stay locked."""
    await office.answer(await office.ask())
    office.way.swallow_after(b"procrastinate_update_heartbeat")
    # A new connection sends the whole text of the statement, not only the name of a prepared one.
    office.way.cut()
    async with asyncio.timeout(30):
        while office.way.is_swallowing:  # noqa: ASYNC110 - the bot beats when its time has come
            await asyncio.sleep(0.05)
    # By then the bot has noticed that the connection is silent, and removes the worker to which the heartbeat belonged.
    until = asyncio.get_running_loop().time() + 12
    while asyncio.get_running_loop().time() < until:
        await office.answer(await office.ask())
        await asyncio.sleep(0.5)
