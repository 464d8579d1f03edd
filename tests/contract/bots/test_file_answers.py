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
from askback.domain.form import Condition, Form, Question
from askback_sandbox.attached import Attached
from askback_sandbox.model.script import call, turn
from support.files import PDF, ZIP, make_png

from .conftest import PLATFORMS
from .driver import ADA, Desk, card, program_asks, settled, turn_of, until

PNG = make_png()


def files(name: str = "logo", *, allow_custom: bool = False, **rules: Any) -> Question:
    return Question(id=name, prompt="What is the logo?", files=FileRules(**rules), allow_custom=allow_custom)


def picture(name: str = "logo.png") -> dict[str, JsonValue]:
    return {"name": name, "base64": base64.b64encode(PNG).decode()}


def note(text: str, name: str = "note.txt") -> dict[str, JsonValue]:
    return {"name": name, "text": text}


def ask_tool(**more: Any) -> dict[str, Any]:
    return {"questions": [{"id": "logo", "question": "What is the logo?", **more}]}


def told_to(desk: Desk, person: str) -> str:
    """Return all notices for a person. Discord has no private ones for a message, and replies to it."""
    return "\n".join((*desk.notices(person), *desk.replies(person)))


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
        assert (file.name, file.reading) == ("logo.png", FileReading(kind="png", size=len(PNG)))


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
        file = result["answers"]["logo"]
        assert result == {"status": "answered", "answers": {"logo": file}}
        assert file == {"id": file["id"], "name": "note.txt", "size": 16, "type": "text/plain"}
        assert "Blue, and round." in json.dumps(told.news)


async def test_a_message_of_files_without_words_is_the_answer_to_the_agent(here: Desk) -> None:
    here.model.script(turn(call("ask", **ask_tool(files={"max": 2}))), turn("I have read them."), when="the notes")
    async with here.bot():
        talk = await here.mention(ADA, "the notes")
        await card(here, talk, "What is the logo?")
        await here.attach(ADA, "", talk, Attached("a.txt", content=b"first"), Attached("b.pdf", content=PDF))
        told = await turn_of(here, "the notes", 2)
        answers = json.loads(told.result)["answers"]["logo"]
        assert [(one["name"], one["type"]) for one in answers] == [
            ("a.txt", "text/plain"),
            ("b.pdf", "application/pdf"),
        ]
        assert "first" in json.dumps(told.news)
        await settled(here, talk, "✓ Answered")


async def test_a_message_of_files_answers_a_program_too(desk: Desk) -> None:
    talk = await desk.thread(ADA, "logo")
    async with program_asks(desk, talk, Form(questions=(files(),))) as asked:
        await card(desk, talk, "What is the logo?")
        await desk.attach(ADA, "", talk, Attached("logo.png", content=PNG))
        (file,) = (await asked.outcome())["logo"].files
        assert (file.name, file.reading) == ("logo.png", FileReading(kind="png", size=len(PNG)))


async def test_a_file_beside_words_stays_a_message(desk: Desk) -> None:
    talk = await desk.thread(ADA, "logo")
    async with program_asks(desk, talk, Form(questions=(files(),))) as asked:
        await card(desk, talk, "What is the logo?")
        await desk.attach(ADA, "is this one better?", talk, Attached("logo.png", content=PNG))
        await until(lambda: "send the files in a message without words" in told_to(desk, ADA) or None, "a notice")
        assert not asked.task.done()


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"name": "logo.zip", "type": "application/zip", "size": 9}, "is not a PDF"),
        ({"name": "logo.pdf", "size": 0}, "is empty"),
    ],
)
async def test_a_file_of_another_kind_by_its_name_is_refused_at_once(
    desk: Desk, sent: dict[str, JsonValue], words: str
) -> None:
    talk = await desk.thread(ADA, "logo")
    async with program_asks(desk, talk, Form(questions=(files(kinds=("pdf",)),))) as asked:
        await desk.open_files(ADA, await card(desk, talk, "What is the logo?"))
        if desk.platform == "slack" and sent["name"] == "logo.zip":
            sent = {**sent, "name": "logo.pdf"}  # its client offers no other names
        (why,) = await desk.send_files(ADA, sent)
        assert words in why
        assert not asked.task.done()
        assert await desk.send_files(ADA, {"name": "logo.pdf", "base64": base64.b64encode(PDF).decode()}) == ()
        (file,) = (await asked.outcome())["logo"].files
        assert file.name == "logo.pdf"


async def test_a_text_that_is_too_large_is_refused_with_the_limit(desk: Desk) -> None:
    talk = await desk.thread(ADA, "logo")
    async with program_asks(desk, talk, Form(questions=(files(),))):
        await desk.open_files(ADA, await card(desk, talk, "What is the logo?"))
        (why,) = await desk.send_files(ADA, {"name": "log.txt", "size": 300_000})
        assert "“log.txt” is too large: it may have up to 200 kB." in why


