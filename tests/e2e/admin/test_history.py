"""`askback list` and `askback stats`, as an operator types them, without a running process."""

from __future__ import annotations

import asyncio
import csv
import json
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest

from askback.domain.actions import Cancel, Choose, Pick, Submit, SubmitText
from askback.domain.form import Form, Option, Question
from askback.domain.outcome import Picked
from askback.internal.clock import utc_now
from askback.store.sqlite.database import SqliteDatabase

from .operators import COLOUR, HERE, HOSTILE, askback, stored

NAME = Form(questions=(Question(id="name", prompt="What is it called?"),))
SIZES = (Option(value="small", label="Small"), Option(value="large", label="Large"))
SIZE = Question(id="size", prompt="Which size?", options=SIZES)


def listed(*arguments: str) -> list[dict[str, object]]:
    done = askback("list", "--format", "json", *arguments)
    assert done.exit_code == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def ids(database: Path) -> list[str]:
    """The ids of four questions, oldest first: chosen, written, cancelled and open."""
    hours = [timedelta(hours=10 - number) for number in range(4)]
    return [
        stored(database, Choose(index=0), created_at=utc_now() - hours[0], posted_at=utc_now() - hours[0]).id,
        stored(database, SubmitText(text="=1+1"), form=NAME, created_at=utc_now() - hours[1]).id,
        stored(database, Cancel(), created_at=utc_now() - hours[2]).id,
        stored(database, created_at=utc_now() - hours[3]).id,
    ]


def test_questions_are_listed_newest_first_with_what_people_answered(ids: list[str]) -> None:
    lines = askback("list").stdout.splitlines()
    assert [line.split()[0] for line in lines[::2]] == ids[::-1]
    assert "open" in lines[0]
    assert "cancelled" in lines[2]
    assert "What is it called? → =1+1" in lines[5]
    assert "answered by Ann (U1) after 10 h" in lines[6]
    assert "Which colour? → Green  (board C1 thread 17 in T1)" in lines[7]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ((), [3, 2, 1, 0]),
        (("--state", "answered"), [1, 0]),
        (("--state", "answered", "--state", "open"), [3, 1, 0]),
        (("--state", "refused"), []),
        (("--since", "8h30m"), [3, 2]),
        (("--platform", "board"), [3, 2, 1, 0]),
        (("--platform", "slack"), []),
        (("--place", "17"), [3, 2, 1, 0]),
        (("--place", "C2"), []),
        (("--person", "ann"), [2, 1, 0]),
        (("--person", "U1", "--state", "cancelled"), [2]),
        (("--person", "Ben"), []),
        (("--limit", "1"), [3]),
    ],
)
def test_questions_are_selected_by_state_place_person_and_time(
    ids: list[str], arguments: tuple[str, ...], wanted: list[int]
) -> None:
    assert [one["id"] for one in listed(*arguments)] == [ids[number] for number in wanted]


def test_people_and_channels_are_shown_with_their_names_and_ids(database: Path) -> None:
    form = Form(questions=(Question(id="who", prompt="Who?", picks="people"),))
    ask = stored(database, Pick(picked=(Picked(id="U2", name=f"Ben {HOSTILE}"),)), form=form)
    assert "Ben Red" in askback("list").stdout
    shown = askback("show", ask.id).stdout
    assert "[x] " in shown
    assert "picked " in shown
    assert shown.count("Ben Red") == 2
    assert shown.count("(U2)") == 2
    assert "\x1b" not in shown
    assert json.loads(askback("show", ask.id, "--json").stdout)["drafts"][0]["picked"][0]["id"] == "U2"
    assert "1 × " in askback("stats").stdout


def test_who_asked_for_less_than_there_is_reads_that_there_is_more(ids: list[str]) -> None:
    assert "There are more. To see more than 2, use --limit." in askback("list", "--limit", "2").stderr
    assert askback("list", "--limit", "4").stderr == ""


def test_json_has_the_outcome_with_its_time(ids: list[str]) -> None:
    chosen = listed("--state", "answered")[1]
    assert (chosen["state"], chosen["answer"], chosen["by_id"]) == ("answered", "Green", "U1")
    assert chosen["answers"] == {"colour": "green"}
    assert isinstance(chosen["seconds"], float)
    assert chosen["seconds"] >= 36_000
    assert (listed("--state", "open")[0]["settled"], chosen["channel"]) == (None, HERE.channel)


