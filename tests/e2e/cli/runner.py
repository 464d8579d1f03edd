"""Runs a command as people and scripts do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Protocol

from typer.testing import Result

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


def lines(done: subprocess.CompletedProcess[str] | Result) -> list[Any]:
    return [json.loads(line) for line in done.stdout.splitlines()]
