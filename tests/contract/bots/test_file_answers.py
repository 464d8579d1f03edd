"""Files as answers, given in the platform's own modal."""

from __future__ import annotations

from typing import Any

from askback.domain.file_rules import FileRules
from askback.domain.form import Form, Question

from .driver import ADA, Desk, card, program_asks, settled


def files(name: str = "logo", *, allow_custom: bool = False, **rules: Any) -> Question:
    return Question(id=name, prompt="What is the logo?", files=FileRules(**rules), allow_custom=allow_custom)


async def test_a_file_of_the_modal_is_the_answer(desk: Desk) -> None:
    talk = await desk.thread(ADA, "logo")
    async with program_asks(desk, talk, Form(questions=(files(kinds=("pictures",)),))) as asked:
        asking = await card(desk, talk, "What is the logo?")
        assert asking.buttons == ("Choose a file…", "Not now…")
        assert "Choose a file. Pictures up to 3.9 MB." in asking.text
        await desk.open_files(ADA, asking)
        assert await desk.send_files(ADA, {"name": "logo.png", "size": 2_000}) == ()
        over = await settled(desk, talk, "Answered by")
        assert "✓ logo.png (2 kB)" in over.text.replace("*", "")
