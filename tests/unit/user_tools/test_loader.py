"""Tools by import path: loading them, and the errors for those that cannot be loaded."""

from __future__ import annotations

import asyncio
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from askback import CallerError, OperatorError, ToolContext, tool
from askback.domain.identity import Actor, Place
from askback.user_tools.function_tool import UserTool
from askback.user_tools.loader import LoadedTools, load_tools


@pytest.fixture(autouse=True)
def imports_undone() -> Iterator[None]:
    """Undo the imports of a test."""
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def write(folder: Path, source: str, name: str = "ours.py") -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(textwrap.dedent(source), encoding="utf-8")


def load(folder: Path, *names: str) -> LoadedTools:
    return load_tools(names, folder)


def problem(folder: Path, *names: str) -> str:
    with pytest.raises(OperatorError) as caught:
        load(folder, *names)
    return str(caught.value)


GOOD = '''
from __future__ import annotations
from dataclasses import dataclass
from anthropic import beta_async_tool
from askback import ToolContext, tool

@tool(idempotent=True, timeout=5)
def deploy(where: str, context: ToolContext) -> str:
    """Deploy it."""
    return where

@beta_async_tool
async def look(number: int) -> str:
    "Look at it."
    return str(number)

class Box:
    def open(self, key: str = "k") -> None: ...

box = Box()
both = [look, deploy]
'''

WITH_BOTH = """
from anthropic import beta_tool
from askback import ToolContext
@beta_tool(input_schema={"type": "object"})
def deploy(c: ToolContext) -> str: ...
"""


def test_functions_objects_lists_and_methods_are_found_beside_the_settings(tmp_path: Path) -> None:
    write(tmp_path, "", "package_of_ours/__init__.py")
    write(tmp_path, GOOD, "package_of_ours/tools.py")
    loaded = load(tmp_path, "question", "package_of_ours.tools:both", "package_of_ours.tools:box.open")
    assert [one.name for one in loaded.questions] == ["question"]
    look, deploy, opening = loaded.user_tools
    assert (look.name, look.is_async, look.idempotent, look.timeout) == ("look", True, False, None)
    assert (deploy.name, deploy.is_async, deploy.idempotent, deploy.timeout) == ("deploy", False, True, 5)
    assert look.definition["description"] == "Look at it."
    assert opening.definition == {
        "name": "open",
        "input_schema": {
            "additionalProperties": False,
            "properties": {"key": {"default": "k", "title": "Key", "type": "string"}},
            "type": "object",
        },
    }


def test_without_an_import_path_nothing_is_added_to_the_path(tmp_path: Path) -> None:
    before = list(sys.path)
    assert load(tmp_path, "AskUserQuestion").user_tools == ()
    assert sys.path == before


