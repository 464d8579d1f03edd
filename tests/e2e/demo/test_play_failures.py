"""`askback demo --play` ends with 1 if anything was not as expected, and with 2 if it cannot read the scenario."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from e2e.demo.plays import SINGLE, Played, all_of, play
from support.processes import Launcher

NEVER = {"times": None}


TOLD = """expect.told.contains = '"Where?"="Staging"'"""


HARM: dict[str, tuple[dict[str, Any], str, str]] = {
    # The injected fault, the step that times out as a consequence, and the final message.
    "a dropped ack": ({"faults": [{"kind": "swallow_ack", "method": "interactive"}]}, "", "never acknowledged"),
    "a lost card update": (
        {"faults": [{"kind": "ignore", "method": method, **NEVER} for method in ("response_url", "chat.update")]},
        "expect.settled = true",
        "a card update was lost|the card is settled",
    ),
    "another result": (
        {"result": "another"},
        "",
        r'expected|is not in\s+User has answered your questions: "Where\?"="Prod',
    ),
    "no result": ({"result": "missing"}, TOLD, "the Messages API refused a request"),
    "a doubled result": ({"result": "doubled"}, TOLD, "the Messages API refused a request"),
    "a refusal of the API": (
        {"faults": [{"kind": "error", "method": "chat.postMessage", "error": "not_in_channel", **NEVER}]},
        'expect.controls = ["Staging", "Production", "Something else", "Not now"]',
        "the workspace refused chat.postMessage: not_in_channel",
    ),
}


@pytest.fixture(scope="module")
def harmed(tmp_path_factory: pytest.TempPathFactory, launcher: Launcher) -> Played:
    return all_of(
        launcher,
        tmp_path_factory.mktemp("harmed"),
        {
            name: (SINGLE.replace(waits, f"{waits}\nwithin = 12") if waits else SINGLE, harm)
            for name, (harm, waits, _) in HARM.items()
        },
    )


@pytest.mark.parametrize("name", HARM)
def test_what_goes_wrong_between_bot_and_services_ends_it_with_1(harmed: Played, name: str) -> None:
    _, waits, words = HARM[name]
    assert waits in SINGLE
    done = harmed[name]
    assert done.returncode == 1, done.stdout + done.stderr
    _, problems = re.split(r"^\d+ problems?:$", done.stdout, maxsplit=1, flags=re.MULTILINE)
    assert re.search(words, problems), done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            'expect.says = "Noted"',
            'expect.says = "Never"\nwithin = 1',
            r"step 6 \(expect\): .*that the bot says “Never”",
        ),
        ('\'"Where?"="Staging"\'', '\'"Where?"="Production"\'', r"step 4 \(expect\): another result"),
        ('press = "Staging"', 'press = "Moon"\nwithin = 1', r"step 3 \(press\): .*“Moon”"),
        (
            'expect.card = ["Where?", "Nobody sees it"]',
            'expect.card = "Where?"\n[[step]]\nexpect.card = ["Where?", "Everybody sees it"]\nwithin = 1',
            r"step 3 \(expect\): .*“Everybody sees it”",
        ),
        (
            "expect.settled = true",
            'expect.settled = true\nexpect.without = ["Staging"]\nwithin = 1',
            r"step 5 \(expect\)",
        ),
    ],
)
def test_an_expectation_that_does_not_come_ends_it_with_1(
    launcher: Launcher, tmp_path: Path, old: str, new: str, words: str
) -> None:
    assert old in SINGLE
    done = play(launcher, tmp_path, SINGLE.replace(old, new))
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(rf"mine.toml, {words}", done.stdout, re.DOTALL), done.stdout


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('title = "x"', 'mine.toml: has no steps. Begin with [[step]] and write = "hello".'),
        ('title = "x"\n[[step]]\npres = "A"', "mine.toml, step 1: says nothing to do: give it one of write, press"),
        ('title = "x"\n[[step]]\nwrite = "a"\nwho = "ada"', "mine.toml, step 1: `who` is not known here."),
        ("title = ", "mine.toml: is neither JSON (which begins with {) nor TOML"),
    ],
)
def test_a_scenario_that_cannot_be_read_ends_it_with_2_and_the_cure(
    launcher: Launcher, tmp_path: Path, text: str, words: str
) -> None:
    done = play(launcher, tmp_path, text)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    assert words in done.stderr
    assert all(line.startswith("askback: mine.toml") for line in done.stderr.splitlines()), done.stderr
