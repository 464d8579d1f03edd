"""Checks what the bot needs from Slack: its tokens, their scopes, and the socket or the signed HTTP endpoint."""

from __future__ import annotations

__all__ = ["examine", "examine_app_token", "examine_bot_token", "examine_signing_secret"]

import asyncio
import json
import re
import socket
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

import aiohttp
from pydantic import SecretStr

from askback.errors import OperatorError
from askback.internal.clock import utc_now
from askback.network.network_error import get_failure_reason
from askback.ports.clock_check import check_clock
from askback.ports.findings import Finding, Scene, report_broken, report_error, report_good, report_warning
from askback.settings.address import Address
from askback.settings.loader import load
from askback_slack.install import OPTIONAL, SCOPES
from askback_slack.json_access import get_object, get_text
from askback_slack.settings import SlackCalls, SlackSettings, load_settings

NETWORK = "Check the network, any proxy, and ASKBACK_SLACK_API_URL if it is set."
BOT_TOKEN = "Copy the Bot User OAuth Token (xoxb-…) from OAuth & Permissions, and set SLACK_BOT_TOKEN."  # noqa: S105
REINSTALL = "Add it under OAuth & Permissions, Bot Token Scopes, then reinstall the app (Install App)."
ANEW = "Reinstall the app (Install App), copy the new Bot User OAuth Token, and set SLACK_BOT_TOKEN."
APP_TOKEN = "Create an app-level token with connections:write in the same app (Basic Information); set SLACK_APP_TOKEN."  # noqa: S105
SOCKET_MODE = "Turn on Socket Mode in the app's settings (Socket Mode, Enable Socket Mode)."
SIGNING = "Copy the Signing Secret from Basic Information, and set SLACK_SIGNING_SECRET."
AGAIN = "Wait a minute, and run askback doctor again."
_LATER = frozenset({"ratelimited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"})
_REVOKED = {
    "token_revoked": "SLACK_BOT_TOKEN was revoked.",
    "token_expired": "SLACK_BOT_TOKEN has expired.",
    "account_inactive": "The app was removed from the workspace.",
}
_SECRET = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class _Answer:
    data: Mapping[str, object]
    headers: Mapping[str, str]

    @property
    def error(self) -> str | None:
        """Slack's error code, or None after a success."""
        return None if self.data.get("ok") is True else get_text(self.data, "error")


class _Unreachable(Exception):
    """Raised if there was no readable answer. The text gives the reason in a sentence."""


class _Slack:
    def __init__(self, session: aiohttp.ClientSession, settings: SlackSettings, seconds: float) -> None:
        self._session = session
        self._base = settings.api_url
        self._seconds = seconds

    async def call(self, method: str, token: SecretStr, **arguments: str) -> _Answer:
        headers = {"Authorization": f"Bearer {token.get_secret_value()}"}
        try:
            async with self._session.post(
                f"{self._base}{method}", headers=headers, data=arguments, allow_redirects=False
            ) as response:
                try:
                    data = get_object(cast("object", json.loads(await response.text())))
                except ValueError:
                    data = get_object(None)
                if data.get("ok") is not True and get_text(data, "error") is None:
                    raise _Unreachable(f"The server at Slack's address is not Slack (HTTP {response.status}).")
                return _Answer(data, response.headers)
        except TimeoutError:
            raise _Unreachable(f"Slack did not answer within {self._seconds:g} s.") from None
        except (aiohttp.ClientError, OSError) as error:
            raise _Unreachable(f"Could not reach Slack ({get_failure_reason(error)}).") from None

    async def fetch_hello(self, address: str) -> Mapping[str, object]:
        """Open a socket, wait for Slack's first message, close it and return the message. Raises `_Unreachable`."""
        try:
            async with asyncio.timeout(self._seconds), self._session.ws_connect(address) as opened:
                message = await opened.receive()
                data = message.data if message.type is aiohttp.WSMsgType.TEXT else "null"
                return get_object(json.loads(cast("str", data)))
        except TimeoutError:
            raise _Unreachable(f"Slack sent no hello on a new socket within {self._seconds:g} s.") from None
        except aiohttp.WSServerHandshakeError as error:
            raise _Unreachable(f"Slack rejected the socket (HTTP {error.status}).") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _Unreachable(f"Could not open a socket to Slack ({get_failure_reason(error)}).") from None


