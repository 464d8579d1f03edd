"""The names that `import askback` provides, and its cost."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import askback


def test_every_public_name_is_there_and_listed() -> None:
    assert askback.__version__ == version("askback")
    for name in askback.__all__:
        assert getattr(askback, name) is not None
    assert dir(askback) == sorted(askback.__all__)
    assert {"Form", "Question", "Option", "Outcome", "Place", "Who", "open_host", "get_bot"} <= set(askback.__all__)


ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
TEXTS = {page.name: page.read_text(encoding="utf-8") for page in PAGES}


THEIRS = {"ApprovalRequired", "AskUser", "Command"}
"""Names of Pydantic AI and LangGraph."""


def test_what_the_documentation_names_as_public_is_exported() -> None:
    """The check covers names of values and errors, imports in examples, and names after `askback.`."""
    others = {"db", "toml", "demo_tools", "doors", "observability", "asks", "ack", "outbox", "model", "turns", "wait"}
    """Files, modules and metrics."""
    named: set[str] = set()
    for text in TEXTS.values():
        for block in re.findall(r"from askback import ([\w, ]+)", text):
            named |= set(re.split(r"[, ]+", block.strip()))
        code = " ".join(re.findall(r"`([^`\n]+)`", text))
        named |= set(re.findall(r"\baskback\.(\w+)", code)) - others
        named |= set(re.findall(r"(?<![\w.])([A-Z][a-z]+(?:[A-Z][a-z]+)*)[.(]", code)) - THEIRS
    assert named <= set(askback.__all__), named - set(askback.__all__)
    assert {"Approval", "QuestionManager", "Form", "ask", "ask_async"} <= named


def test_every_error_that_a_public_call_raises_can_be_caught_by_its_name() -> None:
    for name in ("CallerError", "OperatorError", "UnknownName", "UnknownKey", "DeliveryError", "RetryableError"):
        assert issubclass(getattr(askback, name), askback.AskbackError)


def test_a_place_is_given_by_its_id() -> None:
    for name in ("#deploys", "@ada"):
        with pytest.raises(askback.InvalidValue, match="is a name: give the channel's id"):
            askback.Place(platform="slack", channel=name)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Formular"):
        _ = askback.Formular  # pyright: ignore[reportAttributeAccessIssue]


A_BOT = """
import askback.runtime.app, askback.runtime.serve
from askback.cli.main import build_command_line
from askback.observability.logs import configure_logging
from askback.ports.bot import BotOptions
from askback.ports.installed_bots import get_bot

build_command_line()
configure_logging("INFO")
get_bot("slack", BotOptions())
"""


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import askback", {"pydantic", "sqlalchemy", "anthropic", "aiohttp", "slack_sdk", "typer"}),
        ("from askback import Form, Option, Question, Who", {"sqlalchemy", "anthropic", "aiohttp", "slack_sdk"}),
        ("from askback import get_bot, Settings", {"anthropic", "slack_sdk", "typer"}),
        ("import askback.cli.start", {"asyncio", "typer", "pydantic", "askback.errors"}),
        ("import askback.cli.main", {"anthropic", "slack_sdk", "sqlalchemy", "structlog", "tenacity", "rich"}),
        ("import askback.observability.logs", {"structlog"}),
        (A_BOT, {"rich", "pygments", "alembic", "discord", "sqlalchemy.orm", "psycopg", "mcp", "anthropic"}),
    ],
)
def test_nothing_is_loaded_before_it_is_used(code: str, absent: set[str]) -> None:
    script = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert absent & set(json.loads(done.stdout)) == set()