def test_no_answer_becomes_a_formula_in_a_spreadsheet(ids: list[str]) -> None:
    rows = [*csv.DictReader(StringIO(askback("list", "--format", "csv").stdout))]
    assert [row["id"].removeprefix("'") for row in rows] == ids[::-1], "an id may begin with a dash"
    assert [row["answer"] for row in rows] == ["", "", "'=1+1", "Green"]


def test_a_terminal_obeys_nothing_that_people_wrote(database: Path) -> None:
    stored(database, SubmitText(text=HOSTILE), form=Form(questions=(Question(id="q", prompt=HOSTILE),)))
    for command in ("list", "stats"):
        shown = askback(command).stdout
        assert not set("\x1b\x9b\x07") & set(shown)
        assert "[bold]x[/]" in shown


def test_statistics_say_how_questions_ended_how_long_it_took_and_what_was_chosen(ids: list[str]) -> None:
    assert askback("stats").stdout.splitlines() == [
        "4 questions: 1 open, 2 answered, 1 cancelled",
        "Half of the answers came within 9 h, and nine of ten within 10 h.",
        "",
        "3 × “Which colour?”",
        "  1 × “Green”",
        "  1 × still open",
        "  1 × without an answer",
        "",
        "1 × “What is it called?”",
        "  1 × in own words, the newest first: “=1+1”",
    ]
    found = json.loads(askback("stats", "--json", "--since", "9h30m").stdout)
    assert (found["asked"], found["by_state"]) == (3, {"open": 1, "answered": 1, "cancelled": 1})


def test_statistics_of_nothing_say_so(database: Path) -> None:
    assert "askback.db" in askback("stats").stdout
    asyncio.run(SqliteDatabase(database).close())
    assert askback("stats").stdout == askback("list").stdout == "This database has no questions yet.\n"
    stored(database)
    assert askback("stats", "--platform", "slack").stdout == "No question fits these options.\n"
    assert askback("list", "--platform", "slack").stdout == "No question fits these options.\n"


def test_a_form_with_a_title_is_listed_by_it(database: Path) -> None:
    questions = (Question(id="tag", prompt="tag"), Question(id="where", prompt="where"))
    stored(database, form=Form(questions=questions, title="About the release"))
    for command in ("list", "pending"):
        assert "About the release (2 questions)" in askback(command).stdout
    assert listed()[0]["question"] == "About the release"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("list", "--state", "done"), "--state done is not a state: use open, answered, refused"),
        (("list", "--since", "monday"), "--since monday is not a duration"),
        (("stats", "--since", "99999999999d"), "--since 99999999999d"),
        (("list", "--limit", "0"), "--limit"),
    ],
)
def test_what_cannot_be_selected_is_told(arguments: tuple[str, ...], words: str, database: Path) -> None:
    done = askback(*arguments)
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.replace("│", " ").split())


def test_a_form_of_several_questions_counts_each_of_them(database: Path) -> None:
    stored(database, Choose(index=0), Choose(index=1), Submit(), form=Form(questions=(*COLOUR.questions, SIZE)))
    assert listed()[0]["answers"] == {"colour": "green", "size": "large"}
    assert listed()[0]["answer"] == "Green; Large"
    shown = askback("stats").stdout
    assert "1 × “Which colour?”\n  1 × “Green”\n" in shown
    assert "1 × “Which size?”\n  1 × “Large”\n" in shown


def test_a_note_is_listed_shown_and_counted_with_its_choice_and_its_control_characters_do_nothing(
    database: Path,
) -> None:
    form = Form(questions=(SIZE.evolve(allow_note=True),))
    ask = stored(database, Choose(index=1, note="but\x1b[31m after six"), form=form)
    (record,) = listed()
    assert (record["answer"], record["notes"]) == ("Large", {"size": "but\x1b[31m after six"})
    for arguments in (("list",), ("show", ask.id), ("stats",)):
        done = askback(*arguments)
        assert done.exit_code == 0, done.stderr
        assert "Large" in done.stdout
        assert "after six" in done.stdout, arguments
        assert "\x1b" not in done.stdout
