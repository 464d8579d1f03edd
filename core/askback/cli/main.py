"""The command line."""

from __future__ import annotations

__all__ = ["app", "build_command_line", "main"]

import contextlib
import errno
import os
import sys
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from askback.cli.admin.cli import commands
from askback.cli.ask import commands as asking
from askback.cli.command import Command, Group, join_lines
from askback.cli.init.cli import commands as setting_up
from askback.cli.mcp import commands as serving_mcp
from askback.cli.serve import commands as serving_http
from askback.errors import AskbackError, CallerError, OperatorError
from askback.internal.garbage_collector import pause_collector
from askback.ports.installed_bots import list_bot_names
from askback.runtime.process import run_to_end
from askback.settings.config_option import Config, report_unread

if TYPE_CHECKING:
    from askback.ports.bot import Bot

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors that mean that standard output, redirected to a file, cannot be written. Errors of other files name them."""

INPUT_BYTES = 100_000_000
"""Largest input of a command that only prints."""

app = typer.Typer(
    name="askback",
    cls=Group,
    help="Lets an AI agent stop and ask people in Slack and Discord, and gives it their answers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from askback import __version__

        typer.echo(f"askback {__version__}")
        raise typer.Exit


@app.callback(
    epilog=join_lines(
        "Try it, without any account:",
        "  askback demo",
        "",
        "Set a bot up, and run it:",
        "  askback init slack",
        "  askback slack",
        "",
        "Exit codes: 0: success; 1: the command ran, but found something wrong;",
        "2: wrong arguments or settings, or anything else that you have to fix;",
        "130 and 143: interrupted. `askback ask` has more.",
    )
)
def _main_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    env_file: Annotated[
        Path | None,
        typer.Option(
            "--env-file",
            metavar="FILE",
            help="Set the variables of this file, such as .env, except those that are set already. Default: "
            "ASKBACK_ENV_FILE. No .env is read unless you name it.",
        ),
    ] = None,
) -> None:
    from askback.settings.env_file import VARIABLE, load_env_file

    if env_file is not None:
        os.environ[VARIABLE] = str(env_file)  # read here, and by programs that this one starts
    load_env_file()


@app.command(
    cls=Command,
    epilog=join_lines(
        "Examples:",
        "  askback demo                            open the page, and click a question",
        "  askback demo --database my.db           keep the conversations",
        "  askback demo --play                     play the built-in scenarios",
        "  askback demo --play --platform slack    play it there only",
        "  askback demo --play my.toml             play your own scenario",
    ),
)
def demo(
    file: Annotated[
        Path | None,
        typer.Argument(help="With --play: the scenario to play. Default: the built-in ones."),
    ] = None,
    play: Annotated[
        bool,
        typer.Option(
            "--play",
            help="Play scenarios instead of waiting for you: people and the model follow a script, the bot and the "
            "agent are real. Prints what people see, and checks it. Exits with 0 if all is as expected, with 1 and the "
            "problems if not, or with 2 if the scenario cannot be read.",
        ),
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(help="Port of the page, on this machine only. Default: 8800, or any free port with --play."),
    ] = None,
    database: Annotated[
        Path | None, typer.Option(help="Keep the conversations in this file. Default: delete them at the end.")
    ] = None,
    scripted: Annotated[bool, typer.Option("--scripted", help="Use the scripted model even with a key set.")] = False,
    platform: Annotated[
        str, typer.Option(metavar="NAME", help="With --play: play on this platform only, or on both.")
    ] = "both",
) -> None:
    """Try askback on this machine: a small workspace in the browser, with the real bot and agent.

    If ANTHROPIC_API_KEY is set, the real model answers. Otherwise a scripted one does, which needs no account.
    """
    from askback.cli.demo import run_demo

    if port is not None and not 0 <= port <= 65535:
        raise typer.BadParameter(f"{port} is not a valid port: use 1 to 65535, or 0 for any free port.")
    if file is not None and not play:
        raise typer.BadParameter(f"To play {file}, write: askback demo --play {file}")
    if file is not None:
        _check_scenario(file)
    if platform not in ("both", *list_bot_names()):
        names = ", ".join(list_bot_names())
        raise typer.BadParameter(f"There is no platform {platform!r}: use {names}, or both.")
    if platform != "both" and not play:
        raise typer.BadParameter(f"--platform needs --play: askback demo --play --platform {platform}")

    one = None if platform == "both" else platform
    work = run_demo(file, play=play, port=port, database=database, scripted=scripted, platform=one)
    raise typer.Exit(run_to_end(work))


@app.command(
    cls=Command,
    epilog=join_lines(
        "Examples:",
        "  askback preview call.json",
        "  askback preview --all-steps calls.jsonl > messages.jsonl",
        """  echo '{"question": "Tea?", "options": ["Yes", "No"]}' |""",
        "      askback preview --tool askQuestion",
    ),
)
def preview(
    file: Annotated[
        Path | None, typer.Argument(help="A file with one JSON document or JSON Lines. Default, or -: standard input.")
    ] = None,
    platform: Annotated[str, typer.Option(help="The platform to render messages for.")] = "slack",
    tool: Annotated[
        str, typer.Option(help="The tool that the input is for: AskUserQuestion, question or askQuestion.")
    ] = "AskUserQuestion",
    all_steps: Annotated[
        bool, typer.Option("--all-steps", help="Print all questions of a form and its review, not only the first.")
    ] = False,
) -> None:
    """Print the messages that a bot would post for a tool's input, one line of JSON for each input.

    Use them in tests. Slack's Block Kit Builder takes one of them, as jq '.[0] | {blocks}' prints it. For an invalid input, the line is {"error": …} and the exit code is 1.
    """  # noqa: E501 - typer keeps line breaks
    from askback.cli.preview import format_preview

    text = _read_stdin() if file is None or str(file) == "-" else _read(file)
    out = cast("TextIOWrapper", sys.stdout)
    out.reconfigure(encoding="utf-8")  # the output is JSON, whatever the terminal's encoding
    raise typer.Exit(format_preview(text, platform, tool, all_steps=all_steps, out=out))


def _check_scenario(file: Path) -> None:
    """Reject a link to another file, since errors in a scenario quote it. Raises `CallerError`."""
    from askback.cli.input_file import UnusableFile, read_input_file

    try:
        read_input_file(file, INPUT_BYTES)
    except UnusableFile as error:
        raise CallerError(f"{file} {error}.") from None


def _read_stdin() -> str:
    if cast("TextIOWrapper | None", sys.stdin) is None or sys.stdin.isatty():
        raise typer.BadParameter("Name a FILE, or pipe JSON in: askback preview < call.json")
    from askback.cli.input_file import UnusableFile, read_input_stream

    try:
        return read_input_stream(sys.stdin.buffer, INPUT_BYTES)
    except UnusableFile as error:
        raise typer.BadParameter(f"Standard input {error}.") from None


def _read(file: Path) -> str:
    from askback.cli.input_file import UnusableFile, read_input_file

    try:
        return read_input_file(file, INPUT_BYTES)
    except UnusableFile as error:
        raise typer.BadParameter(f"{file} {error}.") from None


@app.command(
    cls=Command,
    epilog=join_lines("Example:", "  SLACK_BOT_TOKEN=xoxb-… SLACK_APP_TOKEN=xapp-… DISCORD_TOKEN=… askback run"),
)
def run(config: Config = None) -> None:
    """Run the bots of every platform that has a token, in one process.

    Settings come from the environment and from the settings file. SIGINT, SIGTERM and SIGHUP stop it; open questions
    stay open.
    """
    from askback.ports.installed_bots import load_configured_bots
    from askback.runtime.serve import serve
    from askback.settings.env_file import describe_unread_env_file
    from askback.settings.working_directory import check_file

    check_file("askback run")
    try:
        bots = load_configured_bots()
    except OperatorError as error:
        raise OperatorError("\n".join(filter(None, (str(error), describe_unread_env_file("run"))))) from None
    raise typer.Exit(run_to_end(serve(bots)))


def _get_bot(name: str, http: str | None, shard: str | None) -> Bot:
    from askback.ports.bot import BotOptions
    from askback.ports.installed_bots import get_bot
    from askback.settings.address import Address

    try:
        address = None if http is None else str(Address.read(http))
    except ValueError:
        raise typer.BadParameter(f"{http} is not an address. Give HOST:PORT, such as 127.0.0.1:3000.") from None
    return get_bot(name, BotOptions(http=address, shard=shard))


def _serve(bot: Bot) -> None:
    from askback.runtime.serve import serve
    from askback.settings.working_directory import check_file

    check_file(f"askback {bot.name}")
    raise typer.Exit(run_to_end(serve([bot])))


async def _print_invitation(name: str) -> int:
    from askback.ports.installed_bots import get_bot

    invitation = await get_bot(name).setup.get_invitation()
    typer.echo(invitation.address)
    if invitation.remark:
        typer.echo(invitation.remark, err=True)  # a script reads only the address
    return 0


app.add_typer(setting_up)
app.add_typer(asking)
app.add_typer(serving_mcp)
app.add_typer(serving_http)
app.add_typer(commands)


def build_command_line() -> typer.Typer:
    """Return the whole command line, with one command for each installed bot."""
    known = {command.name for command in app.registered_commands}
    # Use only the names: loading every platform's library would slow each command down.
    for name in list_bot_names():
        if name in known:
            continue
        title = name.title()
        app.command(
            cls=_build_command_class(name),
            name=name,
            help=f"Run the bot in {title}: an agent that people talk to, and that can ask them questions.\n\n"
            "Settings come from the environment and from the settings file. If one is missing, the command says where "
            "to get it. SIGINT, SIGTERM and SIGHUP stop it; open questions stay open.",
            short_help=f"Run the bot in {title}.",
            epilog=join_lines("Example:", f"  ASKBACK_DATABASE_URL=team.db askback {name}"),
        )(_build_command(name))
    return app


def main() -> None:
    """Run the command `askback`, as `askback.cli.start` does."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # The caller closed it, as `2>&-` does. Otherwise `print` would write to the other stream.
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    pause_collector()
    try:
        build_command_line()()
    except AskbackError as error:
        _complain(*str(error).splitlines())
        sys.exit(2)
    except BrokenPipeError:
        # The reader has closed the pipe, as `head` does.
        _write_no_more()
        sys.exit(1)
    except OSError as error:
        if error.errno not in FULL or error.filename is not None:
            raise
        _write_no_more()
        _complain(f"Could not write to standard output: {error.strerror}.")
        sys.exit(1)


