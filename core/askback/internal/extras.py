"""Imports the libraries of extras, such as the one called `postgres`, which may not be installed."""

from __future__ import annotations

__all__ = ["format_install", "hide_module", "import_extra", "require"]

import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec

from askback.errors import OperatorError


@contextmanager
def import_extra(name: str, part: str) -> Generator[None]:
    """Import the modules of an extra inside this block. Raises `OperatorError` if their libraries are missing.

    `part` names the part of askback that needs the extra, as it begins the error's sentence.
    """
    try:
        yield
    except ImportError as error:
        missing = f" ({error.name.partition('.')[0]})" if error.name else ""
        raise OperatorError(f"{part} needs a package that is not installed{missing}. {format_install(name)}") from error


def format_install(*names: str) -> str:
    """Return the sentence that says how to install extras of askback.

    It names no package: no index has askback, and what is called so there could be anybody's.
    """
    return f"Run in your clone of askback: pip install -e '.[{','.join(names)}]'"


@contextmanager
def hide_module(name: str) -> Generator[None]:
    """Let libraries that are imported inside this block not find an optional module, unless it is loaded already."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # pyright: ignore[reportArgumentType] - Python's way to say that it is not there
    try:
        yield
    finally:
        del sys.modules[name]


def require(module: str, name: str, part: str) -> None:
    """Look for a module of an extra without importing it. Raises `OperatorError` if it is missing."""
    with import_extra(name, part):
        if find_spec(module) is None:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)
