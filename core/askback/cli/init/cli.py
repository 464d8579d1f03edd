"""The command `askback init`. This module only parses arguments."""

from __future__ import annotations

__all__ = ["commands"]

from typing import Annotated

import typer

from askback.cli.command import Command
from askback.settings.config_option import Config

commands = typer.Typer(rich_markup_mode=None)


@commands.command(
    cls=Command,
    name="init",
    epilog="Examples:\n"
    "  askback init\n"
    "  askback init slack --no-browser\n"
    "  askback init discord --config /etc/askback/askback.toml",
)
def init(
    platform: Annotated[
        str | None, typer.Argument(metavar="PLATFORM", help="slack or discord. Default: the command asks.")
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the addresses of pages, and open none.")
    ] = False,
    config: Config = None,
) -> None:
    """Set a bot up, from nothing to running: create it on its platform, and store its tokens.

    Shows each step, reads each token without showing it, and checks it at once. Writes the tokens to the settings file, which only you can read then, and ends with the findings of `askback doctor`. Other settings in the file stay as they are.

    Exits with 0 if everything works, with 1 if something is still broken, with 2 if it cannot begin, or with 130 after Ctrl-C.
    """  # noqa: E501 - typer keeps line breaks
    from askback.cli.init.dialog import run_init

    raise typer.Exit(run_init(platform, open_pages=not no_browser))
