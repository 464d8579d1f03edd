"""Everything but the agent works without the extra `agent`, and the agent says in one sentence what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "anthropic":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NotInstalled())
"""
"""Runs before a program, in whose process no module of `anthropic` can be imported then."""

SENTENCE = (
    "The agent needs a package that is not installed (anthropic). "
    "Run in your clone of askback: pip install -e '.[agent]'"
)


def run(
    folder: Path, *words: str, program: str = "from askback.cli.main import main; main()", **environment: str
) -> subprocess.CompletedProcess[str]:
    base = {name: value for name, value in os.environ.items() if not name.startswith(("ASKBACK_", "SLACK_", "DISCORD"))}
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + program, *words],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
        env={
            **base,
            "ASKBACK_DATABASE_URL": "here.db",
            "ANTHROPIC_API_KEY": "sk-ant-x",
            "COLUMNS": "200",
            **environment,
        },
    )


@pytest.mark.parametrize("words", [("--help",), ("ask", "--help"), ("doctor", "--help"), ("slack", "--manifest")])
def test_a_command_that_runs_no_agent_works_without_it(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run(tmp_path, *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_every_name_of_the_library_can_be_used_without_it(tmp_path: Path) -> None:
    done = run(tmp_path, program="import askback\nfor name in askback.__all__: print(getattr(askback, name))")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("command", "tools"), [("slack", "AskUserQuestion"), ("run", "AskUserQuestion"), ("slack", "ours:deploy,ours:look")]
)
def test_a_bot_without_it_ends_with_one_sentence(tmp_path: Path, command: str, tools: str) -> None:
    (tmp_path / "ours.py").write_text("def deploy() -> str: ...\ndef look() -> str: ...\n")
    tokens = {"SLACK_BOT_TOKEN": "xoxb-1-2-abcdefghijk", "SLACK_APP_TOKEN": "xapp-1-A-2-abcdefghijk"}
    (tmp_path / "our.toml").touch()
    done = run(tmp_path, command, ASKBACK_TOOLS=tools, ASKBACK_CONFIG=str(tmp_path / "our.toml"), **tokens)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"askback: {SENTENCE}\n")


def test_a_host_with_an_agent_is_told_before_it_opens_anything(tmp_path: Path) -> None:
    program = """
import asyncio, askback
async def main():
    async with askback.open_host([]):
        pass
try:
    asyncio.run(main())
except askback.OperatorError as error:
    print(error)
"""
    done = run(tmp_path, program=program)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{SENTENCE}\n", "")
    assert not list(tmp_path.iterdir())


def test_the_demo_without_it_ends_with_one_sentence(tmp_path: Path) -> None:
    done = run(tmp_path, "demo", "--play")
    assert (done.returncode, done.stderr) == (2, f"askback: {SENTENCE}\n")


def test_doctor_without_it_examines_everything_else(tmp_path: Path) -> None:
    done = run(tmp_path, "doctor", "--platform", "slack")
    assert done.returncode == 1
    assert "needs a package that is not installed (anthropic)" in done.stdout
    assert "pip install -e '.[agent]'" in done.stdout
    assert "Traceback" not in done.stderr
    assert "here.db" in done.stdout
