"""Asks through `askback serve` for `askback ask --server`."""

from __future__ import annotations

__all__ = ["ServerAsk", "build_question", "read_server", "refuse_options"]

import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from askback.cli.input_file import UnusableFile, read_input_file
from askback.client.ask_result import AskResult
from askback.client.duration_parameters import parse_deadline
from askback.client.http_client import Progress, Server, ServerQuestion, ask_server
from askback.client.parameter_names import SHELL
from askback.client.progress_output import describe_passing, format_deadline
from askback.client.result import AskOutcome
from askback.domain.ask import check_key
from askback.domain.ask_policy import Reasons
from askback.domain.form import Form
from askback.domain.timeout_action import TimeoutAction
from askback.domain.verdicts import find_no, find_yes
from askback.doors.tokens import is_sendable
from askback.errors import CallerError, OperatorError
from askback.ports.platform import RetryableError
from askback.text.redaction import register_secrets
from askback.text.terminal import to_terminal_text

if TYPE_CHECKING:
    from askback.settings.core import Settings

TOKEN_BYTES = 10_000
"""Largest size of the file with the token."""


def refuse_options(given: Mapping[str, object]) -> None:
    """Raise `CallerError` for options that only the operator of the server decides."""
    for name, value in given.items():
        if value:
            raise CallerError(f"{name} does not go together with --server: its operator decides that. Leave it out.")


def read_server(url: str, token_file: Path | None, settings: Settings, *, allow_http: bool) -> Server:
    """Return the server, with the caller's token. Raises `CallerError` or `OperatorError`."""
    if token_file is None:
        token = "" if settings.server_token is None else settings.server_token.get_secret_value().strip()
        if not token:
            raise OperatorError(
                "--server needs the token that its operator made for you: set ASKBACK_SERVER_TOKEN, or name a file "
                "with --token-file. A token on the command line could be read by other users."
            )
    else:
        try:
            token = read_input_file(token_file, TOKEN_BYTES).strip()
        except UnusableFile as error:
            raise CallerError(f"--token-file {token_file} {error}.") from None
    if not token or not is_sendable(token):
        raise OperatorError(
            "The token for --server is not one: it has spaces or other characters, or is empty. Copy it again from the "
            "operator of the server."
        )
    register_secrets(token)
    return Server.read(url, token, allow_http=allow_http)


def build_question(
    question: str | None,
    *,
    form: Form | None,
    options: Sequence[str],
    place: str | None,
    yes: Sequence[str] | None,
    no: Sequence[str] | None,
    quorum: int,
    refusals: int,
    reasons: Reasons,
    details: str | None,
    wait: str,
    on_timeout: TimeoutAction,
    default: str | None,
    allow_custom: bool,
) -> ServerQuestion:
    """Return the question for a server. Raises `CallerError`."""
    if (question is None) == (form is None):
        raise CallerError("With --server, give a question or --form, also to come back to an earlier one with --key.")
    limit = parse_deadline("wait", wait, SHELL)
    return ServerQuestion(
        question=question,
        questions=None
        if form is None
        else tuple(one.model_dump(mode="json", exclude_defaults=True) for one in form.questions),
        options=tuple(options),
        details=details,
        place=place,
        yes=None if yes is None else tuple(yes),
        no=None if no is None else tuple(no),
        quorum=quorum,
        refusals=refusals,
        reasons=reasons,
        timeout=None if isinstance(limit, datetime) else limit,
        deadline=limit if isinstance(limit, datetime) else None,
        on_timeout=on_timeout,
        default=default,
        allow_custom=allow_custom or None,
    )


class ServerAsk(Progress):
    """One question to a server, with reports for a person at a terminal."""

    def __init__(self, server: Server, question: ServerQuestion, key: str | None, write: Callable[[str], None]) -> None:
        if key is not None:
            check_key(key)
        self._server = server
        self._question = question
        self._key = secrets.token_hex(8) if key is None else key
        self._write = write
        self._is_sent = False
        self._is_stored = False

    async def ask(self) -> AskOutcome:
        """Ask, and wait for the outcome. Raises `AskbackError`."""
        warning = _describe_passing(self._question)
        if warning is not None:
            self._write(warning)
        try:
            return await ask_server(self._server, self._question, self._key, self)
        except RetryableError as error:
            raise RetryableError(f"{error}\n{self.format_farewell()}") from None

    def format_farewell(self) -> str:
        """Return the sentence for a wait that is interrupted."""
        if not self._is_sent:
            return "Nothing was asked."
        if not self._is_stored:
            return f"It is unknown if the question was asked. Repeat the command with --key {quote(self._key)}"
        return f"The question stays open. To wait for it again, repeat the command with --key {quote(self._key)}"

    def on_sent(self) -> None:
        self._is_sent = True

    def on_retry(self, error: RetryableError, seconds: float) -> None:
        self._write(f"{error} Trying again for {_format_seconds(seconds)}.")

    def on_stored(self, result: AskResult) -> None:
        if result.status == "open":
            until = "" if result.deadline is None else f" {format_deadline(result.deadline)}"
            self._write(
                f"Asked in {to_terminal_text(result.where)}{until}. To wait for the answer again, repeat the command "
                f"with --key {quote(self._key)}"
            )
        self._is_stored = True


def _format_seconds(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def _describe_passing(question: ServerQuestion) -> str | None:
    options = question.options
    refusing = find_no(options) if question.no is None else question.no
    approving = find_yes(options, refusing) if question.yes is None else question.yes
    return describe_passing(options, refusing, approving, decides=bool(options) and question.quorum > 1)
