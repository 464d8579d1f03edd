"""The command line, as people and scripts call it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import pytest
from typer.testing import CliRunner, Result

from askback.cli.main import app
from askback.errors import OperatorError
from askback.ports.installed_bots import get_bot
from support.processes import Launcher

ASKBACK = Path(sys.executable).with_name("askback")
SINGLE = {
    "questions": [
        {
            "question": "Where?",
            "header": "Target",
            "multiSelect": False,
            "options": [{"label": "Staging", "description": "Ours"}, {"label": "Production", "description": "All's"}],
        }
    ]
}


def environment(**more: str) -> dict[str, str]:
    """Return an environment without the machine's settings, 80 columns wide."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ASKBACK_", "SLACK_", "ANTHROPIC_", "DISCORD_"))}
    return {**kept, "COLUMNS": "80", "NO_COLOR": "1", **more}


class Runner(Protocol):
    """Runs a command, without its import time if nothing is written to it."""

    def __call__(
        self,
        folder: Path,
        *arguments: str,
        stdin: str | bytes = "",
        command: tuple[str, ...] | None = None,
        **more: str,
    ) -> subprocess.CompletedProcess[str]: ...


@pytest.fixture
def run(launcher: Launcher) -> Runner:
    def run_in(
        folder: Path, *arguments: str, stdin: str | bytes = "", command: tuple[str, ...] | None = None, **more: str
    ) -> subprocess.CompletedProcess[str]:
        if not stdin and command is None:
            return launcher.run(*arguments, folder=folder, environment=environment(**more))
        given = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [*(command or (ASKBACK,)), *arguments],
            input=given,
            capture_output=True,
            cwd=folder,
            env=environment(**more),
            timeout=60,
        )
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    return run_in


def lines(done: subprocess.CompletedProcess[str] | Result) -> list[Any]:
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ((), ["demo", "preview", "slack", "askback demo", "askback init slack", "Exit codes:"]),
        (("demo",), ["--play", "--port", "askback demo --play my.toml", "Exits with 0 if all is as expected, with 1"]),
        (("preview",), ["--all-steps", "askback preview call.json", "--tool askQuestion"]),
        (("slack",), ["askback slack", "askback.toml", "SIGTERM"]),
        (("serve",), [" [deploys] ", "application/json' \\ -d '{", """"No"]}' \\ 'http"""]),
    ],
)
def test_every_help_teaches_within_80_columns(
    run: Runner, tmp_path: Path, command: tuple[str, ...], words: list[str]
) -> None:
    done = run(tmp_path, *command, "--help")
    assert done.returncode == 0
    assert all(word in " ".join(done.stdout.split()) for word in words), done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


def test_help_says_which_options_repeat_and_nothing_about_the_type_of_flags(run: Runner, tmp_path: Path) -> None:
    for command in ((), ("ask",), ("mcp",), ("slack",), ("show",)):
        assert "<bool>" not in run(tmp_path, *command, "--help").stdout, command
    asking = " ".join(run(tmp_path, "ask", "--help", COLUMNS="300").stdout.split())
    assert "an id, or anyone. Not needed for a direct message. Can be repeated." in asking
    assert asking.count("Can be repeated.") == 7


def test_the_help_of_a_bot_lists_only_what_its_platform_has(run: Runner, tmp_path: Path) -> None:
    slack, discord = (run(tmp_path, name, "--help").stdout for name in ("slack", "discord"))
    assert ("--http" in slack, "--shard" in slack) == (True, False)
    assert ("--http" in discord, "--shard" in discord) == (False, True)


@pytest.mark.parametrize(
    "command",
    [("slack",), ("discord",), ("run",), ("ask", "Go?", "--to", "slack:#x", "--approvers", "anyone")],
    ids=lambda command: command[0],
)
def test_a_missing_token_has_the_same_exit_code_everywhere(
    run: Runner, tmp_path: Path, command: tuple[str, ...]
) -> None:
    done = run(tmp_path, *command)
    assert (done.returncode, done.stdout) == (2, "")
    assert "token" in done.stderr.lower()


