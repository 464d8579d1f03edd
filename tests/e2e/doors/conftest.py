"""Every promise of `askback mcp` is tested on every platform."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from e2e.ask.office import OFFICES, Office, opened
from support.processes import Launcher


@pytest.fixture(params=sorted(OFFICES))
def platform(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def office(platform: str, tmp_path: Path, launcher: Launcher) -> AsyncIterator[Office]:
    async with opened(platform, tmp_path, launcher) as office:
        yield office


@pytest.fixture(params=["sqlite", "postgres"])
def stored_office(request: pytest.FixtureRequest, office: Office) -> Office:
    """An office on each of the databases."""
    if request.param == "postgres":
        office.settings = {"ASKBACK_DATABASE_URL": request.getfixturevalue("empty_url")}
    return office
