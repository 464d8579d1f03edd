from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.processes import Launcher

from . import on_discord
from . import rig as on_slack
from .rig import Rig

PLATFORMS = {"discord": on_discord.rigged, "slack": on_slack.rigged}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize over every platform, except for tests marked `only`, which must give a reason."""
    if "platform" not in metafunc.fixturenames:
        return
    platforms = sorted(PLATFORMS)
    for only in metafunc.definition.iter_markers("only"):
        assert only.kwargs["reason"]
        platforms = [only.args[0]]
    metafunc.parametrize("platform", platforms)


@pytest.fixture
async def rig(platform: str, tmp_path: Path, launcher: Launcher) -> AsyncIterator[Rig]:
    async with PLATFORMS[platform](tmp_path, launcher) as rig:
        yield rig
