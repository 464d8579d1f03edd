"""Scenario files: the accepted forms, and the errors for authors of wrong ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import askback_sandbox
from askback_sandbox.play.scenario import Expect, Press, Write
from askback_sandbox.play.scenario_reader import FORMAT_HELP, ScenarioError, load, parse

BUILT_IN = sorted((Path(askback_sandbox.__file__).parent / "scenarios").glob("*.toml"))


def test_built_in_scenarios_can_be_read() -> None:
    assert BUILT_IN
    for path in BUILT_IN:
        assert load(path).steps


def test_the_example_of_the_documentation_can_be_read() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", FORMAT_HELP, re.DOTALL)
    scenario = parse(example)
    assert [turn.say for turn in scenario.scripts[0].turns] == ["Let me ask.", "Staging it is."]
    assert scenario.scripts[0].turns[0].calls[0].tool == "AskUserQuestion"


def test_json_is_told_by_its_content() -> None:
    document = {
        "title": "T",
        "model": [{"say": "hello"}],
        "steps": [{"write": "hi"}, {"expect": {"says": "hello"}, "by": "ben"}, {"press": "A", "late": True}],
    }
    scenario = parse(json.dumps(document))
    assert [step for _, step in scenario.steps] == [
        Write(write="hi"),
        Expect(says=("hello",), by="ben"),
        Press(press="A", late=True),
    ]


def test_turns_belong_to_the_conversation_before_them() -> None:
    scenario = parse(
        """
        title = "T"
        model = [{ say = "one" }]
        [[step]]
        write = "@askback first"
        [[step]]
        model = { say = "two" }
        [[step]]
        write = "second"
        new = true
        [[step]]
        model = { say = "three", fault = "overloaded" }
        [[step]]
        write = "third"
        in = "dm"
        [[step]]
        model = { say = "four" }
        [[step]]
        write = "still second"
        """
    )
    assert [(script.when.strip(), [turn.say for turn in script.turns]) for script in scenario.scripts] == [
        ("first", ["one", "two"]),
        ("second", ["three"]),
        ("third", ["four"]),
    ]
    fault = scenario.scripts[1].turns[0].fault
    assert fault is not None
    assert fault.kind == "overloaded"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('title = "x"', 'f.toml: has no steps. Begin with [[step]] and write = "hello".'),
        ('[[step]]\nwrite = "a"', "f.toml: `title` is missing: add it."),
        ('title = "x"\nstep = 3', "f.toml: `step` must be a list: write [[step]] (with two brackets)."),
        ('title = "x"\n[[step]]\npress = "a"', "f.toml: nobody writes anything"),
        ('title = "x"\n[[step]]\npres = "a"', "step 1: says nothing to do: give it one of write, press"),
        ('title = "x"\n[[step]]\npres = "a"', "Is `pres` meant to be `press`?"),
        (
            'title = "x"\n[[step]]\nwrite = "a"\nnow = true',
            "step 1: `now` is not known here. Is `now` meant to be `new`?",
        ),
        ('title = "x"\n[[step]]\nwrite = "a"\n[[step]]\nexpect.cards = "a"', "step 2: `cards` is not known here. Is"),
        ('title = "x"\n[[step]]\nwrite = "a"\n[[step]]\nexpect = "a"', "step 2: `expect` must say what, such as"),
        ('title = "x"\n[[step]]\npress = ["a"]', 'step 1: `press` is ["a"], but: Input should be a valid string'),
        ('title = "x"\n[[step]]\nwrite = "a"\npress = "b"', "step 1: does write and press at once: make that 2 steps."),
        ('title = "x"\n[[model]]\nfault = "overlode"\n[[step]]\nwrite = "a"', "f.toml, model turn 1: `fault.kind` is"),
        ('title = "x"\nwithin = -1\n[[step]]\nwrite = "a"', "f.toml: `within` is -1, but: Input should be greater"),
        ('{"title": "x",', "f.toml, line 1: is not JSON"),
        ("title = ", "f.toml: is neither JSON (which begins with {) nor TOML"),
    ],
)
def test_errors_name_the_place_and_the_way_out(text: str, words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(text, source="f.toml")
    assert words in str(caught.value)


def test_a_file_that_is_not_there_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"none\.toml cannot be read: No such file or directory\."):
        load(tmp_path / "none.toml")


def test_where_it_is_played_and_what_its_model_calls() -> None:
    head = 'title = "T"\n'
    steps = '[[model]]\ncalls = [{ tool = "question", input = {} }, { input = {} }]\n[[step]]\nwrite = "a"\n'
    assert parse(head + steps).platforms == ("slack", "discord")
    assert parse(head + 'platform = "discord"\n' + steps).platforms == ("discord",)
    assert parse(head + steps).tools == ("question",)
    assert parse(head + 'tool = "askQuestion"\n' + steps).tools == ("askQuestion", "question")
    with pytest.raises(ScenarioError, match="`platform` is \"irc\", but: Input should be 'slack', 'discord' or 'both'"):
        parse(head + 'platform = "irc"\n' + steps)
