"""The command line, as people and scripts call it."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from .runner import ASKBACK, SINGLE, Runner, environment


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


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("ask", "Go?", "--quorum", "two"), "'--quorum': give a whole number."),
        (("ask", "Go?", "--quorum", "0"), "'--quorum': give at least 1"),
        (("ask", "Go?", "--reasons", "maybe"), "'maybe' is not one of 'none', 'no', 'yes', 'both'."),
        (("list", "--format", "yaml"), "'--format': 'yaml' is not one of 'text', 'json', 'csv'."),
        (("doctor", "--wait", "soon"), "'--wait': give a number."),
        (("doctor", "--wait", "601"), "'--wait': give at most 600"),
    ],
)
def test_a_wrong_value_of_an_option_is_told_with_what_to_give(
    run: Runner, tmp_path: Path, command: tuple[str, ...], words: str
) -> None:
    done = run(tmp_path, *command, COLUMNS="300")
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert "Input" not in done.stderr
    assert "Value error" not in done.stderr


def test_a_form_that_cannot_be_asked_is_told_with_an_example_that_can(run: Runner, tmp_path: Path) -> None:
    file = tmp_path / "form.json"
    file.write_text('[{"prompt": "Which version?", "options": ["1.4", "1.5"]}]')
    done = run(tmp_path, "ask", "--form", "form.json", "--to", "slack:#deploys", "--approvers", "anyone")
    assert done.returncode == 2
    assert "questions[0].id: is missing: give it" in done.stderr
    file.write_text(f"[{done.stderr.partition('A question looks like this: ')[2]}]")
    done = run(tmp_path, "ask", "--form", "form.json", "--to", "slack:#deploys", "--approvers", "anyone")
    assert "SLACK_BOT_TOKEN is missing" in done.stderr, "the form itself is right"


def test_it_says_its_version_and_runs_as_a_module(run: Runner, tmp_path: Path) -> None:
    said = f"askback {version('askback')}\n"
    assert run(tmp_path, "--version").stdout == said
    assert run(tmp_path, "--version", command=(sys.executable, "-m", "askback")).stdout == said


def test_a_command_that_is_not_there_is_refused_with_those_that_are(run: Runner, tmp_path: Path) -> None:
    done = run(tmp_path, "slak")
    assert done.returncode == 2
    assert "slack" in done.stderr
    assert "Traceback" not in done.stderr


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


@pytest.mark.parametrize(("words", "offered"), [("askback se", "serve"), ("askback ask --appr", "--approvers")])
def test_the_shell_completes_commands_and_options(words: str, offered: str) -> None:
    given = {"_ASKBACK_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run([ASKBACK], env=environment(**given), capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == [offered]
