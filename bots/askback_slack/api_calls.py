"""Calls Slack's Web API, and turns Slack's error codes into the core's errors."""

from __future__ import annotations

__all__ = ["SlackApi", "SlackRejection", "StreamOpen", "explain", "translate_errors"]

import json
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

import aiohttp
from slack_sdk.errors import SlackApiError, SlackRequestError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook import WebhookResponse
from slack_sdk.webhook.async_client import AsyncWebhookClient

from askback.network.network_error import get_failure_reason
from askback.network.retry_after import read_retry_after
from askback.ports.platform import DeliveryError, MessageNotFound, RetryableError
from askback.translations.catalogue import N_
from askback_slack.blocks import Block
from askback_slack.http_session import ForeignAnswer
from askback_slack.json_access import get_object, get_text, get_value
from askback_slack.sdk import Answer, Client

# https://docs.slack.dev/reference/methods/chat.postMessage#errors and chat.update, views.open
_GONE = frozenset({"message_not_found", "cant_update_message", "thread_not_found", "edit_window_closed"})
_LATER = frozenset(
    {"ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable", "request_timeout",
     "team_added_to_org", "org_login_required", "accesslimited", "message_limit_exceeded"}
)  # fmt: skip
_NO_JSON = frozenset({"auth.test", "chat.delete"})
"""Methods to which Slack's own SDK sends no JSON. Nor do we, so that proxies and test servers need not accept it."""
# The reasons that people in a chat can read are translated. With the others, nothing reaches them.
_WHY = {
    "channel_not_found": N_("the channel does not exist, or I cannot see it. Invite me: /invite @askback."),
    "not_in_channel": N_("I am not in that channel. Invite me: /invite @askback."),
    "is_archived": N_("the channel is archived."),
    "invalid_auth": "Slack rejects SLACK_BOT_TOKEN: it has to be copied again.",
    "token_revoked": "SLACK_BOT_TOKEN was revoked: the app has to be reinstalled, and its new token copied.",
    "token_expired": "SLACK_BOT_TOKEN has expired: the app has to be reinstalled, and its new token copied.",
    "account_inactive": "the app was removed from the workspace: it has to be installed again.",
    "not_authed": "SLACK_BOT_TOKEN is missing.",
    "missing_scope": "the Slack app lacks a permission{scope}. My operator has to reinstall it from "
    "manifests/slack.json.",
    "restricted_action": N_("the workspace does not let me post there."),
    "user_not_found": "this person does not exist in the workspace.",
    "no_such_subteam": N_("there is no such user group. My operator has to set another one."),
    "cannot_dm_bot": "that is a bot.",
}


def explain(code: str, scope: str | None = None) -> str:
    """Explain an error code of Slack's and say how to fix it.

    `scope` is the missing scope, if Slack names it.
    """
    sentence = _WHY.get(code, f"Slack rejected the call ({code}).")
    return sentence.replace("{scope}", "" if scope is None else f", the scope {scope}")


class SlackRejection(DeliveryError):
    """A permanent error from Slack."""

    def __init__(self, code: str, scope: str | None = None) -> None:
        super().__init__(explain(code, scope))
        self.code = code


class StreamOpen(RetryableError):
    """Raised by an edit of a message whose stream is still open. The edit succeeds once the stream has ended."""


