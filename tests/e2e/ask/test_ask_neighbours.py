"""Commands, bots and programs that use one database at the same time."""

from __future__ import annotations

import signal

from askback.store.sqlite.lockfile import WorkerLock
from support.processes import Launcher

from .office import OPTIONS, Office
from .offices import OFFICES


async def test_beside_a_bot_it_only_writes_and_the_bot_asks(office: Office) -> None:
    await office.bot()
    # With these settings it could not open its own connection.
    office.settings = {"SLACK_APP_TOKEN": "xapp-wrong", "ASKBACK_DISCORD_GATEWAY_URL": "ws://127.0.0.1:9/"}
    asked = await office.ask()
    await office.click("ben", "Yes")
    assert (await asked.outcome())["answer"] == "Yes"
    await office.settled("Deploy 1.4.2?", "Yes")


async def test_two_at_once_on_one_file_both_come_to_their_end(office: Office) -> None:
    first = await office.ask("--key", "first")
    await office.card()
    second = await office.start(
        "ask", "Deploy 1.5?", "--to", f"{office.platform}:@ben", "--option", "Go", "--key", "second"
    )
    await office.click("ada", "Yes")
    assert (await first.outcome())["answer"] == "Yes"
    # The first has ended, and it was the one that served the second.
    await office.click("ben", "Go", "Deploy 1.5?")
    assert (await second.outcome())["answer"] == "Go"


async def test_two_on_different_platforms_on_one_file_both_come_to_their_end(
    office: Office, launcher: Launcher
) -> None:
    both = office.services.environment
    (other,) = set(OFFICES) - {office.platform}
    there = OFFICES[other](office.services, office.folder, launcher)
    first = await office.start(
        "ask", "Deploy 1.4.2?", "--to", f"{office.platform}:#deploys", *OPTIONS, "--approvers", "anyone", **both
    )
    await office.card()
    second = await office.start("ask", "Deploy 1.5?", "--to", f"{other}:@ben", "--option", "Go", **both)
    await there.card("Deploy 1.5?")
    await office.click("ada", "Yes")
    assert (await first.outcome())["answer"] == "Yes"
    # The first has ended, and it was the one that served both platforms.
    await there.click("ben", "Go", "Deploy 1.5?")
    assert (await second.outcome())["answer"] == "Go"


async def test_when_the_bot_beside_it_ends_it_goes_on_by_itself(office: Office) -> None:
    bot = await office.bot()
    asked = await office.ask()
    await office.card()
    bot.signal(signal.SIGTERM)
    await bot.ended()
    await asked.said("The bot has stopped.")
    await office.until(lambda: office.connections == 1)
    await office.click("ada", "Yes")
    assert (await asked.outcome())["answer"] == "Yes"


async def test_a_bot_that_is_started_meanwhile_is_told_what_to_do(office: Office) -> None:
    asked = await office.ask()
    await office.card()
    bot = await office.start(office.platform, ANTHROPIC_API_KEY="sk-local")
    code, _ = await bot.ended()
    assert code == 2
    assert "`askback ask` uses this database until its question is answered" in bot.err
    assert "Stop it with Ctrl-C; its question stays open." in bot.err
    await office.click("ada", "Yes")
    await asked.outcome()


async def test_beside_a_bot_of_another_platform_on_one_file_it_says_what_to_do(
    office: Office, launcher: Launcher
) -> None:
    (other,) = set(OFFICES) - {office.platform}
    there = OFFICES[other](office.services, office.folder, launcher)
    bot = await there.bot()
    asked = await office.ask()
    said = await asked.refused()
    assert f"serves {other}, not {office.platform}" in said
    assert "`askback run`" in said
    assert not bot.is_over
    assert not office.shown()
    await there.close()


async def test_beside_a_program_that_runs_no_bot_on_one_file_it_waits_for_nobody_and_says_so(office: Office) -> None:
    with WorkerLock(office.database, "a program", frozenset()):
        asked = await office.ask()
        assert (
            f"Another process uses this SQLite database and runs no bot. Let that process run the {office.platform}"
            in await asked.refused()
        )
