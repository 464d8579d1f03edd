"""Checks what the bot needs from Discord: its token, its application, the gateway and its permissions."""

from __future__ import annotations

__all__ = ["examine", "examine_token"]

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import aiohttp
import discord
from pydantic import SecretStr

from askback.errors import OperatorError
from askback.internal.clock import utc_now
from askback.network.network_error import get_failure_reason
from askback.ports.clock_check import check_clock
from askback.ports.findings import Finding, Scene, report_broken, report_error, report_good, report_warning
from askback.settings.loader import load
from askback_discord.api_calls import Json
from askback_discord.install import INTENTS, PERMISSIONS, build_invite_link
from askback_discord.settings import OPENING, DiscordSettings

NETWORK = "Check the network, any proxy, and ASKBACK_DISCORD_API_URL if it is set."
TOKEN = "Reset the token on the page Bot in Discord's developer portal, and set DISCORD_TOKEN to the new one."  # noqa: S105
CONTENT = "Turn on Message Content Intent on the page Bot in Discord's developer portal, and restart the bot."
AGAIN = "Wait a minute, and run askback doctor again."
GATEWAY = "Allow WebSockets (wss://*.discord.gg, port 443) in the firewall or proxy, and check the network."
SPLIT = (
    "Run {some}, each with its own shard (askback discord --shard {first} up to {last}), on one database in PostgreSQL."
)
SEEN_GUILDS = 10
"""Maximum number of servers whose missing permissions are listed. More are only counted."""
_HELLO, _IDENTIFY, _DISPATCH, _INVALID = 10, 2, 0, 9
_LOSSES = {
    "read_messages": "the bot does not see the channels",
    "send_messages": "the bot cannot post",
    "create_public_threads": "the bot cannot begin the thread of a conversation",
    "send_messages_in_threads": "the bot cannot answer in threads",
    "read_message_history": "the bot cannot find a card that it posted just before a crash",
}


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    data: object
    date: str | None

    @property
    def json(self) -> Json:
        data = self.data
        return cast("Json", data) if isinstance(data, dict) else {}


class _Unreachable(Exception):
    """Raised if there was no response. The text gives the reason in a sentence."""


class _Closed(Exception):
    """Raised if the gateway closes the connection."""

    def __init__(self, code: int | None) -> None:
        self.code = code
        super().__init__(code)


async def examine(scene: Scene) -> Sequence[Finding]:
    """Check everything that the bot needs from Discord. Leaves the running bot's gateway session alone."""
    try:
        settings = load(DiscordSettings)
    except OperatorError as error:
        return report_error("settings", error, "Fix the setting there.")
    timeout = aiohttp.ClientTimeout(total=scene.seconds)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        try:
            application = await _get(session, settings, "/applications/@me", scene.seconds)
        except _Unreachable as error:
            return [report_broken("token", str(error), NETWORK)]
        clock = check_clock("Discord", application.date, utc_now())
        if (rejected := _find_rejection(application)) is not None:
            return [rejected, *clock]
        reads_all, found = _examine_application(application.json)
        there, gateway, shards = await asyncio.gather(
            _list_guilds(session, settings, scene),
            _examine_gateway(session, settings, reads_all, scene),
            _examine_shards(session, settings, scene.seconds),
        )
        guilds = there if isinstance(there, list) else []
        found.append(_examine_access(settings, application.json, guilds))
        about = _examine_guilds(settings, application.json, scene, guilds) if isinstance(there, list) else [there]
        return [*found, *gateway, *shards, *about, *clock]


async def examine_token(token: SecretStr, seconds: float) -> Sequence[Finding]:
    """Check one bot token and its application, before the token is in the settings. Opens no gateway session."""
    settings = load(DiscordSettings, token=token.get_secret_value())
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=seconds)) as session:
        try:
            application = await _get(session, settings, "/applications/@me", seconds)
        except _Unreachable as error:
            return [report_broken("token", str(error), NETWORK)]
    if (rejected := _find_rejection(application)) is not None:
        return [rejected]
    _, found = _examine_application(application.json)
    return [*found, _examine_access(settings, application.json, [])]


