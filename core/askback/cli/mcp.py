"""The command `askback mcp`."""

from __future__ import annotations

__all__ = ["commands"]

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askback.cli.command import Command, join_lines
from askback.errors import CallerError, OperatorError
from askback.internal.extras import import_extra
from askback.runtime.process import run_to_end
from askback.settings.config_option import Config, report_unread

if TYPE_CHECKING:
    from askback.doors.rules import DoorRules
    from askback.doors.tokens import Tokens
    from askback.settings.address import Address
    from askback.settings.core import Settings

commands = typer.Typer(rich_markup_mode=None)

TOKEN_BYTES = 100_000
"""Largest size of the file with tokens."""


@commands.command(
    cls=Command,
    name="mcp",
    epilog=join_lines(
        "Examples:",
        "  claude mcp add askback -- askback mcp --to slack:@ada",
        "  askback mcp --to slack:#agents --who @team --wait 1d",
        "  askback mcp --to discord:#agents --who anyone --permit --approvers @leads",
        "  askback mcp --to slack:#agents --who @team --http 8765 --tokens tokens.txt",
        "",
        "The client starts the command, and talks to it over standard input and",
        "output. Its agent gets the tools ask, AskUserQuestion, wait, cancel and",
        "pending. It cannot change where questions go, or who may answer them:",
        "these options decide that.",
        "",
        "With --permit, Claude Code can let people approve the calls of its tools:",
        "  claude --permission-prompt-tool mcp__askback__permit",
    ),
)
def mcp(
    to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PLACE",
            help="Where to ask: slack:#agents, discord:Server/#agents, slack:@ada for a direct message. Give several "
            "to let the agent choose; the first is the default.",
        ),
    ] = None,
    who: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Who may answer: a group or role (@team), a person (@ada), an id, or anyone. Not needed for a direct "
            "message.",
        ),
    ] = None,
    wait: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="How long a question stays open: 30m, 8h, 3d, or forever. Default: the setting timeout, or forever.",
        ),
    ] = None,
    remind: Annotated[
        list[str] | None, typer.Option(metavar="TIME", help="Remind people who have not answered, after this time.")
    ] = None,
    permit: Annotated[
        bool, typer.Option("--permit", help="Offer the tool permit, with which Claude Code asks before it runs others.")
    ] = False,
    approvers: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Who may approve with --permit. Default: the setting approvers. The settings approval_… say how many "
            "have to agree, and for how long.",
        ),
    ] = None,
    requested_by: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A person for whom the agent works, who may not decide its votes and calls."),
    ] = None,
    edit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOOL", help="With --permit: a tool, such as Bash, whose arguments approvers may change first."
        ),
    ] = None,
    call_wait: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="How long one call waits for an answer before it returns the id of the open question: 25s, or "
            "forever. Default: 25s, or as long as it takes for Claude Code.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The name of this agent. Its cards show it. Agents with different names cannot see each other's "
            "questions. Default: your user name and this machine, which no card shows.",
        ),
    ] = None,
    http: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Serve streamable HTTP at this address, under /mcp. A port alone listens on this machine only.",
        ),
    ] = None,
    tokens: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --http: a file with a line NAME:TOKEN for each agent. Default: ASKBACK_MCP_TOKENS.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="With --http: a host name by which clients reach it from elsewhere."),
    ] = None,
    config: Config = None,
) -> None:
    """Let the agent of any MCP client ask people in Slack or Discord: Claude Code, Cursor, and others.

    Works with a running bot on the same database, or without one. It needs the platform's tokens, and no API key for a model. Like `askback ask`, it trusts nothing in the working directory.
    """  # noqa: E501 - typer keeps line breaks
    with import_extra("mcp", "`askback mcp`"):
        import mcp as _  # noqa: F401  # pyright: ignore[reportUnusedImport] - only to see if it is installed

    from askback.observability.logs import configure_logging
    from askback.settings.environment import load_settings

    report_unread("askback mcp")
    settings = load_settings()
    configure_logging(settings.log_level, settings.log_format)
    rules = _build_rules(settings, to, who, wait, remind, approvers, requested_by, edit)
    if http is None and (tokens is not None or allow_host):
        raise CallerError("--tokens and --allow-host need --http: add --http PORT, or leave them out.")
    if http is not None and name is not None:
        raise CallerError("With --http, the token names the agent: leave out --name.")
    raise typer.Exit(
        run_to_end(
            _serve(
                settings,
                rules,
                permit=permit,
                call_wait=None if call_wait is None else _parse_call_wait(call_wait),
                name=name,
                address=_parse_address(http),
                tokens=tokens,
                hosts=tuple(allow_host or ()),
            )
        )
    )


