"""Scenarios: the acts of people, the turns of the model, and what people and the model must see."""

from __future__ import annotations

from typing import Annotated, Literal, Self, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_validator

from askback_sandbox.json_values import JsonObject
from askback_sandbox.model.script import Fault, Script, StopReason, ToolCall, Turn, Usage

__all__ = [
    "ApprovalRules",
    "Close",
    "Edit",
    "Expect",
    "Give",
    "ModelTurn",
    "Pick",
    "PlatformName",
    "Press",
    "Program",
    "Ran",
    "Scenario",
    "Step",
    "Stop",
    "Submit",
    "Texts",
    "Tick",
    "Told",
    "Type",
    "Value",
    "Write",
    "conversation_key",
]


PlatformName = Literal["slack", "discord"]
PLATFORMS: tuple[PlatformName, ...] = get_args(PlatformName)


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class Value(BaseModel):
    """A part of a scenario. It never changes, and has no unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class _Step(Value):
    """The fields of every step: the person, and the seconds to wait."""

    by: str | None = None
    within: float | None = Field(default=None, gt=0)


class File(Value):
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


class Edit(_Step):
    """A person changes arguments of the tool call on the card."""

    edit: dict[str, Texts] = Field(min_length=1)
    """The new text of each argument, or its choices. An empty one removes the argument."""
    card: str | None = None


class Stop(_Step):
    """A person stops the bot where it is at work: by the platform's own Stop, or by the bot's."""

    stop: Literal[True]


class Type(_Step):
    """A person types into a field of the open dialog."""

    type: str
    field: str | None = None
    submit: bool = False


class Give(_Step):
    """A person chooses files in the open dialog."""

    give: Files = Field(min_length=1)
    submit: bool = False

    @property
    def entries(self) -> list[JsonValue]:
        """The files as the platform takes them."""
        return [file if isinstance(file, str) else file.entry for file in self.give]


class Submit(_Step):
    """A person submits the open dialog as it is."""

    submit: Literal[True]


class Close(_Step):
    """A person closes the open dialog."""

    close: Literal[True]


class Told(Value):
    """The expected tool_result of the next tool call."""

    text: str | None = Field(default=None, alias="is")
    contains: Texts = ()
    data: JsonValue = Field(default=None, alias="json")
    ignore: tuple[str, ...] = ("timestamp",)
    error: bool | None = None


class Ran(Value):
    """One run of a tool, as the service behind it saw it."""

    tool: str
    input: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])


class ApprovalRules(Value):
    """The rules for tools that need approval; approvers are names of people here."""

    approvers: Texts = Field(min_length=1)
    quorum: int = Field(default=1, ge=1)
    reasons: Literal["none", "no", "yes", "both"] = "no"
    edit: bool = False
    """True if approvers may change the arguments of calls."""


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


class ModelTurn(Value):
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


Step = Write | Program | Press | Pick | Tick | Edit | Stop | Type | Give | Submit | Close | Expect


class Scenario(Value):
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


def conversation_key(step: Write, place: str, by: str | None) -> str:
    """Return the key of a conversation: the channel, or the person of a direct message."""
    where = step.place or place
    return f"dm of {step.by or by}" if where == "dm" else where.removeprefix("#")
