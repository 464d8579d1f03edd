"""The script of the local model: turns of text and tool calls, and their faults."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

__all__ = ["Fault", "FaultKind", "Script", "StopReason", "ToolCall", "Turn", "Usage", "call", "turn"]

FaultKind = Literal[
    "overloaded",
    "rate_limited",
    "bad_key",
    "no_permission",
    "bad_request",
    "prompt_too_long",
    "request_too_large",
    "server_error",
    "disconnect",
    "stall",
    "malformed",
]

StopReason = Literal[
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ToolCall(_Value):
    """A tool that the model calls; without a name, the asking tool that the request offers."""

    tool: str | None = None
    input: dict[str, JsonValue]
    raw: str | None = None
    """Text to stream as the input instead of `input`; it may be invalid JSON."""


class Fault(_Value):
    """A fault that occurs `times` times, counted over all conversations of a script.

    With `mid_stream`, the refusals (`overloaded`, `server_error` …) come as `event: error` inside a stream
    that began well. `disconnect`, `stall` and `malformed` are always in mid stream.
    The anthropic client retries 429 and 5xx twice automatically, so a bot sees the error from three `times` on.
    """

    kind: FaultKind
    times: int = Field(default=1, ge=1)
    mid_stream: bool = False
    after: int = Field(default=12, ge=0, description="characters that arrive before a fault in mid stream")
    retry_after: float | None = Field(default=None, ge=0)
    seconds: float = Field(default=600.0, gt=0, description="how long a stalled stream stays silent")
    message: str | None = None

    @property
    def in_stream(self) -> bool:
        return self.mid_stream or self.kind in {"disconnect", "stall", "malformed"}


class Usage(_Value):
    """The token usage that a turn reports; omitted input and output counts are estimated at four characters a token."""

    input_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)
    cache_creation_input_tokens: int = Field(default=0, ge=0)
    cache_read_input_tokens: int = Field(default=0, ge=0)


def _fault(value: object) -> object:
    return {"kind": value} if isinstance(value, str) else value


class Turn(_Value):
    """One answer of the model: text first, then its tool calls."""

    say: str = ""
    calls: tuple[ToolCall, ...] = ()
    stop: StopReason | None = None
    fault: Annotated[Fault | None, BeforeValidator(_fault)] = None
    usage: Usage | None = None
    compact: str | None = Field(default=None, min_length=1)
    """Summary that compacts the context before this turn, whatever its size, if the request allows it."""

    @property
    def empty(self) -> bool:
        """True if the turn is only a fault: after the fault, the model says the next turn instead."""
        return not self.say and not self.calls and self.stop is None

    @property
    def stop_reason(self) -> StopReason:
        return self.stop or ("tool_use" if self.calls else "end_turn")


class Script(_Value):
    """Turns for the conversations whose first message contains `when`; an empty `when` fits all others."""

    turns: tuple[Turn, ...]
    when: str = ""
    name: str = ""


def call(tool: str | None, /, **arguments: JsonValue) -> ToolCall:
    """Return a tool call, as in `call("askQuestion", question="…", options=["a", "b"])`."""
    return ToolCall(tool=tool, input=arguments)


def turn(
    *parts: str | ToolCall | Fault,
    stop: StopReason | None = None,
    usage: Usage | None = None,
    compact: str | None = None,
) -> Turn:
    """Return a turn from its parts; the model says the joined texts first, then makes the tool calls.

    Example: `turn("Let me ask.", call("question", questions=[…]))`.

    Raises:
        ValueError: there is more than one fault.
    """
    texts = [part for part in parts if isinstance(part, str)]
    faults = [part for part in parts if isinstance(part, Fault)]
    if len(faults) > 1:
        raise ValueError("A turn has one fault at most: put the others into turns of their own before it.")
    return Turn(
        say="".join(texts),
        calls=tuple(part for part in parts if isinstance(part, ToolCall)),
        stop=stop,
        fault=faults[0] if faults else None,
        usage=usage,
        compact=compact,
    )