async def _serve(
    settings: Settings,
    rules: DoorRules,
    *,
    permit: bool,
    call_wait: float | None,
    name: str | None,
    address: Address | None,
    tokens: Path | None,
    hosts: tuple[str, ...],
) -> int:
    from askback import __version__
    from askback.doors.caller_asks import CallerAsks
    from askback.doors.caller_limits import StorageLimits
    from askback.doors.door import Door
    from askback.doors.mcp_door import McpDoor
    from askback.internal.garbage_collector import resume_collector
    from askback.store.url import parse_database_url
    from askback.translations.catalogue import use_language

    storage = StorageLimits(settings.question_bytes)
    asks = CallerAsks(settings, parse_database_url(settings.database_url), "mcp", storage=storage)
    door = Door(rules, asks)
    try:
        # The forms that agents build speak it, as their cards do.
        with use_language(settings.language):
            if address is None:
                from askback.doors.mcp_stdio import build_stdio_principal, serve_stdio

                principal = build_stdio_principal(name)
                mcp = McpDoor(door, lambda _: principal, find_name=lambda _: name, call_wait=call_wait, permit=permit)
                await asks.resume((principal,), rules.list_platforms())
                resume_collector()
                await serve_stdio(mcp.create_server(__version__))
            else:
                from askback.doors.mcp_http import build_http_principal, find_http_name, find_http_principal, serve_http

                known = _read_tokens(settings, tokens)
                mcp = McpDoor(door, find_http_principal, find_name=find_http_name, call_wait=call_wait, permit=permit)
                await asks.resume(tuple(map(build_http_principal, known.digests)), rules.list_platforms())
                resume_collector()
                await serve_http(mcp.create_server(__version__), address, known, hosts)
    finally:
        await asks.close()
    return 0


def _build_rules(
    settings: Settings,
    to: list[str] | None,
    who: list[str] | None,
    wait: str | None,
    remind: list[str] | None,
    approvers: list[str] | None,
    requested_by: list[str] | None,
    edit: list[str] | None,
) -> DoorRules:
    from askback.client.duration_parameters import parse_durations, parse_wait
    from askback.client.parameter_names import SHELL
    from askback.doors.rules import DoorRules

    rules = DoorRules(
        places=tuple(to or ()),
        answerers=tuple(who or ()),
        approvers=tuple(approvers or ()),
        requesters=tuple(requested_by or ()),
        editable=tuple(edit or ()),
        wait=settings.timeout if wait is None else parse_wait("wait", wait, SHELL),
        remind=parse_durations("remind", remind or (), SHELL),
        approvals=settings.approvals,
    )
    rules.check()
    return rules


def _parse_call_wait(text: str) -> float:
    from askback.client.duration_parameters import parse_wait
    from askback.client.parameter_names import SHELL

    seconds = parse_wait("call_wait", text, SHELL)
    return math.inf if seconds is None else seconds


def _parse_address(http: str | None) -> Address | None:
    from askback.settings.address import Address

    try:
        return None if http is None else Address.read(http)
    except ValueError:
        raise CallerError(f"--http {http} is not an address. Give HOST:PORT, such as 127.0.0.1:8765.") from None


def _read_tokens(settings: Settings, file: Path | None) -> Tokens:
    from askback.doors.tokens import read_tokens

    if file is None and settings.mcp_tokens is None:
        raise OperatorError(
            "--http needs a token for each agent. Put lines NAME:TOKEN into a file and name it with --tokens, or set "
            "ASKBACK_MCP_TOKENS. Make a token with: openssl rand -hex 24"
        )
    if file is None:
        assert settings.mcp_tokens is not None
        return read_tokens(settings.mcp_tokens.get_secret_value(), "ASKBACK_MCP_TOKENS")
    try:
        with file.open("rb") as opened:
            text = opened.read(TOKEN_BYTES + 1).decode()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise OperatorError(f"Could not read the tokens in {file}: {why}. Correct --tokens, or the file.") from None
    if len(text) > TOKEN_BYTES:
        raise OperatorError(f"The file {file} is too large for tokens: give at most {TOKEN_BYTES:,} bytes.")
    return read_tokens(text, str(file))
