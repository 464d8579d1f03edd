"""The command `askback ask`, and its reports on the terminal while it waits."""

from __future__ import annotations

__all__ = ["commands"]

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from askback.cli.command import Command, join_lines
from askback.errors import AskbackError, CallerError, InvalidValue
from askback.runtime.process import run_to_end
from askback.settings.config_option import Config, report_unread
from askback.text.unseen import has_visible_text
from askback.translations.catalogue import Language

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from askback.cli.server_ask import ServerAsk
    from askback.client.progress_output import TerminalProgress
    from askback.client.result import AskOutcome
    from askback.domain.form import Form

commands = typer.Typer(rich_markup_mode=None)

TERMINATED = 143
INPUT_BYTES = 4_000_000
"""Largest size of a file with details or a form. A character has up to four bytes."""
EXAMPLE = (
    '{"id": "version", "prompt": "Which version?", "options": [{"value": "1.4", "label": "1.4"}, '
    '{"value": "1.5", "label": "1.5"}]}'
)
"""A question of a form, for errors."""
MAX_PROBLEMS = 20
"""Maximum number of problems of a form that an error lists."""


@commands.command(
    cls=Command,
    epilog=join_lines(
        "Examples:",
        '  askback ask "Deploy 1.4.2?" --to slack:#deploys',
        "      --option Yes --option No --approvers @release --quorum 2",
        "      --requested-by @ada --wait 2h --remind 30m",
        '  askback ask "Which version?" --to discord:@ada --wait forever',
        '  askback ask "Which version?" --to slack:@ada --wait "2026-12-01 17:00"',
        '  git diff | askback ask "Merge this?" --to slack:#code --details -',
        "      --option Yes --option No --approvers @leads --reasons no",
        "  askback ask --form release.json --to slack:#deploys --approvers anyone",
        "  askback ask --key 41c8e0    come back to a question",
        "",
        "Prints one line of JSON: id, key, status, approved, answer, answers, by,",
        "by_id, reason, votes, at, fallback (the defaults that apply because nobody",
        "answered in time), halted, note, notes and written (the answer is in the",
        "person's own words). Progress and errors go to standard error.",
        "",
        "Exit codes: 0: answered (with a “yes”, if any option is one); 6: answered",
        "with an option that is neither a “yes” nor a “no”; 3: refused (a “no”,",
        "declined or cancelled); 4: nobody answered in time; 5: could not be",
        "delivered; 2: wrong arguments or settings, such as a missing token, or",
        "anything else that you have to fix; 1: a bug, or the output cannot be",
        "written; 130 and 143: interrupted by Ctrl-C or SIGTERM. The question",
        "then stays open.",
    ),
)
def ask(
    question: Annotated[str | None, typer.Argument(metavar="QUESTION", help="The question to ask.")] = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help="Where: slack:#deploys, discord:Server/#deploys, slack:@ada for a direct message, or the link of a "
            "message, in whose thread it asks.",
        ),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="One choice. Without any, people write their answer.")
    ] = None,
    allow_custom: Annotated[
        bool,
        typer.Option(
            "--allow-custom", help="People can also write their own answer, if none of the options is a yes or a no."
        ),
    ] = False,
    form: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Several questions, or numbers, dates and conditions, as JSON; - reads standard input. Instead of "
            "QUESTION and --option.",
        ),
    ] = None,
    yes: Annotated[
        list[str] | None,
        typer.Option(
            "--yes",
            metavar="OPTION",
            help="An option that approves. Default: Yes, OK, Approve, Allow, …, or the only one that is not a refusal.",
        ),
    ] = None,
    no: Annotated[
        list[str] | None,
        typer.Option(
            "--no",
            metavar="OPTION",
            help="An option that refuses. Default: No, Deny, Reject, …, and Cancel or Stop next to others, in each "
            "language of askback.",
        ),
    ] = None,
    approvers: Annotated[
        list[str] | None,
        typer.Option(
            "--approvers",
            "--who",
            metavar="NAME",
            help="Who may answer: a group or role (@release), a person (@ada), an id, or anyone. Not needed for a "
            "direct message.",
        ),
    ] = None,
    quorum: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="Number of people who must choose the same option.")
    ] = 1,
    refusals: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Number of refusals that end it.")] = 1,
    reasons: Annotated[
        Literal["none", "no", "yes", "both"],
        typer.Option("--reasons", "--reason", help="Which decisions need a reason."),
    ] = "none",
    requested_by: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A requester, who may not decide about the question.")
    ] = None,
    own: Annotated[bool, typer.Option("--own", help="Let the requesters decide as well.")] = False,
    wait: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="How long to wait: 90s, 30m, 2h, 3d, or forever. Or until when: “2026-12-01 17:00” in the time zone "
            "of this machine, or 2026-12-01T17:00+01:00 in any. The output says which moment that is.",
        ),
    ] = "2h",
    on_timeout: Annotated[
        Literal["report", "halt", "default"],
        typer.Option(
            help="If nobody answers in time: only report that; halt, so that the card and the outcome say that the "
            "work stops; or apply a default, which the card names beforehand: --default, or those of --form."
        ),
    ] = "report",
    default: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="With --on-timeout default: the option, or the written answer, that applies if nobody answers.",
        ),
    ] = None,
    remind: Annotated[
        list[str] | None, typer.Option(metavar="TIME", help="Remind people who have not answered, after this time.")
    ] = None,
    escalate: Annotated[
        list[str] | None, typer.Option(metavar="TIME=NAME", help="Ask more people after this time, such as 1h=@leads.")
    ] = None,
    details: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Text behind “Show everything” on the card; - reads standard input."),
    ] = None,
    language: Annotated[
        Language | None, typer.Option(help="Language of the card. Default: the setting, or English.")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="Your own name for the question. Use it again to wait for the same question."
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Ask through an `askback serve` elsewhere, which says where and whom. Its token is in "
            "ASKBACK_SERVER_TOKEN, or in --token-file. No database and no token of a platform is needed here.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --server: a file with the token alone.")
    ] = None,
    allow_http: Annotated[
        bool,
        typer.Option(
            "--allow-http",
            help="With --server: send the token to another machine without TLS, since something else protects the "
            "connection, such as a tunnel.",
        ),
    ] = False,
    config: Config = None,
) -> None:
    """Ask people in Slack or Discord from a script, wait, and print the outcome.

    Works with a running bot on the same database, or without one. It needs no API key for a model.

    Trusts only the environment, the settings file (--config or ASKBACK_CONFIG; by default the one in your configuration folder), and the database that these name (by default the one in your state folder). It reads nothing in the working directory: no askback.toml, askback.db, .env or module.
    """  # noqa: E501 - typer keeps line breaks
    from askback.cli.server_ask import ServerAsk, build_question, read_server, refuse_options
    from askback.client.api import ask_async
    from askback.client.progress_output import TerminalProgress
    from askback.observability.logs import configure_logging
    from askback.settings.core import Settings
    from askback.settings.environment import load_settings
    from askback.settings.loader import list_set_fields

    try:
        report_unread("askback ask")
        settings = load_settings()
        configure_logging(
            settings.log_level if "log_level" in list_set_fields(Settings) else "ERROR", settings.log_format
        )
        progress = TerminalProgress(_write_line)
        if server is not None:
            refuse_options(
                {
                    "--approvers": approvers,
                    "--requested-by": requested_by,
                    "--own": own,
                    "--remind": remind,
                    "--language": language,
                    "--escalate": escalate,
                }
            )
            asked = build_question(
                question,
                form=None if form is None else _read_form(form),
                options=option or (),
                place=to,
                yes=yes,
                no=no,
                quorum=quorum,
                refusals=refusals,
                reasons=reasons,
                allow_custom=allow_custom,
                details=None if details is None else _read_details(details),
                wait=wait,
                on_timeout=on_timeout,
                default=default,
            )
            through = ServerAsk(
                read_server(server, token_file, settings, allow_http=allow_http), asked, key, _write_line
            )
            raise typer.Exit(run_to_end(_report_outcome(through.ask(), through), terminated_code=TERMINATED))
        if token_file is not None:
            raise CallerError("--token-file needs --server URL: add it, or leave --token-file out.")
        if allow_http:
            raise CallerError("--allow-http needs --server URL: add it, or leave --allow-http out.")
        asking = ask_async(
            question,
            to=to,
            form=None if form is None else _read_form(form),
            options=option or (),
            yes=yes,
            no=no,
            approvers=approvers or (),
            quorum=quorum,
            refusals=refusals,
            reasons=reasons,
            allow_custom=allow_custom,
            requested_by=requested_by or (),
            own=own,
            wait=wait,
            on_timeout=on_timeout,
            default=default,
            remind=remind or (),
            escalate=_parse_escalations(escalate or ()),
            details=None if details is None else _read_details(details),
            language=language,
            key=key,
            progress=progress,
        )
        code = run_to_end(_report_outcome(asking, progress), terminated_code=TERMINATED)
    except AskbackError as error:
        for line in str(error).splitlines():
            _write_line(line)
        code = _get_error_exit_code(error)
    raise typer.Exit(code)


