"""Files as answers: given in the platform's own modal, or in a message; and what becomes of their contents."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from askback.domain.answer_file import FileReading
from askback.domain.file_rules import FileRules
from askback.domain.form import Form, Question
from askback_sandbox.model.script import call, turn

from .conftest import PLATFORMS
from .driver import ADA, BEN, Desk, card, notice, program_asks, settled, turn_of, until


def files(name: str = "logo", *, allow_custom: bool = False, **rules: Any) -> Question:
    return Question(id=name, prompt="What is the logo?", files=FileRules(**rules), allow_custom=allow_custom)


PNG = base64.b64encode(
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00" + b"\x00" * 40
).decode()


def picture(name: str = "logo.png") -> dict[str, JsonValue]:
    return {"name": name, "base64": PNG}


def note(text: str, name: str = "note.txt") -> dict[str, JsonValue]:
    return {"name": name, "text": text}


def ask_tool(**more: Any) -> dict[str, Any]:
    return {"questions": [{"id": "logo", "question": "What is the logo?", **more}]}


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> str | None:
    """The address of the database; None means the desk's own file."""
    return request.getfixturevalue("postgres_url") if request.param == "postgres" else None


@pytest.fixture
async def here(
    platform: str, database: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Desk]:
    """A desk on either store, whose bot the scenario starts."""
    async with PLATFORMS[platform].open_desk(
        tmp_path,
        monkeypatch,
        start=False,
        database=database,  # type: ignore[call-arg]
    ) as opened:
        yield opened
        assert not opened.journal.unexpected(), opened.journal.unexpected()


async def test_a_file_of_the_modal_is_the_answer(desk: Desk) -> None:
    talk = await desk.thread(ADA, "logo")
    async with program_asks(desk, talk, Form(questions=(files(kinds=("pictures",)),))) as asked:
        asking = await card(desk, talk, "What is the logo?")
        assert asking.buttons == ("Choose a file…", "Not now…")
        assert "Choose a file. Pictures up to 3.9 MB." in asking.text
        await desk.open_files(ADA, asking)
        assert await desk.send_files(ADA, picture()) == ()
        over = await settled(desk, talk, "Answered by")
        assert "✓ logo.png (1 kB)" in over.text.replace("*", "")
        (file,) = (await asked.outcome())["logo"].files
        assert (file.name, file.reading) == ("logo.png", FileReading(kind="png", size=len(base64.b64decode(PNG))))


async def test_the_model_gets_the_file_and_what_is_in_it(here: Desk) -> None:
    here.model.script(
        turn(call("ask", **ask_tool(files={"kinds": ["text"]}))), turn("I have read it."), when="the notes"
    )
    async with here.bot():
        talk = await here.mention(ADA, "the notes")
        await here.open_files(ADA, await card(here, talk, "What is the logo?"))
        assert await here.send_files(ADA, note("Blue, and round.")) == ()
        told = await turn_of(here, "the notes", 2)
        result = json.loads(told.result)
        (file,) = here.file_ids(talk)
        answer = {"id": file, "name": "note.txt", "size": 16, "type": "text/plain"}
        assert result == {"status": "answered", "answers": {"logo": answer}}
        assert any("Blue, and round." in text for text in told.texts)
