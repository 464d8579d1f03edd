"""Scenarios of `askback demo --play`, and how the tests play them: in their own processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

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
TOUR = (
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
)
"""Words of the transcript of the tour, on each platform."""
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
