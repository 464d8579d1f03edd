"""The class of all commands: typer's, with a help that people can read."""

from __future__ import annotations

__all__ = ["Command", "Group"]

from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

if TYPE_CHECKING:
    from collections.abc import Iterable

REPEATED = "Can be repeated."
"""The last sentence about an option that takes several values, one at a time."""

_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""The error about a command line. typer has a copy of click's errors, and exports only the kinds below this one."""


class Command(TyperCommand):
    """A command whose help says which options repeat, and says nothing about the type of flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        params = super().get_params(ctx)
        _simplify(params)
        return params

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except _UsageError as error:
            # Only arguments that nothing takes raise this class itself: the other errors have classes of their own.
            if type(error) is _UsageError and any(_is_repeated(param) for param in self.params):
                ctx.fail(f"{error}. Each option takes one value: repeat it, as in --option Yes --option No.")
            name = getattr(error, "option_name", None)
            if ctx.parent is not None and any(name in param.opts for param in ctx.parent.command.params):
                ctx.fail(f"{name} belongs before the command: askback {name} … {ctx.info_name}")
            raise


class Group(TyperGroup):
    """The group of all commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        params = super().get_params(ctx)
        _simplify(params)
        return params


def _simplify(params: Iterable[Any]) -> None:
    for param in params:
        if isinstance(param, TyperOption) and param.is_flag:
            param.metavar = ""
        elif _is_repeated(param) and not (param.help or "").endswith(REPEATED):
            param.help = f"{param.help} {REPEATED}"


def _is_repeated(param: Any) -> bool:
    return isinstance(param, TyperOption) and param.multiple
