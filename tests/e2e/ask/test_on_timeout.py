"""`askback ask --on-timeout`: a timeout ends with 4 in each case, and a default is clearly marked as one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from askback import Form
from askback.client.api import ask_async
from askback.errors import CallerError

from .office import Office

WHERE: dict[str, Any] = {
    "id": "where",
    "prompt": "Where do we deploy?",
    "options": [{"value": "stg", "label": "Staging"}, {"value": "prd", "label": "Production"}],
    "default": ["stg"],
}


OPEN = ("--option", "Staging", "--option", "Production")


async def asked(office: Office, *arguments: str, form: object = None) -> Any:
    to = f"{office.platform}:#deploys"
    given = []
    if form is not None:
        file = office.folder / "form.json"
        file.write_text(json.dumps({"questions": [form]}), encoding="utf-8")
        given = ["--form", str(file)]
    return await office.start("ask", *given, "--to", to, "--approvers", "anyone", *arguments)


async def test_the_default_of_a_form_is_printed_as_a_fallback_and_not_as_an_answer(office: Office) -> None:
    asking = await asked(office, "--wait", "2s", "--on-timeout", "default", "--key", "k", form=WHERE)
    outcome = await asking.outcome(4)
    assert (outcome["status"], outcome["answer"], outcome["answers"]) == ("timed_out", None, None)
    assert (outcome["approved"], outcome["by"]) == (False, None)
    assert (outcome["fallback"], outcome["halted"]) == ({"where": "stg"}, False)
    assert "then the default: Staging." in asking.err
    assert 'Nobody answered in time. The default applies, as announced: "stg"' in asking.err
    assert await office.settled("Where do we deploy?", "“Staging” applies, as announced.")
    again = await asked(office, "--wait", "2s", "--on-timeout", "default", "--key", "k", form=WHERE)
    assert await again.outcome(4) == outcome
    other = await asked(office, "--wait", "2s", "--key", "k", form=WHERE)
    assert "this question was asked with --on-timeout default" in await other.refused()
    for command, words in (
        (("show", outcome["id"]), "applies  the default: Staging"),
        (("list",), "→ the default: Staging"),
    ):
        code, out = await (await office.start(*command)).ended()
        assert code == 0
        assert words in out


async def test_an_option_can_be_the_default_where_none_is_a_yes_or_a_no(office: Office) -> None:
    asking = await asked(office, "Where?", *OPEN, "--wait", "2s", "--on-timeout", "default", "--default", "staging")
    outcome = await asking.outcome(4)
    assert (outcome["status"], outcome["answer"]) == ("timed_out", None)
    assert outcome["fallback"] == {"answer": "Staging"}
    assert await office.settled("Where?", "“Staging” applies, as announced.")


async def test_people_can_take_the_default_of_a_written_answer_or_another_one(office: Office) -> None:
    asking = await asked(office, "Which version?", "--on-timeout", "default", "--default", "1.4.2", "--wait", "60s")
    await office.click("ada", "✓ 1.4.2", "Which version?")
    outcome = await asking.outcome()
    assert (outcome["status"], outcome["answer"], outcome["fallback"]) == ("answered", "1.4.2", None)


async def test_a_halt_says_that_the_work_stops(office: Office) -> None:
    asking = await asked(office, "Deploy?", "--option", "Yes", "--option", "No", "--wait", "2s", "--on-timeout", "halt")
    outcome = await asking.outcome(4)
    assert (outcome["status"], outcome["halted"], outcome["fallback"]) == ("timed_out", True, None)
    assert "then the work stops." in asking.err
    assert "Nobody answered in time. The work stops, as announced." in asking.err


@pytest.mark.parametrize(
    ("arguments", "form", "words"),
    [
        (("Deploy?", "--option", "Yes", "--option", "No", "--default", "Yes"), None, "silence is not consent"),
        (("Deploy?", *OPEN, "--default", "Staging", "--quorum", "2"), None, "does not go together with --quorum"),
        (("Deploy?", *OPEN, "--default", "The moon"), None, "--default The moon: there is no such option"),
        (("Which version?",), None, "needs a default: name it with --default"),
        (("--default", "Staging"), WHERE, "--default does not go together with --form: put it into the form"),
        ((), {**WHERE, "default": []}, "“Where do we deploy?” has no default: give it one"),
        (("--wait", "forever"), WHERE, "--on-timeout default needs a deadline: give --wait a time"),
    ],
)
async def test_a_default_that_nobody_gave_is_refused_before_anything_is_posted(
    office: Office, arguments: tuple[str, ...], form: object, words: str
) -> None:
    refused = await (await asked(office, *arguments, "--on-timeout", "default", form=form)).refused()
    assert words in refused
    assert office.shown() == []


async def test_python_names_its_own_parameters() -> None:
    form = Form.parse({"questions": [WHERE]})
    with pytest.raises(CallerError, match="on_timeout='default' needs a deadline: give `wait` a time"):
        await ask_async(form=form, to="slack:#deploys", approvers="anyone", wait=None, on_timeout="default")
