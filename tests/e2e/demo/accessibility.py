"""Violations of accessibility on a page."""

from __future__ import annotations

from typing import Any

import pytest

axe = pytest.importorskip("axe_playwright_python.async_playwright", reason="axe is not installed")
SIZES = ({"width": 1280, "height": 800}, {"width": 390, "height": 780})


async def check(page: Any, state: str) -> None:
    """Fail if axe finds a violation, on a wide and a narrow screen, light and dark."""
    for size in SIZES:
        for scheme in ("light", "dark"):
            await page.set_viewport_size(size)
            await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found = await axe.Axe().run(page)
            assert found.violations_count == 0, (state, size, scheme, found.generate_report())
    await page.set_viewport_size(SIZES[0])