class SlackApi:
    """Slack's Web API, typed. It leaves out arguments that are None and raises the core's errors.

    The client must not retry calls automatically: if only the response was lost, the message would be posted twice.
    """

    def __init__(self, client: AsyncWebClient, session: aiohttp.ClientSession) -> None:
        self._client = cast("Client", client)
        self._session = session

    async def write(self, method: str, **arguments: object) -> Mapping[str, object]:
        """Call a method that changes something. Raises `MessageNotFound`, `RetryableError` or `DeliveryError`."""
        given = _omit_none(arguments)
        with translate_errors():
            if method in _NO_JSON:
                answer = await self._client.api_call(method, params=given)
            else:
                answer = await self._client.api_call(method, json=given)
        return _read_success(answer)

    async def read(self, method: str, **arguments: object) -> Mapping[str, object]:
        """Call a read-only method; these take no JSON. Raises the same errors as `write`."""
        with translate_errors():
            answer = await self._client.api_call(method, http_verb="GET", params=_omit_none(arguments))
        return _read_success(answer)

    async def open_socket_address(self, app_token: str) -> str:
        """Return the address for a new socket.

        Raises `RetryableError`, or `SlackRejection` if Slack does not accept the app-level token.
        """
        with translate_errors():
            answer = await self._client.api_call("apps.connections.open", params={"token": app_token})
        address = get_text(_read_success(answer), "url")
        if address is None:
            raise RetryableError("Slack's response has no address for a socket.")
        return address

    async def respond(
        self,
        url: str,
        text: str,
        *,
        blocks: Sequence[Block] | None = None,
        response_type: str | None = None,
        replace_original: bool,
    ) -> None:
        """Answer a click through its response URL.

        Raises `RetryableError`, also if the URL has expired or is used up.
        """
        await self._send(
            url,
            lambda webhook: webhook.send(
                text=text, blocks=blocks, response_type=response_type, replace_original=replace_original
            ),
        )

    async def delete_clicked_message(self, url: str) -> None:
        """Delete the clicked message through the click's response URL. Raises the same errors as `respond`."""
        await self._send(url, lambda webhook: webhook.send(delete_original=True))

    async def _send(self, url: str, send: Callable[[AsyncWebhookClient], Awaitable[WebhookResponse]]) -> None:
        webhook = AsyncWebhookClient(url, session=self._session, retry_handlers=[])
        with translate_errors():
            response = await send(webhook)
        if response.status_code != 200:
            raise RetryableError(
                f"Slack did not take an answer to a click (HTTP {response.status_code}).",
                read_retry_after(_get_retry_after(response.headers)),
                in_doubt=get_text(_parse_object(response.body), "error") is None,
            )
        if response.body.strip() != "ok" and _parse_object(response.body).get("ok") is not True:
            raise ForeignAnswer(response.status_code)


def _omit_none(arguments: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in arguments.items() if value is not None}


@contextmanager
def translate_errors() -> Generator[None]:
    """Convert errors of slack_sdk to `MessageNotFound`, `RetryableError` or `DeliveryError`."""
    try:
        yield
    except SlackApiError as error:
        raise _translate_answer(cast("Answer | aiohttp.ClientResponse", error.response)) from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise RetryableError(f"Slack's answer cannot be read ({type(error).__name__}).", in_doubt=True) from error
    except (TimeoutError, aiohttp.ClientError, SlackRequestError, ConnectionError) as error:
        is_sent = not isinstance(error, aiohttp.ClientConnectorError)
        raise RetryableError(f"Could not reach Slack ({get_failure_reason(error)}).", in_doubt=is_sent) from error


def _read_success(answer: Answer) -> Mapping[str, object]:
    """Return the body of a success. Raises `ForeignAnswer` if it is none of Slack's."""
    body = get_object(answer.data)
    if body.get("ok") is not True:
        raise ForeignAnswer(answer.status_code)
    return body


def _parse_object(text: str) -> Mapping[str, object]:
    """Return the JSON object in a text; empty if there is none."""
    try:
        return get_object(cast("object", json.loads(text)))
    except (ValueError, RecursionError):
        return {}


def _get_retry_after(headers: Mapping[str, str]) -> str | None:
    """Return Retry-After as it came. slack_sdk keeps headers in a dict, which tells upper case from lower case."""
    return headers.get("Retry-After") or headers.get("retry-after")


def _translate_answer(answer: Answer | aiohttp.ClientResponse) -> Exception:
    if isinstance(answer, aiohttp.ClientResponse):
        return ForeignAnswer(answer.status)  # slack_sdk could not parse it
    code = get_text(answer.data, "error")
    if answer.status_code == 429 or code in _LATER:
        return RetryableError(f"Slack: {code or 'ratelimited'}", read_retry_after(_get_retry_after(answer.headers)))
    if code is None or get_value(answer.data, "ok") is not False:
        return ForeignAnswer(answer.status_code)
    if answer.status_code >= 500:
        return RetryableError(f"Slack: HTTP {answer.status_code}")
    if code == "streaming_state_conflict":
        return StreamOpen(f"Slack: {code}")
    if code in _GONE:
        return MessageNotFound(f"Slack: {code}")
    return SlackRejection(code, get_text(answer.data, "needed"))
