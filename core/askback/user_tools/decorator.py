"""Names for authors of tools to import. This module is light, so that tool modules do not load all of askback."""

from __future__ import annotations

__all__ = ["ApprovalRule", "ToolContext", "ToolOptions", "get_options", "tool"]

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import iscoroutinefunction
from math import isfinite
from typing import TypeAlias, TypeVar, overload

from askback.domain.identity import Actor, Place
from askback.errors import CallerError

T = TypeVar("T")

ApprovalRule: TypeAlias = Callable[..., bool]
"""Returns False for the arguments of a call that needs no approval. Its parameters are some of the tool's."""

_MARK = "__askback_tool__"


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The context of a tool call. A parameter of this type is filled in; the model neither sees nor sets it."""

    conversation_id: str
    call_id: str
    """An idempotency key for external services: it is the same each time this call runs."""
    starter: Actor
    """The person who began the conversation. Others may have written in it since."""
    place: Place
    approvers: tuple[Actor, ...] = ()
    """The people who approved this call, in the order of their votes. Empty if it needed no approval."""


@dataclass(frozen=True, slots=True)
class ToolOptions:
    """Properties of a tool that its function cannot express."""

    idempotent: bool = False
    """True if running it twice has the same effect as running it once; then it is run again after a crash."""
    timeout: float | None = None
    """Time limit in seconds. None means the limit of the setting."""
    approval: bool = False
    """True if people have to approve each call. False does not override a setting that requires approval."""
    approval_if: ApprovalRule | None = None
    """Decides which calls need the approval. None means all."""
    title: str | None = None
    """The question to the people who approve, with names of parameters in braces. None means “Run NAME?”."""
    edit: bool | tuple[str, ...] = False
    """The parameters that these people may change first. True means all of them."""


@overload
def tool(function: T, /) -> T: ...
@overload
def tool(
    *,
    idempotent: bool = False,
    timeout: float | None = None,
    approval: bool | str = False,
    approval_if: ApprovalRule | None = None,
    edit: bool | Sequence[str] = False,
) -> Callable[[T], T]: ...


def tool(
    function: T | None = None,
    /,
    *,
    idempotent: bool = False,
    timeout: float | None = None,
    approval: bool | str = False,
    approval_if: ApprovalRule | None = None,
    edit: bool | Sequence[str] = False,
) -> T | Callable[[T], T]:
    """Declare how a tool may be run; the function itself stays unchanged.

    `idempotent` means that running it twice has the same effect as once, so it is run again after a crash. `timeout` is
    its time limit in seconds. `approval` means that people have to approve each call before it runs. A text is also the
    question to them, such as "Deploy {version} to {where}?", where braces hold names of parameters. With
    `approval_if`, only some calls need it: a function of some of the tool's parameters, which returns False for the
    others. `edit` lets people change the arguments of the call first: all, or those of these parameters. Raises
    `CallerError` if `timeout` is not a finite number above 0, if `edit` is a text, if `approval_if` is not a plain
    function, or if the object is not a function.
    """
    if timeout is not None and not (isfinite(timeout) and timeout > 0):
        raise CallerError(f"@tool(timeout={timeout!r}) is not a time: give seconds greater than 0.")

    if isinstance(edit, str):
        raise CallerError(f"@tool(edit={edit!r}) is a text: give a list of names of parameters, or True.")
    if approval_if is not None and (not callable(approval_if) or iscoroutinefunction(approval_if)):
        raise CallerError(f"@tool(approval_if={approval_if!r}) is not a plain function: give one that returns a bool.")
    title = approval if isinstance(approval, str) else None
    options = ToolOptions(
        idempotent=idempotent,
        timeout=timeout,
        approval=title is not None or approval is True or approval_if is not None,
        approval_if=approval_if,
        title=title,
        edit=edit if isinstance(edit, bool) else tuple(edit),
    )

    def mark(one: T) -> T:
        try:
            setattr(one, _MARK, options)
        except AttributeError:
            raise CallerError(f"@tool is only for functions, and {one!r} is not a function.") from None
        return one

    return mark if function is None else mark(function)


def get_options(*objects: object) -> ToolOptions:
    """Return the options of the first of these objects that has any, or the defaults."""
    for one in objects:
        traits = getattr(one, _MARK, None)
        if isinstance(traits, ToolOptions):
            return traits
    return ToolOptions()
