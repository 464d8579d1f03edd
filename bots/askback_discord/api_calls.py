"""Calls Discord's REST API, and turns Discord's error codes into the core's errors."""

from __future__ import annotations

__all__ = [
    "ARCHIVED", "INVALID", "MESSAGE", "NOT_A_MEMBER", "NO_CHANNEL", "THREAD_EXISTS", "Body", "DiscordApi",
    "DiscordRejection", "File", "Json", "NotAnswerable", "explain",
]  # fmt: skip

import asyncio
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

import aiohttp
import discord
from discord.http import HTTPClient, Route
from pydantic import JsonValue

from askback.network.retry_after import read_retry_after
from askback.ports.platform import DeliveryError, MessageNotFound, RetryableError
from askback.translations.catalogue import N_
from askback_discord.answer_check import ForeignAnswer

Json: TypeAlias = Mapping[str, object]
Body: TypeAlias = Mapping[str, JsonValue]

NOT_DISCORD = "What answered is not what Discord answers."
CALL_SECONDS = 45.0
"""Seconds that a call may take: up to half a minute for discord.py's rate limit, plus the response."""
MESSAGE = "/channels/{channel_id}/messages/{message_id}"

# https://docs.discord.com/developers/topics/opcodes-and-status-codes#json
NO_CHANNEL = 10003
NO_MESSAGE = 10008
NO_WEBHOOK = 10015
NOT_A_MEMBER = frozenset({10007, 10013})
"""The person is not on the server, or does not exist any more."""
UNKNOWN_INTERACTION = 10062
ACKNOWLEDGED = 40060
INVALID = 50035
ARCHIVED = 50083
THREAD_EXISTS = 160004
LOCKED = 160005
NO_THREADS = 50024
"""The channel is of a type without threads."""
_LATER = frozenset({20016, 20028, 20029, 40333, 130000})
"""Rate limits of a channel or server, a block by Discord's own proxy, and an overload."""

# The reasons that people in a chat can read are translated. With the others, nothing reaches them.
_WHY = {
    NO_CHANNEL: N_("the channel or thread does not exist any more."),
    40001: "Discord rejects the bot's token: DISCORD_TOKEN has to be copied again.",
    50001: N_("I cannot see that channel: give me the permission View Channel there."),
    50007: "that person does not accept direct messages from me.",
    50013: N_(
        "I lack one of these permissions there: View Channel, Send Messages, Create Public Threads, "
        "Send Messages in Threads and Read Message History."
    ),
    NO_THREADS: N_("channels of this type have no threads. Write to me in a text channel."),
    ARCHIVED: N_("the thread is archived, and I may not open it: give me the permission Manage Threads."),
    LOCKED: N_("the thread is locked, and I may not write there: give me the permission Manage Threads."),
}


@dataclass(frozen=True, slots=True)
class File:
    """A text file that is attached to a message."""

    name: str
    content: str


class DiscordRejection(DeliveryError):
    """A permanent error from Discord. `code` is Discord's own error code, or 0 if it gave none."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class NotAnswerable(MessageNotFound):
    """Raised for an interaction that no longer accepts an answer, because it has expired or was already answered."""

    def __init__(self, code: int) -> None:
        super().__init__(f"Discord: {code}")
        self.answered = code == ACKNOWLEDGED


def explain(code: int, status: int) -> str:
    """Explain an error code of Discord's and say how to fix it."""
    if status == 401:
        return "Discord rejects DISCORD_TOKEN: it has to be copied again."
    return _WHY.get(code, f"Discord rejected the call (code {code}, HTTP {status}).")