async def test_a_file_that_is_of_another_kind_than_it_says_is_told_to_the_asker_and_on_the_card(desk: Desk) -> None:
    talk = await desk.thread(ADA, "logo")
    async with program_asks(desk, talk, Form(questions=(files(kinds=("pictures",), max=2),))) as asked:
        await desk.open_files(ADA, await card(desk, talk, "What is the logo?"))
        fake: JsonValue = {"name": "b.png", "base64": base64.b64encode(ZIP).decode()}
        assert await desk.send_files(ADA, picture("a.png"), fake) == ()
        good, bad = (await asked.outcome())["logo"].files
        assert (good.name, bad.name) == ("a.png", "b.png")
        assert bad.to_json_value()["problem"] == "Its content is not what its name says."  # type: ignore[index,call-overload]
        assert good.to_json_value()["type"] == "image/png"  # type: ignore[index,call-overload]
        await until(
            lambda: "Its content is not what its name says." in desk.cards(talk)[-1].text or None, "the card says it"
        )


async def test_too_many_files_in_a_message_are_refused_with_the_number(desk: Desk) -> None:
    talk = await desk.thread(ADA, "logo")
    async with program_asks(desk, talk, Form(questions=(files(),))) as asked:
        await card(desk, talk, "What is the logo?")
        await desk.attach(ADA, "", talk, Attached("a.png", content=PNG), Attached("b.png", content=PNG))
        await until(lambda: "choose a file" in told_to(desk, ADA) or None, "a notice")
        assert not asked.task.done()


async def test_a_question_that_was_withdrawn_meanwhile_takes_no_files(desk: Desk) -> None:
    talk = await desk.thread(ADA, "logo")
    async with program_asks(desk, talk, Form(questions=(files(),))) as asked:
        asking = await card(desk, talk, "What is the logo?")
        await desk.open_files(ADA, asking)
        (open_ask,) = await desk.host.manager.list_open_asks()
        await desk.host.manager.cancel(open_ask.id)
        (why,) = await desk.send_files(ADA, picture())
        assert "cancelled" in why
        assert (await asked.outcome()).status == "cancelled"


async def test_files_of_a_form_are_reviewed_replaced_and_sent(desk: Desk) -> None:
    talk = await desk.thread(ADA, "logo")
    when = Question(id="when", prompt="When?", show_if=Condition(question="logo"))
    async with program_asks(desk, talk, Form(questions=(files(max=3), when))) as asked:
        await desk.open_files(ADA, await card(desk, talk, "What is the logo?"))
        assert await desk.send_files(ADA, picture("a.png"), note("b")) == ()
        await desk.open_field(ADA, await card(desk, talk, "When?"), "Write an answer…")
        assert await desk.submit(ADA, "Today") == ()
        review = await card(desk, talk, "Review your answers")
        assert "a.png" in review.text
        assert "note.txt" in review.text
        await desk.press(ADA, review, "Edit Q1")
        again = await card(desk, talk, "Files so far:")
        await desk.open_files(ADA, again)
        assert await desk.send_files(ADA, picture("c.png")) == ()
        await desk.press(ADA, await card(desk, talk, "c.png"), "Submit")
        assert [file.name for file in (await asked.outcome())["logo"].files] == ["c.png"]


async def test_a_form_in_one_modal_takes_files_and_says_what_is_wrong_with_them(desk: Desk) -> None:
    talk = await desk.thread(ADA, "logo")
    when = Question(id="when", prompt="When?")
    async with program_asks(desk, talk, Form(questions=(files(kinds=("text",)), when))) as asked:
        await desk.open_form(ADA, await card(desk, talk, "What is the logo?"))
        entries: dict[str, Any] = {"What is the logo?": ["logo.png"], "When?": "Today"}
        assert any("is not a text" in why for why in await desk.send_form(ADA, entries))
        assert not asked.task.done()
        assert await desk.send_form(ADA, {"What is the logo?": [note("Blue.")], "When?": "Today"}) == ()  # type: ignore[list-item]
        outcome = await asked.outcome()
        assert ([file.name for file in outcome["logo"].files], outcome["when"].text) == (["note.txt"], "Today")


async def test_a_restart_between_answer_and_download_loses_no_file(here: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askback.store.file_transactions.FILE_LEASE_SECONDS", 2)
    here.model.script(turn(call("ask", **ask_tool(files=True))), turn("I have read it."), when="the notes")
    async with here.bot():
        talk = await here.mention(ADA, "the notes")
        await here.open_files(ADA, await card(here, talk, "What is the logo?"))
        here.delay_files(60.0)
        assert await here.send_files(ADA, note("Blue, and round.")) == ()
    async with here.bot():
        told = await turn_of(here, "the notes", 2)
        assert "Blue, and round." in json.dumps(told.news)
