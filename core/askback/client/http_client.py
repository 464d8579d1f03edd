"""Ask through a server (`askback serve`), so that the caller needs no database and no token of a platform."""

from __future__ import annotations

__all__ = ["Server", "ServerQuestion", "ask_server"]

import json
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

import aiohttp
from pydantic import JsonValue, SecretStr, ValidationError

from askback.client.http_result import AskResult, Problem, to_outcome
from askback.client.result import AskOutcome
from askback.domain.ask_policy import Reasons
from askback.domain.timeout_action import TimeoutAction
from askback.errors import CallerError, OperatorError
from askback.internal.values import Value
from askback.ports.platform import RetryableError
from askback.ports.retries import call_again
from askback.settings.address import is_address, is_loopback

WAIT_SECONDS: Final = 50.0
"""Seconds that one request waits. Many proxies end requests after a minute."""
REQUEST_SECONDS: Final = 90.0
"""Seconds after which a request has failed."""
RETRY_SECONDS: Final = 600.0
"""Seconds for which a server that does not answer is asked again."""
PAUSE_SECONDS: Final = 2.0
"""Seconds between two attempts."""
LARGEST: Final = 4_000_000
"""Largest answer in bytes."""
AGAIN: Final = frozenset({429, 502, 503, 504})
"""Statuses after which the same request may succeed later."""


class Server(Value):
    """A server and the caller's token for it."""

    url: str
    token: SecretStr

    @classmethod
    def read(cls, url: str, token: str) -> Server:
        """Return the server at a URL. Raises `CallerError` if the URL is not one of a server."""
        if not is_address(url, "http", "https") or "@" in url or "?" in url or "#" in url:
            raise CallerError(f"--server {url} is not the URL of a server: give one such as https://ask.example.com.")
        return cls(url=url.rstrip("/"), token=SecretStr(token))

    @property
    def is_in_clear(self) -> bool:
        """True if others on the network could read the token."""
        parts = urlsplit(self.url)
        return parts.scheme == "http" and not is_loopback(parts.hostname)


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
    on_timeout: TimeoutAction = "report"
    default: str | None = None


async def ask_server(
    server: Server, question: ServerQuestion, key: str, report: Callable[[AskResult], None]
) -> AskOutcome:
    """Ask a question, and wait for its outcome. `report` is called when the question is stored.

    A restarted caller that asks the same with the same key finds its question again. Raises `CallerError`,
    `OperatorError`, or `RetryableError` if the server cannot be reached.
    """
    headers = {"Authorization": f"Bearer {server.token.get_secret_value()}"}
    timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS)
    async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
        body = question.model_dump(mode="json", exclude_defaults=True)
        result = await _send(session, server, "POST", "/v1/asks?wait=0", body, {"Idempotency-Key": key})
        report(result)
        while (outcome := to_outcome(result, key)) is None:
            result = await _send(session, server, "GET", f"/v1/asks/{result.id}?wait={WAIT_SECONDS:g}")
    return outcome


async def _send(
    session: aiohttp.ClientSession,
    server: Server,
    method: str,
    path: str,
    body: Mapping[str, JsonValue] | None = None,
    headers: Mapping[str, str] | None = None,
) -> AskResult:
    async def attempt() -> AskResult:
        try:
            # A redirect would carry the token elsewhere.
            async with session.request(
                method, server.url + path, json=body, headers=headers, allow_redirects=False
            ) as response:
                return _read(server, response.status, await _read_body(server, response))
        except (aiohttp.ClientError, TimeoutError) as error:
            why = str(error) or type(error).__name__
            raise RetryableError(f"Could not reach the server at {server.url}: {why}") from None

    return await call_again(attempt, within=RETRY_SECONDS, pause=PAUSE_SECONDS)


async def _read_body(server: Server, response: aiohttp.ClientResponse) -> bytes:
    found = bytearray()
    async for chunk in response.content.iter_any():
        found += chunk
        if len(found) > LARGEST:
            raise OperatorError(f"{server.url} does not answer as a server of askback: check --server.")
    return bytes(found)


def _read(server: Server, status: int, text: bytes) -> AskResult:
    """Return the result in a response. Raises `RetryableError`, `OperatorError` or `CallerError`."""
    if status in (200, 202):
        try:
            return AskResult.model_validate_json(text)
        except ValidationError:
            raise OperatorError(f"{server.url} does not answer as a server of askback: check --server.") from None
    detail = _read_detail(text)
    if status in AGAIN:
        raise RetryableError(
            f"The server at {server.url} rejected the request for now ({status}): {detail or 'no reason given'}"
        )
    if detail is None:
        raise OperatorError(
            f"{server.url} answered with {status}, and not as a server of askback: check --server, and the proxy."
        )
    if status in (401, 403):
        raise OperatorError(f"The server at {server.url} refused: {detail}")
    raise CallerError(f"The server at {server.url} refused: {detail}")


def _read_detail(text: bytes) -> str | None:
    try:
        return Problem.model_validate(json.loads(text)).detail
    except ValueError:
        return None