def test_a_value_too_many_is_refused_with_the_way_to_give_several(run: Runner, tmp_path: Path) -> None:
    done = run(tmp_path, "ask", "Go?", "--to", "slack:#deploys", "--approvers", "@ada", "@release", COLUMNS="300")
    assert done.returncode == 2
    assert "(@release). Each option takes one value: repeat it, as in --option Yes --option No." in done.stderr
    assert "repeat it" not in run(tmp_path, "ask", "Go?", "--approver", "@ada").stderr, "it is no option"
    assert "repeat it" not in run(tmp_path, "show", "a", "b").stderr, "it has no option that repeats"


@pytest.mark.parametrize(
    ("typed", "found"),
    [("askback as", ["ask"]), ("askback ask --requ", ["--requested-by"]), ("askback ask --reasons y", ["yes"])],
)
def test_a_shell_completes_commands_options_and_values(
    run: Runner, tmp_path: Path, typed: str, found: list[str]
) -> None:
    last = len(typed.split()) - 1
    done = run(tmp_path, _ASKBACK_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=str(last))
    assert (done.stdout.split(), done.stderr) == (found, "")


def test_it_says_its_version_and_runs_as_a_module(run: Runner, tmp_path: Path) -> None:
    said = f"askback {version('askback')}\n"
    assert run(tmp_path, "--version").stdout == said
    assert run(tmp_path, "--version", command=(sys.executable, "-m", "askback")).stdout == said


def test_a_command_that_is_not_there_is_refused_with_those_that_are(run: Runner, tmp_path: Path) -> None:
    done = run(tmp_path, "slak")
    assert done.returncode == 2
    assert "slack" in done.stderr
    assert "Traceback" not in done.stderr


def test_slack_without_settings_says_what_is_missing_and_where_to_get_it(run: Runner, tmp_path: Path) -> None:
    done = run(tmp_path, "slack")
    assert done.returncode == 2
    assert done.stdout == ""
    key, bot, app = done.stderr.splitlines()
    assert key.startswith("askback: ANTHROPIC_API_KEY is missing. Create a key in the Anthropic console")
    assert bot.startswith("askback: SLACK_BOT_TOKEN is missing. Copy the Bot User OAuth Token (xoxb-…)")
    assert app.startswith("askback: SLACK_APP_TOKEN is missing. Create an app-level token (xapp-…)")
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


TOKENS = {
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
    done = run(tmp_path, *command, **TOKENS, **misspelt, ASKBACK_DISCORD_ADMINS="123456789012345678")
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
    done = run(tmp_path, "slack", **TOKENS, **{name: value})
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
    by_main = run(tmp_path, "pending", ASKBACK_CONFIG="nowhere\x1b[31m\u202e.toml")
    by_ask = run(tmp_path, "ask", "Go?", "--to", "slack:#x", "--option", "Yes", "--escalate", "leads\x1b[31m\u202e")
    for done in (by_main, by_ask):
        assert done.returncode == 2
        assert "␛[31m\u202e" in done.stderr
        assert "\u202c\u2069\n" in done.stderr, "the direction ends with the line"
        assert "\x1b" not in done.stderr


# The preview


def preview(*arguments: str, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(app, ["preview", *arguments], input=stdin)


def test_preview_prints_one_line_of_messages_for_each_input(tmp_path: Path) -> None:
    done = preview(stdin=json.dumps(SINGLE))
    assert (done.exit_code, done.stderr) == (0, "")
    ((message,),) = lines(done)
    assert set(message) == {"text", "blocks"}
    assert "Staging" in message["text"]
    (tmp_path / "calls.jsonl").write_text(f"{json.dumps(SINGLE)}\n\n{json.dumps(SINGLE)}\r\n", encoding="utf-8-sig")
    done = preview(str(tmp_path / "calls.jsonl"))
    assert done.exit_code == 0
    assert lines(done) == [[message], [message]]
    assert preview("-", stdin=json.dumps(SINGLE, indent=2)).exit_code == 0


def test_a_terminal_obeys_nothing_that_a_preview_shows() -> None:
    done = preview("--tool", "askQuestion", stdin=json.dumps({"question": "a\x9b31m\u202eb", "options": ["x", "y"]}))
    assert "\x9b" not in done.stdout
    assert "\u202e" not in done.stdout
    ((message,),) = lines(done)
    assert "a\x9b31m\u202eb" in message["text"]


def test_preview_shows_every_step_where_it_is_asked_to() -> None:
    form = {"questions": [{**SINGLE["questions"][0], "question": f"Where {n}?"} for n in range(3)]}
    assert [len(line) for line in lines(preview(stdin=json.dumps(form)))] == [1]
    steps = lines(preview("--all-steps", stdin=json.dumps(form)))[0]
    assert len(steps) == 4
    assert all(f"Where {n}?" in steps[n]["text"] and f"Where {n}?" in steps[3]["text"] for n in range(3))


def test_preview_takes_the_other_tools() -> None:
    done = preview("--tool", "askQuestion", stdin='{"question": "Tea?", "options": ["Yes", "No"]}')
    assert (done.exit_code, len(lines(done))) == (0, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "The input is empty"),
        (" \n\n", "The input is empty"),
        ("{", "The input is not valid JSON"),
        ('{\n  "questions": [],\n}', "The input is not valid JSON"),
        ("nope", "The input is not valid JSON"),
        ("[" * 100_000, "The input is not valid JSON"),
        ("{}", "questions"),
        ("null", "The input of AskUserQuestion is invalid"),
        ('{"questions": []}', "The input of AskUserQuestion is invalid"),
    ],
)
def test_preview_says_what_cannot_be_understood_in_its_line(text: str, words: str) -> None:
    done = preview(stdin=text)
    assert (done.exit_code, done.stderr) == (1, "")
    (line,) = lines(done)
    assert words in line["error"]


