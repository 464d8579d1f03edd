"""Wrong or missing settings end a command with one sentence about each, and no secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from .runner import Runner


def test_slack_without_settings_says_what_is_missing_and_where_to_get_it(run: Runner, tmp_path: Path) -> None:
    done = run(tmp_path, "slack")
    assert done.returncode == 2
    assert done.stdout == ""
    key, bot, app, next_step = done.stderr.splitlines()
    assert key.startswith("askback: ANTHROPIC_API_KEY is missing. Create a key in the Anthropic console")
    assert bot.startswith("askback: SLACK_BOT_TOKEN is missing. Copy the Bot User OAuth Token (xoxb-…)")
    assert app.startswith("askback: SLACK_APP_TOKEN is missing. Create an app-level token (xapp-…)")
    assert next_step == "askback: To set it up step by step, run: askback init slack"
    assert list(tmp_path.iterdir()) == []


def test_slack_with_wrong_settings_says_so_and_no_secret(run: Runner, tmp_path: Path) -> None:
    secret = "xoxp-do-not-show"
    done = run(
        tmp_path, "slack", SLACK_BOT_TOKEN=secret, SLACK_APP_TOKEN=secret, ASKBACK_TIMEOUT="soon",
        ASKBACK_SLACK_API_URL="slack-gov.com/api",
    )  # fmt: skip
    assert done.returncode == 2
    assert [line.split(" ", 3)[1] for line in done.stderr.splitlines()] == [
        "ASKBACK_TIMEOUT",
        "SLACK_BOT_TOKEN",
        "SLACK_APP_TOKEN",
        "ASKBACK_SLACK_API_URL",
    ]
    assert secret not in done.stderr


def test_an_env_file_is_read_where_it_is_named_and_pointed_out_where_it_is_not(run: Runner, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("SLACK_BOT_TOKEN=xoxp-s3cret\nANTHROPIC_API_KEY=sk-s3cret\n")
    for command in ("slack", "run"):
        done = run(tmp_path, command)
        assert done.returncode == 2
        assert done.stderr.endswith(f"If it is yours, name it: askback --env-file .env {command}\n")
    for arguments, variables in ((("--env-file", ".env"), {}), ((), {"ASKBACK_ENV_FILE": ".env"})):
        done = run(tmp_path, *arguments, "slack", **variables)
        assert done.returncode == 2
        bot, app = done.stderr.splitlines()
        assert bot.startswith("askback: SLACK_BOT_TOKEN is not a bot token")
        assert app.startswith("askback: SLACK_APP_TOKEN is missing")
        assert "s3cret" not in done.stderr
    done = run(tmp_path, "slack", "--env-file", ".env", COLUMNS="300")
    assert done.returncode == 2
    assert "--env-file belongs before the command: askback --env-file … slack" in done.stderr


SECRETS = {
    "SLACK_BOT_TOKEN": "xoxb-s3cret",
    "SLACK_APP_TOKEN": "xapp-s3cret",
    "ASKBACK_SLACK_API_URL": "http://127.0.0.1:9/api/",
    "ANTHROPIC_API_KEY": "sk-s3cret",
}


@pytest.mark.parametrize(
    "command",
    [("slack",), ("run",), ("ask", "Go?", "--to", "slack:#x", "--option", "Yes", "--approvers", "anyone"), ("demo",)],
    ids=lambda command: command[0],
)
def test_a_misspelt_variable_switches_no_rule_off(run: Runner, tmp_path: Path, command: tuple[str, ...]) -> None:
    """Neither the approval of tools, nor its approvers, nor the people who may talk."""
    misspelt = {
        "ASKBACK_APPROVAL_TOOL": "deploy", "ASKBACK_APPROVER": "slack:U0LOCALBEN",
        "ASKBACK_SLACK_ALLOWED_PEOPLE": "U0LOCALADA",
    }  # fmt: skip
    done = run(tmp_path, *command, **SECRETS, **misspelt, ASKBACK_DISCORD_ADMINS="123456789012345678")
    assert (done.returncode, done.stdout) == (2, ""), done
    assert done.stderr.splitlines() == [
        f"askback: {name} is set, but askback has no such setting. Did you mean {meant}?"
        for name, meant in (
            ("ASKBACK_APPROVAL_TOOL", "ASKBACK_APPROVAL_TOOLS"),
            ("ASKBACK_APPROVER", "ASKBACK_APPROVERS"),
            ("ASKBACK_SLACK_ALLOWED_PEOPLE", "ASKBACK_SLACK_ALLOW_PEOPLE"),
        )
    ]


@pytest.mark.parametrize("name", ["ASKBACK_APPROVERS", "ASKBACK_APPROVAL_TOOLS", "ASKBACK_SLACK_ALLOW_PEOPLE"])
@pytest.mark.parametrize("value", ["", ","])
def test_a_list_without_an_entry_keeps_the_bot_from_starting(
    run: Runner, tmp_path: Path, name: str, value: str
) -> None:
    done = run(tmp_path, "slack", **SECRETS, **{name: value})
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"askback: {name} "), line
    assert "fill it in, or leave it out." in line


def test_slack_that_cannot_be_reached_is_one_sentence(run: Runner, tmp_path: Path) -> None:
    tokens = {"SLACK_BOT_TOKEN": "xoxb-s3cret", "SLACK_APP_TOKEN": "xapp-s3cret", "ANTHROPIC_API_KEY": "sk-s3cret"}
    done = run(tmp_path, "slack", ASKBACK_SLACK_API_URL="http://127.0.0.1:9/api/", **tokens)
    assert done.returncode == 2
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("askback: ")]
    assert "ASKBACK_SLACK_API_URL" in line
    assert "s3cret" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_database_that_cannot_be_used_is_one_sentence(run: Runner, tmp_path: Path) -> None:
    tokens = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1", "ANTHROPIC_API_KEY": "sk-1"}
    password = "postgres://me:s3cret@db/askback"
    (tmp_path / "file").touch()
    for url in (password, str(tmp_path / "file" / "a.db"), "/"):
        done = run(tmp_path, "slack", ASKBACK_DATABASE_URL=url, **tokens)
        assert done.returncode == 2, done
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert done.stderr.startswith("askback: ")
        assert "s3cret" not in done.stderr


def test_a_terminal_obeys_nothing_that_an_error_quotes(run: Runner, tmp_path: Path) -> None:
    by_main = run(tmp_path, "pending", ASKBACK_CONFIG="nowhere\x1b[31m\u2067.toml")
    by_ask = run(tmp_path, "ask", "Go?", "--to", "slack:#x", "--option", "Yes", "--escalate", "leads\x1b[31m\u2067")
    for done in (by_main, by_ask):
        assert done.returncode == 2
        assert "␛[31m\u2067" in done.stderr
        assert "\u2069\u2069\n" in done.stderr, "the direction ends with the line"
        assert "\x1b" not in done.stderr
