"""A person gives files in the sandbox's page, in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from askback.domain.file_rules import FileRules
from askback.domain.form import Form, Question
from support.browser import browsing, shoot_all
from support.files import make_png

from .driver import ADA, Desk, card, program_asks, settled


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
async def test_files_are_chosen_in_a_browser(desk: Desk, tmp_path: Path, width: int, scheme: str) -> None:
    logo, words = tmp_path / "logo.png", tmp_path / "notes.txt"
    logo.write_bytes(make_png())
    words.write_text("Blue, and round.")
    talk = await desk.direct(ADA, "logo")
    question = Question(id="logo", prompt="What is the logo?", files=FileRules(kinds=("pictures", "text"), max=3))
    site = "discord/" if desk.platform == "discord" else ""
    address = f"{desk.services.url}/#{site}{desk.actor(ADA).id}/{talk.channel}"  # type: ignore[attr-defined]
    async with program_asks(desk, talk, Form(questions=(question,)), ADA) as asked, browsing() as open_one:
        await card(desk, talk, "What is the logo?")
        page = await open_one(address, width=width, color_scheme=scheme)
        await shoot_all(page, f"files-{desk.platform}-{width}-0-page")
        await page.get_by_role("button", name="Choose files…").first.click()
        await page.locator("dialog[open] input[type=file]").set_input_files([logo, words])
        await page.locator("dialog[open]").get_by_text("notes.txt").wait_for()
        await shoot_all(page, f"files-{desk.platform}-{width}-1-modal")
        await page.locator("dialog[open] [type=submit]").click()
        files = (await asked.outcome())["logo"].files
        assert [(file.name, file.reading and file.reading.kind) for file in files] == [
            ("logo.png", "png"),
            ("notes.txt", "text"),
        ]
        await settled(desk, talk, "✓ Answered")
        await page.get_by_text("logo.png (1 kB)").first.wait_for()
        await shoot_all(page, f"files-{desk.platform}-{width}-2-settled")
