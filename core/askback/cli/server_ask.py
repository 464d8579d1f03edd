"""Asks through `askback serve` for `askback ask --server`."""

from __future__ import annotations

__all__ = ["ServerAsk", "build_question", "read_server", "refuse_options"]

import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from askback.cli.input_file import UnusableFile, read_input_file
from askback.client.duration_parameters import parse_wait
from askback.client.http_client import Server, ServerQuestion, ask_server
from askback.client.http_result import AskResult
from askback.client.parameter_names import SHELL
from askback.client.result import AskOutcome
from askback.domain.ask import check_key
from askback.domain.ask_policy import Reasons
from askback.domain.form import Form
from askback.domain.timeout_action import TimeoutAction
from askback.doors.tokens import is_sendable
from askback.errors import CallerError, OperatorError
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


def read_server(url: str, token_file: Path | None, settings: Settings) -> Server:
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
        raise OperatorError("The token for --server is not one: it has spaces or other characters, or is empty.")
    register_secrets(token)
    return Server.read(url, token)


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
) -> ServerQuestion:
    """Return the question for a server. Raises `CallerError`."""
    if (question is None) == (form is None):
        raise CallerError("With --server, give a question or --form, also to come back to an earlier one with --key.")
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
        timeout=parse_wait("wait", wait, SHELL),
        on_timeout=on_timeout,
        default=default,
    )


class ServerAsk:
    """One question to a server, with reports for a person at a terminal."""

    def __init__(self, server: Server, question: ServerQuestion, key: str | None, write: Callable[[str], None]) -> None:
        if key is not None:
            check_key(key)
        self._server = server
        self._question = question
        self._key = secrets.token_hex(8) if key is None else key
        self._write = write
        self._is_stored = False

    async def ask(self) -> AskOutcome:
        """Ask, and wait for the outcome. Raises `AskbackError`."""
        if self._server.is_in_clear:
            self._write(f"{self._server.url} has no TLS, so others on the network could read the token.")
        return await ask_server(self._server, self._question, self._key, self._report)

    def format_farewell(self) -> str:
        """Return the sentence for a wait that is interrupted."""
        if not self._is_stored:
            return f"It is unknown if the question was asked. Repeat the command with --key {quote(self._key)}"
        return f"The question stays open. To wait for it again, repeat the command with --key {quote(self._key)}"

    def _report(self, result: AskResult) -> None:
        if not self._is_stored and result.status == "open":
            self._write(
                f"Asked in {to_terminal_text(result.where)}. To wait for the answer again, repeat the command with "
                f"--key {quote(self._key)}"
            )
        self._is_stored = True
