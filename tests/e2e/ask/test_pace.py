"""One `askback ask` after another: each is posted at once, and people get all of the promised time."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime

import pytest

from support.free_port import free_port

from .office import OPTIONS, Office
from .offices import OFFICES

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"


async def test_a_question_right_after_one_that_was_settled_is_posted_at_once(office: Office) -> None:
    await office.bot()
    first = await office.ask()
    await office.click("ada", "Yes")
    await first.outcome()
    to = f"{office.platform}:#deploys"
    second = await office.start("ask", "Now 1.4.3?", "--to", to, *OPTIONS, "--approvers", "anyone", "--wait", "4s")
    await office.click("ben", "Yes", "Now 1.4.3?")
    await second.outcome()
    with closing(sqlite3.connect(office.database)) as database:
        waited = database.execute("SELECT max(post_after - created_at) FROM asks").fetchone()
    assert waited == (0,)


async def test_the_wait_counts_from_the_posting(office: Office) -> None:
    """A configured pace applies to programs as well."""
    office.settings = {"ASKBACK_QUESTION_PACE": "5s"}
    await office.bot()
    first = await office.ask()
    await office.click("ada", "Yes")
    await first.outcome()
    to = f"{office.platform}:#deploys"
    asked = await office.start("ask", "Now 1.4.3?", "--to", to, *OPTIONS, "--approvers", "anyone", "--wait", "2s")
    outcome = await asked.outcome(4)
    assert "askback: Posted the question in #deploys." in asked.err
    with closing(sqlite3.connect(office.database)) as database:
        ((posted, due),) = database.execute("SELECT posted_at, post_after FROM asks WHERE id = ?", (outcome["id"],))
    assert datetime.fromisoformat(outcome["at"]).timestamp() >= posted / 1e6 + 2
    assert posted >= due


async def test_the_setting_limits_the_open_questions_of_a_place(office: Office) -> None:
    office.settings = {"ASKBACK_OPEN_QUESTIONS": "1"}
    first = await office.ask()
    await office.card()
    to = f"{office.platform}:#deploys"
    second = await office.start("ask", "Now 1.4.3?", "--to", to, *OPTIONS, "--approvers", "anyone")
    said = await second.refused()
    assert "at most 1 may be open in one place" in said
    await office.click("ada", "Yes")
    await first.outcome()
    third = await office.start("ask", "Now 1.4.3?", "--to", to, *OPTIONS, "--approvers", "anyone")
    await office.click("ada", "Yes", "Now 1.4.3?")
    await third.outcome()


async def test_a_question_that_cannot_be_posted_ends_when_its_time_is_over(office: Office) -> None:
    """Promise 5: a temporary refusal is retried until the deadline, not longer."""
    if office.platform == "slack":
        office.services.workspace.faults.fail("chat.postMessage", "internal_error", times=None)  # type: ignore[attr-defined]
    else:
        office.services.discord.guild.faults.fail("create_message", 503, times=None)
    asked = await office.ask("--wait", "2s")
    assert (await asked.outcome(4))["status"] == "timed_out"
    assert (
        "askback: Nobody answered in time: as far as I know, the question was not posted before its deadline."
        in asked.err
    )


@pytest.mark.parametrize("platform", ["slack"])
async def test_beside_a_bot_over_http_no_token_for_a_socket_is_needed(platform: str, office: Office) -> None:
    assert platform in OFFICES
    office.settings = {"SLACK_APP_TOKEN": "", "SLACK_SIGNING_SECRET": ""}
    bot = await office.start(
        "slack", "--http", f"127.0.0.1:{free_port()}", SLACK_SIGNING_SECRET=SECRET, ANTHROPIC_API_KEY="sk-local",
        ANTHROPIC_BASE_URL=office.services.url,
    )  # fmt: skip
    await bot.said("Listening for Slack's requests")
    asked = await office.ask("--key", "over-http")
    await office.card()
    ended = await office.start("cancel", (await identified(office)), "--reason", "enough")
    assert (await ended.ended())[0] == 0, ended.err
    assert (await asked.outcome(3))["status"] == "cancelled"


async def identified(office: Office) -> str:
    with closing(sqlite3.connect(office.database)) as database:
        ((found,),) = database.execute("SELECT id FROM asks WHERE key = 'over-http'")
    return str(found)
