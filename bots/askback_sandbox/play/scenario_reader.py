"""Reads scenario files, and says in words what is wrong with one.

`FORMAT_HELP` (scenarios/FORMAT.md) describes the format.
"""

from __future__ import annotations

import difflib
import json
import tomllib
from pathlib import Path
from typing import Literal, TypeVar, cast

from pydantic import Field, JsonValue, ValidationError

from askback_sandbox.model.script import Script, Turn
from askback_sandbox.play.scenario import (
    ApprovalRules,
    Close,
    Edit,
    Expect,
    Give,
    ModelTurn,
    Pick,
    Press,
    Program,
    Scenario,
    Step,
    Stop,
    Submit,
    Texts,
    Tick,
    Type,
    Value,
    Write,
    conversation_key,
)

__all__ = ["FORMAT_HELP", "ScenarioError", "load", "parse"]

FORMAT_HELP = (Path(__file__).parents[1] / "scenarios" / "FORMAT.md").read_text(encoding="utf-8")

_M = TypeVar("_M", bound=Value)


class ScenarioError(Exception):
    """A scenario that cannot be played; the text gives the place and the fix."""


class _ModelStep(Value):
    model: ModelTurn


_STEPS: dict[str, type[Value]] = {
    "write": Write,
    "press": Press,
    "pick": Pick,
    "tick": Tick,
    "edit": Edit,
    "stop": Stop,
    "type": Type,
    "give": Give,
    "submit": Submit,
    "close": Close,
    "program": Program,
    "model": _ModelStep,
    "expect": Expect,
}


class _Head(Value):
    title: str = Field(min_length=1)
    tool: str | None = None
    within: float = Field(default=30.0, gt=0)
    by: str | None = None
    place: str = Field(default="general", alias="in")
    platform: Literal["slack", "discord", "both"] = "both"
    forgive: Texts = ()
    approval: ApprovalRules | None = None
    locales: dict[str, str] = Field(default_factory=dict[str, str])


def load(path: Path) -> Scenario:
    """Read a scenario from a file, whatever its extension.

    Raises:
        ScenarioError: the file cannot be read or played.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ScenarioError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path} is not valid UTF-8 text.") from error
    return parse(text, source=path.name)


def parse(text: str, *, source: str = "scenario") -> Scenario:
    """Read a scenario from TOML or JSON, whichever it is.

    Raises:
        ScenarioError: the text is not a scenario that can be played.
    """
    document = _document(text, source)
    steps = _sequence(document, ("step", "steps"), source)
    early = _sequence(document, ("model",), source)
    head = _read(
        _Head, {key: value for key, value in document.items() if key not in ("step", "steps", "model")}, source
    )
    if not steps:
        raise ScenarioError(f'{source}: has no steps. Begin with [[step]] and write = "hello".')
    turns = [
        _read(ModelTurn, value, f"{source}, model turn {number}").turn(head.tool)
        for number, value in enumerate(early, start=1)
    ]
    played: list[tuple[int, Step]] = []
    openings: list[tuple[str, list[Turn]]] = []
    places: dict[str, list[Turn]] = {}
    here = turns
    for number, value in enumerate(steps, start=1):
        step = _step(value, f"{source}, step {number}")
        if isinstance(step, _ModelStep):
            here.append(step.model.turn(head.tool))
            continue
        if isinstance(step, Write):
            place = conversation_key(step, head.place, head.by)
            if step.new or place not in places:
                here = turns if not openings else []
                openings.append((step.write.replace("@askback", ""), here))
                places[place] = here
            here = places[place]
        played.append((number, step))
    if not any(isinstance(step, Write | Program) for _, step in played):
        raise ScenarioError(
            f'{source}: nobody writes anything, and no program asks. Begin with a step write = "hello".'
        )
    scripts = tuple(
        Script(turns=tuple(said), when=when, name=f"{head.title}, conversation {number}")
        for number, (when, said) in enumerate(openings, start=1)
    )
    return Scenario(**dict(head), source=source, steps=tuple(played), scripts=scripts)


def _document(text: str, source: str) -> dict[str, JsonValue]:
    if text.lstrip().startswith("{"):
        try:
            value = json.loads(text)
        except json.JSONDecodeError as error:
            raise ScenarioError(f"{source}, line {error.lineno}: is not JSON: {error.msg}") from error
        if isinstance(value, dict):
            return cast("dict[str, JsonValue]", value)
    try:
        return cast("dict[str, JsonValue]", tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{source}: is neither JSON (which begins with {{) nor TOML: {error}") from error


def _sequence(document: dict[str, JsonValue], names: tuple[str, ...], source: str) -> list[JsonValue]:
    for name in names:
        if name in document:
            value = document[name]
            if not isinstance(value, list):
                raise ScenarioError(f"{source}: `{name}` must be a list: write [[{name}]] (with two brackets).")
            return value
    return []


def _step(value: JsonValue, where: str) -> Step | _ModelStep:
    if not isinstance(value, dict):
        raise ScenarioError(f'{where}: must be a table such as {{press = "Submit"}}.')
    verbs = [verb for verb in _STEPS if verb in value]
    if {"type", "give"} & {*verbs} and "submit" in verbs:
        verbs.remove("submit")
    if not verbs:
        near = _near(value, tuple(_STEPS))
        raise ScenarioError(f"{where}: says nothing to do: give it one of {', '.join(_STEPS)}.{near}")
    if len(verbs) > 1:
        raise ScenarioError(f"{where}: does {' and '.join(verbs)} at once: make that {len(verbs)} steps.")
    verb = verbs[0]
    if verb == "expect":
        inner = value["expect"]
        if not isinstance(inner, dict) or not inner:
            raise ScenarioError(f'{where}: `expect` must say what, such as expect.card = "Which one?".')
        rest = {key: item for key, item in value.items() if key != "expect"}
        return _read(Expect, {**rest, **inner}, where)
    return cast("Step | _ModelStep", _read(_STEPS[verb], value, where))


def _read(kind: type[_M], value: JsonValue | dict[str, JsonValue], where: str) -> _M:
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise ScenarioError("\n".join(_explained(kind, value, error, where))) from error


def _explained(
    kind: type[Value], value: JsonValue | dict[str, JsonValue], error: ValidationError, where: str
) -> list[str]:
    lines: list[str] = []
    known = tuple(field.alias or name for name, field in kind.model_fields.items())
    for one in error.errors(include_url=False):
        path = ".".join(str(part) for part in one["loc"] if not str(part).startswith(("function", "tuple", "list")))
        match one["type"]:
            case "extra_forbidden" if len(one["loc"]) == 1:
                near = _near({path: None}, known) or f" It knows {', '.join(known)}."
                lines.append(f"{where}: `{path}` is not known here.{near}")
            case "missing":
                lines.append(f"{where}: `{path}` is missing: add it.")
            case _:
                given = json.dumps(one["input"], default=str)[:60]
                lines.append(f"{where}: `{path}` is {given}, but: {one['msg']}.")
    return list(dict.fromkeys(lines))


def _near(value: dict[str, JsonValue], known: tuple[str, ...]) -> str:
    for key in value:
        for found in difflib.get_close_matches(key, known, n=1):
            return f" Is `{key}` meant to be `{found}`?"
    return ""
