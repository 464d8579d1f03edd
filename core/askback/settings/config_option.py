"""The option `--config`, which names the settings file, for every command that reads settings."""

from __future__ import annotations

__all__ = ["Config", "report_unread"]

import contextlib
import os
import sys
from pathlib import Path
from typing import Annotated

import typer


def _name(file: Path | None) -> Path | None:
    if file is not None:
        os.environ["ASKBACK_CONFIG"] = str(file)  # read by each part's settings
    return file


Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        callback=_name,
        help="Settings file. Default: askback.toml in your configuration folder, never in the working directory.",
    ),
]


def report_unread(command: str) -> None:
    """Report on standard error the files of the working directory that the command ignores."""
    from askback.errors import OperatorError
    from askback.settings.core import Settings
    from askback.settings.loader import load
    from askback.settings.working_directory import describe_unread_database, describe_unread_file

    sentences = [describe_unread_file(command)]
    with contextlib.suppress(OperatorError):  # the command itself reports wrong settings
        sentences.append(describe_unread_database(load(Settings)))
    for sentence in filter(None, sentences):
        with contextlib.suppress(OSError):  # standard error is closed
            print(f"askback: {sentence}", file=sys.stderr)  # noqa: T201 - this is the command line
