"""Libraries that only some tests need. In CI, they must be there."""

from __future__ import annotations

import os
from typing import Any

import pytest


def optional(module: str) -> Any:
    """Import a library for the tests of a module. If it is missing, skip them; in CI, they fail."""
    return __import__(module) if os.environ.get("CI") else pytest.importorskip(module)