async def _get(session: aiohttp.ClientSession, settings: DiscordSettings, path: str, seconds: float) -> _Answer:
    headers = {
        "Authorization": f"Bot {settings.token.get_secret_value()}",
        # Discord rejects clients whose User-Agent has another form.
        "User-Agent": f"DiscordBot (https://github.com/Rapptz/discord.py {discord.__version__}) askback doctor",
    }
    try:
        async with session.get(f"{settings.api_url}{path}", headers=headers, allow_redirects=False) as response:
            try:
                data = cast("object", json.loads(await response.text()))
            except ValueError:
                data = None
            return _Answer(response.status, data, response.headers.get("Date"))
    except TimeoutError:
        raise _Unreachable(f"Discord did not answer within {seconds:g} s.") from None
    except (aiohttp.ClientError, OSError) as error:
        raise _Unreachable(f"Could not reach Discord ({get_failure_reason(error)}).") from None


def _find_rejection(answer: _Answer) -> Finding | None:
    """Return the problem with the token, or None if it works."""
    if answer.status == 200 and "id" in answer.json:
        return None
    if answer.status == 401 and "code" in answer.json:
        return report_broken("token", "Discord does not accept DISCORD_TOKEN.", TOKEN)
    if answer.status == 429 or answer.status >= 500:
        return report_warning("token", f"Discord cannot check the token at the moment (HTTP {answer.status}).", AGAIN)
    return report_broken(
        "token", f"The server at Discord's address is not Discord's API (HTTP {answer.status}).", NETWORK
    )


def _examine_application(data: Json) -> tuple[bool, list[Finding]]:
    """Return True if the bot may read messages that do not mention it, and the findings on the application."""
    found = [
        report_good("token", f"It belongs to the application {_read_text(data, 'name')} ({_read_text(data, 'id')}).")
    ]
    number = data.get("flags")
    flags = discord.ApplicationFlags._from_value(number if isinstance(number, int) else 0)  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001 - its only maker
    reads_all = flags.gateway_message_content or flags.gateway_message_content_limited
    if reads_all:
        found.append(report_good("intents", "The bot may read messages that do not mention it."))
    else:
        summary = "Message Content Intent is off: the bot only reads messages that mention it, also in threads."
        found.append(report_warning("intents", summary, CONTENT))
    if data.get("interactions_endpoint_url"):
        summary = "The application sends clicks to an HTTP address, so the bot never receives them."
        cure = "Clear Interactions Endpoint URL on the page General Information in Discord's developer portal."
        found.append(report_broken("clicks", summary, cure))
    if data.get("bot_require_code_grant") is True:
        cure = "Turn off Requires OAuth2 Code Grant on the page Bot in Discord's developer portal."
        found.append(
            report_warning("invitation", "Nobody can invite the bot with its link: it needs a code grant.", cure)
        )
    return reads_all, found


def _examine_access(settings: DiscordSettings, application: Json, guilds: Sequence[Json]) -> Finding:
    """Check the rules for talking to the bot."""
    public = application.get("bot_public") is not False
    access = settings.to_access(public=public)
    if access.is_restricted or access.open:
        return report_good("access", access.describe())
    summary = f"Nobody may talk to the bot. {OPENING.why}"
    ids = [_read_text(guild, "id") for guild in guilds[:SEEN_GUILDS]] or ["the ids of your servers"]
    return report_warning("access", summary, f"Set {OPENING.format_setting(*ids)}, or {OPENING.otherwise}.")


# The gateway


