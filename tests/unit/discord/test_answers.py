"""Only Discord's own error object is a permanent refusal; an answer of anything else leaves the call in doubt."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import discord
import pytest
from aiohttp import web

from askback.domain.identity import MessageRef, Place
from askback.ports.platform import MessageNotFound, RetryableError
from askback_discord.answer_check import build_answer_check
from askback_discord.api_calls import MESSAGE, Body, DiscordApi, DiscordRejection, NotAnswerable
from askback_discord.login import use_addresses
from askback_discord.posting import DiscordPlatform
from askback_discord.settings import DiscordSettings

HTML, JSON, TEXT = "text/html", "application/json", "text/plain"
PAGE = "<html>Maintenance</html>"
FOREIGN = {
    "page": (200, PAGE, HTML),
    "page as JSON": (200, PAGE, JSON),
    "empty page": (200, "", HTML),
    "empty JSON": (200, "", JSON),
    "half": (200, '{"id": "1', JSON),
    "half in Latin-1": (200, '{"id": "\udcff"}', JSON),
    "text": (200, "ok", TEXT),
    "null": (200, "null", JSON),
    "redirect": (302, "moved", HTML),
    "blocked": (403, PAGE, HTML),
    "blocked in JSON": (403, '{"message": "Forbidden"}', JSON),
    "blocked by Discord's own proxy": (403, '{"message": "internal network error", "code": 40333}', JSON),
    "no such route": (404, "no route", TEXT),
    "Discord knows no such route": (404, '{"message": "404: Not Found", "code": 0}', JSON),
    "code of another type": (400, '{"message": "Bad", "code": "BAD"}', JSON),
    "not accepted by something else": (401, PAGE, HTML),
    "not accepted in another form": (401, '{"message": "Unauthorized"}', JSON),
    "proxy wants a password": (407, PAGE, HTML),
    "overloaded": (400, '{"message": "Try again a little later", "code": 130000}', JSON),
}
BODY: Body = {"content": "x", "allowed_mentions": {"parse": []}}

Call = Callable[[DiscordApi], Awaitable[object]]
CALLS: dict[str, Call] = {
    "post": lambda api: DiscordPlatform(api, 1).post_message(Place(platform="discord", channel="1"), BODY, "name", 0),
    "edit": lambda api: DiscordPlatform(api, 1).edit_message(MessageRef(channel="1", id="2"), BODY),
    "delete": lambda api: api.execute("DELETE", MESSAGE, channel_id="1", message_id="2"),
    "list": lambda api: api.list_objects("/channels/{channel_id}/messages", channel_id="1"),
    "answer": lambda api: api.respond(1, "token", {"type": 6}, 5.0),
    "further answer": lambda api: api.follow_up(1, "token", {"content": "x"}),
}


@asynccontextmanager
async def served(status: int, body: str, kind: str, **headers: str) -> AsyncIterator[DiscordApi]:
    """Serve one answer, except while discord.py logs in."""
    is_ready = False

    async def answer(request: web.Request) -> web.Response:
        if not is_ready:
            me = '{"id": "1", "username": "askback", "discriminator": "0", "avatar": null}'
            return web.Response(body=me.encode(), headers={"Content-Type": JSON})
        if request.path.endswith("elsewhere"):
            return web.Response(status=204)
        more = {"Location": "/elsewhere", **headers} if 300 <= status < 400 else headers
        data = body.encode(errors="surrogateescape")
        return web.Response(status=status, body=data, headers={"Content-Type": kind, **more})

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/api/v10"
        settings = DiscordSettings.model_validate({"DISCORD_TOKEN": "secret", "ASKBACK_DISCORD_API_URL": url})
        client = discord.Client(
            intents=discord.Intents.none(), max_ratelimit_timeout=30, http_trace=build_answer_check()
        )
        with use_addresses(settings):
            async with aiohttp.ClientSession() as session, client:
                await client.http.static_login("secret")
                is_ready = True
                yield DiscordApi(client.http, session, url)
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", FOREIGN)
async def test_what_is_not_discords_answer_leaves_the_call_in_doubt(name: str, call: str) -> None:
    async with served(*FOREIGN[name]) as api:
        with pytest.raises(RetryableError) as caught:
            await CALLS[call](api)
    assert caught.value.in_doubt == ('"code": 40333' not in FOREIGN[name][1] and "130000" not in FOREIGN[name][1])


@pytest.mark.parametrize("call", CALLS)
async def test_an_answer_of_another_kind_is_no_success(call: str) -> None:
    for body in ("[]", "{}") if call != "list" else ("{}",):
        async with served(200, body, JSON) as api:
            with pytest.raises(RetryableError):
                await CALLS[call](api)


@pytest.mark.parametrize("call", CALLS)
async def test_discords_own_refusal_is_permanent(call: str) -> None:
    async with served(403, '{"message": "Missing Permissions", "code": 50013}', JSON) as api:
        with pytest.raises(DiscordRejection, match="I lack one of these permissions there"):
            await CALLS[call](api)
    async with served(404, '{"message": "Unknown Message", "code": 10008}', JSON) as api:
        with pytest.raises(MessageNotFound):
            await CALLS[call](api)
    async with served(401, '{"message": "401: Unauthorized", "code": 0}', JSON) as api:
        with pytest.raises(DiscordRejection, match="rejects DISCORD_TOKEN"):
            await CALLS[call](api)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("body", ['{"message": "Too Many Requests"}', PAGE])
async def test_a_rate_limit_is_one_whoever_answers(body: str, call: str) -> None:
    kind = JSON if body.startswith("{") else HTML
    async with served(429, body, kind, **{"Retry-After": "7"}) as api:
        with pytest.raises(RetryableError) as caught:
            await CALLS[call](api)
    assert caught.value.seconds == 7.0


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("body", "seconds"), [('{"retry_after": 0.65}', 0.65), ('{"retry_after": true}', 1.5)])
async def test_a_rate_limit_may_name_a_fraction_of_a_second(body: str, seconds: float, call: str) -> None:
    async with served(429, body, JSON, **{"Retry-After": "1.5"}) as api:
        with pytest.raises(RetryableError) as caught:
            await CALLS[call](api)
    assert caught.value.seconds == seconds


async def test_a_first_answer_may_come_back_as_the_interaction_that_discord_describes() -> None:
    described = '{"interaction": {"id": "1", "type": 3, "response_message_id": "2"}, "resource": {"type": 7}}'
    async with served(200, described, JSON) as api:
        await CALLS["answer"](api)


async def test_an_interaction_that_was_answered_already_is_told_apart() -> None:
    async with served(400, '{"message": "Already acknowledged", "code": 40060}', JSON) as api:
        with pytest.raises(NotAnswerable) as caught:
            await CALLS["answer"](api)
    assert caught.value.answered
