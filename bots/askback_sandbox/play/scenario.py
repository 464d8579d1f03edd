"""Scenario files: the acts of people, and their expected results.

`FORMAT_HELP` (scenarios/FORMAT.md) describes the format.
"""

from __future__ import annotations

import difflib
import json
import tomllib
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar, cast, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError, model_validator

from askback_sandbox.json_values import JsonObject
from askback_sandbox.model.script import Fault, Script, StopReason, ToolCall, Turn, Usage

__all__ = [
    "FORMAT_HELP",
    "Close",
    "Expect",
    "ModelTurn",
    "Pick",
    "PlatformName",
    "Press",
    "Program",
    "Ran",
    "Scenario",
    "ScenarioError",
    "Step",
    "Stop",
    "Submit",
    "Tick",
    "Told",
    "Type",
    "Write",
    "conversation_key",
    "load",
    "parse",
]


FORMAT_HELP = (Path(__file__).parents[1] / "scenarios" / "FORMAT.md").read_text(encoding="utf-8")

PlatformName = Literal["slack", "discord"]
PLATFORMS: tuple[PlatformName, ...] = get_args(PlatformName)

_M = TypeVar("_M", bound="_Value")


class ScenarioError(Exception):
    """A scenario that cannot be played; the text gives the place and the fix."""


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class _Step(_Value):
    """The fields of every step: the person, and the seconds to wait."""

    by: str | None = None
    within: float | None = Field(default=None, gt=0)


class File(_Value):
    """A file with its content."""

    name: str
    text: str | None = None
    base64: str | None = None
    type: str | None = None

    @model_validator(mode="after")
    def _content(self) -> Self:
        if (self.text is None) == (self.base64 is None):
            raise ValueError("give the file's content either as text or as base64")
        return self

    @property
    def entry(self) -> JsonObject:
        """The file as the platform takes it."""
        given: JsonObject = {"name": self.name, "text": self.text, "base64": self.base64, "type": self.type}
        return {name: value for name, value in given.items() if value is not None}


def _listed_entries(value: object) -> object:
    return value if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownVariableType] - checked next


Files = Annotated[tuple[str | File, ...], BeforeValidator(_listed_entries)]


class Write(_Step):
    """A person writes."""

    write: str
    place: str | None = Field(default=None, alias="in")
    new: bool = False
    attach: Files = ()

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.write and not self.attach:
            raise ValueError("write something, or attach a file")
        return self


class Program(_Step):
    """A program asks a form with `askback ask`."""

    program: dict[str, JsonValue]
    """The form, as `askback ask --form` takes it."""
    approvers: Texts = Field(default=("anyone",), min_length=1)
    place: str | None = Field(default=None, alias="in")


class _Click(_Step):
    card: str | None = None
    late: bool = False
    refused: str | Literal[True] | None = None


class Press(_Click):
    """A person presses a button."""

    press: str


class Pick(_Click):
    """A person picks from a menu, or sets a group of radio buttons."""

    pick: Texts = Field(min_length=1)
    menu: str | None = None


class Tick(_Click):
    """A person leaves exactly these options of a group of checkboxes ticked."""

    tick: Texts
    group: str | None = None


class Stop(_Step):
    """A person stops the bot where it is at work: by the platform's own Stop, or by the bot's."""

    stop: Literal[True]


class Type(_Step):
    """A person types into a field of the open dialog."""

    type: str
    field: str | None = None
    submit: bool = False


class Submit(_Step):
    """A person submits the open dialog as it is."""

    submit: Literal[True]


class Close(_Step):
    """A person closes the open dialog."""

    close: Literal[True]


class Told(_Value):
    """The expected tool_result of the next tool call."""

    text: str | None = Field(default=None, alias="is")
    contains: Texts = ()
    data: JsonValue = Field(default=None, alias="json")
    ignore: tuple[str, ...] = ("timestamp",)
    error: bool | None = None


class Ran(_Value):
    """One run of a tool, as the service behind it saw it."""

    tool: str
    input: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])