async def _examine_gateway(
    session: aiohttp.ClientSession, settings: DiscordSettings, reads_all: bool, scene: Scene
) -> list[Finding]:
    if scene.worker is not None:
        return [
            report_good("gateway", "The running bot keeps the connection, so the check did not open another session.")
        ]
    intents = INTENTS | discord.Intents(message_content=reads_all)
    try:
        async with asyncio.timeout(scene.seconds):
            await _open_session(session, settings, intents)
    except TimeoutError:
        return [report_broken("gateway", f"Discord's gateway was not ready within {scene.seconds:g} s.", GATEWAY)]
    except _Closed as closed:
        return [_explain_close(closed.code)]
    except aiohttp.WSServerHandshakeError as error:
        return [report_broken("gateway", f"Discord's gateway rejected the connection (HTTP {error.status}).", GATEWAY)]
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return [report_broken("gateway", f"Could not reach Discord's gateway ({get_failure_reason(error)}).", GATEWAY)]
    return [report_good("gateway", "A test session became ready.")]


async def _open_session(session: aiohttp.ClientSession, settings: DiscordSettings, intents: discord.Intents) -> None:
    """Open a session as the bot does, and close it when it is ready. Raises `_Closed`."""
    properties = {"os": sys.platform, "browser": "askback doctor", "device": "askback doctor"}
    async with session.ws_connect(
        settings.gateway_url, params={"v": "10", "encoding": "json"}, max_msg_size=0
    ) as socket:
        while True:
            message = await socket.receive()
            if message.type is not aiohttp.WSMsgType.TEXT:
                raise _Closed(socket.close_code)
            frame = cast("Json", json.loads(cast("str", message.data)))
            operation = frame.get("op")
            if operation == _HELLO:
                token = settings.token.get_secret_value()
                shard = [settings.part.number, settings.part.count]
                identify = {"token": token, "intents": intents.value, "properties": properties, "shard": shard}
                await socket.send_json({"op": _IDENTIFY, "d": identify})
            elif operation == _DISPATCH and frame.get("t") == "READY":
                await socket.close(code=1000)
                return
            elif operation == _INVALID:
                raise _Closed(_INVALID)


def _explain_close(code: int | None) -> Finding:
    match code:
        case 4004:
            return report_broken("gateway", "Discord's gateway does not accept DISCORD_TOKEN.", TOKEN)
        case 4013 | 4014:
            summary = "Discord does not grant the intents that the bot asks for (4014)."
            return report_broken("gateway", summary.replace("4014", str(code)), CONTENT)
        case 4010:
            return report_broken("gateway", "The shard is invalid (4010).", "Check ASKBACK_DISCORD_SHARD.")
        case 4011:
            summary = "The bot is on too many servers for its number of shards (4011)."
            return report_broken("gateway", summary, SPLIT.format(some="several processes", first="0/2", last="1/2"))
        case 9:
            return report_warning(
                "gateway", "Discord rejected the session, probably because sessions begin too often.", AGAIN
            )
        case _:
            return report_broken("gateway", f"Discord's gateway closed the connection ({code}).", AGAIN)


async def _examine_shards(session: aiohttp.ClientSession, settings: DiscordSettings, seconds: float) -> list[Finding]:
    """Check the number of shards that Discord recommends, and the sessions that may still be started today."""
    try:
        answer = await _get(session, settings, "/gateway/bot", seconds)
    except _Unreachable as error:
        return [report_broken("shards", str(error), NETWORK)]
    wanted, limit = answer.json.get("shards"), answer.json.get("session_start_limit")
    if answer.status != 200 or not isinstance(wanted, int) or not isinstance(limit, dict):
        return [
            report_warning(
                "shards", f"Could not read how many shards Discord recommends (HTTP {answer.status}).", AGAIN
            )
        ]
    part, found = settings.part, list[Finding]()
    if part.count == 1:
        summary = "One process receives all events"
    else:
        also = ", and direct messages" if part.contains(None) else ""
        summary = f"With shard {part}, a process receives the events of that part of the servers{also}"
    if part.count >= wanted:
        found.append(report_good("shards", f"{summary}; Discord recommends {_format_count(wanted, 'shard')}."))
    else:
        cure = SPLIT.format(some=f"{wanted} processes", first=f"0/{wanted}", last=f"{wanted - 1}/{wanted}")
        found.append(report_warning("shards", f"{summary}; Discord recommends {_format_count(wanted, 'shard')}.", cure))
    left = cast("Json", limit).get("remaining")
    total, again = cast("Json", limit).get("total"), cast("Json", limit).get("reset_after")
    if isinstance(left, int) and isinstance(total, int) and left * 10 < total:
        when = f" in {round(again / 60_000)} minutes" if isinstance(again, int | float) else " within a day"
        summary = f"The bot may begin {_format_count(left, 'more session')} of {total} before the limit resets{when}."
        found.append(
            report_warning("sessions", summary, "Find out why the bot restarts so often, and keep it running.")
        )
    return found


