"""The operator's commands. This module only parses arguments; others do the work."""

from __future__ import annotations

__all__ = ["commands"]

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from askback.cli.command import Command
from askback.runtime.process import run_to_end
from askback.settings.config_option import Config, report_unread
from askback.text.unseen import strip_text

if TYPE_CHECKING:
    from rich.console import Console

    from askback.domain.ask_filter import AskFilter
    from askback.store.external_access import DatabaseLocation

commands = typer.Typer(rich_markup_mode=None)

_IDS = {"ignore_unknown_options": True, "help_option_names": ["--help"]}
"""Parser options for commands that take an id, since an id may begin with a dash."""
LONGEST_REASON = 1000
LONGEST_NAME = 100

AskId = Annotated[str, typer.Argument(metavar="ID", help="The question's id, or a prefix that only one id has.")]
Since = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only questions of this last time, such as 12h, 7d or 30d.")
]
OnPlatform = Annotated[str | None, typer.Option(metavar="NAME", help="Only questions on this platform.")]
InPlace = Annotated[
    str | None, typer.Option(metavar="ID", help="Only questions in the channel, thread or server with this id.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one line for each of them.")]


@commands.command(cls=Command, epilog="Examples:\n  askback doctor\n  askback doctor --platform slack")
def doctor(
    platform: Annotated[str | None, typer.Option(metavar="NAME", help="Check only this platform.")] = None,
    wait: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, max=600, help="How long each call over the network may take.")
    ] = 5.0,
    config: Config = None,
) -> None:
    """Check everything that the bot needs, and say what is wrong and how to fix it.

    Checks settings, database, model, clock, and each platform that has a token. Does not disturb a running bot.
    Exits with 0 if there are no errors (warnings are allowed), or with 1 if something is broken.
    """
    from askback.cli.doctor.examination import run_doctor

    raise typer.Exit(run_to_end(run_doctor(platform, wait, _make_console())))


@commands.command(cls=Command, epilog="Example:\n  askback pending --json | jq .question")
def pending(as_json: AsJson = False, config: Config = None) -> None:
    """List the open questions: what was asked, of whom, where, and since when.

    Reads the database without disturbing a running bot.
    """
    from askback.cli.admin.pending import print_pending

    raise typer.Exit(print_pending(_get_database_location("pending"), _make_console(), as_json=as_json))


@commands.command(
    "list",
    cls=Command,
    epilog="Examples:\n  askback list --since 7d --state refused\n"
    "  askback list --person ada --platform slack\n"
    "  askback list --format csv --limit 100000 > questions.csv",
)
def list_questions(
    state: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATE",
            help="Only this state: open, answered, refused, declined, cancelled, timed_out or undeliverable.",
        ),
    ] = None,
    since: Since = None,
    platform: OnPlatform = None,
    place: InPlace = None,
    person: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only questions that this person asked, answered or voted on.")
    ] = None,
    caller: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only questions of this program, as its operator calls it.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Print at most this many.")] = 50,
    as_format: Annotated[Literal["text", "json", "csv"], typer.Option("--format", help="The form of the output.")] = (
        "text"
    ),
    config: Config = None,
) -> None:
    """List questions, open and settled, newest first: when, where, what people answered, and after how long.

    Reads the database without disturbing a running bot. ASKBACK_RETENTION says how long settled questions are kept.
    """
    from askback.cli.admin.list_questions import print_questions

    wanted = _build_filter(tuple(state or ()), since, platform, place, person).evolve(caller=caller)
    where = _get_database_location("list")
    raise typer.Exit(print_questions(where, wanted, _make_console(), limit=limit, as_format=as_format))


@commands.command(
    cls=Command,
    epilog="Examples:\n  askback stats --since 30d\n  askback stats --json | jq .median_seconds",
)
def stats(
    since: Since = None,
    platform: OnPlatform = None,
    place: InPlace = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
    config: Config = None,
) -> None:
    """Show how questions ended, how long people took, and what they chose or wrote.

    Reads the database without disturbing a running bot. It counts what ASKBACK_RETENTION has not deleted yet.
    """
    from askback.cli.admin.stats import print_statistics

    wanted = _build_filter((), since, platform, place, None)
    raise typer.Exit(print_statistics(_get_database_location("stats"), wanted, _make_console(), as_json=as_json))


@commands.command(
    cls=Command,
    context_settings=_IDS,
    epilog="Examples:\n  askback show x2f\n  askback show x2fH1vQdTzqk3Y0m8JbW7A --json\n  askback show x2f --post\n  "
    "askback show x2f --save answers",
)
def show(
    ask_id: AskId,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
    post: Annotated[bool, typer.Option("--post", help="Redraw the card, and post it again if it was deleted.")] = False,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Save the files of the answers there. Files that exist are kept."),
    ] = None,
    config: Config = None,
) -> None:
    """Show one question: its form, who was asked, its state, and who did what when.

    Exits with 2 if the question does not exist. With --post, exits with 1 if it is already settled.
    """
    from askback.cli.admin.post import post as post_again
    from askback.cli.admin.show import show

    database = _get_database_location("show ID")
    if post:
        if as_json:
            raise typer.BadParameter("Use --json or --post, not both: the bot posts later, so --json has no result.")
        raise typer.Exit(run_to_end(post_again(database, ask_id, _make_console())))
    raise typer.Exit(show(database, ask_id, _make_console(), as_json=as_json, save=save))


