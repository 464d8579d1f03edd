"""A door serves the platform that is asked, whatever happens to the other one whose credentials are set."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from e2e.ask.office import LOOK, OPTIONS, WITHIN, Office, Process
from e2e.ask.offices import OFFICES
from support.gate import Gate, gate_before
from support.processes import Launcher

from .environment import settle_in
from .graphs import asking
from .http_caller import FIRST, QUESTION, SECOND, HttpCaller, serve
from .langgraph_programs import WRITE, done, door

KINDS = ("refuses", "hangs", "rejects the token")
SOON = 15.0
"""Seconds within which the asked platform must be served while the other hangs."""
PROBE_SECONDS = 3.0
"""Seconds within which /readyz must answer."""
TOKENS = {"slack": "SLACK_BOT_TOKEN", "discord": "DISCORD_TOKEN"}
WRONG = {"slack": "xoxb-wrong", "discord": "wrong"}
REASONS = {
    ("slack", "refuses"): "Could not reach Slack (Connection refused).",
    ("slack", "rejects the token"): "Slack rejects SLACK_BOT_TOKEN",
    ("discord", "refuses"): "Could not reach Discord (Connection refused).",
    ("discord", "rejects the token"): "Discord rejects DISCORD_TOKEN",
}
WAITS = "are not served for now"


class Neighbour:
    """The other platform, on the same database and behind a gate."""

    def __init__(self, office: Office, there: Office, gate: Gate) -> None:
        self.office = there
        self.gate = gate
        self._here = office

    @property
    def platform(self) -> str:
        return self.office.platform

    async def fail(self, kind: str) -> None:
        """Let the platform fail in this way."""
        if kind == "refuses":
            await self.gate.refuse()
        elif kind == "hangs":
            await self.gate.hang()
        else:
            self._here.settings |= {TOKENS[self.platform]: WRONG[self.platform]}


@asynccontextmanager
async def next_to(office: Office, launcher: Launcher) -> AsyncGenerator[Neighbour]:
    (other,) = set(OFFICES) - {office.platform}
    name = f"ASKBACK_{other.upper()}_API_URL"
    async with gate_before(office.services.environment[name]) as gate:
        office.settings |= office.services.environment | {name: gate.url}
        there = OFFICES[other](office.services, office.folder, launcher)
        there.settings = office.settings
        try:
            yield Neighbour(office, there, gate)
        finally:
            await there.close()
            await office.close()


@pytest.fixture
async def neighbour(office: Office, launcher: Launcher) -> AsyncIterator[Neighbour]:
    async with next_to(office, launcher) as found:
        yield found


@pytest.fixture
async def stored_neighbour(stored_office: Office, launcher: Launcher) -> AsyncIterator[Neighbour]:
    async with next_to(stored_office, launcher) as found:
        yield found


def write_both(office: Office, other: str) -> Path:
    """Write a file with a caller on each platform."""
    file = office.folder / "both.toml"
    file.write_text(
        f'[first]\ntoken = "{FIRST}"\nto = "{office.platform}:#deploys"\nwho = "anyone"\n'
        f'[second]\ntoken = "{SECOND}"\nto = "{other}:#deploys"\nwho = "anyone"\n'
    )
    file.chmod(0o600)
    return file


@asynccontextmanager
async def served(office: Office, file: Path | None = None) -> AsyncGenerator[tuple[Process, HttpCaller]]:
    process, address = await serve(office, file=file)
    async with aiohttp.ClientSession() as session:
        yield process, HttpCaller(session, address)


async def ends_soon(process: Process) -> None:
    """Stop a server that must not wait for a platform that is away."""
    assert not process.is_over
    process.signal(signal.SIGTERM)
    assert (await process.ended())[0] == 0
    assert "did not end in time" not in process.err


@pytest.mark.parametrize("kind", KINDS)
async def test_a_command_asks_although_the_other_platform_is_away(
    office: Office, neighbour: Neighbour, kind: str
) -> None:
    await neighbour.fail(kind)
    asked = await office.ask()
    async with asyncio.timeout(SOON):
        await office.click("ada", "Yes")
        assert (await asked.outcome())["answer"] == "Yes"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_answers_although_the_other_platform_is_away(
    stored_office: Office, stored_neighbour: Neighbour, kind: str
) -> None:
    office, neighbour = stored_office, stored_neighbour
    await neighbour.fail(kind)
    async with served(office) as (process, one):
        async with asyncio.timeout(SOON):
            asking = asyncio.create_task(one.ask(wait=60))
            await office.click("ada", "Yes")
            assert (await asking)["answer"] == "Yes"
        await one.ask(question="Deploy 1.5?", options=["Yes", "No"])  # keeps the session open
        if office.environment()["ASKBACK_DATABASE_URL"].startswith("postgresql"):
            assert WAITS not in process.err  # other processes may serve the other platform
        elif kind != "hangs":
            if kind == "refuses":
                await process.said(WAITS)
                await neighbour.gate.open()
                await neighbour.office.connected(1)
            else:
                await office.until(lambda: neighbour.gate.tries > 3)
            lines = [line for line in process.err.splitlines() if WAITS in line]
            assert len(lines) == 1, process.err
            assert REASONS[neighbour.platform, kind] in lines[0]
            assert f"questions on {neighbour.platform} " in lines[0]
        await ends_soon(process)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_graph_asks_although_the_other_platform_is_away(
    office: Office, neighbour: Neighbour, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await neighbour.fail(kind)
    settle_in(office, monkeypatch)
    async with asking(office.folder, "Which version?") as graph, door(office, graph) as one:
        async with asyncio.timeout(SOON):
            running = asyncio.create_task(one.run({}, "thread"))
            await office.fill("ada", WRITE, "1.4.2", "Which version?")
            assert await running == {"answers": ["1.4.2"]}
    assert done(office) == ["1.4.2"]


@pytest.mark.parametrize("kind", ["refuses", "hangs"])
async def test_earlier_cards_of_the_other_platform_are_served_once_it_is_back(
    office: Office, neighbour: Neighbour, kind: str
) -> None:
    earlier = await neighbour.office.start(
        "ask", "Deploy 1.5?", "--to", f"{neighbour.platform}:#deploys", *OPTIONS, "--approvers", "anyone", "--key", "k"
    )
    await neighbour.office.card("Deploy 1.5?")
    await earlier.kill()
    await neighbour.fail(kind)
    asked = await office.ask()
    await office.card()
    await neighbour.office.connected(0)
    await neighbour.gate.open()
    await neighbour.office.connected(1)
    await neighbour.office.click("ben", "Yes", "Deploy 1.5?")
    await neighbour.office.settled("Deploy 1.5?", "Yes")
    await office.click("ada", "Yes")
    assert (await asked.outcome())["answer"] == "Yes"


async def test_who_asks_on_the_platform_that_is_away_gets_its_error_and_nobody_else_does(
    office: Office, neighbour: Neighbour
) -> None:
    file = write_both(office, neighbour.platform)
    async with served(office, file) as (process, one):
        # The server knows the names by now.
        await neighbour.fail("refuses")
        first = await one.ask()
        await office.card()
        await process.said(WAITS)
        detail = await one.problem(503, "POST", "/v1/asks?wait=60", json=QUESTION, token=SECOND)
        assert "could not do this now" in detail
        assert REASONS[neighbour.platform, "refuses"] in process.err.split("A request failed: ")[1].splitlines()[0]
        asked = await neighbour.office.ask()
        assert REASONS[neighbour.platform, "refuses"] in await asked.refused()
        await office.click("ada", "Yes")
        assert (await one.get(first["id"], wait=60))["answer"] == "Yes"
        await neighbour.gate.open()
        await neighbour.office.connected(1)
        waiting = asyncio.create_task(
            one.request("POST", "/v1/asks?wait=60", json={**QUESTION, "question": "Deploy 1.5?"}, token=SECOND)
        )
        await neighbour.office.click("ben", "No", "Deploy 1.5?")
        assert (await waiting)[1]["answer"] == "No"


async def test_an_open_question_on_a_platform_that_hangs_delays_no_question_on_the_other(
    office: Office, neighbour: Neighbour
) -> None:
    file = write_both(office, neighbour.platform)
    process, address = await serve(office, file=file)
    async with aiohttp.ClientSession() as session:
        one = HttpCaller(session, address)
        status, left = await one.request("POST", "/v1/asks", json=QUESTION, token=SECOND)
        assert status == 202
        await neighbour.office.card()
        process.signal(signal.SIGTERM)
        await process.ended()
        await neighbour.fail("hangs")
        # At its start, the server takes up the open question, before anybody asks on this platform.
        process, address = await serve(office, file=file)
        one = HttpCaller(session, address)
        await office.until(lambda: neighbour.gate.tries)
        waiting = asyncio.create_task(one.request("GET", f"/v1/asks/{left['id']}?wait=60", token=SECOND))
        async with asyncio.timeout(SOON):
            asking = asyncio.create_task(one.ask(wait=60))
            await office.click("ada", "Yes")
            assert (await asking)["answer"] == "Yes"
        await ends_soon(process)
        waiting.cancel()
        await asyncio.wait({waiting})


@pytest.mark.parametrize("platform", ["slack"])
async def test_discord_may_close_the_gateway_for_good_while_a_question_waits(
    office: Office, neighbour: Neighbour
) -> None:
    async with served(office) as (process, one):
        first = await one.ask()
        await office.card()
        await neighbour.office.connected(1)
        await office.services.discord.gateway.close_all(4004)
        await process.said(WAITS)
        assert "Discord closed the gateway permanently (code 4004)" in process.err
        await neighbour.office.connected(1)
        await office.click("ada", "Yes")
        assert (await one.get(first["id"], wait=60))["answer"] == "Yes"
        assert not process.is_over


@pytest.mark.parametrize("platform", ["discord"])
async def test_slack_may_open_no_socket_while_a_question_waits(office: Office, neighbour: Neighbour) -> None:
    office.settings |= {"SLACK_APP_TOKEN": "xapp-wrong"}
    async with served(office) as (process, one):
        first = await one.ask()
        await process.said(WAITS)
        assert "check SLACK_APP_TOKEN" in process.err
        tries = neighbour.gate.tries
        await office.until(lambda: neighbour.gate.tries > tries + 1)
        assert process.err.count(WAITS) == 1, process.err
        await office.click("ada", "Yes")
        assert (await one.get(first["id"], wait=60))["answer"] == "Yes"
        assert not process.is_over


async def until_ready(one: HttpCaller, status: int, state: dict[str, Any]) -> None:
    """Wait until /readyz answers this. Each answer comes soon, whatever the platforms do."""
    async with asyncio.timeout(WITHIN):
        while True:
            async with asyncio.timeout(PROBE_SECONDS):
                found = await one.request("GET", "/readyz")
            if found == (status, state):
                return
            await asyncio.sleep(LOOK)


@pytest.mark.parametrize("kind", ["refuses", "hangs"])
async def test_a_server_is_ready_while_one_platform_works_and_names_the_one_that_is_away(
    office: Office, neighbour: Neighbour, kind: str
) -> None:
    file = write_both(office, neighbour.platform)
    async with served(office, file) as (process, one):
        await until_ready(one, 200, {"status": "ok"})
        await neighbour.fail(kind)
        await until_ready(one, 200, {"status": "degraded", "away": [neighbour.platform]})
        (line,) = [line for line in process.err.splitlines() if f"Nobody on {neighbour.platform} can be asked" in line]
        assert "WARNING" in line
        await neighbour.gate.open()
        await until_ready(one, 200, {"status": "ok"})
        assert f"People on {neighbour.platform} can be asked again." in process.err


async def test_a_server_whose_only_platform_is_away_is_not_ready(office: Office, neighbour: Neighbour) -> None:
    async with served(neighbour.office) as (_, one):
        await until_ready(one, 200, {"status": "ok"})
        await neighbour.fail("refuses")
        await until_ready(one, 503, {"status": "not ready", "away": [neighbour.platform]})
        await neighbour.gate.open()
        await until_ready(one, 200, {"status": "ok"})