async def examine(scene: Scene) -> Sequence[Finding]:
    """Check everything that the bot needs from Slack.

    Leaves the running bot's socket alone: a second socket would take clicks from it.
    """
    try:
        settings = load_settings()
    except OperatorError as error:
        return report_error("settings", error, "Fix the setting there.")
    async with _open_slack(settings, scene.seconds) as slack:
        if settings.http is not None:
            return [
                *(await _examine_bot_token(slack, settings, scene))[0],
                *_examine_http(settings, settings.http, scene),
            ]
        (about_bot, app_id), about_socket = await asyncio.gather(
            _examine_bot_token(slack, settings, scene), _examine_socket(slack, settings, scene)
        )
        found, connected = about_socket
        if app_id is not None and connected is not None and app_id != connected:
            summary = (
                f"The two tokens belong to different apps (bot: {app_id}, socket: {connected}), so no events arrive."
            )
            found = [*found, report_broken("app token", summary, APP_TOKEN)]
        return [*about_bot, *found]


@asynccontextmanager
async def _open_slack(settings: SlackSettings, seconds: float) -> AsyncGenerator[_Slack]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=seconds)) as session:
        yield _Slack(session, settings, seconds)


async def examine_bot_token(token: SecretStr, seconds: float) -> Sequence[Finding]:
    """Check one bot token, before it is in the settings."""
    settings = load(SlackCalls, bot_token=token.get_secret_value())
    async with _open_slack(settings, seconds) as slack:
        return (await _examine_bot_token(slack, settings, Scene(seconds=seconds)))[0]


async def examine_app_token(token: SecretStr, bot_token: SecretStr, seconds: float) -> Sequence[Finding]:
    """Check one app-level token, before it is in the settings. Opens no socket: it could take clicks from a bot."""
    settings = load(SlackCalls, bot_token=bot_token.get_secret_value(), app_token=token.get_secret_value())
    async with _open_slack(settings, seconds) as slack:
        try:
            answer = await slack.call("apps.connections.open", token)
        except _Unreachable as error:
            return [report_broken("app token", str(error), NETWORK)]
    return [_judge_socket_address(answer)]


# The bot's token


async def _examine_bot_token(slack: _Slack, settings: SlackSettings, scene: Scene) -> tuple[list[Finding], str | None]:
    """Check the bot's token. Return the findings and the id of the token's app, if known."""
    try:
        me = await slack.call("auth.test", settings.bot_token)
    except _Unreachable as error:
        return [report_broken("bot token", str(error), NETWORK)], None
    clock = check_clock("Slack", me.headers.get("Date"), utc_now())
    if me.error is not None:
        return [_explain_rejection(me.error), *clock], None
    if get_text(me.data, "bot_id") is None:
        summary = "SLACK_BOT_TOKEN is a person's token and not the bot's."
        return [report_broken("bot token", summary, BOT_TOKEN), *clock], None
    team, team_id = get_text(me.data, "team") or "?", get_text(me.data, "team_id") or "?"
    name = get_text(me.data, "user") or "?"
    found = [
        report_good("bot token", f"The bot is {name} in the workspace {team} ({team_id})."),
        report_good("access", settings.to_access(get_text(me.data, "enterprise_id") or team_id).describe()),
    ]
    elsewhere = scene.tenants - {team_id, get_text(me.data, "enterprise_id") or team_id}
    if elsewhere:
        summary = (
            f"Another workspace has open questions ({', '.join(sorted(elsewhere))}), which this token cannot reach."
        )
        cure = "Set the SLACK_BOT_TOKEN of that workspace, or cancel the questions: askback pending, askback cancel ID"
        found.append(report_warning("workspace", summary, cure))
    return [*found, *_examine_scopes(me.headers), *clock], await _find_app_id(slack, settings, me)


def _explain_rejection(code: str) -> Finding:
    if code in _LATER:
        return report_warning("bot token", f"Slack cannot check the token at the moment ({code}).", AGAIN)
    if code in _REVOKED:
        return report_broken("bot token", _REVOKED[code], ANEW)
    return report_broken("bot token", f"Slack does not accept SLACK_BOT_TOKEN ({code}).", BOT_TOKEN)


def _examine_scopes(headers: Mapping[str, str]) -> list[Finding]:
    scopes = headers.get("X-OAuth-Scopes")
    if scopes is None:
        cure = "Compare Bot Token Scopes under OAuth & Permissions with manifests/slack.json."
        return [report_warning("scopes", "Slack's response does not list the token's scopes.", cure)]
    held = {scope.strip() for scope in scopes.split(",")}
    missing = [
        (report_warning if scope in OPTIONAL else report_broken)(
            "scopes", f"{scope} is missing: without it, {loss}.", REINSTALL
        )
        for scope, loss in SCOPES.items()
        if scope not in held
    ]
    return missing or [report_good("scopes", f"The token has all {len(SCOPES)} scopes that the bot needs.")]


async def _find_app_id(slack: _Slack, settings: SlackSettings, me: _Answer) -> str | None:
    """Return the id of the app that the token belongs to, or None if Slack does not give it."""
    if (app_id := get_text(me.data, "app_id")) is not None:
        return app_id
    try:
        answer = await slack.call("bots.info", settings.bot_token, bot=get_text(me.data, "bot_id") or "")
    except _Unreachable:
        return None  # the id is only for comparison, and the findings already say if Slack answers
    return get_text(answer.data, "bot", "app_id")


