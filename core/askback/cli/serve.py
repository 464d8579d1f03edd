"""The command `askback serve`."""

from __future__ import annotations

__all__ = ["commands"]

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askback.cli.command import Command, join_lines
from askback.errors import CallerError
from askback.runtime.process import run_to_end
from askback.settings.config_option import Config, report_unread

if TYPE_CHECKING:
    from askback.settings.address import Address
    from askback.settings.core import Settings

commands = typer.Typer(rich_markup_mode=None)


@commands.command(
    cls=Command,
    name="serve",
    epilog=join_lines(
        "Example:",
        "  askback serve --http 8700 --callers callers.toml",
        "",
        "callers.toml has a table for each program that may ask:",
        "  [deploys]",
        '  token = "…"              # openssl rand -hex 24',
        '  to = "slack:#deploys"    # several let the program choose',
        '  who = "@release"',
        '  wait = "8h"',
        "",
        "Then a program asks, and waits for the answer:",
        "  curl -H 'Authorization: Bearer …' -H 'Content-Type: application/json' \\",
        '    -d \'{"question": "Deploy?", "options": ["Yes", "No"]}\' \\',
        "    'http://127.0.0.1:8700/v1/asks?wait=60'",
        "",
        "http://127.0.0.1:8700/openapi.json describes all requests.",
    ),
)
def serve(
    http: Annotated[
        str,
        typer.Option(metavar="HOST:PORT", help="Serve at this address. A port alone listens on this machine only."),
    ] = "8700",
    callers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The programs that may ask, with their tokens, places and people, in TOML."),
    ] = None,
    config: Config = None,
) -> None:
    """Let programs ask people in Slack or Discord over HTTP.

    Works with a running bot on the same database, or without one. It needs the platform's tokens, and no API key for a model. The file of callers is read again when it changes, so a token can be revoked at any time.
    """  # noqa: E501 - typer keeps line breaks
    from askback.observability.logs import configure_logging
    from askback.settings.environment import load_settings

    report_unread("askback serve")
    if callers is None:
        raise CallerError(
            "Name the file of the programs that may ask: --callers FILE. `askback serve --help` shows such a file."
        )
    settings = load_settings()
    configure_logging(settings.log_level, settings.log_format)
    raise typer.Exit(run_to_end(_serve(settings, _parse_address(http), callers)))


async def _serve(settings: Settings, address: Address, file: Path) -> int:
    from askback import __version__
    from askback.doors.caller_asks import CallerAsks
    from askback.doors.caller_file import CallerFile
    from askback.doors.caller_limits import StorageLimits
    from askback.doors.http_server import serve
    from askback.internal.garbage_collector import resume_collector
    from askback.store.url import parse_database_url
    from askback.translations.catalogue import use_language

    callers = CallerFile(file, settings.approvals)
    callers.load()
    storage = StorageLimits(settings.question_bytes)
    asks = CallerAsks(settings, parse_database_url(settings.database_url), "http", storage=storage)
    try:
        # The forms that agents build speak it, as their cards do.
        with use_language(settings.language):
            await serve(address, callers, asks, __version__, resume_collector)
    finally:
        await asks.close()
    return 0


def _parse_address(http: str) -> Address:
    from askback.settings.address import Address

    try:
        return Address.read(http)
    except ValueError:
        raise CallerError(f"--http {http} is not an address. Give HOST:PORT, such as 127.0.0.1:8700.") from None
