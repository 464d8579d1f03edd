from __future__ import annotations

import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize over every platform, except for tests marked `only`, which must give a reason."""
    if "platform" not in metafunc.fixturenames:
        return
    platforms = ["discord", "slack"]
    for only in metafunc.definition.iter_markers("only"):
        assert only.kwargs["reason"]
        platforms = [only.args[0]]
    metafunc.parametrize("platform", platforms)
