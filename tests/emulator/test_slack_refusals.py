"""Every refusal of the Web API happens, with Slack's code."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from askback_sandbox.slack.faults import Fault
from askback_sandbox.slack.values import Channel

BUTTON = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}
ACTIONS = [{"type": "actions", "block_id": "a", "elements": [BUTTON]}]
MODAL = {
    "type": "modal",
    "title": {"type": "plain_text", "text": "Title"},
    "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "hi"}}],
}


def section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


async def refused(call: Any) -> str:
    """Return the error code of a refused call."""
    with pytest.raises(SlackApiError) as caught:
        await call
    return caught.value.response["error"]


@pytest.fixture
async def posted(client: AsyncWebClient) -> str:
    return (await client.chat_postMessage(channel="C0GENERAL", text="hello"))["ts"]


async def test_tokens(services, session) -> None:
    address = f"{services.slack_api_url}auth.test"

    async def error(**headers: str) -> str:
        async with session.post(address, headers=headers) as reply:
            return (await reply.json())["error"]

    assert await error() == "not_authed"
    assert await error(Authorization="Bearer xoxb-other") == "invalid_auth"
    assert await error(Authorization="Bearer xapp-local") == "not_allowed_token_type"
    other = AsyncWebClient(token="xoxb-local", base_url=services.slack_api_url, session=session)
    assert await refused(other.apps_connections_open(app_token="xoxb-local")) == "not_allowed_token_type"


async def test_unknown_methods(client) -> None:
    assert await refused(client.api_call("chat.whisper")) == "unknown_method"


async def test_channels(client, services) -> None:
    post = client.chat_postMessage
    assert await refused(post(channel="C0NOWHERE", text="x")) == "channel_not_found"
    # A private channel without the bot is not found; a public one is, and the bot can join it.
    assert await refused(post(channel="C0PRIVATE", text="x")) == "channel_not_found"
    services.workspace.put_channel(Channel(id="C0OTHER", name="other", bot_in=False))
    assert await refused(post(channel="C0OTHER", text="x")) == "not_in_channel"
    assert await refused(client.conversations_history(channel="C0OTHER")) == "not_in_channel"
    general = services.workspace.channels["C0GENERAL"]
    ts = (await post(channel="C0GENERAL", text="x"))["ts"]
    services.workspace.put_channel(replace(general, archived=True))
    assert await refused(post(channel="C0GENERAL", text="x")) == "is_archived"
    assert await refused(client.chat_update(channel="C0GENERAL", ts=ts, text="y")) == "is_inactive"


async def test_texts(client, posted) -> None:
    post, update = client.chat_postMessage, client.chat_update
    # slack_sdk warns about a missing text before it sends, so these bypass its methods.
    empty = client.api_call("chat.postMessage", json={"channel": "C0GENERAL", "text": ""})
    assert await refused(empty) == "no_text"
    assert await refused(post(channel="C0GENERAL", text="x" * 40_001)) == "msg_too_long"
    assert await refused(update(channel="C0GENERAL", ts=posted, text="x" * 4_001)) == "msg_too_long"
    unchanged = client.api_call("chat.update", json={"channel": "C0GENERAL", "ts": posted})
    assert await refused(unchanged) == "no_text"
    conflict = post(channel="C0GENERAL", text="x", markdown_text="y")
    assert await refused(conflict) == "markdown_text_conflict"
    assert await refused(post(channel="C0GENERAL", markdown_text="x" * 12_001)) == "msg_too_long"
    assert (await post(channel="C0GENERAL", text="x" * 40_000))["ok"]
    assert (await update(channel="C0GENERAL", ts=posted, text="x" * 4_000))["ok"]


async def test_blocks(client) -> None:
    async def blocks(value: Any) -> str:
        return await refused(client.chat_postMessage(channel="C0GENERAL", text="x", blocks=value))

    assert await blocks([{"type": "riddle"}]) == "invalid_blocks"
    assert await blocks("not json") == "invalid_blocks_format"
    assert await blocks([section("x" * 2_401)] * 5) == "msg_blocks_too_long"
    assert (await client.chat_postMessage(channel="C0GENERAL", text="x", blocks=[section("x" * 2_400)] * 5))["ok"]


async def test_a_refusal_of_blocks_says_where_and_why(client) -> None:
    with pytest.raises(SlackApiError) as caught:
        await client.chat_postMessage(channel="C0GENERAL", text="x", blocks=[section("x" * 3_001)])
    assert caught.value.response["response_metadata"]["messages"] == [
        "[ERROR] must be less than 3001 characters [json-pointer:/blocks/0/text/text]"
    ]


async def test_threads(client, posted) -> None:
    post = client.chat_postMessage
    reply = (await post(channel="C0GENERAL", text="reply", thread_ts=posted))["ts"]
    assert await refused(post(channel="C0GENERAL", text="x", thread_ts="1.0")) == "invalid_thread_ts"
    assert await refused(post(channel="C0GENERAL", text="x", thread_ts=reply)) == "invalid_thread_ts"
    assert await refused(post(channel="C0DEPLOYS", text="x", thread_ts=posted)) == "invalid_thread_ts"
    assert await refused(client.conversations_replies(channel="C0GENERAL", ts="1.0")) == "thread_not_found"


async def test_messages_of_others_and_of_nobody(client, services, posted) -> None:
    theirs = services.people.write("ada", "general", "mine").ts
    hidden = (await client.chat_postEphemeral(channel="C0GENERAL", user="U0LOCALADA", text="psst"))["message_ts"]
    for ts, code in ((theirs, "cant_update_message"), ("1.0", "message_not_found"), (hidden, "message_not_found")):
        assert await refused(client.chat_update(channel="C0GENERAL", ts=ts, text="x")) == code
    assert await refused(client.chat_delete(channel="C0GENERAL", ts=theirs)) == "cant_delete_message"
    assert await refused(client.chat_getPermalink(channel="C0GENERAL", message_ts="1.0")) == "message_not_found"
    assert await refused(client.users_info(user="U0NOBODY")) == "user_not_found"
    assert await refused(client.conversations_open(users="U0NOBODY")) == "user_not_found"
    nobody = client.chat_postEphemeral(channel="C0GENERAL", user="U0NOBODY", text="x")
    assert await refused(nobody) == "user_not_in_channel"
    wrong_room = client.chat_postEphemeral(channel="D0LOCALBEN", user="U0LOCALADA", text="x")
    assert await refused(wrong_room) == "user_not_in_channel"


async def test_metadata(client) -> None:
    async def metadata(value: Any) -> str:
        return await refused(client.chat_postMessage(channel="C0GENERAL", text="x", metadata=value))

    assert await metadata("text") == "invalid_metadata_format"
    assert await metadata({"event_type": "x"}) == "invalid_metadata_schema"
    assert await metadata({"event_type": "", "event_payload": {}}) == "invalid_metadata_schema"
    assert await metadata({"event_type": "x", "event_payload": {}, "more": 1}) == "invalid_metadata_schema"
    large = {"event_type": "x", "event_payload": {"text": "x" * 9_000}}
    assert await metadata(large) == "metadata_too_large"


async def test_streams(client, clock, posted) -> None:
    async def start(**more: Any) -> str:
        whole = {
            "channel": "C0GENERAL",
            "thread_ts": posted,
            "recipient_user_id": "U0LOCALADA",
            "recipient_team_id": "T0LOCAL",
            **more,
        }
        return (await client.chat_startStream(**whole))["ts"]

    assert await refused(start(recipient_user_id=None)) == "missing_recipient_user_id"
    assert await refused(start(recipient_team_id=None)) == "missing_recipient_team_id"
    assert await refused(start(recipient_user_id="U0NOBODY")) == "user_not_found"
    assert await refused(start(markdown_text="x" * 12_001)) == "msg_too_long"
    ts = await start()
    append, stop = client.chat_appendStream, client.chat_stopStream
    assert await refused(append(channel="C0GENERAL", ts=ts)) == "no_text"
    chunks = [{"type": "task_update", "id": "1", "title": "x" * 257, "status": "complete"}]
    assert await refused(append(channel="C0GENERAL", ts=ts, chunks=chunks)) == "invalid_chunks"
    assert await refused(append(channel="C0GENERAL", ts=ts, chunks=[{"type": "x"}])) == "invalid_chunks"
    assert await refused(client.chat_update(channel="C0GENERAL", ts=ts, text="x")) == "streaming_state_conflict"
    not_one = append(channel="C0GENERAL", ts=posted, markdown_text="x")
    assert await refused(not_one) == "message_not_in_streaming_state"
    clock.advance(300)
    assert await refused(stop(channel="C0GENERAL", ts=ts)) == "message_not_in_streaming_state"
    # Only chat.update remains possible.
    assert (await client.chat_update(channel="C0GENERAL", ts=ts, text="the end"))["ok"]


async def test_triggers(client, services, clock) -> None:
    def trigger() -> str:
        return services.workspace.issue_trigger("U0LOCALADA").id

    assert await refused(client.views_open(trigger_id="1.2.3", view=MODAL)) == "invalid_trigger_id"
    late = trigger()
    clock.advance(3.1)
    assert await refused(client.views_open(trigger_id=late, view=MODAL)) == "expired_trigger_id"
    used = trigger()
    await client.views_open(trigger_id=used, view=MODAL)
    assert await refused(client.views_open(trigger_id=used, view=MODAL)) == "exchanged_trigger_id"


async def test_an_invalid_view_does_not_use_the_trigger_up(client, services) -> None:
    trigger = services.workspace.issue_trigger("U0LOCALADA").id
    assert await refused(client.views_open(trigger_id=trigger, view={"type": "modal"})) == "invalid_arguments"
    assert (await client.views_open(trigger_id=trigger, view=MODAL))["ok"]


async def test_views(client, services) -> None:
    def trigger(view_id: str | None = None) -> str:
        return services.workspace.issue_trigger("U0LOCALADA", view_id=view_id).id

    assert await refused(client.views_push(trigger_id=trigger(), view=MODAL)) == "invalid_arguments"
    first = (await client.views_open(trigger_id=trigger(), view={**MODAL, "external_id": "one"}))["view"]
    for _ in range(2):
        await client.views_push(trigger_id=trigger(first["id"]), view=MODAL)
    assert await refused(client.views_push(trigger_id=trigger(first["id"]), view=MODAL)) == "push_limit_reached"
    assert await refused(client.views_update(view_id="V0NOWHERE", view=MODAL)) == "not_found"
    outdated = client.views_update(view_id=first["id"], view=MODAL, hash="1.2")
    assert await refused(outdated) == "hash_conflict"
    top = services.workspace.stack("U0LOCALADA")[-1]
    twice = client.views_update(view_id=top.id, view={**MODAL, "external_id": "one"})
    assert await refused(twice) == "duplicate_external_id"
    large = {**MODAL, "blocks": [section("x" * 3_000)] * 90}
    assert await refused(client.views_update(view_id=top.id, view=large)) == "view_too_large"


async def test_status_and_reactions(client, posted) -> None:
    status = client.assistant_threads_setStatus
    many = status(channel_id="C0GENERAL", thread_ts=posted, status="x", loading_messages=["x"] * 11)
    assert await refused(many) == "invalid_arguments"
    session = client.agents_sessions_setStatus(channel_id="C0GENERAL", thread_ts=posted, status="asleep")
    assert await refused(session) == "invalid_arguments"
    await client.reactions_add(channel="C0GENERAL", timestamp=posted, name="eyes")
    again = client.reactions_add(channel="C0GENERAL", timestamp=posted, name="eyes")
    assert await refused(again) == "already_reacted"


async def test_missing_arguments_are_named(client) -> None:
    with pytest.raises(SlackApiError) as caught:
        await client.api_call("chat.update", json={"channel": "C0GENERAL"})
    assert caught.value.response["error"] == "invalid_arguments"
    assert "missing required field: ts" in str(caught.value.response["response_metadata"]["messages"])


async def test_bodies_that_cannot_be_read(services, session) -> None:
    async def error(data: str, kind: str) -> str:
        headers = {"Authorization": "Bearer xoxb-local", "Content-Type": kind}
        async with session.post(f"{services.slack_api_url}auth.test", data=data, headers=headers) as reply:
            return (await reply.json())["error"]

    assert await error("{", "application/json") == "invalid_json"
    assert await error("x", "text/csv") == "invalid_post_type"


async def test_faults_answer_for_the_method(client, services, posted) -> None:
    faults = services.workspace.faults
    faults.ratelimit("chat.update", retry_after=7)
    with pytest.raises(SlackApiError) as caught:
        await client.chat_update(channel="C0GENERAL", ts=posted, text="x")
    response = caught.value.response
    assert (response.status_code, response["error"], response.headers["Retry-After"]) == (429, "ratelimited", "7")

    for code in ("not_in_channel", "token_revoked"):
        faults.fail("chat.postMessage", code, times=2)
        for _ in range(2):
            assert await refused(client.chat_postMessage(channel="C0GENERAL", text="x")) == code
    assert (await client.chat_postMessage(channel="C0GENERAL", text="x"))["ok"]

    faults.add(Fault(kind="error", method="auth.test", status=500))
    with pytest.raises(SlackApiError) as caught:
        await client.auth_test()
    assert caught.value.response.status_code == 500


async def test_a_lost_update_is_answered_and_not_done(client, services, posted) -> None:
    services.workspace.faults.add(Fault(kind="ignore", method="chat.update"))
    assert (await client.chat_update(channel="C0GENERAL", ts=posted, text="new"))["ok"]
    assert services.workspace.message("C0GENERAL", posted).text == "hello"


async def test_a_cut_connection_does_nothing_and_a_lost_answer_does_everything(services, bot, client) -> None:
    client.retry_handlers.clear()
    for kind, there in (("drop", 0), ("lost_answer", 1)):
        services.workspace.faults.add(Fault(kind=kind, method="chat.postMessage"))
        with pytest.raises(aiohttp.ClientError):
            await client.chat_postMessage(channel="C0GENERAL", text=kind)
        assert sum(m.text == kind for m in services.workspace.messages.values()) == there


async def test_a_delayed_method_waits_for_the_clock(client, services, clock) -> None:
    services.workspace.faults.add(Fault(kind="delay", method="auth.test", seconds=30))
    call = asyncio.create_task(client.auth_test())
    await clock.until_sleeping()
    assert not call.done()
    clock.advance(30)
    assert (await call)["ok"]