# The servers


async def _list_guilds(session: aiohttp.ClientSession, settings: DiscordSettings, scene: Scene) -> list[Json] | Finding:
    """Return the servers that the bot is on, or the reason why they are unknown."""
    try:
        answer = await _get(session, settings, "/users/@me/guilds", scene.seconds)
    except _Unreachable as error:
        return report_broken("servers", str(error), NETWORK)
    data = answer.data
    if answer.status != 200 or not isinstance(data, list):
        return report_warning("servers", f"Could not list the bot's servers (HTTP {answer.status}).", AGAIN)
    return [cast("Json", guild) for guild in cast("list[object]", data) if isinstance(guild, dict)]


def _examine_guilds(
    settings: DiscordSettings, application: Json, scene: Scene, guilds: Sequence[Json]
) -> list[Finding]:
    """Check the bot's permissions on each server. Permissions that single channels deny are not checked."""
    link = _build_invitation(application)
    found: list[Finding] = []
    if not guilds:
        found.append(report_warning("servers", "The bot is on no server yet.", f"Open {link} and choose your server."))
    lacking = [(guild, missing) for guild in guilds if (missing := _list_missing(guild))]
    for guild, missing in lacking[:SEEN_GUILDS]:
        where = f"{_read_text(guild, 'name')} ({_read_text(guild, 'id')})"
        for name in missing:
            loss = f": without it, {_LOSSES[name]}" if name in _LOSSES else ""
            summary = f"On {where}, the bot lacks the permission {_format_permission(name)}{loss}."
            cure = f"Grant it to the bot's role (Server Settings, Roles), or open {link} again."
            found.append(report_broken("permissions", summary, cure))
    if len(lacking) > SEEN_GUILDS:
        summary = f"On {len(lacking) - SEEN_GUILDS} more servers, the bot lacks permissions, too."
        found.append(report_broken("permissions", summary, f"Open {link} again for each of them."))
    if guilds and not lacking:
        count = f"all {len(guilds)} servers" if len(guilds) > 1 else f"the server {_read_text(guilds[0], 'name')}"
        found.append(report_good("permissions", f"The bot has the permissions that it needs on {count}."))
    there = {_read_text(guild, "id") for guild in guilds}
    served = [one for one in there if settings.part.contains(one)]
    if guilds and len(served) < len(guilds):
        summary = f"Of {_format_count(len(guilds), 'server')}, shard {settings.part} serves {len(served)}."
        found.append(report_good("servers", f"{summary} Processes with the other shards serve the rest."))
    gone = scene.tenants - there
    if gone:
        summary = f"There are open questions on a server that the bot has left ({', '.join(sorted(gone))})."
        cure = f"Invite it again with {link}, or cancel the questions: askback pending, askback cancel ID"
        found.append(report_warning("servers", summary, cure))
    return found


def _list_missing(guild: Mapping[str, object]) -> list[str]:
    permissions = _read_text(guild, "permissions")
    held = discord.Permissions(int(permissions) if permissions.isdigit() else 0)
    if held.administrator:
        return []
    return [name for name, wanted in PERMISSIONS if wanted and not getattr(held, name)]


def _format_count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _format_permission(name: str) -> str:
    """Return the name of a permission as Discord's server settings show it."""
    return "View Channels" if name == "read_messages" else name.replace("_", " ").title().replace(" In ", " in ")


def _build_invitation(application: Json) -> str:
    identity = _read_text(application, "id")
    return build_invite_link(int(identity)) if identity.isdigit() else "the link of: askback discord --invite"


def _read_text(data: Mapping[str, object], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else "?"
