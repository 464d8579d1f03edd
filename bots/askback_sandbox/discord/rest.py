"""Discord's REST API: routes, tokens, rate limit headers, faults and the log."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from aiohttp import web
from pydantic import JsonValue

from askback_sandbox.json_values import JsonObject, copied

from . import limits
from .callbacks import Callbacks
from .faults import DiscordFault
from .gateway import Gateway
from .guild import Guild
from .messages import Messages, Writer
from .openapi import OpenApi
from .posting import Posting
from .reading import Reading
from .refusals import DiscordRefusalError
from .replies import Reply, Request
from .requests import read_body
from .threads import Threads
from .values import Call, Window

ROOT = "/discord/api/v10"
_PART = re.compile(r"\{(\w+)\}")
_SECRET = re.compile(r"(/(?:webhooks|interactions)/[^/]+)/[^/]+")


@dataclass(frozen=True)
class _Route:
    method: str
    template: str
    operation: str
    handler: Callable[[Request], Reply]
    pattern: re.Pattern[str]
    with_token: bool  # of the bot; interactions have theirs in the path

    @property
    def bucket(self) -> str:
        return f"{self.operation}-local"


class DiscordRest:
    """The routes under /discord/api/v10."""

    def __init__(self, guild: Guild, gateway: Gateway, posting: Posting, openapi: OpenApi | None) -> None:
        self._guild = guild
        self._openapi = openapi
        self._windows: dict[str, tuple[float, int]] = {}
        writer = Writer(guild, posting)
        self.reading = reading = Reading(guild)
        messages = Messages(guild, posting, writer)
        threads = Threads(guild, gateway, posting)
        callbacks = Callbacks(guild, posting, writer)
        message = "/channels/{channel_id}/messages/{message_id}"
        webhook = "/webhooks/{webhook_id}/{webhook_token}"
        followed = webhook + "/messages/{message_id}"
        original = webhook + "/messages/@original"
        self._routes = [
            _route("GET", "/users/@me", "get_my_user", reading.me),
            _route("GET", "/users/@me/guilds", "list_my_guilds", reading.guilds),
            _route("POST", "/users/@me/channels", "create_dm", threads.open_dm),
            _route("GET", "/users/{user_id}", "get_user", reading.user),
            _route("GET", "/oauth2/applications/@me", "get_my_oauth2_application", reading.application),
            _route("GET", "/applications/@me", "get_my_application", reading.application),
            _route("GET", "/gateway", "get_gateway", reading.gateway, with_token=False),
            _route("GET", "/gateway/bot", "get_bot_gateway", reading.bot_gateway),
            _route("GET", "/guilds/{guild_id}", "get_guild", reading.guild),
            _route("GET", "/guilds/{guild_id}/channels", "list_guild_channels", reading.channels),
            _route("GET", "/guilds/{guild_id}/threads/active", "get_active_guild_threads", reading.threads),
            _route("GET", "/guilds/{guild_id}/members/search", "search_guild_members", reading.search),
            _route("GET", "/guilds/{guild_id}/members/{user_id}", "get_guild_member", reading.member),
            _route("GET", "/guilds/{guild_id}/roles", "list_guild_roles", reading.roles),
            _route("GET", "/guilds/{guild_id}/roles/member-counts", "guild_role_member_counts", reading.role_counts),
            _route("GET", "/channels/{channel_id}", "get_channel", threads.get),
            _route("PATCH", "/channels/{channel_id}", "update_channel", threads.update),
            _route("DELETE", "/channels/{channel_id}", "delete_channel", threads.delete),
            _route("POST", "/channels/{channel_id}/typing", "trigger_typing_indicator", threads.typing),
            _route("POST", "/channels/{channel_id}/threads", "create_thread", threads.alone),
            _route("PUT", "/channels/{channel_id}/thread-members/@me", "join_thread", threads.join),
            _route("PUT", "/channels/{channel_id}/thread-members/{user_id}", "add_thread_member", threads.join),
            _route("GET", "/channels/{channel_id}/thread-members/{user_id}", "get_thread_member", threads.member),
            _route("GET", "/channels/{channel_id}/messages", "list_messages", messages.list_all),
            _route("POST", "/channels/{channel_id}/messages", "create_message", messages.create),
            _route("GET", message, "get_message", messages.get),
            _route("PATCH", message, "update_message", messages.update),
            _route("DELETE", message, "delete_message", messages.delete),
            _route("POST", message + "/threads", "create_thread_from_message", threads.from_message),
            _route(
                "POST",
                "/interactions/{interaction_id}/{interaction_token}/callback",
                "create_interaction_response",
                callbacks.respond,
                with_token=False,
            ),
            _route("POST", webhook, "execute_webhook", callbacks.follow_up, with_token=False),
            _route("GET", original, "get_original_webhook_message", callbacks.get, with_token=False),
            _route("PATCH", original, "update_original_webhook_message", callbacks.update, with_token=False),
            _route("DELETE", original, "delete_original_webhook_message", callbacks.delete, with_token=False),
            _route("GET", followed, "get_webhook_message", callbacks.get, with_token=False),
            _route("PATCH", followed, "update_webhook_message", callbacks.update, with_token=False),
            _route("DELETE", followed, "delete_webhook_message", callbacks.delete, with_token=False),
        ]

    def routes(self) -> list[web.RouteDef]:
        """Return the routes to mount."""
        return [web.route("*", ROOT + "/{tail:.*}", self._handle)]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        started = time.perf_counter()
        route, parts, known = self._find(request)
        operation = route.operation if route else "unknown"
        faults = self._guild.faults
        asked = Request(operation, parts, dict(request.query), {})
        foreign: DiscordFault | None = None
        try:
            body, files = await read_body(request, self._guild)
            asked = replace(asked, body=body, files=files, approve=self._approval(operation, body))
            if fault := faults.take("delay", operation):
                await self._guild.clock.sleep(fault.seconds)
            if faults.take("drop", operation):
                return _cut(request)
            if (foreign := faults.take("foreign", operation)) and not foreign.done:
                return foreign.to_response()
            if fault := faults.take("ratelimit", operation):
                reply = _too_many(fault)
            elif route is not None and (waits := self._spent(route, parts)):
                reply = _too_many(DiscordFault(kind="ratelimit", retry_after=waits))
            else:
                if fault := faults.take("error", operation):
                    raise DiscordRefusalError(fault.code, status=fault.status, message=fault.message)
                reply = self._answer(request, route, asked, known=known)
        except DiscordRefusalError as refusal:
            reply = Reply(refusal.answer(), status=refusal.status)
        self._note(request, asked, reply, started)
        if foreign is not None:
            return foreign.to_response()
        if faults.take("lost_answer", operation):
            return _cut(request)
        headers = {**(self._limits(route, parts) if route else {}), **reply.headers}
        return _response(reply, headers)

    def _find(self, request: web.Request) -> tuple[_Route | None, dict[str, str], bool]:
        """Return the route, the parts of the path, and True if the path exists at all."""
        path = request.path.removeprefix(ROOT).rstrip("/")
        known = False
        for route in self._routes:
            match = route.pattern.fullmatch(path)
            if match is not None:
                known = True
                if route.method == request.method:
                    return route, match.groupdict(), True
        return None, {}, known

    def _answer(self, request: web.Request, route: _Route | None, asked: Request, *, known: bool) -> Reply:
        if route is None:
            status, text = (405, "Method Not Allowed") if known else (404, "Not Found")
            raise DiscordRefusalError(0, status=status, message=f"{status}: {text}")
        if route.with_token and request.headers.get("Authorization") != f"Bot {self._guild.app.token}":
            raise DiscordRefusalError(0, status=401, message="401: Unauthorized")
        for name, value in asked.parts.items():
            if name.endswith("_id") and not (value.isascii() and value.isdigit() and len(value) < 21):
                raise DiscordRefusalError(0, status=404, message="404: Not Found")
        return route.handler(asked)

    def _approval(self, operation: str, body: JsonObject) -> Callable[[], None]:
        def approve() -> None:
            if self._openapi is not None:
                self._openapi.check(operation, body)

        return approve

    def _note(self, request: web.Request, asked: Request, reply: Reply, started: float) -> None:
        path = _SECRET.sub(r"\1/…", request.path.removeprefix(ROOT))
        call = Call(
            operation=asked.operation,
            method=request.method,
            path=path,
            body=copied(asked.body),
            status=reply.status,
            answer=reply.body,
            at=self._guild.clock.time(),
            ms=(time.perf_counter() - started) * 1000,
        )
        self._guild.log.append(call)
        self._guild.touch()

    def _limits(self, route: _Route, parts: dict[str, str]) -> dict[str, str]:
        """Return the headers of a bucket and count the request.

        Only a bucket that refuses requests ever reports that none are left.
        """
        window, (since, used) = self._window(route), self._used(route, parts)
        used = min(used + 1, window.requests if window.refuses else window.requests - 1)
        self._windows[_key(route, parts)] = (since, used)
        after = window.seconds - (self._guild.clock.time() - since)
        return {
            "X-RateLimit-Bucket": route.bucket,
            "X-RateLimit-Limit": str(window.requests),
            "X-RateLimit-Remaining": str(window.requests - used),
            "X-RateLimit-Reset": f"{since + window.seconds:.3f}",
            "X-RateLimit-Reset-After": f"{after:.3f}",
        }

    def _window(self, route: _Route) -> Window:
        return self._guild.windows.get(route.operation, Window(limits.BUCKET_REQUESTS, limits.BUCKET_SECONDS))

    def _used(self, route: _Route, parts: dict[str, str]) -> tuple[float, int]:
        """Return the start of the bucket's present window, and the number of requests in it."""
        now = self._guild.clock.time()
        since, used = self._windows.get(_key(route, parts), (now, 0))
        return (now, 0) if now - since >= self._window(route).seconds else (since, used)

    def _spent(self, route: _Route, parts: dict[str, str]) -> float | None:
        """Return the seconds until a request is allowed again; None if one is allowed now."""
        window, (since, used) = self._window(route), self._used(route, parts)
        if not window.refuses or used < window.requests:
            return None
        return window.seconds - (self._guild.clock.time() - since)


