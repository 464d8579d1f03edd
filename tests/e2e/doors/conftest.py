"""Every promise of `askback mcp` is tested on every platform."""

from __future__ import annotations

import pytest

from e2e.ask.conftest import office, platform
from e2e.ask.office import Office

__all__ = ["office", "platform", "stored_office"]


@pytest.fixture(params=["sqlite", "postgres"])
def stored_office(request: pytest.FixtureRequest, office: Office) -> Office:
    """An office on each of the databases."""
    if request.param == "postgres":
        office.settings = {"ASKBACK_DATABASE_URL": request.getfixturevalue("empty_url")}
    return office