@pytest.mark.parametrize(
    ("source", "name", "words"),
    [
        (
            "",
            "nowhere_at_all:deploy",
            "nowhere_at_all:deploy does not exist: there is no module nowhere_at_all.",
        ),
        ("", "ours.deep:deploy", "The tool ours.deep:deploy does not exist: there is no module ours.deep."),
        (
            "import not_installed_here",
            "ours:deploy",
            "Could not import the tool ours:deploy: ours needs the module not_installed_here, which is not installed.",
        ),
        (
            "from asyncio import nothing_of_that_name",
            "ours:deploy",
            "Could not import the tool ours:deploy: ImportError: cannot import name 'nothing_of_that_name'",
        ),
        ("x = \n", "ours:deploy", "Could not import the tool ours:deploy: SyntaxError: invalid syntax"),
        (
            "\n1/0",
            "ours:deploy",
            "Could not import the tool ours:deploy: ZeroDivisionError: division by zero (ours.py, line 2). Fix",
        ),
        ("raise SystemExit(3)", "ours:deploy", "Could not import the tool ours:deploy: SystemExit: 3"),
        ("", "ours:deploy", "The tool ours:deploy does not exist: ours has no deploy. Correct the name"),
        (
            "deploy = 5",
            "ours:deploy",
            "The tool ours:deploy is not a function. Name a function, or a list of functions.",
        ),
        ("class deploy: ...", "ours:deploy", "The tool ours:deploy is not a function."),
        ("tools = []", "ours:tools", "The tool ours:tools is an empty list. Add functions to it"),
        ("tools = [print, 3]", "ours:tools", "The tool ours:tools[0] is not a function."),
        (
            "def deploy(where, *, how: int, why): ...",
            "ours:deploy",
            "The tool ours:deploy has parameters without a type (where, why). Annotate them",
        ),
        (
            "def deploy(*where: str): ...",
            "ours:deploy",
            "has a parameter that has no name for the model (*w",
        ),
        (
            "def deploy(**more: str): ...",
            "ours:deploy",
            "has a parameter that has no name for the model (**m",
        ),
        (
            "def deploy(a: int, /): ...",
            "ours:deploy",
            "has a parameter that has no name for the model (a: ",
        ),
        (
            "def deploy(a: 'Nowhere'): ...",
            "ours:deploy",
            "has an invalid annotation (name 'Nowhere'",
        ),
        (
            "import socket\ndef deploy(a: socket.socket): ...",
            "ours:deploy",
            "The tool ours:deploy has a parameter whose type has no JSON schema",
        ),
        ("deploy = lambda: 1", "ours:deploy", "has a name that the model's service rejects. Use 1 to 64"),
        (
            "from anthropic import beta_tool\n@beta_tool(name='a b')\ndef deploy() -> str: ...",
            "ours:deploy",
            "has a name that the model's service rejects.",
        ),
        (
            "from anthropic import beta_tool\n@beta_tool(input_schema={'type': 'array'})\ndef deploy() -> str: ...",
            "ours:deploy",
            'has an input_schema that the model\'s service rejects. Its "type" must be "object".',
        ),
        (
            WITH_BOTH,
            "ours:deploy",
            "has a ToolContext parameter, which the model could set: remove anthropic's decorator",
        ),
        (
            "def question() -> None: ...",
            "ours:question",
            "The tool ours:question has the name question, and so has a question tool of askback. Rename one",
        ),
        (
            "def deploy() -> None: ...\ntools = [deploy, deploy]",
            "ours:tools",
            "The tool ours:tools has the name deploy, and so has ours:tools. Rename one",
        ),
        (
            "from askback import tool\n@tool(timeout=0)\ndef deploy() -> None: ...",
            "ours:deploy",
            (
                "Could not import the tool ours:deploy: CallerError: @tool(timeout=0) is not a time: give seconds "
                "greater than 0"
            ),
        ),
        (
            "from askback import tool\n@tool(approval='Deploy {versoin}?')\ndef deploy(version: str) -> None: ...",
            "ours:deploy",
            (
                "The tool ours:deploy has an approval title that contains {versoin}, which is not a parameter of the "
                "tool. Its parameters are: version."
            ),
        ),
        (
            "from askback import tool\n@tool(approval='')\ndef deploy(version: str) -> None: ...",
            "ours:deploy",
            "The tool ours:deploy has an approval title that is empty",
        ),
        (
            "from askback import tool\n@tool(edit=True)\ndef deploy(a: list[bool], b: dict[str, int]) -> None: ...",
            "ours:deploy",
            (
                "The tool ours:deploy has parameters that people cannot change. The property “a” is an array whose "
                "items people can neither choose nor write"
            ),
        ),
        (
            "from askback import tool\n@tool(edit=['versoin'])\ndef deploy(version: str) -> None: ...",
            "ours:deploy",
            "There is no parameter “versoin”. The parameters are: version. Name those that they can",
        ),
        (
            "from askback import tool\n@tool(edit='version')\ndef deploy(version: str) -> None: ...",
            "ours:deploy",
            "CallerError: @tool(edit='version') is a text: give a list of names of parameters, or True",
        ),
        (
            "from askback import tool\n@tool(approval_if=lambda sum: sum > 9)\ndef pay(amount: int) -> None: ...",
            "ours:pay",
            (
                "The tool ours:pay has an approval_if with the parameter sum, which the tool does not have. "
                "Its parameters are: amount."
            ),
        ),
        (
            "from askback import tool\n@tool(approval_if=lambda *all: True)\ndef pay(amount: int) -> None: ...",
            "ours:pay",
            "The tool ours:pay has an approval_if with a parameter that has no name (*all). Use only named ones.",
        ),
        (
            "from askback import tool\nasync def rule(): ...\n@tool(approval_if=rule)\ndef pay() -> None: ...",
            "ours:pay",
            "is not a plain function: give one that returns a bool",
        ),
        (
            "from askback import tool\n@tool(approval_if='amount > 9')\ndef pay(amount: int) -> None: ...",
            "ours:pay",
            "CallerError: @tool(approval_if='amount > 9') is not a plain function",
        ),
    ],
)
def test_what_cannot_be_had_is_told_in_one_line_with_the_next_step(
    tmp_path: Path, source: str, name: str, words: str
) -> None:
    write(tmp_path, source)
    told = problem(tmp_path, name)
    assert words in told
    assert told.startswith((f"The tool {name}", f"Could not import the tool {name}"))
    assert told.endswith(".")
    assert "\n" not in told


