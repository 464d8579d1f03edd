"""The services as a whole: access to them, their endpoints, and their shutdown."""

from __future__ import annotations

import asyncio
import json

import aiohttp
import pytest

from askback_sandbox import services as entry_point
from askback_sandbox.services import Services


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.com", ""])
def test_only_a_loopback_address_can_be_bound(host: str) -> None:
    with pytest.raises(ValueError, match="loopback"):
        Services(host=host, port=0)


def test_the_entry_point_is_the_class() -> None:
    assert entry_point is Services


async def test_foreign_pages_are_refused_everywhere(services, session) -> None:
    async def status(path: str, **headers: str) -> int:
        async with session.get(f"{services.url}{path}", headers=headers) as reply:
            return reply.status

    for path in ("/people/state", "/log/slack", "/log/model", "/", "/api/auth.test", "/link/"):
        assert await status(path, Host="evil.example") == 403
        assert await status(path, Origin="https://evil.example") == 403
        assert await status(path, Origin="null") == 403
    for site in ("cross-site", "same-site", "tomorrow"):
        assert await status("/people/state", **{"Sec-Fetch-Site": site}) == 403
        assert await status("/", **{"Sec-Fetch-Site": site}) == 200, "the page may be linked to"
    assert await status("/people/state", Host="[::1]:8800") == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost:3000",
        "http://127.0.0.1:1",
        "http://localhost",
        "https://127.0.0.1:{port}",
        "http://localhost:{port}",
        "http://127.0.0.1:{port}.evil.example",
        "http://ada@127.0.0.1:{port}",
        "null",
        "",
    ],
)
async def test_pages_on_other_ports_of_this_machine_are_refused(services, session, origin: str) -> None:
    given = origin.format(port=services.url.rpartition(":")[2])
    data = json.dumps({"person": "ada", "channel": "general", "text": "planted"}).encode()
    headers = {"Origin": given, "Content-Type": "text/plain"}
    async with session.post(f"{services.url}/people/write", data=data, headers=headers) as reply:
        assert reply.status == 403
    assert not [one for one in services.workspace.messages.values() if "planted" in one.text]
    async with session.post(f"{services.url}/people/write", data=data, headers={"Origin": services.url}) as reply:
        assert reply.status == 200


async def test_the_doors_take_a_megabyte_and_only_json_objects(services, session) -> None:
    async def status(data: bytes, door: str = "write") -> int:
        async with session.post(f"{services.url}/people/{door}", data=data) as reply:
            return reply.status

    assert await status(b"x" * 1_000_001, "edit") == 413
    assert await status(b"[]") == 400
    assert await status(b"{") == 400
    large = json.dumps({"person": "ada", "channel": "general", "text": "x" * 30_000}).encode()
    assert await status(large) == 200


async def test_the_page_is_served_with_its_policy(services, session) -> None:
    for path, kind in (("/", "html"), ("/page/app.js", "javascript"), ("/page/style.css", "css")):
        async with session.get(f"{services.url}{path}") as reply:
            assert (reply.status, reply.content_type.rpartition("/")[2]) == (200, kind)
            policy = reply.headers["Content-Security-Policy"]
            assert policy.startswith("default-src 'self'; img-src 'self' data: https:; ")
            assert "frame-ancestors 'none'" in policy
            assert reply.headers["X-Frame-Options"] == "DENY"
    async with session.get(f"{services.url}/page/../services.py") as reply:
        assert reply.status == 404


async def test_the_state_has_the_promised_keys(services, hands) -> None:
    await hands.write("ada", "general", "hi")
    state = await hands.state()
    assert set(state) == {
        "revision",
        "bot",
        "people",
        "channels",
        "groups",
        "messages",
        "views",
        "interactions",
        "status",
        "sessions",
    }
    assert state["bot"] == {"id": "U0LOCALBOT", "name": "askback"}
    assert [person["name"] for person in state["people"]] == ["ada", "ben", "cy"]
    assert [(c["name"], c["kind"], c["person"]) for c in state["channels"]] == [
        ("general", "channel", None),
        ("deploys", "channel", None),
        ("private-room", "channel", None),
        ("ada", "dm", "U0LOCALADA"),
        ("ben", "dm", "U0LOCALBEN"),
        ("cy", "dm", "U0LOCALCY"),
    ]
    (message,) = state["messages"]
    assert set(message) == {
        "channel",
        "ts",
        "thread_ts",
        "user",
        "username",
        "bot",
        "text",
        "blocks",
        "files",
        "attachments",
        "edited",
        "streaming",
        "ephemeral_to",
        "markdown",
    }
    (interaction,) = state["interactions"]
    assert set(interaction) == {"id", "kind", "person", "acked", "ack_ms", "error"}