class DiscordApi:
    """Discord's REST API through discord.py's own client, so that all calls share its rate limits."""

    def __init__(self, http: HTTPClient, session: aiohttp.ClientSession, api_url: str) -> None:
        self._http = http
        self._session = session
        self._api_url = api_url

    async def call(
        self, verb: Literal["GET", "POST", "PATCH"], path: str, body: Body | None = None, **ids: str
    ) -> Json:
        """Call a route that returns an object. Raises `MessageNotFound`, `RetryableError` or `DiscordRejection`."""
        answer = await self._request(Route(verb, path, **ids), body)
        if not isinstance(answer, dict):
            raise RetryableError(NOT_DISCORD, in_doubt=True)
        return cast("Json", answer)

    async def list_objects(self, path: str, **ids: str) -> list[Json]:
        """Return the objects in the list that a route answers with. Raises the same errors as `call`."""
        answer = await self._request(Route("GET", path, **ids))
        if not isinstance(answer, list):
            raise RetryableError(NOT_DISCORD, in_doubt=True)
        return [cast("Json", one) for one in cast("list[object]", answer) if isinstance(one, dict)]

    async def execute(self, verb: Literal["POST", "DELETE"], path: str, **ids: str) -> None:
        """Call a route that answers without a body. Raises the same errors as `call`."""
        if await self._request(Route(verb, path, **ids)) != "":
            raise RetryableError(NOT_DISCORD, in_doubt=True)

    async def _request(self, route: Route, body: Body | None = None) -> object:
        try:
            # discord.py alone would wait five minutes for a missing response.
            async with asyncio.timeout(CALL_SECONDS):
                if body is None:
                    return cast("object", await self._http.request(route))
                return cast("object", await self._http.request(route, json=dict(body)))
        except discord.RateLimited as error:
            raise RetryableError("Discord: rate limited", error.retry_after) from error
        except discord.HTTPException as error:
            response = cast("aiohttp.ClientResponse", error.response)
            # discord.py has read the body.
            raise _translate_rejection(error.status, response.headers, _parse(await response.text())) from error
        except ForeignAnswer as error:
            raise RetryableError(str(error), in_doubt=True) from error
        except (ValueError, KeyError) as error:
            # discord.py fails like this on half an answer, and on a rate limit that is not Discord's.
            raise RetryableError(NOT_DISCORD, in_doubt=True) from error
        except (TimeoutError, aiohttp.ClientError, ConnectionError, OSError) as error:
            raise _build_unreachable_error(error) from error

    async def fetch_message(self, channel: str, message: str) -> Json:
        """Return one message as Discord has it. Raises the same errors as `call`."""
        return await self.call("GET", MESSAGE, channel_id=channel, message_id=message)

    async def respond(self, interaction_id: int, token: str, body: Body, seconds: float) -> None:
        """Give an interaction its first answer. Raises `MessageNotFound`, `RetryableError` or `DiscordRejection`.

        This bypasses discord.py's client, which would send one answer at a time because of a rate limit that does not
        apply here. The URL itself authorizes the request, so no token is sent.
        """
        await self._post(f"/interactions/{interaction_id}/{token}/callback", body, seconds)

    async def follow_up(self, application_id: int, token: str, body: Body, file: File | None = None) -> None:
        """Give an answered interaction a further answer. Raises the same errors as `respond`."""
        await self._post(f"/webhooks/{application_id}/{token}", body, None, file)

    async def _post(self, path: str, body: Body, seconds: float | None, file: File | None = None) -> None:
        timeout = self._session.timeout if seconds is None else aiohttp.ClientTimeout(total=seconds)
        sent = aiohttp.JsonPayload(dict(body)) if file is None else _build_form(body, file)
        try:
            async with self._session.post(
                f"{self._api_url}{path}", data=sent, timeout=timeout, allow_redirects=False
            ) as response:
                if response.status == 204:
                    return
                answer = _parse(await response.text())
                if response.status != 200 or not _is_success(answer):
                    raise _translate_rejection(response.status, response.headers, answer)
        except (TimeoutError, aiohttp.ClientError, ConnectionError) as error:
            # Show only the error's type: its text can contain the URL, and with it the token.
            raise _build_unreachable_error(error) from None
        except UnicodeDecodeError:
            raise RetryableError(NOT_DISCORD, in_doubt=True) from None


def _build_form(body: Body, file: File) -> aiohttp.FormData:
    form = aiohttp.FormData()
    form.add_field("payload_json", json.dumps(dict(body)), content_type="application/json")
    form.add_field("files[0]", file.content.encode(), filename=file.name, content_type="text/plain; charset=utf-8")
    return form


def _read_retry_after(headers: Mapping[str, str], answer: object) -> float | None:
    """Return the seconds to wait, if given. Discord's own body has them with their fraction."""
    waits = cast("Json", answer).get("retry_after") if isinstance(answer, dict) else None
    if isinstance(waits, int | float) and not isinstance(waits, bool) and math.isfinite(waits) and waits >= 0:
        return float(waits)
    return read_retry_after(headers.get("Retry-After"))


def _parse(text: str) -> object:
    """Return the JSON value in a text; None if there is none."""
    try:
        return cast("object", json.loads(text))
    except (ValueError, RecursionError):
        return None


def _is_success(answer: object) -> bool:
    """Return True for a message, or for the interaction that Discord describes if a first answer asks for it.

    See https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-callback
    """
    return isinstance(answer, dict) and not {"id", "interaction"}.isdisjoint(cast("Json", answer))


def _read_code(answer: object) -> int | None:
    """Return the code of Discord's error object; None if this is none."""
    code = cast("Json", answer).get("code") if isinstance(answer, dict) else None
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def _translate_rejection(status: int, headers: Mapping[str, str], answer: object) -> Exception:
    """Return the error for an answer that reports a failure. `answer` is its JSON value, or None.

    Only Discord's own error object is permanent. Something in between may have answered, or Discord's own proxy, which
    says nothing about the call.
    """
    if status == 429:
        return RetryableError("Discord: rate limited", _read_retry_after(headers, answer))
    code = _read_code(answer)
    if code is None or status < 400:
        return RetryableError(str(ForeignAnswer(status)), in_doubt=True)
    if status >= 500 or code in _LATER:
        return RetryableError(f"Discord: code {code}, HTTP {status}")
    if code in {UNKNOWN_INTERACTION, ACKNOWLEDGED, NO_WEBHOOK}:
        return NotAnswerable(code)
    if code == NO_MESSAGE:
        return MessageNotFound(f"Discord: {code}")
    if code == 0 and status != 401:
        return RetryableError(f"Discord: code 0, HTTP {status}", in_doubt=True)
    return DiscordRejection(code, explain(code, status))


def _build_unreachable_error(error: Exception) -> RetryableError:
    is_sent = not isinstance(error, aiohttp.ClientConnectorError)
    return RetryableError(f"Discord cannot be reached ({type(error).__name__}).", in_doubt=is_sent)
