"""Only Slack's own error object is a permanent refusal; an answer of anything else leaves the call in doubt."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from slack_sdk.web.async_client import AsyncWebClient

from askback.errors import OperatorError
from askback.ports.platform import RetryableError
from askback_slack.api_calls import SlackApi, SlackRejection
from askback_slack.app import _read_identity  # pyright: ignore[reportPrivateUsage]
from askback_slack.http_session import open_session

HTML, JSON, TEXT = "text/html", "application/json", "text/plain"
PAGE = "<html>Maintenance</html>"
FOREIGN = {
    "page": (200, PAGE, HTML),
    "page as JSON": (200, PAGE, JSON),
    "empty page": (200, "", HTML),
    "empty JSON": (200, "", JSON),
    "half": (200, '{"ok": tru', JSON),
    "half in Latin-1": (200, '{"ok": "\udcff"}', JSON),
    "list": (200, "[1]", JSON),
    "text": (200, "ok", TEXT),
    "null": (200, "null", JSON),
    "object of something else": (200, '{"message": "Forbidden"}', JSON),
    "no reason": (200, '{"ok": false}', JSON),
    "empty reason": (200, '{"ok": false, "error": ""}', JSON),
    "reason of another type": (403, '{"ok": false, "error": {"code": 1}}', JSON),
    "success with the status of a failure": (502, '{"ok": true}', JSON),
    "redirect": (302, "moved", HTML),
    "redirect that keeps the body": (307, "", HTML),
    "blocked": (403, PAGE, HTML),
    "no such route": (404, "no route", TEXT),
    "proxy wants a password": (407, PAGE, HTML),
    "request timeout": (408, "", HTML),
    "gateway": (502, PAGE, HTML),
}


@asynccontextmanager
async def served(status: int, body: str, kind: str, **headers: str) -> AsyncIterator[SlackApi]:
    async def answer(request: web.Request) -> web.Response:
        if request.path.endswith("elsewhere"):
            return web.json_response({"ok": False, "error": "not_authed"})
        more = {"Location": "/api/elsewhere", **headers} if 300 <= status < 400 else headers
        data = body.encode(errors="surrogateescape")
        return web.Response(status=status, body=data, headers={"Content-Type": kind, **more})

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/api/"
        async with open_session(url, 5) as session:
            yield SlackApi(AsyncWebClient("xoxb-1", url, session=session, retry_handlers=[]), session)
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("name", FOREIGN)
async def test_what_is_not_slacks_answer_leaves_the_call_in_doubt(name: str) -> None:
    async with served(*FOREIGN[name]) as api:
        for call in (
            api.write("chat.postMessage", channel="C1", text="x"),
            api.read("conversations.history", channel="C1"),
            api.open_socket_address("xapp-1"),
        ):
            with pytest.raises(RetryableError) as caught:
                await call
            assert caught.value.in_doubt
            assert caught.value.seconds is None


@pytest.mark.parametrize("name", FOREIGN)
async def test_at_the_start_it_says_what_to_check(name: str) -> None:
    async with served(*FOREIGN[name]) as api:
        with pytest.raises(OperatorError, match=r"Check the network, a proxy in between, and ASKBACK_SLACK_API_URL"):
            await _read_identity(api, "xoxb-1")


@pytest.mark.parametrize(("status", "body", "kind"), [(429, "slow", TEXT), (429, PAGE, HTML), (429, "", JSON)])
async def test_a_rate_limit_is_one_whoever_answers(status: int, body: str, kind: str) -> None:
    async with served(status, body, kind, **{"Retry-After": "7"}) as api:
        with pytest.raises(RetryableError) as caught:
            await api.write("chat.postMessage", channel="C1", text="x")
    assert (caught.value.seconds, caught.value.in_doubt) == (7.0, False)


@pytest.mark.parametrize(("value", "seconds"), [("7", 7.0), ("1.5", 1.5), ("soon", None), ("nan", None), ("-1", None)])
async def test_a_rate_limit_may_name_a_fraction_of_a_second(value: str, seconds: float | None) -> None:
    async with served(429, '{"ok": false, "error": "ratelimited"}', JSON, **{"retry-after": value}) as api:
        for call in (
            api.write("chat.postMessage", channel="C1", text="x"),
            api.respond(api_url(api), "x", replace_original=True),
        ):
            with pytest.raises(RetryableError) as caught:
                await call
            assert caught.value.seconds == seconds


@pytest.mark.parametrize("status", [200, 403])
async def test_slacks_own_refusal_is_permanent(status: int) -> None:
    async with served(status, '{"ok": false, "error": "msg_too_long"}', JSON) as api:
        with pytest.raises(SlackRejection, match="msg_too_long"):
            await api.write("chat.postMessage", channel="C1", text="x")


@pytest.mark.parametrize("code", ["internal_error", "org_login_required"])
async def test_slacks_temporary_errors_are_not(code: str) -> None:
    async with served(200, f'{{"ok": false, "error": "{code}"}}', JSON) as api:
        with pytest.raises(RetryableError, match=code):
            await api.write("chat.postMessage", channel="C1", text="x")


@pytest.mark.parametrize("body", ["ok", '{"ok": true}'])
async def test_an_answer_to_a_click_is_taken(body: str) -> None:
    async with served(200, body, HTML if body == "ok" else JSON) as api:
        await api.respond(api_url(api), "x", replace_original=True)


@pytest.mark.parametrize(
    "name", ["page", "empty page", "half", "list", "redirect", "redirect that keeps the body", "blocked", "gateway"]
)
async def test_an_answer_to_a_click_that_something_else_took_is_in_doubt(name: str) -> None:
    async with served(*FOREIGN[name]) as api:
        with pytest.raises(RetryableError) as caught:
            await api.delete_clicked_message(api_url(api))
    assert caught.value.in_doubt


def api_url(api: SlackApi) -> str:
    client = api._client  # pyright: ignore[reportPrivateUsage]
    assert isinstance(client, AsyncWebClient)
    return client.base_url.replace("/api/", "/response/1")
