"""The pages about the code name files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "core" / "askback"
BOTS = (ROOT / "bots" / "askback_slack", ROOT / "bots" / "askback_discord")


@pytest.mark.parametrize("page", ["architecture.md", "promises.md"])
def test_each_file_that_a_page_names_exists(page: str) -> None:
    named = set(re.findall(r"`([\w/]+\.py)`", (ROOT / "docs" / page).read_text(encoding="utf-8")))
    assert len(named) > 10
    # A name without a folder follows one with a folder, or is a module of the bots.
    packages = {CORE / Path(name).parent for name in named if "/" in name}
    places = (ROOT, CORE, *BOTS, *packages)
    assert [name for name in sorted(named) if not any((place / name).is_file() for place in places)] == []
