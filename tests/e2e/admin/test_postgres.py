"""`askback pending`, `show`, `cancel` and `backup` on PostgreSQL, as an operator types them."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from askback.domain.ask import Ask
from askback.domain.form import Form, Option, Question
from askback.domain.identity import Actor, Place
from askback.domain.open_ask_limits import Limits
from askback.domain.who import Who
from askback.errors import AskbackError
from askback.manager import build_ask, build_policy
from askback.store.postgres.address import PostgresAddress
from askback.store.postgres.database import PostgresDatabase
from askback.store.postgres.error_mapping import format_reason
from askback.store.store import Store

from .operators import askback

PAGE = Path(__file__).parents[3] / "docs/several-machines.md"
HERE = Place(platform="board", tenant="T1", channel="C1", thread="17")
ANN = Actor(platform="board", tenant="T1", id="U1", name="Ann")
COLOURS = (Option(value="green", label="Green"), Option(value="blue", label="Blue"))
COLOUR = Form(questions=(Question(id="colour", prompt="Which colour?", options=COLOURS),))


@pytest.fixture
def url(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a database with askback's tables, which the commands use."""
    for name in os.environ:
        if name.startswith(("ASKBACK_", "SLACK_", "DISCORD_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ASKBACK_DATABASE_URL", postgres_url)
    return postgres_url


def refused(*arguments: str) -> str:
    done = askback(*arguments)
    assert isinstance(done.exception, AskbackError), done.stdout
    assert "\n" not in str(done.exception)
    return str(done.exception)


def stored(url: str) -> Ask:
    """Ask once, as a process that has ended by now."""

    async def work() -> Ask:
        database = PostgresDatabase(PostgresAddress.read(url), connections=1)
        try:
            ask = build_ask(COLOUR, to=HERE, policy=build_policy(Who.from_people(ANN), None))
            await Store(database).ask(ask, Limits(seconds_between_asks=0, pending_per_place=100))
            return ask
        finally:
            await database.close()

    return asyncio.run(work())


def execute(url: str, statement: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(statement.encode())


def test_the_commands_look_and_cancel(url: str) -> None:
    ask = stored(url)
    assert askback("pending").stdout.splitlines()[1:] == [
        "  Which colour?",
        "  asked: Ann (U1)",
        "  board C1 thread 17 in T1",
    ]
    assert f"id       {ask.id}" in askback("show", ask.id[:6]).stdout
    done = askback("cancel", ask.id[:8], "--reason", "The server is gone")
    assert done.stdout.splitlines() == [
        f"Cancelled {ask.id}: Which colour?",
        "No bot is running on this database. When one starts, it settles the card.",
    ]
    shown = json.loads(askback("show", ask.id, "--json").stdout)
    assert (shown["status"], shown["outcome"]["reason"]) == ("cancelled", "The server is gone")
    assert shown["waiting"] == {"since": None, "attempts": 0, "error": None}, "its card is to be settled"
    assert askback("pending").stdout == "There are no open questions.\n"
    assert askback("cancel", ask.id).stdout.startswith(f"Nothing changed: {ask.id} was already cancelled at ")


def test_whoever_works_on_it_hears_of_a_cancel_with_its_commit(url: str) -> None:
    ask = stored(url)
    with closing(psycopg.connect(url, autocommit=True)) as listening:
        listening.execute("LISTEN askback")
        assert "Notified the running bot" in askback("cancel", ask.id).stdout
        heard = [notify.payload for notify in listening.notifies(timeout=30, stop_after=2)]
    assert heard == [f"ask {ask.id}", "look "]


@pytest.mark.skipif(shutil.which("pg_dump") is None, reason="There is no pg_dump here.")
def test_what_the_command_dumps_is_brought_back_as_the_documentation_says(url: str, tmp_path: Path) -> None:
    kept = stored(url)
    command = shlex.split(refused("backup", str(tmp_path / "askback.dump")).rpartition("~/.pgpass: ")[2])
    assert command[0] == "pg_dump"
    subprocess.run(command, check=True)
    askback("cancel", kept.id)
    later = stored(url)
    restore = ("pg_restore", "--clean", "--if-exists", f"--dbname={url}", str(tmp_path / "askback.dump"))
    assert shlex.join(restore[:3]) in " ".join(PAGE.read_text(encoding="utf-8").split())
    done = subprocess.run(restore, check=True, capture_output=True, text=True)
    assert done.stderr == ""
    assert json.loads(askback("show", kept.id, "--json").stdout)["status"] == "open"
    assert later.id not in askback("pending", "--json").stdout
    assert askback("cancel", kept.id).exit_code == 0, "and it goes on from there"
    stored(url)


def test_looking_takes_no_lock_that_work_waits_for(url: str) -> None:
    stored(url)
    with psycopg.connect(url) as working:
        working.execute("LOCK TABLE asks IN ROW EXCLUSIVE MODE")
        working.execute("UPDATE asks SET key = 'k'")
        assert "Which colour?" in askback("pending").stdout


@pytest.mark.parametrize(
    ("version", "words"),
    [("9999_later", "A newer askback wrote"), ("0001_first_release", "An older askback wrote")],
)
def test_a_database_of_another_version_is_left_as_it_is(url: str, version: str, words: str) -> None:
    ask = stored(url)
    execute(url, f"UPDATE askback_version SET version_num = '{version}'")
    for command in (("pending",), ("show", ask.id), ("cancel", ask.id)):
        assert words in refused(*command)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT status FROM asks").fetchone() == ("open",)


def test_an_empty_database_is_not_begun(url: str, empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKBACK_DATABASE_URL", empty_url)
    for command in (("pending",), ("show", "x"), ("cancel", "x")):
        assert "is empty or belongs to another program" in refused(*command)
    with psycopg.connect(empty_url) as connection:
        assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)


@pytest.mark.parametrize(
    ("url_of", "words"),
    [
        ("postgresql://me:geheim99@127.0.0.1:9/askback", "Connection refused (check that the server runs"),
        ("postgresql://me:geheim99@no.such.host.invalid/x", "(check that the server runs and is reachable)"),
        ("postgresql://me:geheim99@127.0.0.1:9/x?nonsense=1", "has an option that PostgreSQL does not know"),
        ("postgresql://me:gehe/im99@127.0.0.1/x", "is not a valid URL"),
        ("postgresql://me:1#geheim99@127.0.0.1/x", "is not a valid URL"),
        ("postgresql://me:1?geheim99@127.0.0.1/x", "is not a valid URL"),
        ("postgresql://me:geheim99", "is not a valid URL"),
    ],
)
def test_what_cannot_be_reached_is_one_sentence_with_the_next_step_and_no_password(
    url_of: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKBACK_DATABASE_URL", url_of)
    for command in (("pending",), ("show", "x"), ("cancel", "x")):
        said = refused(*command)
        assert words in said
        assert "geheim" not in said
        assert "im99" not in said


def test_a_database_or_a_user_that_is_not_there(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKBACK_DATABASE_URL", str(make_url(url).set(database="askback_nowhere")))
    assert "does not exist (create the database, or set ASKBACK_DATABASE_URL" in refused("pending")
    monkeypatch.setenv("ASKBACK_DATABASE_URL", str(make_url(url).set(username="askback_nobody")))
    assert "(check the user and the password in ASKBACK_DATABASE_URL)" in refused("pending")


@pytest.mark.parametrize(
    ("said", "to_do"),
    [
        ('FATAL: password authentication failed for user "me"', "check the user and the password"),
        ('FATAL: role "me" does not exist', "check the user and the password"),
        ('FATAL: no pg_hba.conf entry for host "10.0.0.1", user "me"', "allow this machine in"),
        ("FATAL: sorry, too many clients already", "allow more connections"),
        ('FATAL: too many connections for role "me"', "allow more connections"),
        ("FATAL: unsupported startup parameter: options", "not through PgBouncer"),
        ("session is read-only", "check that it is the primary"),
    ],
)
def test_what_the_server_says_at_the_door_has_its_next_step(said: str, to_do: str) -> None:
    error = psycopg.OperationalError(f'connection failed: connection to server at "10.0.0.2", port 5432 failed: {said}')
    assert to_do in format_reason(error)


@pytest.mark.parametrize("missing", ["psycopg", "procrastinate"])
def test_without_the_extra_it_says_what_to_install(url: str, missing: str) -> None:
    """It runs in a separate process without that package."""
    code = f"import sys; sys.modules[{missing!r}] = None; from askback.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "cancel", "x"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr == (
        f"askback: PostgreSQL needs a package that is not installed ({missing}). "
        "Run in your clone of askback: pip install -e '.[postgres]'\n"
    )
