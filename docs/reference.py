"""Write the reference of settings, commands and scenarios from the code and the file that define them.

mkdocs loads this module as a hook, and adds the pages to the site. `python docs/reference.py settings` prints a page as
Markdown.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import sys
import textwrap
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer
from annotated_types import Ge
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from askback.cli.main import build_command_line
from askback.settings.core import Settings
from askback.settings.loader import TomlSettings, get_environment_variable, get_file_key
from askback_discord.settings import DiscordSettings
from askback_slack.settings import SlackSettings

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parents[1]
GROUPS: dict[str, type[TomlSettings]] = {
    "Every platform": Settings,
    "Slack": SlackSettings,
    "Discord": DiscordSettings,
}
"""The settings by the heading of their section."""
SHORT = 60
"""Most characters of a default within a line."""
NAMES = {
    str: "text",
    int: "whole number",
    float: "duration such as `90s`, `30m`, `2h` or `90d`",
    bool: "`true` or `false`",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and those of the repository's root. mkdocs calls this."""
    from mkdocs.structure.files import File

    for name, page in PAGES.items():
        files.append(File.generated(config, f"reference/{name}.md", content=page()))
    for name in ("contributing", "changelog"):
        text = (ROOT / f"{name.upper()}.md").read_text(encoding="utf-8")
        files.append(File.generated(config, f"{name}.md", content=text.replace("](docs/", "](")))
    files.append(File.generated(config, "images/card.png", abs_src_path=str(ROOT / ".github/card.png")))
    return files


def settings_page() -> str:
    """Return the page with every setting."""
    return "\n".join(_settings())


def commands_page() -> str:
    """Return the page with every command."""
    return "\n".join(_commands())


def scenarios_page() -> str:
    """Return the page with the format of scenarios."""
    text = (ROOT / "bots/askback_sandbox/scenarios/FORMAT.md").read_text(encoding="utf-8")
    return text.replace("# Scenarios", "# The scenario format", 1)


PAGES: dict[str, Callable[[], str]] = {
    "settings": settings_page,
    "commands": commands_page,
    "scenarios": scenarios_page,
}


def _settings() -> Iterator[str]:
    yield "# All settings\n"
    yield "Each heading is an environment variable. The line below it has the name in the settings file."
    yield "[Settings](../settings.md) explains where askback reads them.\n"
    for title, kind in GROUPS.items():
        yield f"## {title}\n"
        texts = _docstrings(kind)
        for name, field in kind.model_fields.items():
            variable = get_environment_variable(kind, name, field)
            yield f"### `{variable}` {{ #{variable.lower()} }}\n"
            yield f"In the file: `{get_file_key(kind, name, field)}`. Type: {_type(field)}. {_default(field)}\n"
            yield f"{texts[name]}\n"
            if _is_secret(field):
                yield f"{field.description}\n"
            default: object = field.default
            if isinstance(default, str) and len(default) > SHORT:
                yield f"The default:\n\n```text\n{default.strip()}\n```\n"


def _docstrings(kind: type[TomlSettings]) -> dict[str, str]:
    """Return the docstrings of a class's fields."""
    (written,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(written, ast.ClassDef)
    found: dict[str, str] = {}
    for field, below in itertools.pairwise(written.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            found[field.target.id] = str(ast.literal_eval(below.value))
    missing = [name for name in kind.model_fields if name not in found]
    if missing:
        raise ValueError(
            f"These settings of {kind.__name__} have no docstring: {', '.join(missing)}. Write one below each."
        )
    return {name: " ".join(text.split()) for name, text in found.items()}


def _is_secret(field: FieldInfo) -> bool:
    return SecretStr in (field.annotation, *typing.get_args(field.annotation))


def _type(field: FieldInfo) -> str:
    least = next((entry.ge for entry in field.metadata if isinstance(entry, Ge)), None)
    bound = f", at least {least:,}" if isinstance(least, int) and least and _of(field.annotation) is int else ""
    return f"{_name(_of(field.annotation))}{bound}"


def _of(annotation: Any) -> Any:
    """Return the type without None."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return next(one for one in typing.get_args(annotation) if one is not type(None))
    return annotation


def _name(kind: Any) -> str:
    if typing.get_origin(kind) is Literal:
        return ", ".join(f"`{one}`" for one in typing.get_args(kind))
    if typing.get_origin(kind) is tuple:
        return "list of durations" if float in typing.get_args(kind) else "list"
    return "secret" if kind is SecretStr else NAMES[kind]


def _default(field: FieldInfo) -> str:
    default: object = field.default
    if field.is_required():
        return "Required."
    if field.default_factory is not None:
        return "The default depends on the machine."
    if default is None:
        return "Not set by default."
    if isinstance(default, str) and len(default) > SHORT:
        return "The default is below."
    if isinstance(default, tuple):
        entries = ", ".join(f"`{one}`" for one in typing.cast("tuple[object, ...]", default))
        return f"Default: {entries}." if entries else "Empty by default."
    shown = (
        str(default).lower()
        if isinstance(default, bool)
        else f"{default:g}s"
        if isinstance(default, float)
        else default
    )
    return f"Default: `{shown}`."


def _commands() -> Iterator[str]:
    yield "# Command line\n"
    yield "`askback COMMAND --help` prints the same in a terminal.\n"
    group: Any = typer.main.get_command(build_command_line())
    yield from _command("askback", group)
    for name, command in group.commands.items():
        yield from _command(f"askback {name}", command)


def _command(name: str, command: Any) -> Iterator[str]:
    context = typer.Context(command, info_name=name)
    yield f"## `{name}` {{ #{name.replace(' ', '-')} }}\n"
    yield f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```\n"
    yield f"{_escaped(command.help or '')}\n"
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and not parameter.hidden:
            repeated = " May be given several times." if parameter.multiple else ""
            name = parameter.metavar if parameter.param_type_name == "argument" else record[0].strip()
            yield f"- `{name}`: {_escaped(record[1])}{repeated}"
    if command.epilog:
        yield f"\n```text\n{command.epilog}\n```\n"
    yield ""


def _escaped(text: str) -> str:
    """Return help text as Markdown in which every character is literal."""
    return re.sub(r"([\\`*_<>|\[\]])", r"\\\1", text)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in PAGES:
        sys.exit(f"usage: python docs/reference.py {{{','.join(PAGES)}}}")
    sys.stdout.write(PAGES[sys.argv[1]]() + "\n")
