"""No settings but those of the test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Remove all settings from the environment, and use an empty working directory."""
    for name in [name for name in os.environ if name.startswith(("ASKBACK_", "SLACK_", "ANTHROPIC_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASKBACK_CONFIG", "")
    return tmp_path
