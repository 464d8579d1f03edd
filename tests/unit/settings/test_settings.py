"""Settings: their sources, their precedence, and the errors for wrong ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from askback.errors import OperatorError
from askback.settings.address import Address
from askback.settings.core import Settings
from askback.settings.loader import TomlSettings, load
from askback_discord.settings import DiscordSettings
from askback_slack.app import SlackBot
from askback_slack.settings import SlackSettings, load_settings
from unit.settings.settings_files import problem, write

pytestmark = pytest.mark.usefixtures("empty")

SECRET = "xoxp-very-secret"


def test_without_anything_set_the_defaults_hold() -> None:
    settings = load(Settings)
    assert settings.tools == ("AskUserQuestion",)
    assert settings.timeout is None
    assert settings.database_url == str(Path(os.environ["XDG_STATE_HOME"]) / "askback" / "askback.db")
    assert settings.anthropic_api_key is None
    with pytest.raises(OperatorError, match="ANTHROPIC_API_KEY is missing"):
        _ = settings.model_key


def test_the_environment_sets_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "ANTHROPIC_API_KEY": "sk-ant-1",
        "ASKBACK_MODEL": "claude-haiku-4-5",
        "ASKBACK_MAX_TOKENS": "1000",
        "ASKBACK_TOOLS": "question, askQuestion,question",
        "ASKBACK_TIMEOUT": "90.5",
        "ASKBACK_SYSTEM_PROMPT": "Be brief.",
        "ASKBACK_DATABASE_URL": "sqlite:///other.db",
        "ASKBACK_LOG_LEVEL": " debug ",
        "ASKBACK_HEALTH": "8080",
        "ASKBACK_OPEN_QUESTIONS": "3",
        "ASKBACK_QUESTION_PACE": "0.5",
        "ASKBACK_QUESTION_BYTES": "2000000",
    }.items():
        monkeypatch.setenv(name, value)
    settings = load(Settings)
    assert settings.model_key == "sk-ant-1"
    assert settings.model_dump(exclude={"anthropic_api_key"}, exclude_defaults=True) == {
        "model": "claude-haiku-4-5",
        "max_tokens": 1000,
        "tools": ("question", "askQuestion"),
        "timeout": 90.5,
        "system_prompt": "Be brief.",
        "database_url": "sqlite:///other.db",
        "log_level": "DEBUG",
        "health": "127.0.0.1:8080",
        "open_questions": 3,
        "question_pace": 0.5,
        "question_bytes": 2_000_000,
    }
    assert (settings.limits.pending_per_place, settings.limits.seconds_between_asks) == (3, 0.5)


def test_the_environment_wins_over_the_file_and_an_empty_variable_is_none(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(empty, 'model = "from-file"\nlog_level = "ERROR"\n')
    monkeypatch.setenv("ASKBACK_MODEL", "from-environment")
    monkeypatch.setenv("ASKBACK_LOG_LEVEL", "")
    settings = load(Settings)
    assert (settings.model, settings.log_level) == ("from-environment", "ERROR")


@pytest.mark.parametrize("value", ["", " ", ",", " , "])
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (Settings, "ASKBACK_APPROVERS"),
        (Settings, "ASKBACK_APPROVAL_TOOLS"),
        (Settings, "ASKBACK_APPROVAL_ESCALATE_TO"),
        (Settings, "ASKBACK_ANSWERERS"),
        (Settings, "ASKBACK_TOOLS"),
        (SlackSettings, "ASKBACK_SLACK_ALLOW_PEOPLE"),
        (SlackSettings, "ASKBACK_SLACK_ALLOW_GROUPS"),
        (SlackSettings, "ASKBACK_SLACK_ALLOW_CHANNELS"),
        (DiscordSettings, "ASKBACK_DISCORD_ALLOW_PEOPLE"),
        (DiscordSettings, "ASKBACK_DISCORD_ALLOW_ROLES"),
        (DiscordSettings, "ASKBACK_DISCORD_ALLOW_GUILDS"),
    ],
)
def test_a_list_that_is_set_and_has_no_entry_is_refused(
    monkeypatch: pytest.MonkeyPatch, kind: type[TomlSettings], name: str, value: str
) -> None:
    """A variable that a compose file fills from another one, which is not set, opens nothing to everybody."""
    for token, text in (("SLACK_BOT_TOKEN", "xoxb-1"), ("SLACK_APP_TOKEN", "xapp-1"), ("DISCORD_TOKEN", "a.b.c")):
        monkeypatch.setenv(token, text)
    monkeypatch.setenv(name, value)
    told = problem(kind)
    assert told.startswith((f"{name} names nobody", f"{name} names no tool", f"{name} has no entry")), told
    assert "\n" not in told


@pytest.mark.parametrize("text", ["never", "NEVER", " none "])
def test_never_waits_for_ever(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("ASKBACK_TIMEOUT", text)
    assert load(Settings).timeout is None


@pytest.mark.parametrize("name", ["timeout", "tool_timeout", "approval_timeout", "retention"])
def test_every_time_is_seconds_or_a_number_with_its_unit(
    empty: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for text in ("7200", "2h", " 1h 60m "):
        monkeypatch.setenv(f"ASKBACK_{name.upper()}", text)
        assert getattr(load(Settings), name) == 7200.0
    monkeypatch.delenv(f"ASKBACK_{name.upper()}")
    write(empty, f"{name} = 7200")
    assert getattr(load(Settings), name) == 7200.0


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("ASKBACK_TIMEOUT", "soon", "ASKBACK_TIMEOUT is not a duration: write a number with s, m, h, d or w"),
        ("ASKBACK_TIMEOUT", "0", "ASKBACK_TIMEOUT must be greater than 0. Give the time to wait"),
        ("ASKBACK_TIMEOUT", "-5", "ASKBACK_TIMEOUT is not a duration"),
        ("ASKBACK_TIMEOUT", "nan", "ASKBACK_TIMEOUT"),
        ("ASKBACK_TIMEOUT", "inf", "ASKBACK_TIMEOUT"),
        ("ASKBACK_TIMEOUT", "900000w", "ASKBACK_TIMEOUT must be less than or equal to"),
        ("ASKBACK_TOOLS", "AskMe", "ASKBACK_TOOLS names AskMe, but the tools are AskUserQuestion, question"),
        ("ASKBACK_TOOLS", " , ", "ASKBACK_TOOLS names no tool, but the tools are"),
        (
            "ASKBACK_TOOLS",
            "ours.tools:",
            "ASKBACK_TOOLS names ours.tools:, but the tools are AskUserQuestion",
        ),
        ("ASKBACK_TOOLS", "ours tools:x", "ASKBACK_TOOLS names ours tools:x, but the tools are"),
        ("ASKBACK_TOOLS", "ours:a:b", "ASKBACK_TOOLS names ours:a:b, but the tools are"),
        ("ASKBACK_TOOL_TIMEOUT", "soon", "ASKBACK_TOOL_TIMEOUT is not a duration: write a number with"),
        (
            "ASKBACK_TOOL_TIMEOUT",
            "never",
            "ASKBACK_TOOL_TIMEOUT is not a number. Give the maximum time for one of your own tools",
        ),
        ("ASKBACK_TOOL_TIMEOUT", "0", "ASKBACK_TOOL_TIMEOUT must be greater than 0. Give the maximum time"),
        ("ASKBACK_TOOL_TIMEOUT", "inf", "ASKBACK_TOOL_TIMEOUT"),
        ("ASKBACK_TOOL_RESULT_LIMIT", "10", "ASKBACK_TOOL_RESULT_LIMIT must be greater than or equal to 1000. Give"),
        ("ASKBACK_MAX_TOKENS", "many", "ASKBACK_MAX_TOKENS is not a whole number. Give the maximum number of tokens"),
        ("ASKBACK_MAX_TOKENS", "0", "ASKBACK_MAX_TOKENS must be greater than or equal to 1."),
        ("ASKBACK_LOG_LEVEL", "LOUD", "ASKBACK_LOG_LEVEL is not a log level. Give DEBUG, INFO"),
        ("ASKBACK_HEALTH", "everywhere", "ASKBACK_HEALTH is not HOST:PORT. Give the HOST:PORT for /healthz"),
    ],
)
def test_a_wrong_value_is_one_sentence_with_the_cure(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    monkeypatch.setenv(name, value)
    told = problem()
    assert told.startswith(words)
    assert "\n" not in told


def test_everything_that_is_missing_is_told_at_once_with_where_to_get_it() -> None:
    bot, app = problem(SlackSettings).split("\n")
    assert bot.startswith("SLACK_BOT_TOKEN is missing. Copy the Bot User OAuth Token")
    assert app.startswith("SLACK_APP_TOKEN is missing. Create an app-level token")


def test_over_http_the_signing_secret_is_needed_and_the_app_token_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ASKBACK_SLACK_HTTP", ":3000")
    bot, secret = problem(SlackSettings).split("\n")
    assert bot.startswith("SLACK_BOT_TOKEN is missing.")
    assert secret.startswith("SLACK_SIGNING_SECRET is missing. Copy the Signing Secret")
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-1")
    monkeypatch.setenv("SLACK_SIGNING_SECRET", "0123456789abcdef")
    assert load(SlackSettings).http == "127.0.0.1:3000", "this machine only, unless another host is named"
    monkeypatch.setenv("SLACK_SIGNING_SECRET", "no secret")
    told = problem(SlackSettings)
    assert told.startswith("SLACK_SIGNING_SECRET is not a signing secret")
    assert "no secret" not in told.replace("SLACK_SIGNING_SECRET is not a signing secret", "")


def test_the_flag_wins_over_the_setting(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(empty, 'slack_http = "0.0.0.0:3000"\nslack_signing_secret = "ab12"\nslack_bot_token = "xoxb-1"')
    assert load_settings().http == "0.0.0.0:3000"
    assert load_settings("127.0.0.1:4000").http == "127.0.0.1:4000"
    monkeypatch.delenv("ASKBACK_SLACK_HTTP", raising=False)
    write(empty, 'slack_bot_token = "xoxb-1"')
    with pytest.raises(OperatorError, match=r"^SLACK_SIGNING_SECRET is missing") as caught:
        load_settings("127.0.0.1:4000")
    assert "SLACK_APP_TOKEN" not in str(caught.value)


@pytest.mark.parametrize("text", ["soon", "host:", "host:99999", "http://host:3000", "a b:1", "[::1:3000", "::1:3000"])
def test_what_is_no_address_is_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-1")
    monkeypatch.setenv("ASKBACK_SLACK_HTTP", text)
    assert problem(SlackSettings).startswith(
        "ASKBACK_SLACK_HTTP is not HOST:PORT. Give the HOST:PORT for Slack's requests"
    )
    assert "\n" not in problem(SlackSettings)


@pytest.mark.parametrize(
    ("text", "address"),
    [("3000", "127.0.0.1:3000"), (":0", "127.0.0.1:0"), ("[::1]:3000", "[::1]:3000"), ("0.0.0.0:80", "0.0.0.0:80")],
)
def test_an_address_without_a_host_is_of_this_machine(text: str, address: str) -> None:
    assert str(Address.read(text)) == address


@pytest.mark.parametrize(
    ("text", "configured"),
    [
        ("", False),
        ('slack_bot_token = "xoxb-1"', True),
        ('slack_app_token = "xapp-1"', True),
        ('slack_app_token = "wrong"', True),
        ('slack_signing_secret = "ab12"', False),
        ('slack_api_url = "https://slack-gov.com/api/"', False),
        ('slack_http = ":3000"', False),
        ('slack_http = ":3000"\nslack_signing_secret = "ab12"', True),
        ('slack_http = ":3000"\nslack_app_token = "xapp-1"', False),
        ('slack_http = ":3000"\nslack_bot_token = "xoxb-1"', True),
    ],
)
def test_a_bot_is_configured_when_a_secret_is_set_that_it_needs(empty: Path, text: str, configured: bool) -> None:
    write(empty, text)
    assert SlackBot().is_configured() is configured


def test_a_misspelt_setting_of_a_bot_is_told_by_that_bot(empty: Path) -> None:
    write(empty, 'slack_bot_tokn = "xoxb-1"')
    load(Settings)
    assert problem(SlackSettings).startswith("askback.toml sets `slack_bot_tokn`, which is not a setting. Did you mean")


def test_no_error_ever_holds_a_secret(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", SECRET)
    monkeypatch.setenv("SLACK_APP_TOKEN", SECRET)
    told = problem(SlackSettings)
    assert "SLACK_BOT_TOKEN is not a bot token" in told
    assert "SLACK_APP_TOKEN is not an app-level token" in told
    for text in (
        f'anthropic_api_key = ["{SECRET}"]',
        f'anthropic_api_key = {{ key = "{SECRET}" }}',
        f"anthropic_api_key = {SECRET}",
        f'anthropic_api_key = "{SECRET}',
        f'anthropic_api_key = "{SECRET}"\nanthropic_api_key = "{SECRET}"',
        f'"anthropic_api_key" "{SECRET}"',
        f'slack_bot_token = ["{SECRET}"]\nslack_app_token = 1',
    ):
        write(empty, text)
        for name in ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        told += problem(SlackSettings if "slack" in text else Settings)
    assert SECRET not in told
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    write(empty, "")
    assert SECRET not in repr(load(Settings))


@pytest.mark.parametrize("spelt", ["zh_CN", "zh-CN", "ZH-cn"])
def test_a_language_may_be_spelt_as_elsewhere(spelt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKBACK_LANGUAGE", spelt)
    assert load(Settings).language == "zh_CN"


def test_a_language_that_nobody_translated_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKBACK_LANGUAGE", "pl")
    with pytest.raises(OperatorError, match="Give one of en, de, es, fr, ja, zh_CN"):
        load(Settings)
