"""The operator's own database."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in os.environ:
        if name.startswith(("ASKBACK_", "SLACK_", "DISCORD_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASKBACK_DATABASE_URL", "askback.db")
    return tmp_path / "askback.db"