def _complain(*lines: str) -> None:
    from askback.text.terminal import to_terminal_text

    with contextlib.suppress(OSError):  # standard error is closed, but the exit code is clear
        for line in lines:
            print(f"askback: {to_terminal_text(line, lines=True)}", file=sys.stderr)  # noqa: T201 - this is the command line


def _write_no_more() -> None:
    """Discard the remaining output: flushing it at exit would only fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _build_command_class(name: str) -> type[Command]:
    """Return a class of commands whose help leaves out what the platform does not have, such as its shards.

    The bot's command rejects such an option in a sentence, so it stays known.
    """

    class BotCommand(Command):
        def get_params(self, ctx: Any) -> list[Any]:
            from askback.settings.environment import list_setting_names

            params = super().get_params(ctx)
            names = list_setting_names(name)
            for param in params:
                if param.name in ("http", "shard") and names is not None:
                    param.hidden = param.name not in names
            return params

    return BotCommand


def _build_command(name: str) -> Callable[[bool, bool, str | None, str | None, Path | None], None]:
    def command(
        invite: Annotated[
            bool, typer.Option("--invite", help="Print the address that adds the bot to a server, and exit.")
        ] = False,
        manifest: Annotated[
            bool,
            typer.Option("--manifest", help="Print the manifest for creating the app on the platform, and exit."),
        ] = False,
        http: Annotated[
            str | None,
            typer.Option(
                metavar="HOST:PORT",
                help="Receive the platform's events as signed HTTP requests on this address, instead of over a socket. "
                "A port alone listens on this machine only.",
            ),
        ] = None,
        shard: Annotated[
            str | None,
            typer.Option(
                metavar="NUMBER/COUNT",
                help="Receive the events of one shard only, such as 0/2. Another process receives the rest, with 1/2.",
            ),
        ] = None,
        config: Config = None,
    ) -> None:
        if invite:
            report_unread(f"askback {name} --invite")
            raise typer.Exit(run_to_end(_print_invitation(name)))
        if manifest:
            typer.echo(_get_bot(name, http, shard).setup.get_manifest(), nl=False)
            return
        _serve(_get_bot(name, http, shard))

    return command
