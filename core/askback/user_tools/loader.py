"""Loads the tools that the settings name or give an import path for, and reports each problem in one sentence."""

from __future__ import annotations

__all__ = ["LoadedTools", "load_tools"]

import importlib
import sys
import traceback
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType
from typing import Final, cast

from askback.errors import CallerError, OperatorError
from askback.tools import TOOLS, QuestionTool, ToolInput, is_import_path
from askback.user_tools.function_tool import UserTool

MATCH_ALL_PATTERN: Final = "*"
"""The one pattern that may match nothing: it cannot be misspelt."""
_WILD: Final = "*?[]"


@dataclass(frozen=True, slots=True)
class LoadedTools:
    """All tools that the agent may call."""

    questions: tuple[QuestionTool[ToolInput], ...]
    user_tools: tuple[UserTool, ...]


def load_tools(names: Sequence[str], folder: Path | None, approval: Sequence[str] = ()) -> LoadedTools:
    """Import the named tools. Modules in `folder` can be imported from then on; with None, only installed ones can.

    `approval` are names of own tools whose calls people have to approve, or patterns such as `db_*`. Raises
    `OperatorError` with one line for each tool that cannot be loaded.
    """
    if folder is not None and any(map(is_import_path, names)) and (path := str(folder.resolve())) not in sys.path:
        sys.path.insert(0, path)
        importlib.invalidate_caches()
    problems: list[str] = []
    own: dict[str, tuple[UserTool, str]] = {}
    questions = tuple(TOOLS[name] for name in names if name in TOOLS)
    for name in names:
        if name in TOOLS:
            continue
        try:
            for tool in _import_tools(name):
                other = own.get(tool.name)
                if tool.name in TOOLS or other is not None:
                    whose = "a question tool of askback" if other is None else other[1]
                    problems.append(
                        f"The tool {name} has the name {tool.name}, and so has {whose}. Rename one of the functions."
                    )
                else:
                    own[tool.name] = tool, name
        except OperatorError as error:
            problems.append(str(error))
    if not problems:
        problems += _find_approval_problems(approval, own)
    if problems:
        raise OperatorError("\n".join(dict.fromkeys(problems)))
    return LoadedTools(
        questions=questions, user_tools=tuple(_require_approval(tool, approval) for tool, _ in own.values())
    )


def _require_approval(tool: UserTool, approval: Sequence[str]) -> UserTool:
    """Require approval if the tool's own declaration or the setting does; neither weakens the other."""
    is_listed = any(_matches(tool.name, pattern) for pattern in approval)
    return replace(tool, approval=True, approval_if=None) if is_listed else tool


def _matches(name: str, pattern: str) -> bool:
    """Return True if the pattern matches, ignoring case: a slip there must not let a tool run without approval."""
    return fnmatchcase(name.casefold(), pattern.casefold())


def _find_approval_problems(approval: Sequence[str], own: Collection[str]) -> Iterator[str]:
    """Yield the problems with names of tools that need approval: a misspelt one would run without it."""
    asking = {name.casefold() for name in TOOLS}
    for pattern in approval:
        if pattern.casefold() in asking:
            yield f"approval_tools contains {pattern}, which is a question tool and needs no approval. Remove it."
        elif pattern != MATCH_ALL_PATTERN and not any(_matches(name, pattern) for name in own):
            no = "none of your tools matches it" if _is_pattern(pattern) else "you have no tool of that name"
            there = f"Your tools are: {', '.join(own)}." if own else "You have no tools: add them to `tools`."
            yield f"approval_tools contains {pattern}, but {no}. {_suggest_names(pattern, own)}{there}"


def _is_pattern(name: str) -> bool:
    return any(one in name for one in _WILD)


def _suggest_names(pattern: str, own: Collection[str]) -> str:
    """Return a question that offers the nearest names; empty if none is similar."""
    stem = "".join(one for one in pattern.casefold() if one not in _WILD)
    # A pattern is often the beginning of a name.
    named = {short: name for name in own for short in (name.casefold(), name.casefold()[: len(stem)])}
    near = dict.fromkeys(named[one] for one in get_close_matches(stem, named))
    return f"Did you mean {' or '.join(near)}? " if near else ""


def _import_tools(path: str) -> Iterator[UserTool]:
    """Yield the tool or the list of tools that an import path names. Raises `OperatorError`."""
    module_name, _, attribute = path.partition(":")
    found: object = _import_module(path, module_name)
    for part in attribute.split("."):
        try:
            found = cast("object", getattr(found, part))
        except AttributeError:
            raise OperatorError(
                f"The tool {path} does not exist: {module_name} has no {attribute}. "
                "Correct the name in the setting `tools`."
            ) from None
    several = isinstance(found, list | tuple)
    entries = list(cast("Sequence[object]", found)) if several else [found]
    if not entries:
        raise OperatorError(f"The tool {path} is an empty list. Add functions to it, or remove it from `tools`.")
    for number, entry in enumerate(entries):
        try:
            yield UserTool.from_object(entry)
        except CallerError as error:
            where = f"{path}[{number}]" if several else path
            raise OperatorError(f"The tool {where} {error}") from None


def _import_module(path: str, name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name == missing or name.startswith(f"{missing}."):
            cure = "Put it in the folder of the settings file (--config), or install it in askback's environment."
            raise OperatorError(f"The tool {path} does not exist: there is no module {missing}. {cure}") from None
        raise OperatorError(
            f"Could not import the tool {path}: {name} needs the module {missing}, which is not installed. "
            "Install it in askback's environment."
        ) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a module of the operator's may raise anything
        what = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".: ")
        raise OperatorError(
            f"Could not import the tool {path}: {what}{_format_location(error)}. Fix that module."
        ) from None


def _format_location(error: BaseException) -> str:
    """Return the last line of the operator's code that was reached."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if not one.filename.startswith("<frozen")]
    last = frames[-1] if len(frames) > 1 else None  # the first frame is in this module
    if isinstance(error, SyntaxError) or last is None:
        return ""
    return f" ({Path(last.filename).name}, line {last.lineno})"
