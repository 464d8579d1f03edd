"""Every promise of `askback ask` is tested on every platform."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.processes import Launcher

from .office import Office
from .offices import OFFICES, opened


@pytest.fixture(params=sorted(OFFICES))
def platform(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def office(platform: str, tmp_path: Path, launcher: Launcher) -> AsyncIterator[Office]:
    async with opened(platform, tmp_path, launcher) as office:
        yield office