async def _report_outcome(asking: Coroutine[object, object, AskOutcome], progress: TerminalProgress | ServerAsk) -> int:
    import asyncio

    from askback.client.result import exit_code, format_sentence

    try:
        outcome = await asking
    except asyncio.CancelledError:
        _write_line(progress.format_farewell())
        raise
    _write_line(format_sentence(outcome))
    _print(outcome)
    return exit_code(outcome)


def _print(outcome: AskOutcome) -> None:
    from askback.text.terminal import to_json_line

    sys.stdout.write(to_json_line(outcome.model_dump(mode="json")) + "\n")
    sys.stdout.flush()


def _write_line(sentence: str) -> None:
    from askback.text.terminal import to_terminal_text

    try:
        print(f"askback: {to_terminal_text(sentence, lines=True)}", file=sys.stderr, flush=True)  # noqa: T201 - this is the command line
    except OSError:
        return  # standard error is closed, but the outcome counts


def _get_error_exit_code(error: AskbackError) -> int:
    from askback.ports.platform import DeliveryError, RetryableError

    return 5 if isinstance(error, RetryableError | DeliveryError) else 2


def _parse_escalations(given: Sequence[str]) -> dict[str | float, list[str]]:
    found: dict[str | float, list[str]] = {}
    for one in given:
        after, equals, name = one.partition("=")
        if not (equals and after.strip() and name.strip()):
            raise CallerError(f"--escalate {one} needs a time and people, such as --escalate 1h=@leads.")
        found.setdefault(after.strip(), []).append(name.strip())
    return found


