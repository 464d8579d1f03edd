"""`askback doctor` with the local services: a healthy system, and rules for every finding."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from askback.cli.doctor.examination import examine
from askback.domain.form import Form, Option, Question
from askback.domain.identity import Actor, Place
from askback.domain.who import Who
from askback.errors import InvalidValue, OperatorError
from askback.manager import QuestionManager, build_ask, build_policy
from askback.ports.findings import Finding
from askback.ports.installed_bots import get_bot
from askback.runtime.app import open_host
from askback.store.external_access import open_for_writing
from askback.store.store import Store
from askback_sandbox.slack.faults import Fault
from support.processes import communicate

from .conftest import Ward, until

ASKBACK = Path(sys.executable).with_name("askback")

FORM = Form(
    questions=(
        Question(id="q", prompt="Go on?", options=(Option(value="y", label="Yes"), Option(value="n", label="No"))),
    )
)


# Everything is healthy


async def test_where_all_is_well_it_says_so(ward: Ward) -> None:
    found = await ward.examined()
    assert (found.code, found.bad) == (0, []), found.text
    assert found.text.splitlines()[-1] == "Everything works."
    assert "mode" not in found.good("Database", "file")
    assert found.good("Database", "lock") == "No bot is using the database now."
    assert found.good("Slack", "socket") == "A socket opened, and Slack sent its hello."
    assert found.good("Discord", "gateway") == "A test session became ready."
    assert ward.services.socket.connections == 0
    assert ward.services.discord.gateway.connections == 0


async def test_the_command_ends_with_0_or_1_and_shows_no_token(ward: Ward) -> None:
    code, said = await askback("doctor", "--wait", "60")
    assert (code, said.splitlines()[-1]) == (0, "Everything works."), said
    ward.set(DISCORD_TOKEN="wrong-token-of-a-bot")
    code, said = await askback("doctor", "--wait", "60", "--platform", "discord")
    assert code == 1
    assert "does not accept DISCORD_TOKEN" in said
    assert "Slack" not in said
    assert "wrong-token" not in said
    assert max(map(len, said.splitlines())) <= 80


async def test_ctrl_c_ends_it_at_once_and_quietly(ward: Ward) -> None:
    ward.services.workspace.faults.add(Fault(kind="delay", method="auth.test", seconds=60, times=None))
    process = await asyncio.create_subprocess_exec(
        ASKBACK,
        "doctor",
        "--wait",
        "60",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        # Tests that run in the background ignore Ctrl-C, and the command would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    async with asyncio.timeout(90):
        await until(lambda: ward.services.socket.ticket_count, within=60)  # it has reached the network
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
    assert (process.returncode, err) == (130, b""), (out, err)


async def test_beside_a_running_bot_it_disturbs_nothing(ward: Ward) -> None:
    async with open_host([get_bot("slack"), get_bot("discord")], agent=False) as host:
        await ward.services.socket.connected()
        await ward.services.discord.gateway.connected()
        ask = asyncio.create_task(
            host.manager.ask(
                FORM,
                to=Place(platform="slack", tenant="T0LOCAL", channel="C0GENERAL"),
                who=Who.from_people(Actor(platform="slack", id="U0LOCALADA")),
                timeout=None,
            )
        )
        found = await ward.examined()
        assert (found.code, found.bad) == (0, []), found.text
        assert found.good("Database", "lock") == (
            f"The running bot holds it (process {os.getpid()}, for discord and slack)."
        )
        assert "the check did not open another." in found.good("Slack", "socket")
        assert "did not open another session" in found.good("Discord", "gateway")
        assert ward.services.discord.gateway.identified == 1
        assert ward.services.socket.connections == 1
        (open_one,) = await host.manager.list_open_asks()
        assert await host.manager.cancel(open_one.id)
        assert (await ask).status == "cancelled"


async def test_one_platform_only_is_looked_at_where_that_is_asked_for(ward: Ward) -> None:
    assert {title for title, _ in (await ward.examined("slack")).findings} == {"Settings", "Database", "Model", "Slack"}
    with pytest.raises(OperatorError, match="There is no bot for 'irc'"):
        await examine("irc")


# Open questions in places without the bot


@pytest.mark.parametrize(("platform", "tenant"), [("slack", "T0ELSEWHERE"), ("discord", "1100000000000000999")])
async def test_questions_that_are_open_where_the_bot_is_not_are_noticed(ward: Ward, platform: str, tenant: str) -> None:
    async with open_for_writing(ward.database) as database:
        manager = QuestionManager(Store(database))
        place, policy = Place(platform=platform, tenant=tenant, channel="1"), build_policy(Who(anyone=True), None)
        await manager.submit(build_ask(FORM, to=place, policy=policy))
    one = (await ward.examined(platform)).one()
    assert (one.grade, tenant in one.summary, "askback cancel ID" in one.cure) == ("warning", True, True)


# Rules for every finding


def test_what_is_not_good_has_a_cure() -> None:
    with pytest.raises(InvalidValue, match="needs a cure unless the grade is"):
        Finding(grade="broken", about="a", summary="b")
    with pytest.raises(InvalidValue, match="needs a cure unless the grade is"):
        Finding(grade="good", about="a", summary="b", cure="c")


async def askback(*arguments: str) -> tuple[int | None, str]:
    """Run the real command in its own process."""
    process = await asyncio.create_subprocess_exec(
        ASKBACK,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"},
    )
    said, _ = await communicate(process)
    return process.returncode, said.decode()