async def test_the_log_has_every_call_and_no_token(services, session, client, hands) -> None:
    await client.chat_postMessage(channel="C0GENERAL", text="hello")
    async with session.post(f"{services.slack_api_url}auth.test", data={"token": "xoxb-local"}) as reply:
        assert (await reply.json())["ok"]
    async with session.get(f"{services.slack_api_url}users.info?token=xoxb-local&user=U0NOBODY") as reply:
        assert (await reply.json())["error"] == "user_not_found"
    log = await hands.get("/log/slack")
    assert [call["method"] for call in log] == ["chat.postMessage", "auth.test", "users.info"]
    assert log[0]["arguments"] == {"channel": "C0GENERAL", "text": "hello"}
    assert (log[0]["status"], log[0]["answer"]["ok"], log[2]["answer"]["error"]) == (200, True, "user_not_found")
    assert "xoxb-" not in json.dumps(log)
    assert [call.method for call in services.workspace.log] == [call["method"] for call in log]


async def test_blocks_may_come_as_json_in_a_form(services, session, hands) -> None:
    form = {"channel": "C0GENERAL", "text": "x", "blocks": json.dumps([{"type": "divider"}])}
    headers = {"Authorization": "Bearer xoxb-local"}
    async with session.post(f"{services.slack_api_url}chat.postMessage", data=form, headers=headers) as reply:
        assert (await reply.json())["ok"]
    assert [b["type"] for b in (await hands.state())["messages"][0]["blocks"]] == ["divider"]


async def test_faults_can_be_switched_on_and_off_from_outside(services, session, hands, client) -> None:
    added = await hands.post("/faults", kind="error", method="auth.test", error="fatal_error", times=None)
    assert added["ok"]
    (listed,) = await hands.get("/faults")
    assert (listed["id"], listed["kind"], listed["method"]) == (added["id"], "error", "auth.test")
    with pytest.raises(Exception, match="fatal_error"):
        await client.auth_test()
    async with session.delete(f"{services.url}/faults") as reply:
        assert (await reply.json())["ok"]
    assert (await client.auth_test())["ok"]
    assert not (await hands.post("/faults", kind="mischief"))["ok"]


async def test_the_model_speaks_on_the_same_port(services, session) -> None:
    body = {"model": "claude-opus-5", "max_tokens": 10, "messages": [{"role": "user", "content": "hi"}]}
    headers = {
        "Authorization": "Bearer sk-local",
        "anthropic-version": "2026-10-21",
        "Content-Type": "application/json",
    }
    async with session.post(f"{services.anthropic_url}/v1/messages", json=body, headers=headers) as reply:
        assert reply.status == 200, await reply.text()
        assert (await reply.json())["role"] == "assistant"


async def test_stopping_leaves_no_task_behind_also_with_sockets_events_and_pages(session) -> None:
    before = asyncio.all_tasks()
    async with Services(port=0) as services:
        headers = {"Authorization": "Bearer xapp-local"}
        async with session.post(f"{services.slack_api_url}apps.connections.open", headers=headers) as reply:
            url = (await reply.json())["url"]
        socket = await session.ws_connect(url)
        await socket.receive_json(timeout=30)
        page = await session.get(f"{services.url}/people/events")
        await page.content.readline()
        services.people.write("ada", "general", "nobody acks this")
        await socket.receive_json(timeout=30)
    assert (await socket.receive(timeout=30)).type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSING)
    page.close()
    await socket.close()
    assert asyncio.all_tasks() == before


async def test_a_port_in_use_is_an_error_and_nothing_stays_open(services) -> None:
    other = Services(port=int(services.url.rsplit(":", 1)[1]))
    with pytest.raises(OSError, match="address already in use"):
        await other.start()
    await other.stop()
