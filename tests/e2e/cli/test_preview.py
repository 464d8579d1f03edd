"""`askback preview`: the messages of a tool call, without any platform."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from askback.cli.main import app

from .runner import ASKBACK, SINGLE, Runner, environment, lines


def preview(*arguments: str, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(app, ["preview", *arguments], input=stdin)


def test_preview_prints_one_line_of_messages_for_each_input(tmp_path: Path) -> None:
    done = preview(stdin=json.dumps(SINGLE))
    assert (done.exit_code, done.stderr) == (0, "")
    ((message,),) = lines(done)
    assert set(message) == {"text", "blocks"}
    assert "Staging" in message["text"]
    (tmp_path / "calls.jsonl").write_text(f"{json.dumps(SINGLE)}\n\n{json.dumps(SINGLE)}\r\n", encoding="utf-8-sig")
    done = preview(str(tmp_path / "calls.jsonl"))
    assert done.exit_code == 0
    assert lines(done) == [[message], [message]]
    assert preview("-", stdin=json.dumps(SINGLE, indent=2)).exit_code == 0


def test_a_terminal_obeys_nothing_that_a_preview_shows() -> None:
    done = preview("--tool", "askQuestion", stdin=json.dumps({"question": "a\x9b31m\u202eb", "options": ["x", "y"]}))
    assert "\x9b" not in done.stdout
    assert "\u202e" not in done.stdout
    ((message,),) = lines(done)
    assert r"a\u009b31m\u202eb" in message["text"]


def test_preview_shows_every_step_where_it_is_asked_to() -> None:
    form = {"questions": [{**SINGLE["questions"][0], "question": f"Where {n}?"} for n in range(3)]}
    assert [len(line) for line in lines(preview(stdin=json.dumps(form)))] == [1]
    steps = lines(preview("--all-steps", stdin=json.dumps(form)))[0]
    assert len(steps) == 4
    assert all(f"Where {n}?" in steps[n]["text"] and f"Where {n}?" in steps[3]["text"] for n in range(3))


def test_preview_takes_the_other_tools() -> None:
    done = preview("--tool", "askQuestion", stdin='{"question": "Tea?", "options": ["Yes", "No"]}')
    assert (done.exit_code, len(lines(done))) == (0, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "The input is empty"),
        (" \n\n", "The input is empty"),
        ("{", "The input is not valid JSON"),
        ('{\n  "questions": [],\n}', "The input is not valid JSON"),
        ("nope", "The input is not valid JSON"),
        ("[" * 100_000, "The input is not valid JSON"),
        ("{}", "questions"),
        ("null", "The input of AskUserQuestion is invalid"),
        ('{"questions": []}', "The input of AskUserQuestion is invalid"),
    ],
)
def test_preview_says_what_cannot_be_understood_in_its_line(text: str, words: str) -> None:
    done = preview(stdin=text)
    assert (done.exit_code, done.stderr) == (1, "")
    (line,) = lines(done)
    assert words in line["error"]


def test_preview_goes_on_after_a_line_that_cannot_be_understood() -> None:
    done = preview(stdin=f"{json.dumps(SINGLE)}\nnope\n{{}}\n{json.dumps(SINGLE)}\n")
    assert done.exit_code == 1
    assert [isinstance(line, list) for line in lines(done)] == [True, False, False, True]


def test_preview_refuses_what_is_no_file_of_text(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    for name, words in (
        ("bytes", "is not valid UTF-8 text"),
        (".", "Is a directory"),
        ("none.json", "No such file"),
        ("-", "is not valid UTF-8 text"),
    ):
        done = preview(str(tmp_path / name) if name != "-" else "-", stdin=b"\xff")
        assert done.exit_code == 2
        assert words in " ".join(done.stderr.replace("│", "").split())


def test_preview_names_the_tools_and_the_platforms_that_there_are(run: Runner, tmp_path: Path) -> None:
    for arguments, words in (
        (("--tool", "asks"), "askback: There is no question tool 'asks'. The tools are AskUserQuestion"),
        (("--platform", "irc"), "askback: There is no bot for 'irc'. The bots are: "),
    ):
        done = run(tmp_path, "preview", *arguments)
        assert done.returncode == 2
        assert done.stderr.startswith(words)
        assert len(done.stderr.splitlines()) == 1


def test_preview_writes_utf8_whatever_the_locale_is(run: Runner, tmp_path: Path) -> None:
    text = json.dumps({"questions": [{**SINGLE["questions"][0], "question": "Wo ⚡ \ud83d\ude00? \ud800"}]})
    done = run(tmp_path, "preview", stdin=text, PYTHONIOENCODING="ascii", LC_ALL="C")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Wo ⚡ 😀?" in done.stdout


def test_preview_ends_quietly_when_its_reader_goes_away(tmp_path: Path) -> None:
    (tmp_path / "calls.jsonl").write_text(f"{json.dumps(SINGLE)}\n" * 500, encoding="utf-8")
    with subprocess.Popen(
        [str(ASKBACK), "preview", "calls.jsonl"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 1
