"""Ask through a server (`askback serve`), so that the caller needs no database and no token of a platform."""

from __future__ import annotations

__all__ = ["Progress", "Server", "ServerQuestion", "ask_server"]

import hashlib
import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final, Protocol
from urllib.parse import urlsplit

import aiohttp
from pydantic import AwareDatetime, JsonValue, SecretStr, ValidationError

from askback.client.ask_result import AskResult
from askback.client.http_result import Problem, to_outcome
from askback.client.parameter_names import SHELL
from askback.client.result import AskOutcome
from askback.domain.ask_policy import Reasons
from askback.domain.timeout_action import TimeoutAction
from askback.errors import CallerError, OperatorError
from askback.internal.clock import utc_now
from askback.internal.values import Value
from askback.network.environment_proxy import EnvironmentProxy, find_proxy
from askback.network.network_error import get_failure_reason
from askback.ports.platform import RetryableError
from askback.ports.retries import call_again
from askback.settings.address import is_address, is_loopback

WAIT_SECONDS: Final = 50.0
"""Seconds that one request waits. Many proxies end requests after a minute."""
REQUEST_SECONDS: Final = 90.0
"""Seconds after which a request has failed."""
RETRY_SECONDS: Final = 600.0
"""Longest time in seconds for which a server that does not answer is asked again."""
CONNECT_SECONDS: Final = 15.0
"""Seconds after which a connection that does not open has failed."""
PAUSE_SECONDS: Final = 2.0
"""Seconds between two attempts."""
PATH: Final = "/v1/asks"
LARGEST: Final = 4_000_000
"""Largest answer in bytes."""
_OPTIONS: Final = {"question": "QUESTION", "questions": "--form", "place": "--to", "timeout": "--wait"}
"""The options of `askback ask` that have other names than the fields of a request."""
AGAIN: Final = frozenset({408, 425, 429, 502, 503, 504})
"""Statuses after which the same request may succeed later."""
UNSUPPORTED: Final = frozenset({501, 505})
"""Statuses of 500 and above after which it cannot."""
LONGEST_KEY: Final = 255
"""Maximum number of characters of an Idempotency-Key."""


class Server(Value):
    """A server and the caller's token for it."""

    url: str
    token: SecretStr

    @classmethod
    def read(cls, url: str, token: str, *, allow_http: bool = False) -> Server:
        """Return the server at a URL. Raises `CallerError` if the URL is not one of a server.

        Without `allow_http`, it must not be one whose token others on the network could read.
        """
        if not is_address(url, "http", "https") or "@" in url or "?" in url or "#" in url:
            raise CallerError(f"--server {url} is not the URL of a server: give one such as https://ask.example.com.")
        base = url.rstrip("/")
        if base.endswith(PATH):
            raise CallerError(f"--server {url} has a path too many: leave out {PATH}.")
        if urlsplit(base).scheme == "http" and not is_loopback(urlsplit(base).hostname) and not allow_http:
            raise CallerError(
                f"--server {url} has no TLS, so others on the network could read the token: give an https address. If "
                "something else protects the connection, such as a tunnel, add --allow-http."
            )
        return cls(url=base, token=SecretStr(token))


class ServerQuestion(Value):
    """A question for a server. The operator's rules there say who may answer."""

    question: str | None = None
    options: tuple[str, ...] = ()
    questions: tuple[Mapping[str, JsonValue], ...] | None = None
    details: str | None = None
    place: str | None = None
    yes: tuple[str, ...] | None = None
    no: tuple[str, ...] | None = None
    quorum: int = 1
    refusals: int = 1
    reasons: Reasons = "none"
    timeout: float | None = None
    deadline: AwareDatetime | None = None
    on_timeout: TimeoutAction = "report"
    default: str | None = None
    allow_custom: bool | None = None

    @classmethod
    def name_options(cls, sentence: str) -> str:
        """Return a server's sentence with the options of `askback ask` instead of the fields of a request."""

        def name(found: re.Match[str]) -> str:
            field = found[1]
            return _OPTIONS.get(field, SHELL.name(field)) if field in cls.model_fields else found[0]

        return re.sub(r"`(\w+)`", name, sentence)


class Progress(Protocol):
    """Reports on a question to a server."""

    def on_sent(self) -> None:
        """Called when a request begins to be sent. Before that, nothing was asked."""
        ...

    def on_retry(self, error: RetryableError, seconds: float) -> None:
        """Called after the first failure of a request, which is repeated for this time."""
        ...

    def on_stored(self, result: AskResult) -> None:
        """Called when the question is stored."""
        ...


async def ask_server(server: Server, question: ServerQuestion, key: str, progress: Progress) -> AskOutcome:
    """Ask a question, and wait for its outcome.

    A restarted caller that asks the same with the same key finds its question again. Raises `CallerError`,
    `OperatorError`, or `RetryableError` if the server cannot be reached for as long as the question may wait.
    """

    async def on_sent(*_: object) -> None:
        progress.on_sent()

    tracing = aiohttp.TraceConfig()
    tracing.on_request_headers_sent.append(on_sent)
    headers = {"Authorization": f"Bearer {server.token.get_secret_value()}"}
    timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS, connect=CONNECT_SECONDS)
    proxy = find_proxy(server.url)
    async with aiohttp.ClientSession(
        headers=headers,
        timeout=timeout,
        trace_configs=[tracing],
        proxy=None if proxy is None else proxy.url.get_secret_value(),
    ) as session:
        requests = _Requests(session, server, question, progress, proxy)
        result = await requests.ask(key)
        progress.on_stored(result)
        while (outcome := to_outcome(result, key)) is None:
            result = await requests.wait(result.id)
    return outcome


