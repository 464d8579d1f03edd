"""The environment of a door that runs in the process of the tests."""

from __future__ import annotations

import os

import pytest

from e2e.ask.office import OURS, Office


def settle_in(office: Office, monkeypatch: pytest.MonkeyPatch) -> Office:
    """Let the bots of an office run in this process, with its settings."""
    for name in [name for name in os.environ if name.startswith(OURS)]:
        monkeypatch.delenv(name)
    for name, value in (office.environment() | {"ASKBACK_QUESTION_PACE": "0s"}).items():
        monkeypatch.setenv(name, value)
    return office
