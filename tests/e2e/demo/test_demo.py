"""`askback demo`, run as people run it: in its own process."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.free_port import free_port
from support.processes import Launcher

PATIENCE = 30
ASKBACK = str(Path(sys.executable).with_name("askback"))
SABOTAGE = Path(__file__).with_name("sabotage.py")

SINGLE = """
title = "Where to"
[[model]]
say = "Let me ask."
ask = { questions = [{ question = "Where?", header = "Target", multiSelect = false, options = [
  { label = "Staging", description = "Nobody sees it" }, { label = "Production", description = "All see it" } ] }] }
[[model]]
say = "Noted, thank you."
[[step]]
write = "deploy, please"
[[step]]
expect.card = ["Where?", "Nobody sees it"]
expect.controls = ["Staging", "Production", "Something else", "Not now"]
[[step]]
press = "Staging"
[[step]]
expect.told.contains = '"Where?"="Staging"'
[[step]]
expect.settled = true
expect.card = "Staging"
[[step]]
expect.says = "Noted"
"""
CITIES = [f"City {number:02} of the thirty" for number in range(1, 31)]
SCENARIOS: dict[str, str | dict[str, Any]] = {
    "people and channels of the platform": """
        title = "Who and where"
        tool = "ask"
        [[model]]
        ask = { questions = [
          { id = "who", question = "Who reviews it?", picks = "people" },
          { id = "told", question = "Who should know?", picks = "people", multiSelect = true, minChoices = 2 },
          { id = "where", question = "Where?", picks = "channels" } ] }
        [[model]]
        say = "Thank you."
        [[step]]
        write = "review"
        [[step]]
        expect.card = ["Who reviews it?", "@ben"]
        expect.controls = ["Choose a person"]
        [[step]]
        pick = "@ben"
        [[step]]
        expect.card = "Choose at least 2 people."
        [[step]]
        pick = ["@ada", "@cy"]
        [[step]]
        press = "Next"
        [[step]]
        pick = "#deploys"
        [[step]]
        expect.card = ["Review your answers", "@ben", "@ada, @cy", "#deploys"]
        [[step]]
        press = "Submit"
        [[step]]
        expect.told.contains = ['"who": {"id": ', '"name": "#deploys"}']
        expect.settled = true
        [[step]]
        expect.says = "Thank you."
        """,
    "a direct message, in own words": """
        title = "Between us"
        in = "dm"
        by = "ben"
        [[model]]
        ask = { questions = [{ question = "How do you feel?", header = "Mood", multiSelect = false, options = [
          { label = "Well", description = "As ever" }, { label = "Tired", description = "A long day" } ] }] }
        [[model]]
        say = "I see."
        [[step]]
        write = "hello"
        [[step]]
        press = "Something else"
        [[step]]
        type = " "
        submit = true
        [[step]]
        expect.field_error = "empty"
        [[step]]
        close = true
        [[step]]
        expect.dialog = false
        expect.controls = ["Well", "Tired"]
        [[step]]
        press = "Something else"
        [[step]]
        type = '''
        <!channel> *splendid* `&`
        on two lines'''
        submit = true
        [[step]]
        expect.told = '''
User has answered your questions: "How do you feel?"="<!channel> *splendid* `&`
        on two lines". You can now continue with the user's answers in mind.'''
        [[step]]
        expect.settled = true
        expect.says = "I see."
    """,
    "a menu of thirty, by the tool question": {
        "title": "A city",
        "tool": "question",
        "model": [
            {
                "ask": {
                    "questions": [
                        {
                            "id": "city",
                            "label": "City",
                            "prompt": "Which city?",
                            "options": [{"value": f"c{n}", "label": city} for n, city in enumerate(CITIES)],
                        }
                    ]
                }
            },
            {"say": "Off we go."},
        ],
        "steps": [
            {"write": "@askback a trip", "in": "#deploys"},
            {"expect": {"card": ["Which city?", *CITIES], "controls": ["Something else", "Not now"]}},
            {"pick": "City 27 of the thirty"},
            {
                "expect": {
                    "told": {
                        "json": {
                            "questions": [
                                {
                                    "id": "city",
                                    "label": "City",
                                    "prompt": "Which city?",
                                    "options": [{"value": f"c{n}", "label": city} for n, city in enumerate(CITIES)],
                                }
                            ],
                            "answers": [
                                {
                                    "id": "city",
                                    "value": "c26",
                                    "label": "City 27 of the thirty",
                                    "wasCustom": False,
                                    "index": 27,
                                }
                            ],
                            "cancelled": False,
                        }
                    }
                }
            },
            {"expect": {"settled": True, "card": "City 27 of the thirty", "says": "Off we go"}},
        ],
    },
    "the tool askQuestion, twice in a turn": {
        "title": "Two at once",
        "tool": "askQuestion",
        "model": [
            {
                "say": "Two things.",
                "calls": [
                    {"input": {"question": "Tea?", "options": ["Yes", "No"]}},
                    {"input": {"question": "Cake?", "options": ["Yes", "No"], "allowCustom": False}},
                ],
            },
            {"say": "Served."},
        ],
        "steps": [
            {"write": "@askback a break"},
            {"press": "No", "card": "Cake?"},
            {"press": "Yes", "card": "Tea?"},
            {"expect": {"told": {"json": {"answer": "Yes", "isCustom": False, "selectedIndex": 0}}}},
            {"expect": {"told": {"json": {"answer": "No", "isCustom": False, "selectedIndex": 1}}}},
            {"expect": {"says": "Served."}},
        ],
    },
    "two people": """
        title = "Whose question it is"
        by = "cy"
        [[model]]
        ask = { questions = [{ question = "Which ones?", header = "Checks", multiSelect = true, options = [
          { label = "Unit" }, { label = "Load" }, { label = "Scan" } ] }] }
        [[model]]
        say = "Both of you were heard."
        [[step]]
        write = "@askback check"
        [[step]]
        tick = ["Unit"]
        by = "ada"
        refused = true
        [[step]]
        tick = ["1", "Scan"]
        [[step]]
        press = "Submit"
        by = "ben"
        refused = "can answer"
        [[step]]
        press = "Submit"
        [[step]]
        expect.told.contains = '"Which ones?"="Unit, Scan"'
        [[step]]
        expect.settled = true
        [[step]]
        press = "Submit"
        late = true
        refused = "already been answered"
    """,
    "a model that is overloaded, then recovers": """
        title = "Patience"
        [[step]]
        write = "@askback hello"
        [[step]]
        model = { fault = { kind = "overloaded", times = 3 } }
        [[step]]
        model = { say = "Here I am." }
        [[step]]
        expect.says = "overloaded"
        [[step]]
        write = "and now?"
        [[step]]
        expect.says = "Here I am."
    """,
    "cancelling": """
        title = "Never mind"
        [[model]]
        ask = { questions = [
          { question = "First?", header = "One", multiSelect = false, options = [{ label = "A" }, { label = "B" }] },
          { question = "Second?", header = "Two", multiSelect = false, options = [{ label = "C" }, { label = "D" }] },
        ] }
        [[model]]
        say = "As you like."
        [[step]]
        write = "@askback two questions"
        [[step]]
        press = "A"
        [[step]]
        expect.card = "Second?"
        [[step]]
        press = "Not now"
        [[step]]
        pick = "Cancel it"
        [[step]]
        submit = true
        [[step]]
        expect.told = { contains = ["cancelled"] }
        [[step]]
        expect.settled = true
        expect.card = ["First?", "Cancelled"]
        [[step]]
        expect.says = "As you like."
    """,
}


def environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith(("ASKBACK_", "SLACK_", "ANTHROPIC_"))}


def written(folder: Path, scenario: str | dict[str, Any]) -> str:
    """Write a scenario to a file there; its steps may take long, unless one says otherwise."""
    file = folder / ("mine.json" if isinstance(scenario, dict) else "mine.toml")
    if isinstance(scenario, dict):
        text = json.dumps({"within": PATIENCE, **scenario})
    else:
        text = f"within = {PATIENCE}\n{scenario}" if "[[step]]" in scenario else scenario
    file.write_text(text, encoding="utf-8")
    return file.name


def play(
    launcher: Launcher, folder: Path, scenario: str | dict[str, Any], harm: dict[str, Any] | None = None
) -> subprocess.CompletedProcess[str]:
    """Play a scenario from a file, in an empty folder."""
    command = ["demo", "--play", "--platform", "slack", written(folder, scenario)]
    if harm is None:
        return launcher.run(*command, folder=folder, environment=environment())
    return launcher.run(json.dumps(harm), *command, folder=folder, environment=environment(), program=SABOTAGE)


def test_the_tour_plays_and_prints_what_it_reads_back(tmp_path: Path) -> None:
    command = [ASKBACK, "demo", "--play", "--platform", "slack"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment(), timeout=200)
    assert (done.returncode, done.stderr) == (0, ""), done
    text = " ".join(done.stdout.split())
    for words in (
        "ada ▸ @askback Please prepare the release.",
        "» ada presses [ Staging ] (acknowledged in",
        "» ada ticks Unit tests, Load test",
        '» ada types " "',
        "it is empty",
        "It is *finally* done, <everyone> & friends ⚡",
        "» ada presses [ Back ]",
        "Review your answers",
        "» ada presses [ Edit Time ]",
        '"Who watches the release?"="Ada", "When shall it begin?"="Tonight", "Who is to be told?"="Support, Sales"',
        "» ada picks Remind me in an hour",
        "Reminder for @ada",
        "To be discussed first",
        "askback ▸ Nobody has, since March. The release begins tonight, and Ada watches it.",
        "(picture: Blue circle)",
        '→ the program printed: {"id": ',
        "All results are as expected.",
    ):
        assert words in text
    assert list(tmp_path.iterdir()) == []


Played = dict[str, subprocess.CompletedProcess[str]]
AT_ONCE = 3
"""Parallel processes; each spends most of its time waiting."""


def all_of(
    launcher: Launcher, folder: Path, plays: dict[str, tuple[str | dict[str, Any], dict[str, Any] | None]]
) -> Played:
    """Play scenarios in parallel, each in its own folder; return their results by name."""

    def one(number: int, scenario: str | dict[str, Any], harm: dict[str, Any] | None) -> Any:
        own = folder / str(number)
        own.mkdir()
        return play(launcher, own, scenario, harm)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        done = [pool.submit(one, number, *what) for number, what in enumerate(plays.values())]
        return dict(zip(plays, [one.result() for one in done], strict=True))


@pytest.fixture(scope="module")
def unseen(tmp_path_factory: pytest.TempPathFactory, launcher: Launcher) -> Played:
    return all_of(launcher, tmp_path_factory.mktemp("unseen"), {name: (what, None) for name, what in SCENARIOS.items()})


@pytest.mark.parametrize("name", SCENARIOS)
def test_an_unseen_scenario_plays(unseen: Played, name: str) -> None:
    done = unseen[name]
    assert done.returncode == 0, done.stdout + done.stderr


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


def test_the_same_scenario_plays_where_nothing_does_harm(launcher: Launcher, tmp_path: Path) -> None:
    done = play(launcher, tmp_path, SINGLE, {})
    assert done.returncode == 0, done.stdout + done.stderr


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


def test_a_file_that_is_not_there_and_a_file_without_play_are_told(tmp_path: Path) -> None:
    for arguments, words in (
        (("--play", "none.toml"), "askback: none.toml cannot be read"),
        (("none.toml",), "askback demo --play none.toml"),
        (("--port", "70000"), "70000 is not a valid port"),
    ):
        done = subprocess.run(
            [ASKBACK, "demo", *arguments], capture_output=True, text=True, cwd=tmp_path, env=environment(), timeout=60
        )
        assert done.returncode == 2
        assert words in done.stderr
        assert "Traceback" not in done.stderr


@contextlib.contextmanager
def demo(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Run a demo; yield it with its port once it has printed its address."""
    port = free_port()
    process = subprocess.Popen(
        [ASKBACK, "demo", "--port", str(port), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**environment(), "COLUMNS": "80"},
        # The test runner may ignore Ctrl-C; the demo must not inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "Press Ctrl-C to stop." in line:
                break
        yield process, port
    finally:
        process.kill()
        process.communicate()


def test_a_port_that_is_taken_is_one_sentence(tmp_path: Path) -> None:
    with demo(tmp_path) as (_, port):
        done = subprocess.run(
            [ASKBACK, "demo", "--port", str(port)], capture_output=True, text=True, env=environment(), timeout=60
        )
    assert done.returncode == 2
    assert (
        done.stderr
        == f"askback: Port {port} is in use: stop the program that listens there, or choose another port with --port.\n"
    )


def _page(port: int) -> Any:
    return urllib.request.urlopen(f"http://127.0.0.1:{port}/people/events", timeout=10)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_signal_ends_the_demo_cleanly_and_at_once(tmp_path: Path, number: int, code: int) -> None:
    with demo(tmp_path) as (process, port), _page(port) as events:
        # An open page keeps a connection; that must not keep the demo from ending.
        events.readline()
        begun = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        took = time.monotonic() - begun
    assert (process.returncode, err) == (code, "")
    assert "Traceback" not in out
    assert took < 15, "an open page keeps a server for a minute"


def loads(process: subprocess.Popen[str]) -> None:
    """Wait until the command has begun, which is when its dependencies are loaded.

    Before that, Python itself is starting, and would answer Ctrl-C with a traceback.
    """
    end = time.monotonic() + 60
    while "pydantic_core" not in Path(f"/proc/{process.pid}/maps").read_text(encoding="utf-8"):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="nothing here says what a process has loaded")
@pytest.mark.parametrize("after", [0.0, 0.3, 0.8, 1.5])
def test_ctrl_c_while_it_starts_is_quiet(tmp_path: Path, after: float) -> None:
    process = subprocess.Popen(
        [ASKBACK, "demo", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    loads(process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(after)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")


def test_the_database_of_a_demo_can_be_kept(tmp_path: Path) -> None:
    for _ in range(2):
        with demo(tmp_path, "--database", "kept.db") as (process, _):
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
        assert (tmp_path / "kept.db").stat().st_size > 0
