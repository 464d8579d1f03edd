"""On PostgreSQL, where bots and scripts work on one database at the same time."""

from __future__ import annotations

import signal

import pytest

from support.processes import Launcher

from .office import OPTIONS, WITHIN, Office
from .offices import OFFICES

SELDOM = f"""
import askback.client.change_watch as waiting
from askback.cli.main import main

waiting.LOOK_SECONDS = {2 * WITHIN}
main()
"""


async def test_beside_a_bot_it_only_writes_and_goes_on_when_that_ends(office: Office, postgres_url: str) -> None:
    office.settings = {"ASKBACK_DATABASE_URL": postgres_url}
    bot = await office.bot()
    # With these settings it could not open its own connection.
    office.settings |= {"SLACK_APP_TOKEN": "xapp-wrong", "ASKBACK_DISCORD_GATEWAY_URL": "ws://127.0.0.1:9/"}
    first = await office.ask()
    await office.click("ada", "Yes")
    assert (await first.outcome())["answer"] == "Yes"
    office.settings = {"ASKBACK_DATABASE_URL": postgres_url}
    second = await office.start("ask", "Deploy 1.5?", "--to", f"{office.platform}:@ben", "--option", "Go")
    await office.card("Deploy 1.5?")
    bot.signal(signal.SIGTERM)
    await bot.ended()
    await second.said("The bot has stopped.")
    await office.until(lambda: office.connections == 1)
    await office.click("ben", "Go", "Deploy 1.5?")
    assert (await second.outcome())["answer"] == "Go"


async def test_by_itself_it_begins_the_database_and_leaves_to_a_bot_what_one_can_do(
    office: Office, empty_url: str
) -> None:
    office.settings = {"ASKBACK_DATABASE_URL": empty_url}
    asked = await office.ask()
    await office.card()
    bot = await office.start(office.platform, ANTHROPIC_API_KEY="sk-local", ANTHROPIC_BASE_URL=office.services.url)
    await asked.said("A bot has started on this database, and takes over the question.")
    await office.until(lambda: office.connections == 1)
    assert not bot.is_over
    await office.click("ada", "Yes")
    assert (await asked.outcome())["answer"] == "Yes"


async def test_beside_a_bot_it_hears_of_the_answer_at_once(office: Office, postgres_url: str) -> None:
    office.settings = {"ASKBACK_DATABASE_URL": postgres_url}
    await office.bot()
    seldom = office.folder / "seldom.py"
    seldom.write_text(SELDOM, encoding="utf-8")
    asked = await office.start(
        "ask", "Deploy 1.4.2?", "--to", f"{office.platform}:#deploys", *OPTIONS, "--approvers", "anyone",
        program=seldom,
    )  # fmt: skip
    await office.click("ada", "Yes")
    assert (await asked.outcome())["answer"] == "Yes"


@pytest.mark.parametrize("before", [True, False], ids=["bot first", "bot later"])
async def test_beside_a_bot_of_another_platform_it_asks_by_itself_and_each_keeps_to_its_own(
    office: Office, postgres_url: str, launcher: Launcher, before: bool
) -> None:
    office.settings = {"ASKBACK_DATABASE_URL": postgres_url}
    (other,) = set(OFFICES) - {office.platform}
    there = OFFICES[other](office.services, office.folder, launcher)
    there.settings = office.settings
    bot = await there.bot() if before else None
    first = await office.ask()
    await office.card()
    bot = bot or await there.bot()
    second = await there.start("ask", "Deploy 1.5?", "--to", f"{other}:@ben", "--option", "Go")
    await there.card("Deploy 1.5?")
    assert (office.connections, there.connections) == (1, 1)
    await office.click("ada", "Yes")
    assert (await first.outcome())["answer"] == "Yes"
    await office.settled("Deploy 1.4.2?", "Yes")
    await there.click("ben", "Go", "Deploy 1.5?")
    assert (await second.outcome())["answer"] == "Go"
    assert "A bot has started on this database" not in first.err
    assert " WARNING " not in bot.err
    assert " ERROR " not in bot.err
    await there.close()
