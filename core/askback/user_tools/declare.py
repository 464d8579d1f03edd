"""What the author of a tool imports: light, since a module with tools is no place to load a program."""

from __future__ import annotations

__all__ = ["ToolContext", "Traits", "tool", "traits_of"]

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import TypeVar, overload

from askback.domain.identity import Actor, Place
from askback.errors import CallerError

T = TypeVar("T")

_MARK = "__askback_tool__"


@dataclass(frozen=True, slots=True)
class ToolContext:
    """For whom a tool runs. A parameter of this type is filled in; the model neither sees nor sets it."""

    conversation_id: str
    call_id: str
    """The same however often this call is run: a key for services that do nothing twice."""
    starter: Actor
    """Who began the conversation. Others may have written in it since."""
    place: Place


@dataclass(frozen=True, slots=True)
class Traits:
    """What a function cannot say of itself."""

    idempotent: bool = False
    """Whether running it twice is as good as once: then it is run again after a crash."""
    timeout: float | None = None
    """Seconds that it may take. None: as the setting has it."""
    approval: bool = False
    """Whether people have to approve each call. Where a setting says so, they have to whatever stands here."""


@overload
def tool(function: T, /) -> T: ...
@overload
def tool(*, idempotent: bool = False, timeout: float | None = None, approval: bool = False) -> Callable[[T], T]: ...


def tool(
    function: T | None = None,
    /,
    *,
    idempotent: bool = False,
    timeout: float | None = None,
    approval: bool = False,
) -> T | Callable[[T], T]:
    """Declare how a tool may be run; the function stays what it is.

    `idempotent`: running it twice is as good as once, so that it is run again after a crash. `timeout`: seconds
    that it may take. `approval`: people have to approve each call before it runs. Raises `CallerError` for a time that
    is none.
    """
    if timeout is not None and not (isfinite(timeout) and timeout > 0):
        raise CallerError(f"@tool(timeout={timeout!r}) is no time: give seconds greater than 0.")

    def mark(one: T) -> T:
        try:
            setattr(one, _MARK, Traits(idempotent=idempotent, timeout=timeout, approval=approval))
        except AttributeError:
            raise CallerError(f"@tool is for functions, and {one!r} is none.") from None
        return one

    return mark if function is None else mark(function)


def traits_of(*objects: object) -> Traits:
    """What was declared of the first of these of which anything was."""
    for one in objects:
        traits = getattr(one, _MARK, None)
        if isinstance(traits, Traits):
            return traits
    return Traits()