@commands.command(
    cls=Command,
    context_settings=_IDS,
    epilog='Example:\n  askback cancel x2f --reason "The server is gone"',
)
def cancel(
    ask_id: AskId,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Reason for the agent and on the card.")] = None,
    config: Config = None,
) -> None:
    """Cancel a question: end it without an answer, and settle its card. If the agent asked it, its whole turn ends.

    Exits with 1 if the question is already settled, or with 2 if it does not exist.
    """
    from askback.cli.admin.cancel import cancel

    text = _read_reason(reason)
    raise typer.Exit(run_to_end(cancel(_get_database_location("cancel ID"), ask_id, text, _make_console())))


@commands.command(cls=Command, epilog="Example:\n  askback approvals --json | jq .tool")
def approvals(as_json: AsJson = False, config: Config = None) -> None:
    """List which tools run without a card for the rest of a conversation: who allowed that, when, and where.

    Reads the database without disturbing a running bot. People allow it with “Always in this conversation”.
    """
    from askback.cli.admin.approvals import print_approvals

    where = _get_database_location("approvals")
    raise typer.Exit(print_approvals(where, _make_console(), as_json=as_json))


@commands.command(
    cls=Command,
    context_settings=_IDS,
    epilog='Example:\n  askback revoke x2f --reason "Freeze until Monday" --by "Olga"',
)
def revoke(
    ask_id: AskId,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Reason on the card and in the audit log.")] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Your name for the audit log. Default: that of your account here."),
    ] = None,
    config: Config = None,
) -> None:
    """End what `askback approvals` lists: the next call of that tool asks people again, also in a running bot.

    Exits with 1 if the question allows no later call, or with 2 if it does not exist.
    """
    from askback.cli.admin.revoke import revoke

    text, name = _read_reason(reason), _read_operator(by)
    raise typer.Exit(run_to_end(revoke(_get_database_location("revoke ID"), ask_id, text, name, _make_console())))


@commands.command(
    cls=Command,
    epilog="Examples:\n  askback backup /mnt/askback-monday.db\n  askback backup --force last.db",
)
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup file to write.")],
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
    config: Config = None,
) -> None:
    """Copy a snapshot of the database to FILE while the bot keeps running.

    FILE appears only after the copy is complete and verified, and only you can read it. To restore it, stop the bot, remove the database with its -wal and -shm files, and put FILE in its place.
    """  # noqa: E501 - typer keeps line breaks
    from askback.cli.admin.backup import backup, refuse_postgres
    from askback.settings.core import Settings
    from askback.settings.loader import load
    from askback.store.url import get_database_path

    report_unread("askback backup FILE")
    url = load(Settings).database_url
    refuse_postgres(url, file)
    raise typer.Exit(backup(get_database_path(url), file, _make_console(), force=force))


def _build_filter(
    states: tuple[str, ...], since: str | None, platform: str | None, place: str | None, person: str | None
) -> AskFilter:
    from datetime import timedelta

    from askback.domain.ask_filter import STATES, AskFilter, AskState
    from askback.internal.clock import utc_now
    from askback.settings.durations import parse_duration

    try:
        start = None if since is None else utc_now() - timedelta(seconds=parse_duration(since))
    except (ValueError, OverflowError) as error:
        raise typer.BadParameter(f"--since {since} {error}.") from None
    known: dict[str, AskState] = {state: state for state in STATES}
    unknown = [state for state in states if state not in known]
    if unknown:
        raise typer.BadParameter(f"--state {unknown[0]} is not a state: use {', '.join(STATES)}.")
    wanted: tuple[AskState, ...] = tuple(known[state] for state in states)
    return AskFilter(states=wanted, platform=platform, place=place, person=person, since=start)


def _read_reason(reason: str | None) -> str | None:
    text = strip_text(reason) or None
    if text is not None and len(text) > LONGEST_REASON:
        raise typer.BadParameter(f"The reason is too long: {len(text)} characters. Use at most {LONGEST_REASON}.")
    return text


def _read_operator(name: str | None) -> str | None:
    """Return the name of the person at the terminal. None if neither they nor the system give one."""
    from getpass import getuser

    found = " ".join(strip_text(name).split())
    if len(found) > LONGEST_NAME:
        raise typer.BadParameter(f"--by is too long: {len(found)} characters. Use at most {LONGEST_NAME}.")
    if found:
        return found
    try:
        return os.environ.get("SUDO_USER") or getuser()
    except (KeyError, OSError):  # a container may run as a user without a name
        return None


def _get_database_location(command: str) -> DatabaseLocation:
    from askback.settings.core import Settings
    from askback.settings.loader import load
    from askback.store.url import parse_database_url

    report_unread(f"askback {command}")
    return parse_database_url(load(Settings).database_url)


def _make_console() -> Console:
    from rich.console import Console

    # The terminal wraps long lines, and a pipe gets each sentence on one line.
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
