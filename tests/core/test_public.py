"""What `import askback` gives, and what it costs."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version

import pytest

import askback


def test_every_public_name_is_there_and_listed() -> None:
    assert askback.__version__ == version("askback")
    for name in askback.__all__:
        assert getattr(askback, name) is not None
    assert dir(askback) == sorted(askback.__all__)
    assert {"Form", "Question", "Option", "Outcome", "Place", "Who", "running", "bot_named"} <= set(askback.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Formular"):
        _ = askback.Formular  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import askback", {"pydantic", "sqlalchemy", "anthropic", "aiohttp", "slack_sdk", "typer"}),
        ("from askback import Form, Option, Question, Who", {"sqlalchemy", "anthropic", "aiohttp", "slack_sdk"}),
        ("from askback import bot_named, Settings", {"anthropic", "slack_sdk", "typer"}),
    ],
)
def test_nothing_is_loaded_before_it_is_used(code: str, absent: set[str]) -> None:
    script = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert absent & set(json.loads(done.stdout)) == set()
