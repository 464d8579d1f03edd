"""The class of all commands: typer's, with a help of plain text.

To import rich, and to draw the help with it, takes longer than everything else that `askback --help` does.
"""

from __future__ import annotations

__all__ = ["Command", "Group", "join_lines"]

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

if TYPE_CHECKING:
    from collections.abc import Iterable

    Base = TyperCommand
else:
    Base = object

REPEATED = "Can be repeated."
"""The last sentence about an option that takes several values, one at a time."""

METAVARS: dict[object, str] = {int: "NUMBER", float: "NUMBER", str: "TEXT", Path: "FILE"}
"""The names of values by their type, for options that have no name for theirs."""

MESSAGES: dict[str, str] = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "give a whole number.",
    "Input should be a valid number, unable to parse string as a number": "give a number.",
    "Input should be greater than or equal to ": "give at least ",
    "Input should be less than or equal to ": "give at most ",
}
"""Replacements for the parts of messages that typer takes from pydantic."""

_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""The error about a command line. typer has a copy of click's errors, and exports only the kinds below this one."""


def join_lines(*lines: str) -> str:
    """Return the lines of an epilog, which are printed as they are."""
    return "\n".join(lines)


class _Help(Base):
    """The help of a command or group."""

    def get_params(self, ctx: Any) -> list[Any]:
        params = super().get_params(ctx)
        _simplify(params)
        return params

    def get_short_help_str(self, limit: int = 0) -> str:
        """Return the first paragraph, whole: a list of commands wraps it."""
        return self.short_help or " ".join(inspect.cleandoc(self.help or "").partition("\n\n")[0].split())

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the lines as they are, since they are examples to copy."""
        if self.epilog:
            formatter.write_paragraph()
            formatter.write("".join(f"{line}\n" for line in self.epilog.splitlines()))


class Command(_Help, TyperCommand):
    """A command whose help says which options repeat, and says nothing about the type of flags."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments by their names, without their types, and then the options."""
        params = [(param, param.get_help_record(ctx)) for param in self.get_params(ctx)]
        shown = [(param, record) for param, record in params if record is not None]
        arguments = [(param.metavar, record[1]) for param, record in shown if isinstance(param, TyperArgument)]
        options = [record for param, record in shown if isinstance(param, TyperOption)]
        for title, records in (("Arguments", arguments), ("Options", options)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except _UsageError as error:
            _simplify_message(error)
            # Only arguments that nothing takes raise this class itself: the other errors have classes of their own.
            if type(error) is _UsageError and any(_is_repeated(param) for param in self.params):
                ctx.fail(f"{error}. Each option takes one value: repeat it, as in --option Yes --option No.")
            name = getattr(error, "option_name", None)
            if ctx.parent is not None and any(name in param.opts for param in ctx.parent.command.params):
                ctx.fail(f"{name} belongs before the command: askback {name} … {ctx.info_name}")
            raise


class Group(_Help, TyperGroup):
    """The group of all commands."""


def _simplify_message(error: Any) -> None:
    """Say what to give, where typer quotes pydantic."""
    for theirs, ours in MESSAGES.items():
        error.message = error.message.replace(theirs, ours)


def _simplify(params: Iterable[Any]) -> None:
    for param in params:
        if isinstance(param, TyperArgument) and param.metavar is None:
            param.metavar = str(param.name).upper()
        elif isinstance(param, TyperOption) and param.metavar is None and not param.is_flag:
            param.metavar = METAVARS.get(param.type_descriptor.annotation)
        if isinstance(param, TyperOption) and param.is_flag:
            param.metavar = ""
        elif _is_repeated(param) and not (param.help or "").endswith(REPEATED):
            param.help = f"{param.help} {REPEATED}"


def _is_repeated(param: Any) -> bool:
    return isinstance(param, TyperOption) and param.multiple
