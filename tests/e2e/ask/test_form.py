"""`askback ask --form`: several questions in one card, from a file, a pipe or Python."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.discord_client import BEN

from .office import Office

PAGE = Path(__file__).parents[3] / "docs" / "scripts.md"
FORM, ANSWERS = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL))
PROGRAM = """
import askback

form = askback.Form.parse({"questions": [{"id": "count", "prompt": "How many?", "rules": {"kind": "integer"}}]})
print(askback.ask(form=form, to="PLATFORM:#deploys", approvers="anyone", wait="60s").model_dump_json())
"""


def is_recorded(office: Office) -> bool:
    """Return True if the database has the card's location. Before that, a reply to it belongs to no question."""
    with closing(sqlite3.connect(office.database)) as database:
        return database.execute("SELECT 1 FROM asks WHERE messages <> '[]'").fetchone() is not None


async def asked(office: Office, form: object, *arguments: str) -> Any:
    file = office.folder / "form.json"
    file.write_text(form if isinstance(form, str) else json.dumps(form), encoding="utf-8")
    to = f"{office.platform}:#deploys"
    return await office.start("ask", "--form", str(file), "--to", to, "--approvers", "anyone", *arguments)


async def test_the_answers_come_back_by_the_ids_of_the_questions(office: Office) -> None:
    asking = await asked(office, FORM, "--key", "release")
    await office.click("ada", "Staging", "Where do we deploy?")
    await office.click("ada", "Submit", "Review your answers")
    outcome = await asking.outcome()
    assert (outcome["status"], outcome["answers"]) == ("answered", {"where": "stg"})
    assert (outcome["answer"], outcome["approved"]) == ("Staging", None)
    assert "Answered by" in asking.err
    again = await asked(office, FORM, "--key", "release")
    assert await again.outcome() == outcome
    other = await asked(office, {"questions": FORM["questions"][:1]}, "--key", "release")
    assert "belongs to another question" in await other.refused()


async def test_a_person_comes_back_with_the_id_and_the_name_even_if_it_is_the_only_question(office: Office) -> None:
    # The id of the question of a call without a form.
    asking = await asked(office, [{"id": "answer", "prompt": "Who reviews it?", "picks": "people"}])
    card = await office.card("Who reviews it?")
    await office.until(lambda: is_recorded(office))
    office.write_under("ada", card, "@ben" if office.platform == "slack" else f"<@{BEN}>")
    outcome = await asking.outcome()
    person = {"id": "U0LOCALBEN", "name": "ben"} if office.platform == "slack" else {"id": BEN, "name": "Ben Okri"}
    assert (outcome["answers"], outcome["answer"]) == ({"answer": person}, person["name"])


async def test_the_page_shows_what_comes_back(office: Office) -> None:
    asking = await asked(office, FORM["questions"])
    await office.click("ada", "Production", "Where do we deploy?")
    card = await office.card("On which day?")
    office.write_under("ada", card, ANSWERS["day"])
    await office.click("ada", "Submit", "Review your answers")
    outcome = await asking.outcome()
    assert (outcome["answers"], outcome["answer"]) == (ANSWERS, None)


@pytest.mark.parametrize(
    ("form", "arguments", "words"),
    [
        ("{", (), "is not JSON"),
        ("   ", (), "is empty"),
        ("3", (), "is not an object"),
        ({"questions": []}, (), "has 0 questions: give 1 to 20"),
        ({"questions": [{"id": "a"}]}, (), "questions[0].prompt: is missing: give it"),
        ({"questions": [{"id": "a", "prompt": "A?", "colour": 1}]}, (), "questions[0].colour: is an unknown field"),
        ([{"id": "a", "prompt": "A?", "rules": {"pattern": "(a+)+$"}}], (), "has a pattern, which could take hours"),
        (FORM, ("--option", "Yes"), "--option does not go together with --form: put it into the form"),
        (FORM, ("--quorum", "2"), "--quorum does not go together with --form"),
        (FORM, ("Deploy?",), "There are both a question and --form"),
    ],
)
async def test_what_cannot_be_asked_is_refused_before_anything_is_posted(
    office: Office, form: object, arguments: tuple[str, ...], words: str
) -> None:
    refused = await (await asked(office, form, *arguments)).refused()
    assert words in refused
    assert office.shown() == []


async def test_a_form_from_python_is_asked_as_well(office: Office) -> None:
    program = office.folder / "program.py"
    program.write_text(PROGRAM.replace("PLATFORM", office.platform), encoding="utf-8")
    asking = await office.start(program=program)
    shown = await office.card("How many?")
    await office.until(lambda: is_recorded(office))
    office.write_under("ada", shown, "7")
    outcome = await asking.outcome()
    assert (outcome["answers"], outcome["answer"]) == ({"count": 7}, "7")
