"""Ask somebody at a terminal: a secret without echo, a line, or yes or no. Open pages in a browser."""

from __future__ import annotations

__all__ = ["confirm", "is_interactive", "open_page", "read_line", "read_secret", "say"]

import os
import sys
import warnings
import webbrowser
from getpass import GetPassWarning, getpass
from typing import TextIO, cast

import typer

from askback.errors import OperatorError
from askback.text.terminal import to_terminal_text


def is_interactive() -> bool:
    """Return True if a person can read and answer."""
    streams = cast("tuple[TextIO | None, ...]", (sys.stdin, sys.stdout))
    return all(stream is not None and stream.isatty() for stream in streams)


def say(sentence: str = "") -> None:
    typer.echo(to_terminal_text(sentence, lines=True))


def read_line(question: str) -> str:
    """Return a line without the spaces around it. Raises `EOFError` or `KeyboardInterrupt`."""
    return input(f"{question} ").strip()


def confirm(question: str) -> bool:
    """Return True for yes. Anything else is a no."""
    return read_line(f"{question} [y/N]").lower() in {"y", "yes"}


def read_secret(name: str) -> str:
    """Return what somebody types or pastes, which the terminal does not show.

    Raises `OperatorError` if the terminal would show it, and otherwise as `read_line`.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", GetPassWarning)
            return getpass(f"{name} (hidden): ").strip()
    except GetPassWarning:
        raise OperatorError("This terminal cannot hide what you type. Use another one, or set the variables.") from None


def open_page(address: str) -> bool:
    """Open a page in a graphical browser, if there is one. A browser in the terminal would take the terminal over."""
    graphical = sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    if not graphical and not os.environ.get("BROWSER"):
        return False
    try:
        return webbrowser.open(address)
    except (OSError, webbrowser.Error):
        return False