def _read_details(file: Path) -> str:
    return _read_input("--details", file)


def _read_form(file: Path) -> Form:
    """Return the form in a JSON file. Raises `CallerError`."""
    import json

    from askback.domain.form import Form

    text = _read_input("--form", file)
    try:
        found = cast("object", json.loads(text))
    except (ValueError, RecursionError) as error:
        raise CallerError(f"--form {file} is not JSON ({error}): correct it.") from None
    questions = cast("object", {"questions": found} if isinstance(found, list) else found)
    if not isinstance(questions, dict):
        raise CallerError(f'--form {file} is not an object: write {{"questions": […]}}, or a list of questions.')
    try:
        form = Form.parse(cast("dict[str, object]", questions))
    except InvalidValue as error:
        listed = "".join(f"\n- {one}" for one in error.problems[:MAX_PROBLEMS])
        raise CallerError(
            f"--form {file} cannot be asked, so nobody was asked:{listed}\nA question looks like this: {EXAMPLE}"
        ) from None
    if form.has_pattern:
        # A bot matches it against people's answers. The file may come from a checkout that others write to.
        raise CallerError(
            f"--form {file} has a pattern, which could take hours to match: use a `kind`, or pass the form from Python."
        )
    return form


def _read_input(option: str, file: Path) -> str:
    from askback.cli.input_file import UnusableFile, read_input_file, read_input_stream

    if str(file) == "-" and cast("object", sys.stdin) is None:
        raise CallerError(f"{option} - reads standard input, which is closed: pipe text in, or name a file.")
    try:
        text = (
            read_input_stream(sys.stdin.buffer, INPUT_BYTES) if str(file) == "-" else read_input_file(file, INPUT_BYTES)
        )
    except UnusableFile as error:
        raise CallerError(f"{option} {file} {error}.") from None
    if not has_visible_text(text):
        raise CallerError(f"{option} {file} is empty: leave it out.")
    return text