class _Requests:
    """The requests for one question."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        server: Server,
        question: ServerQuestion,
        progress: Progress,
        proxy: EnvironmentProxy | None,
    ) -> None:
        self._session = session
        self._server = server
        self._question = question
        self._progress = progress
        self._proxy_name = "proxy" if proxy is None else f"proxy in {proxy.variable}"
        self._within = _compute_retry_time(question)

    async def ask(self, key: str) -> AskResult:
        """Ask the question, or find the one with this key."""
        body = self._question.model_dump(mode="json", exclude_defaults=True)
        return await self._send("POST", f"{PATH}?wait=0", body, {"Idempotency-Key": _encode_key(key)})

    async def wait(self, ask_id: str) -> AskResult:
        """Wait for the outcome, for as long as one request may."""
        return await self._send("GET", f"{PATH}/{ask_id}?wait={WAIT_SECONDS:g}")

    async def _send(
        self,
        method: str,
        path: str,
        body: Mapping[str, JsonValue] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AskResult:
        failures = 0

        async def attempt() -> AskResult:
            try:
                # A redirect would carry the token elsewhere.
                async with self._session.request(
                    method, self._server.url + path, json=body, headers=headers, allow_redirects=False
                ) as response:
                    text = await _read_body(self._server, response)
                    return _read(self._server, method, response.status, text)
            except aiohttp.ClientHttpProxyError as error:
                raise _translate_proxy(self._server, self._proxy_name, error.status) from None
            except aiohttp.ClientProxyConnectionError as error:
                why = get_failure_reason(error)
                raise RetryableError(
                    f"Could not reach the {self._proxy_name}, which leads to {self._server.url}: {why}."
                ) from None
            except aiohttp.ClientConnectorError as error:
                raise RetryableError(
                    f"Could not reach the server at {self._server.url}: {get_failure_reason(error)}."
                ) from None
            except (aiohttp.ClientError, TimeoutError) as error:
                why = str(error) or type(error).__name__
                raise RetryableError(f"Could not reach the server at {self._server.url}: {why}.") from None

        def on_retry(error: RetryableError) -> None:
            nonlocal failures
            failures += 1
            if failures == 1:
                self._progress.on_retry(error, self._within)

        return await call_again(attempt, within=self._within, pause=PAUSE_SECONDS, on_retry=on_retry)


def _translate_proxy(server: Server, proxy: str, status: int) -> Exception:
    """Return the error for a proxy that opened no connection."""
    if status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        return OperatorError(
            f"The {proxy} wants a name and a password: give http://NAME:PASSWORD@HOST:PORT there, or name the server "
            "in NO_PROXY."
        )
    return RetryableError(f"The {proxy} opens no connection to {server.url} ({status}).")


def _compute_retry_time(question: ServerQuestion) -> float:
    """Return the seconds for which a server that does not answer is asked again."""
    limit = question.timeout
    if question.deadline is not None:
        limit = max((question.deadline - utc_now()).total_seconds(), 0.0)
    return RETRY_SECONDS if limit is None else min(limit, RETRY_SECONDS)


def _encode_key(key: str) -> str:
    """Return the key as a header carries it. A key of other characters, or a long one, becomes its digest."""
    if key.isascii() and len(key) <= LONGEST_KEY and key == key.strip():
        return key
    return f"sha256:{hashlib.sha256(key.encode()).hexdigest()}"


async def _read_body(server: Server, response: aiohttp.ClientResponse) -> bytes:
    found = bytearray()
    async for chunk in response.content.iter_any():
        found += chunk
        if len(found) > LARGEST:
            raise OperatorError(f"{server.url} does not answer as a server of askback: check --server.")
    return bytes(found)


def _read(server: Server, method: str, status: int, text: bytes) -> AskResult:
    """Return the result in a response. Raises `RetryableError`, `OperatorError` or `CallerError`."""
    if status in (200, 202):
        try:
            return AskResult.model_validate_json(text)
        except ValidationError:
            raise OperatorError(f"{server.url} does not answer as a server of askback: check --server.") from None
    detail = _read_detail(text)
    # A proxy has its own statuses for a server that it cannot reach.
    if status in AGAIN or (detail is None and status >= 500 and status not in UNSUPPORTED):
        raise RetryableError(
            f"The server at {server.url} rejected the request for now ({status}): {detail or 'no reason given.'}"
        )
    if detail is None:
        raise OperatorError(
            f"{server.url} answered with {status}, and not as a server of askback: check --server, and the proxy."
        )
    if status in (401, 403):
        raise OperatorError(f"The server at {server.url} refused: {detail}")
    if status == HTTPStatus.NOT_FOUND and method == "POST":
        raise CallerError(f"The server answers elsewhere than at {server.url}: leave out the path in --server.")
    raise CallerError(f"The server at {server.url} refused: {ServerQuestion.name_options(detail)}")


def _read_detail(text: bytes) -> str | None:
    try:
        return Problem.model_validate(json.loads(text)).detail
    except ValueError:
        return None