def test_the_setting_asks_about_each_call_whatever_the_tools_own_rule_says(tmp_path: Path) -> None:
    write(tmp_path, "from askback import tool\n@tool(approval_if=lambda: False)\ndef pay() -> None: ...")
    for patterns, asks_always in (((), False), (("P*",), True)):
        (found,) = load_tools(["ours:pay"], tmp_path, patterns).user_tools
        assert (found.approval, found.is_exempt({})) == (True, not asks_always)


def test_everything_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    write(tmp_path, "x = 5")
    assert len(problem(tmp_path, "ours:x", "question", "ours:y", "ours2:z").splitlines()) == 3


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_a_time_limit_that_is_none_is_refused_where_it_is_written(seconds: float) -> None:
    with pytest.raises(CallerError, match="is not a time"):
        tool(timeout=seconds)


def test_only_what_can_be_marked_can_be_a_tool() -> None:
    with pytest.raises(CallerError, match="is not a function"):
        tool([])


def test_the_mark_leaves_a_function_as_it_is() -> None:
    @tool
    def add(left: int, right: int) -> int:
        return left + right

    assert add(1, 2) == 3
    assert UserTool.from_object(add).idempotent is False


def test_arguments_are_made_from_the_input_as_the_types_say() -> None:
    def add(context: ToolContext, path: Path, numbers: set[int], *, self: str = "me") -> None: ...

    context = ToolContext(
        conversation_id="c", call_id="t", starter=Actor(platform="p", id="u"), place=Place(platform="p", channel="c")
    )
    found = UserTool.from_object(add).parse_arguments({"path": "/x", "numbers": ["1", 2]}, context)
    assert found == {"context": context, "path": Path("/x"), "numbers": {1, 2}, "self": "me"}


def test_somebody_elses_schema_may_take_any_arguments() -> None:
    from anthropic import beta_async_tool

    @beta_async_tool(input_schema={"type": "object"}, name="any", description="Anything.")
    async def anything(**given: object) -> str:
        return str(given)

    one = UserTool.from_object(anything)
    context = ToolContext(
        conversation_id="c", call_id="t", starter=Actor(platform="p", id="u"), place=Place(platform="p", channel="c")
    )
    assert asyncio.run(one.function(**one.parse_arguments({"x": 1}, context))) == "{'x': 1}"  # type: ignore[arg-type]
