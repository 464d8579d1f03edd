"""`askback pending`, `show` and `cancel`, as an operator types them, without a running process."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from rich.console import Console

from askback.cli.admin.cancel import cancel_from_outside
from askback.cli.admin.post import post
from askback.domain.actions import Cancel, Choose, Decline, Remind, Submit, SubmitText
from askback.domain.ask_policy import Policy
from askback.domain.form import Form, Option, Question
from askback.domain.identity import MessageRef
from askback.domain.who import Who
from askback.errors import AskbackError
from askback.internal.clock import utc_now
from askback.store.sqlite.database import SqliteDatabase
from askback.store.store import Store
from support.board import Board
from support.engine import engine
from support.processes import Launcher

from .operators import ANN, COLOUR, COLOURS, HERE, HOSTILE, askback, stored


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("doctor", ["askback doctor --platform slack", "with 1 if something is broken"]),
        ("pending", ["--json", "askback pending --json"]),
        ("list", ["--state", "--format", "askback list --since 7d"]),
        ("stats", ["--since", "askback stats --since 30d"]),
        ("show", ["ID", "Exits with 2"]),
        ("cancel", ["--reason", "Exits with 1"]),
        ("approvals", ["--json", "Always in this conversation"]),
        ("revoke", ["ID", "--reason", "Exits with 1"]),
        ("backup", ["FILE", "--force", "-wal"]),
    ],
)
def test_every_help_teaches_within_80_columns(command: str, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    done = askback(command, "--help")
    said = " ".join(done.stdout.replace("│", " ").split())
    assert (done.exit_code, [word for word in words if word not in said]) == (0, [])
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_pending_lists_what_is_open_oldest_first(database: Path) -> None:
    first = stored(database, created_at=utc_now() - timedelta(hours=3))
    stored(database, Choose(index=0))
    second = stored(database, policy=Policy(who=Who(anyone=True)))
    done = askback("pending")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        f"{first.id}  open for 3 h, deadline in 59 min",
        "  Which colour?",
        "  asked: Ann (U1)",
        "  board C1 thread 17 in T1",
        "",
        f"{second.id}  open for {done.stdout.split('open for ')[2].split(',')[0]}, no deadline",
        "  Which colour?",
        "  asked: anyone",
        "  board C1 thread 17 in T1",
    ]


def test_pending_says_what_nobody_sees_yet_and_why(database: Path) -> None:
    ask = stored(database)

    async def fails() -> None:
        writer = SqliteDatabase(database)
        try:
            (item,) = await Store(writer).lease(1)
            await Store(writer).retry(item, timedelta(seconds=60), "the platform did not answer in time.")
        finally:
            await writer.close()

    asyncio.run(fails())
    assert "  not shown yet: the platform did not answer in time." in askback("pending").stdout.splitlines()
    (line,) = askback("pending", "--json").stdout.splitlines()
    assert (json.loads(line)["id"], json.loads(line)["not_shown"]) == (ask.id, "the platform did not answer in time.")


def test_pending_prints_json_lines(database: Path) -> None:
    ask = stored(database)
    (line,) = askback("pending", "--json").stdout.splitlines()
    found = json.loads(line)
    assert found["id"] == ask.id
    assert (found["status"], found["question"], found["channel"], found["thread"]) == (
        "open",
        "Which colour?",
        "C1",
        "17",
    )
    assert found["who"]["people"][0]["id"] == "U1"
    assert found["deadline"] > found["since"]


@pytest.mark.parametrize("json_too", [(), ("--json",)])
def test_where_there_is_no_database_none_is_made(database: Path, json_too: tuple[str, ...]) -> None:
    done = askback("pending", *json_too)
    assert done.exit_code == 0
    assert done.stdout == "" if json_too else "There is no database" in done.stdout
    for command in ("show", "cancel"):
        done = askback(command, "abc", *json_too[: command == "show"])
        assert isinstance(done.exception, AskbackError)
        assert "There is no database askback.db" in str(done.exception)
    assert list(database.parent.iterdir()) == []


def test_looking_leaves_no_file_behind(database: Path) -> None:
    ask = stored(database)
    before = sorted(path.name for path in database.parent.iterdir())
    assert askback("pending").exit_code == 0
    assert askback("show", ask.id).exit_code == 0
    assert sorted(path.name for path in database.parent.iterdir()) == before


@pytest.mark.parametrize(
    ("zone", "shown", "names"),
    [
        ("Europe/Berlin", "2026-07-02 00:30:00 CEST", {"CEST", "CET"}),
        ("UTC", "2026-07-01 22:30:00 UTC", {"UTC"}),
    ],
)
def test_each_time_is_that_of_this_machine_and_names_its_zone(
    database: Path, launcher: Launcher, zone: str, shown: str, names: set[str]
) -> None:
    ask = stored(database, Choose(index=0), created_at=datetime(2026, 7, 1, 22, 30, tzinfo=UTC))
    own = {**os.environ, "TZ": zone}
    assert shown in launcher.run("list", folder=database.parent, environment=own).stdout
    told = launcher.run("show", ask.id, folder=database.parent, environment=own).stdout
    times = re.findall(r"\d\d:\d\d:\d\d *(\w*)", told)
    assert len(times) >= 3
    assert set(times) <= names


def test_nothing_open_is_said(database: Path) -> None:
    stored(database, Choose(index=0))
    assert askback("pending").stdout == "There are no open questions.\n"
    assert askback("pending", "--json").stdout == ""


def test_show_tells_the_form_the_state_and_who_did_what(database: Path) -> None:
    form = Form(questions=(Question(id="q", prompt="Which?\nOf these", options=COLOURS, multi_select=True),))
    ask = stored(
        database, SubmitText(text="mauve"), Submit(), form=form, messages=(MessageRef(channel="C1", id="1.5"),)
    )
    done = askback("show", ask.id[:6])
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert f"id       {ask.id}" in lines
    assert "status   answered" in lines
    assert "asked    Ann (U1)" in lines
    assert lines[lines.index("Questions") + 1 :][:5] == [
        "  1. Which?",
        "     Of these",
        "     [ ] Green",
        "     [ ] Blue: As the sea",
        "     written: mauve",
    ]
    assert "  C1 1.5" in lines
    assert "  People do not see its newest state yet." in lines
    wrote, handed = lines[lines.index("What people did") + 1 :]
    assert wrote.endswith("Ann (U1) wrote “mauve”")
    assert handed.endswith("Ann (U1) submitted the answers (settled the question)")


def test_show_tells_who_will_be_reminded_and_how_they_left_it(database: Path) -> None:
    moment = utc_now() + timedelta(minutes=30)
    waiting = stored(database, Remind(moment=moment, reason=HOSTILE))
    lines = askback("show", waiting.id).stdout.splitlines()
    assert any(line.startswith("remind   ") and line.endswith("Ann asked for it") for line in lines)
    assert "Ann (U1) asked for a reminder at " in lines[-1]
    assert "\x1b" not in lines[-1]
    for operation, words in (
        (Decline(reason="Why?", discuss=True), "Ann (U1) wants to discuss it: “Why?” (settled the question)"),
        (Cancel(reason="Enough."), "Ann (U1) cancelled: “Enough.” (settled the question)"),
    ):
        ask = stored(database, operation)
        assert askback("show", ask.id).stdout.splitlines()[-1].endswith(words)


def test_show_prints_json(database: Path) -> None:
    ask = stored(database, Choose(index=1))
    (line,) = askback("show", ask.id, "--json").stdout.splitlines()
    found = json.loads(line)
    assert (found["id"], found["status"], found["shown"]) == (ask.id, "answered", False)
    assert found["outcome"]["answers"][0]["choices"][0]["label"] == "Blue"
    assert found["drafts"] == [{"question": "colour", "chosen": ["Blue"], "text": None, "unsent": None}]
    assert [(one["by"]["id"], one["operation"]["kind"], one["verdict"]) for one in found["actions"]] == [
        ("U1", "choose", "settled")
    ]


def test_an_id_may_begin_with_a_dash(database: Path) -> None:
    for name in ("-hfJ5z", "--json-id", "-x"):
        ask = stored(database, id=f"{name}{len(name)}")
        assert f"id       {ask.id}" in askback("show", ask.id).stdout
        assert askback("cancel", ask.id).exit_code == 0


def test_an_id_that_is_unknown_or_not_enough_is_said(database: Path) -> None:
    stored(database, id="abcd1")
    stored(database, id="abcd2")
    stored(database, id="abcd")
    for command in ("show", "cancel"):
        assert "There is no question whose id begins with 'zz'" in str(askback(command, "zz").exception)
        assert "There is no question" in str(askback(command, "").exception)
        both = str(askback(command, "abc").exception)
        assert "More than one question" in both
        assert "abcd1, abcd2" in both
    assert "id       abcd\n" in askback("show", "abcd").stdout, "one that is exactly that is meant"


def test_texts_of_people_and_models_are_harmless_on_a_terminal(database: Path) -> None:
    ann = ANN.evolve(name=HOSTILE)
    options = (Option(value="a", label=HOSTILE, description=HOSTILE), Option(value="b", label="B"))
    form = Form(questions=(Question(id="q", prompt=HOSTILE, options=options, multi_select=True),))
    ask = stored(
        database,
        SubmitText(text=HOSTILE),
        form=form,
        policy=Policy(who=Who.from_people(ann)),
        key=HOSTILE,
        asked_by=ann,
    )  # fmt: skip
    for done in (askback("pending"), askback("show", ask.id)):
        assert "[bold]x[/]" in done.stdout, "mark-up is shown"
        assert ":warning:" in done.stdout
    for done in (
        askback("pending"), askback("show", ask.id), askback("pending", "--json"), askback("show", ask.id, "--json"),
        askback("cancel", ask.id, "--reason", HOSTILE),
    ):  # fmt: skip
        assert not [c for c in done.stdout if (ord(c) < 32 and c != "\n") or 0x7F <= ord(c) < 0xA0], repr(done.stdout)
    shown = json.loads(askback("show", ask.id, "--json").stdout)
    assert shown["form"]["questions"][0]["prompt"] == HOSTILE, "JSON has it whole"


def test_cancel_ends_a_question_where_nobody_runs(database: Path) -> None:
    ask = stored(database)
    done = askback("cancel", ask.id[:8], "--reason", "  The server is gone ")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        f"Cancelled {ask.id}: Which colour?",
        "No bot is running on this database. When one starts, it settles the card.",
    ]
    shown = json.loads(askback("show", ask.id, "--json").stdout)
    assert (shown["status"], shown["outcome"]["reason"]) == ("cancelled", "The server is gone")
    assert shown["waiting"] == {"since": None, "attempts": 0, "error": None}, "its card is to be settled"


def test_cancelling_what_is_settled_changes_nothing(database: Path) -> None:
    ask = stored(database, Choose(index=0))
    done = askback("cancel", ask.id)
    assert done.exit_code == 1
    assert done.stdout.startswith(f"Nothing changed: {ask.id} was already answered at ")
    assert json.loads(askback("show", ask.id, "--json").stdout)["status"] == "answered"


def test_a_reason_has_an_end(database: Path) -> None:
    ask = stored(database)
    assert askback("cancel", ask.id, "--reason", "x" * 1001).exit_code == 2
    assert json.loads(askback("show", ask.id, "--json").stdout)["status"] == "open"


@pytest.mark.parametrize(
    ("version", "words"),
    [("9999_later", "A newer askback wrote"), ("0001_first_release", "An older askback wrote")],
)
def test_a_database_of_another_version_is_left_as_it_is(database: Path, version: str, words: str) -> None:
    ask = stored(database)
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE askback_version SET version_num = ?", (version,))
    connection.close()
    for command in (("pending",), ("show", ask.id), ("cancel", ask.id)):
        assert words in str(askback(*command).exception)
    connection = sqlite3.connect(database)
    assert connection.execute("SELECT version_num FROM askback_version").fetchone() == (version,)
    assert connection.execute("SELECT status FROM asks").fetchone() == ("open",)
    connection.close()


def test_a_file_that_is_no_database_is_said(database: Path) -> None:
    database.write_bytes(b"no database at all " * 400)
    error = askback("pending").exception
    assert isinstance(error, AskbackError)
    assert "Could not read the database askback.db: file is not a database" in str(error)


async def test_what_was_cancelled_while_nobody_ran_is_settled_at_the_next_start(tmp_path: Path) -> None:
    board = Board()
    async with engine(tmp_path, board) as first:
        asking = asyncio.create_task(
            first.manager.ask(COLOUR, to=HERE, who=Who.from_people(ANN), timeout=None, key="k")
        )
        (card,) = await first.asked()
        await board.until(lambda: board.open())
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    assert (await cancel_from_outside(tmp_path / "askback.db", card.id, "Enough")).ended
    async with engine(tmp_path, board) as second:
        await board.until(lambda: not board.open())
        outcome = await second.manager.ask(COLOUR, to=HERE, who=Who.from_people(ANN), key="k")
        assert (outcome.status, outcome.reason) == ("cancelled", "Enough")


async def test_a_card_that_was_deleted_is_posted_again_by_show_post(tmp_path: Path, database: Path) -> None:
    board, console = Board(), Console(record=True)
    async with engine(tmp_path, board) as one:
        asking = asyncio.create_task(one.manager.ask(COLOUR, to=HERE, who=Who.from_people(ANN), timeout=None))
        (card,) = await one.asked()
        await one.recorded(card)
        before = await one.manager.get(card.id)
        assert before is not None
        board.messages.pop(before.messages[0].id)
        assert await post(database, card.id[:8], console) == 0
        one.worker.wake()
        await one.asked()
        await one.recorded(card)
        assert [shown.id for shown in board.open()] == [card.id]
        await one.manager.cancel(card.id)
        await asking
    assert await post(database, card.id, console) == 1
    assert "was already cancelled" in console.export_text()


def test_what_is_posted_again_is_not_printed_as_json(database: Path) -> None:
    ask = stored(database)
    assert askback("show", ask.id, "--post", "--json").exit_code == 2
    done = askback("show", ask.id, "--post")
    assert (done.exit_code, "No bot is running on this database" in done.stdout) == (0, True)