class ApprovalRules(_Value):
    """The rules for tools that need approval; approvers are names of people here."""

    approvers: Texts = Field(min_length=1)
    quorum: int = Field(default=1, ge=1)
    reasons: Literal["none", "no", "yes", "both"] = "no"


def _told(value: object) -> object:
    return {"is": value} if isinstance(value, str) else value


class Expect(_Step):
    """The state that people or the model must see."""

    card: Texts | None = None
    controls: Texts | None = None
    pictures: Texts | None = None
    without: Texts | None = None
    settled: bool = False
    says: Texts | None = None
    notice: Texts | None = None
    offer: Texts | None = None
    working: bool | None = None
    dialog: Texts | Literal[False] | None = None
    field_error: str | Literal[True] | None = None
    told: Annotated[Told | None, BeforeValidator(_told)] = None
    ran: tuple[Ran, ...] | None = None
    outcome: dict[str, JsonValue] | None = None
    """Fields of the JSON that the next program prints."""


class ModelTurn(_Value):
    """A turn of the model; `ask` is the input of one call of the scenario's tool."""

    say: str = ""
    ask: dict[str, JsonValue] | None = None
    calls: tuple[ToolCall, ...] = ()
    stop: StopReason | None = None
    fault: Annotated[
        Fault | None, BeforeValidator(lambda value: {"kind": value} if isinstance(value, str) else value)
    ] = None
    usage: Usage | None = None
    compact: str | None = Field(default=None, min_length=1)

    def turn(self, tool: str | None) -> Turn:
        asked = () if self.ask is None else (ToolCall(tool=tool, input=self.ask),)
        calls = tuple(call if call.tool is not None else ToolCall(tool=tool, input=call.input) for call in self.calls)
        return Turn(
            say=self.say,
            calls=asked + calls,
            stop=self.stop,
            fault=self.fault,
            usage=self.usage,
            compact=self.compact,
        )


class _ModelStep(_Value):
    model: ModelTurn


Step = Write | Program | Press | Pick | Tick | Stop | Type | Submit | Close | Expect

_STEPS: dict[str, type[_Value]] = {
    "write": Write,
    "press": Press,
    "pick": Pick,
    "tick": Tick,
    "stop": Stop,
    "type": Type,
    "submit": Submit,
    "close": Close,
    "program": Program,
    "model": _ModelStep,
    "expect": Expect,
}


class Scenario(_Value):
    """A scenario in playing order. `scripts` holds the model's turns, one script for each conversation."""

    source: str
    title: str
    tool: str | None
    within: float
    by: str | None
    place: str
    platform: Literal["slack", "discord", "both"]
    forgive: tuple[str, ...]
    steps: tuple[tuple[int, Step], ...]
    scripts: tuple[Script, ...]
    approval: ApprovalRules | None = None
    locales: dict[str, str] = Field(default_factory=dict[str, str])
    """The languages of people's clients, by names. The others read English."""

    @property
    def platforms(self) -> tuple[PlatformName, ...]:
        """The platforms to play it on."""
        return PLATFORMS if self.platform == "both" else (self.platform,)

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that its model calls by name."""
        turns = [turn for script in self.scripts for turn in script.turns]
        named = [self.tool, *(call.tool for turn in turns for call in turn.calls)]
        return tuple(dict.fromkeys(name for name in named if name is not None))

    def played_on(self, name: str) -> Self:
        """Return a copy with script names that differ between platforms."""
        scripts = tuple(script.model_copy(update={"name": f"{script.name}, on {name}"}) for script in self.scripts)
        return self.model_copy(update={"scripts": scripts})


class _Head(_Value):
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


def conversation_key(step: Write, place: str, by: str | None) -> str:
    """Return the key of a conversation: the channel, or the person of a direct message."""
    where = step.place or place
    return f"dm of {step.by or by}" if where == "dm" else where.removeprefix("#")


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
    if "type" in verbs and "submit" in verbs:
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
    kind: type[_Value], value: JsonValue | dict[str, JsonValue], error: ValidationError, where: str
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
