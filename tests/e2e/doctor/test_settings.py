"""`askback doctor` with wrong settings or a wrong clock."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from askback.ports.clock_check import check_clock

from .conftest import Ward


def toml(text: str, mode: int = 0o600) -> None:
    Path("askback.toml").write_text(text)
    Path("askback.toml").chmod(mode)
    os.environ["ASKBACK_CONFIG"] = "askback.toml"


# Settings


async def test_a_typo_in_the_file_names_what_was_meant(ward: Ward) -> None:
    toml('modell = "claude"\n')
    found = await ward.examined("discord")
    assert found.code == 1
    typo, left = found.bad
    assert "askback.toml sets `modell`, which is not a setting." in typo.summary
    assert typo.cure == "Did you mean `model`?"
    assert left.cure == "Fix the settings first, then run askback doctor again."
    assert found.good("Discord", "permissions"), "what does not depend on it is looked at"


async def test_a_typo_in_a_platforms_part_of_the_file_is_told(ward: Ward) -> None:
    toml('slack_bot_tokn = "xoxb-1"\n')
    for found in (await ward.examined(), await ward.examined("slack")):
        assert "askback.toml sets `slack_bot_tokn`, which is not a setting." in found.bad[0].summary
        assert found.bad[0].cure == "Did you mean `slack_bot_token`?"


@pytest.mark.parametrize(
    ("text", "says"),
    [("model = ", "is not valid TOML"), ("timeout = -1", "timeout in askback.toml must be greater than 0")],
)
async def test_what_is_wrong_in_the_file_is_told_with_the_next_step(ward: Ward, text: str, says: str) -> None:
    toml(text)
    first = (await ward.examined("discord")).bad[0]
    assert (first.grade, says in first.summary) == ("broken", True), first
    assert first.cure


@pytest.mark.parametrize("only", ["slack", None])
async def test_a_file_that_cannot_be_read_is_one_broken_thing(ward: Ward, only: str | None) -> None:
    toml('database_url = "askback.db')
    found = await (ward.examined() if only is None else ward.examined(only))
    assert "is not valid TOML" in found.one().summary
    assert found.one().cure.endswith("Then run askback doctor again for everything else.")
    assert (found.code, len(found.bad)) == (1, 1)


async def test_a_tool_of_ones_own_that_cannot_be_had(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    toml('tools = ["AskUserQuestion", "no_such_tools:deploy"]')
    found = (await ward.examined("discord")).one()
    assert found.summary == "The tool no_such_tools:deploy does not exist: there is no module no_such_tools."
    assert found.cure == "Put it in the folder of the settings file (--config), or install it in askback's environment."


async def test_a_pattern_of_tools_that_need_approval_and_that_matches_none(
    ward: Ward, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "tools_of_the_doctor.py").write_text("def deploy() -> str:\n    return ''\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    toml('tools = ["AskUserQuestion", "tools_of_the_doctor:deploy"]\napproval_tools = ["depoly*"]')
    found = (await ward.examined("discord")).one()
    assert found.grade == "broken"
    assert "approval_tools contains depoly*, but none of your tools matches it." in found.summary
    assert "Did you mean deploy?" in f"{found.summary} {found.cure}"


async def test_a_variable_that_is_no_setting_is_told(ward: Ward) -> None:
    ward.set(ASKBACK_TIMOUT="60")
    found = await ward.examined("discord")
    assert (found.code, found.one().cure) == (1, "Did you mean ASKBACK_TIMEOUT?")


async def test_a_misspelt_list_of_a_bot_is_told(ward: Ward) -> None:
    ward.set(ASKBACK_SLACK_ALLOWED_PEOPLE="U0LOCALADA")
    found = await ward.examined("discord")
    assert (found.code, found.one().cure) == (1, "Did you mean ASKBACK_SLACK_ALLOW_PEOPLE?")


async def test_secrets_in_a_file_that_others_can_read_are_told(ward: Ward) -> None:
    toml('discord_token = "s3cret"\n', mode=0o644)
    assert (await ward.examined("discord")).one().cure == "Run: chmod 600 askback.toml"
    toml('discord_token = "s3cret"\n')
    assert not (await ward.examined("discord")).bad


async def test_what_is_missing_is_told_with_where_to_get_it(ward: Ward) -> None:
    for name in ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "DISCORD_TOKEN", "ANTHROPIC_API_KEY"):
        ward.patch.delenv(name)
    found = await ward.examined()
    assert found.code == 1
    none, key = found.bad
    assert none.summary == "No platform has a token, so there is no bot to run."
    assert none.cure.startswith("To set a bot up, run: askback init.")
    assert "askback doctor --platform slack" in none.cure
    assert (key.grade, key.summary) == (
        "warning",
        "ANTHROPIC_API_KEY is missing, so `askback run` has no model. Asking needs none.",
    )
    assert "Anthropic console" in key.cure
    bot, app = (await ward.examined("slack")).bad[-2:]
    assert (bot.summary, app.summary) == ("SLACK_BOT_TOKEN is missing.", "SLACK_APP_TOKEN is missing.")
    assert "OAuth & Permissions" in bot.cure


async def test_programs_that_only_ask_need_no_key_of_a_model(ward: Ward) -> None:
    ward.patch.delenv("ANTHROPIC_API_KEY")
    found = await ward.examined("discord")
    assert (found.code, found.one().grade) == (0, "warning")


# The clock


@pytest.mark.parametrize(
    ("ahead", "grade", "words"),
    [(-90, "warning", "ahead of"), (90, "warning", "behind"), (400, "broken", "signed requests are rejected")],
)
async def test_a_clock_that_goes_wrong(ward: Ward, ahead: float, grade: str, words: str) -> None:
    ward.services.date_ahead = ahead
    found = await ward.examined()
    assert found.code == int(grade == "broken")
    assert [(one.about, one.grade) for one in found.bad] == [("clock", grade)] * 3, found.text
    for one in found.bad:
        assert words in one.summary
        assert one.cure == "Turn on time synchronization, for example with: timedatectl set-ntp true"


def test_a_date_is_taken_as_it_is_or_not_at_all() -> None:
    now = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    assert check_clock("x", None, now) == check_clock("x", "yesterday", now) == ()
    for seconds, grade in ((0, "good"), (59, "good"), (60, "warning"), (299, "warning"), (300, "broken")):
        for sign in (1, -1):
            (found,) = check_clock("x", format_datetime(now + timedelta(seconds=seconds * sign)), now)
            assert found.grade == grade