def _key(route: _Route, parts: dict[str, str]) -> str:
    major = parts.get("channel_id") or parts.get("guild_id") or parts.get("webhook_id") or ""
    return f"{route.bucket}/{major}"


def _route(
    method: str, template: str, operation: str, handler: Callable[[Request], Reply], *, with_token: bool = True
) -> _Route:
    pattern = re.compile(_PART.sub(r"(?P<\1>[^/]+)", template))
    return _Route(method, template, operation, handler, pattern, with_token)


def _too_many(fault: DiscordFault) -> Reply:
    headers = {
        "Retry-After": str(max(1, round(fault.retry_after))),
        "X-RateLimit-Scope": "global" if fault.everywhere else "user",
    }
    if fault.everywhere:
        headers["X-RateLimit-Global"] = "true"
    if fault.via:
        headers["Via"] = "1.1 google"
    else:
        # The proxy in front of Discord answers in its own words, and not in JSON.
        return Reply("error code: 1015", status=429, headers=headers)
    body: JsonValue = {
        "message": "You are being rate limited.",
        "retry_after": fault.retry_after,
        "global": fault.everywhere,
    }
    return Reply(body, status=429, headers=headers)


def _response(reply: Reply, headers: dict[str, str]) -> web.Response:
    if reply.status == 204:
        return web.Response(status=204, headers=headers)
    # discord.py reads JSON only when the type is exactly this, without a charset.
    kind = {"Content-Type": "text/plain" if isinstance(reply.body, str) else "application/json"}
    data = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
    return web.Response(status=reply.status, body=data.encode(), headers={**headers, **kind})


def _cut(request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
