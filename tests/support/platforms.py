"""Tests that run on every platform."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def parametrize_platforms(metafunc: pytest.Metafunc, platforms: Iterable[str]) -> None:
    """Run a test on each of these platforms, or on the one that its mark `only` names and gives a reason for."""
    if "platform" not in metafunc.fixturenames:
        return
    chosen = sorted(platforms)
    for only in metafunc.definition.iter_markers("only"):
        assert only.kwargs["reason"]
        chosen = [only.args[0]]
    metafunc.parametrize("platform", chosen)
