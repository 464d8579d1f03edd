from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.platforms import parametrize_platforms
from support.processes import Launcher

from . import on_discord, on_slack
from .rig import Rig

PLATFORMS = {"discord": on_discord.rigged, "slack": on_slack.rigged}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize_platforms(metafunc, PLATFORMS)


@pytest.fixture
async def rig(platform: str, tmp_path: Path, launcher: Launcher) -> AsyncIterator[Rig]:
    async with PLATFORMS[platform](tmp_path, launcher) as rig:
        yield rig
