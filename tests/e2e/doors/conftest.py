"""Every promise of `askback mcp` is tested on every platform."""

from __future__ import annotations

import pytest

from e2e.ask.conftest import office, platform
from e2e.ask.office import Office

from .environment import settle_in

__all__ = ["office", "platform", "stored_office"]


@pytest.fixture(params=["sqlite", "postgres"])
def stored_office(request: pytest.FixtureRequest, office: Office) -> Office:
    """An office on each of the databases."""
    if request.param == "postgres":
        office.settings = {"ASKBACK_DATABASE_URL": request.getfixturevalue("empty_url")}
    return office


@pytest.fixture
def here(office: Office, monkeypatch: pytest.MonkeyPatch) -> Office:
    """An office whose bots run in this process."""
    return settle_in(office, monkeypatch)


@pytest.fixture
def stored_here(stored_office: Office, monkeypatch: pytest.MonkeyPatch) -> Office:
    """The same on each of the databases."""
    return settle_in(stored_office, monkeypatch)