# The socket


async def _examine_socket(slack: _Slack, settings: SlackSettings, scene: Scene) -> tuple[list[Finding], str | None]:
    """Check that a socket can be opened. Return the findings and the id of the socket's app, if known."""
    if settings.app_token is None:
        return [report_broken("app token", "SLACK_APP_TOKEN is missing.", APP_TOKEN)], None
    try:
        answer = await slack.call("apps.connections.open", settings.app_token)
    except _Unreachable as error:
        return [report_broken("app token", str(error), NETWORK)], None
    accepted, address = _judge_socket_address(answer), get_text(answer.data, "url")
    if accepted.grade != "good" or address is None:
        return [accepted], None
    if scene.worker is not None:
        return [
            accepted,
            report_good("socket", "The running bot has a socket, so the check did not open another."),
        ], None
    try:
        hello = await slack.fetch_hello(address)
    except _Unreachable as error:
        cure = "Allow WebSockets (wss://*.slack.com, port 443) in the firewall or proxy."
        return [accepted, report_broken("socket", str(error), cure)], None
    if hello.get("type") != "hello":
        reason = get_text(hello, "reason") or "it closed without a reason"
        if reason == "link_disabled":
            return [accepted, report_broken("socket", "Socket Mode is turned off for the app.", SOCKET_MODE)], None
        if reason == "too_many_websockets":
            summary = "This app already has ten open sockets, the maximum that Slack allows."
            return [accepted, report_broken("socket", summary, "Stop processes of this app that should not run.")], None
        return [accepted, report_broken("socket", f"Slack sent no hello on the socket ({reason}).", SOCKET_MODE)], None
    found = [accepted, report_good("socket", "A socket opened, and Slack sent its hello.")]
    others = hello.get("num_connections")
    if isinstance(others, int) and others > 1:
        more = "1 more socket is" if others == 2 else f"{others - 1} more sockets are"
        summary = f"{more} open for this app, and each gets only some of the clicks."
        cure = "Stop the other process, or create a separate app for each bot."
        found.append(report_warning("socket", summary, cure))
    return found, get_text(hello, "connection_info", "app_id")


def _judge_socket_address(answer: _Answer) -> Finding:
    """Judge Slack's answer to the request for a socket's address."""
    if answer.error is not None or get_text(answer.data, "url") is None:
        return _explain_no_socket(answer.error or "no_url")
    return report_good("app token", "Slack accepts it for opening sockets.")


def _explain_no_socket(code: str) -> Finding:
    if code in _LATER:
        return report_warning("app token", f"Slack cannot open a socket at the moment ({code}).", AGAIN)
    if code == "missing_scope":
        return report_broken("app token", "SLACK_APP_TOKEN lacks the scope connections:write.", APP_TOKEN)
    if code in ("invalid_auth", "not_authed", "not_allowed_token_type", "token_revoked", "account_inactive"):
        return report_broken("app token", f"Slack does not accept SLACK_APP_TOKEN ({code}).", APP_TOKEN)
    return report_broken("socket", f"Slack does not open a socket ({code}).", SOCKET_MODE)


# The endpoint for signed requests


def _examine_http(settings: SlackSettings, http: str, scene: Scene) -> list[Finding]:
    """Check the address that Slack sends requests to, and the secret that signs them."""
    secret = settings.signing_secret
    found: list[Finding] = []
    if secret is None:
        found.append(report_broken("signing secret", "SLACK_SIGNING_SECRET is missing.", SIGNING))
    else:
        found.append(examine_signing_secret(secret))
    if scene.worker is not None:
        return [*found, report_good("address", f"The running bot uses {http}, so the check did not try it.")]
    address = Address.read(http)
    try:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        with socket.create_server((address.host, address.port), family=family):
            pass
    except OSError as error:
        summary = f"Could not listen on {http} ({error.strerror or type(error).__name__})."
        cure = "Stop the program that listens there, or set ASKBACK_SLACK_HTTP to another address."
        return [*found, report_broken("address", summary, cure)]
    return [*found, report_good("address", f"{http} is free for Slack's requests.")]


def examine_signing_secret(secret: SecretStr) -> Finding:
    """Check the form of the secret that signs Slack's requests."""
    if _SECRET.fullmatch(secret.get_secret_value()):
        return report_good("signing secret", "It is set. Only Slack's first request shows if it is the right one.")
    summary = "SLACK_SIGNING_SECRET does not look like a signing secret, which has 32 hexadecimal digits."
    return report_warning("signing secret", summary, SIGNING)