def test_preview_goes_on_after_a_line_that_cannot_be_understood() -> None:
    done = preview(stdin=f"{json.dumps(SINGLE)}\nnope\n{{}}\n{json.dumps(SINGLE)}\n")
    assert done.exit_code == 1
    assert [isinstance(line, list) for line in lines(done)] == [True, False, False, True]


def test_preview_refuses_what_is_no_file_of_text(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    for name, words in (
        ("bytes", "is not valid UTF-8 text"),
        (".", "Is a directory"),
        ("none.json", "No such file"),
        ("-", "is not valid UTF-8 text"),
    ):
        done = preview(str(tmp_path / name) if name != "-" else "-", stdin=b"\xff")
        assert done.exit_code == 2
        assert words in " ".join(done.stderr.replace("│", "").split())


def test_preview_names_the_tools_and_the_platforms_that_there_are(run: Runner, tmp_path: Path) -> None:
    for arguments, words in (
        (("--tool", "asks"), "askback: There is no question tool 'asks'. The tools are AskUserQuestion"),
        (("--platform", "irc"), "askback: There is no bot for 'irc'. The bots are: "),
    ):
        done = run(tmp_path, "preview", *arguments)
        assert done.returncode == 2
        assert done.stderr.startswith(words)
        assert len(done.stderr.splitlines()) == 1


def test_preview_writes_utf8_whatever_the_locale_is(run: Runner, tmp_path: Path) -> None:
    text = json.dumps({"questions": [{**SINGLE["questions"][0], "question": "Wo ⚡ \ud83d\ude00? \ud800"}]})
    done = run(tmp_path, "preview", stdin=text, PYTHONIOENCODING="ascii", LC_ALL="C")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Wo ⚡ 😀?" in done.stdout


def test_preview_ends_quietly_when_its_reader_goes_away(tmp_path: Path) -> None:
    (tmp_path / "calls.jsonl").write_text(f"{json.dumps(SINGLE)}\n" * 500, encoding="utf-8")
    with subprocess.Popen(
        [str(ASKBACK), "preview", "calls.jsonl"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 1


@pytest.mark.parametrize(
    ("closed", "code", "words"),
    [(">&-", 0, ""), ("<&-", 2, "Name a FILE"), (">/dev/full", 1, "Could not write to standard output")],
    ids=["output", "input", "disk"],
)
def test_what_is_closed_or_full_is_said_in_a_sentence(
    run: Runner, tmp_path: Path, closed: str, code: int, words: str
) -> None:
    (tmp_path / "call.json").write_text(json.dumps(SINGLE))
    file = "" if closed.startswith("<") else "call.json"
    done = run(tmp_path, command=("sh", "-c", f"{ASKBACK} preview {file} {closed}"))
    assert (done.returncode, words in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", ["--version", "ask --help", "doctor"])
def test_what_no_command_can_write_out_is_said_in_a_sentence(run: Runner, tmp_path: Path, arguments: str) -> None:
    done = run(tmp_path, command=("sh", "-c", f"{ASKBACK} {arguments} >/dev/full"))
    assert done.stderr == "askback: Could not write to standard output: No space left on device.\n"
    assert done.returncode == 1


def test_a_complaint_that_nobody_hears_is_not_printed_as_a_result(run: Runner, tmp_path: Path) -> None:
    done = run(tmp_path, command=("sh", "-c", f"{ASKBACK} show x2f 2>&-"))
    assert (done.returncode, done.stdout) == (2, "")
    done = run(tmp_path, command=("sh", "-c", f"{ASKBACK} show x2f 2>/dev/full"))
    assert (done.returncode, done.stdout) == (2, "")


TOKENS = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1", "DISCORD_TOKEN": "1", "ANTHROPIC_API_KEY": "1"}
ADDRESSES = {
    "ASKBACK_SLACK_API_URL": "slack",
    "ASKBACK_DISCORD_API_URL": "discord",
    "ASKBACK_DISCORD_GATEWAY_URL": "discord",
}


@pytest.mark.parametrize("address", ["http://", "http://[half", "http://host:port", "slack.example"])
@pytest.mark.parametrize("name", ADDRESSES)
def test_an_address_that_is_none_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, address: str
) -> None:
    monkeypatch.chdir(tmp_path)  # no askback.toml here
    for setting, value in {**TOKENS, name: address.replace("http", "ws") if "GATEWAY" in name else address}.items():
        monkeypatch.setenv(setting, value)
    with pytest.raises(OperatorError, match=f"{name} is not an address"):
        get_bot(ADDRESSES[name]).check()


@pytest.mark.parametrize("name", ADDRESSES)
def test_an_address_that_is_none_is_said_in_a_sentence(run: Runner, tmp_path: Path, name: str) -> None:
    done = run(tmp_path, "run", **{**TOKENS, name: "://[half"})
    assert done.returncode == 2
    assert f"askback: {name} is not an address" in done.stderr


def test_a_platform_without_signed_http_says_so_in_one_sentence(run: Runner, tmp_path: Path) -> None:
    done = run(tmp_path, "discord", "--http", "127.0.0.1:3000")
    assert done.returncode == 2
    assert done.stderr == "askback: Discord sends events only over its gateway: leave out --http.\n"


def test_a_platform_without_shards_says_so_in_one_sentence(run: Runner, tmp_path: Path) -> None:
    done = run(tmp_path, "slack", "--shard", "0/2")
    assert done.returncode == 2
    assert done.stderr.startswith("askback: Slack has no shards: it distributes events")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("shard", ["2/2", "x", "0/0", "1", "-1/2", "½/2"])
def test_a_shard_that_is_none_is_refused_with_two_that_are(run: Runner, tmp_path: Path, shard: str) -> None:
    said = "is not a shard: write NUMBER/COUNT, counted from 0, such as 0/2 and 1/2 for two processes."
    done = run(tmp_path, "discord", f"--shard={shard}")
    assert (done.returncode, done.stderr) == (2, f"askback: --shard {shard} {said}\n")


def test_a_shard_in_the_settings_is_checked_as_well(run: Runner, tmp_path: Path) -> None:
    done = run(tmp_path, "discord", **{**TOKENS, "ASKBACK_DISCORD_SHARD": "2/2"})
    assert done.returncode == 2
    assert "askback: ASKBACK_DISCORD_SHARD is not a shard: write NUMBER/COUNT" in done.stderr


def test_an_http_address_that_is_none_is_refused_with_one_that_is(run: Runner, tmp_path: Path) -> None:
    done = run(tmp_path, "slack", "--http", "everywhere")
    assert done.returncode == 2
    assert "127.0.0.1:3000" in done.stderr
    assert "Traceback" not in done.stderr


def test_over_http_everything_that_is_missing_is_said_at_once(run: Runner, tmp_path: Path) -> None:
    done = run(tmp_path, "slack", "--http", "3000")
    assert done.returncode == 2
    assert [line.split(" is missing")[0] for line in done.stderr.splitlines()] == [
        "askback: ANTHROPIC_API_KEY",
        "askback: SLACK_BOT_TOKEN",
        "askback: SLACK_SIGNING_SECRET",
    ]


@pytest.mark.parametrize(("words", "offered"), [("askback se", "serve"), ("askback ask --appr", "--approvers")])
def test_the_shell_completes_commands_and_options(words: str, offered: str) -> None:
    given = {"_ASKBACK_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run([ASKBACK], env=environment(**given), capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == [offered]
