"""The agent's status per thread, and people's ways to stop it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

STOPPED = "agent_session_stopped"


async def refused(call: Any) -> str:
    """Return the error code of a refused call."""
    with pytest.raises(SlackApiError) as caught:
        await call
    return caught.value.response["error"]


@pytest.fixture
async def root(services) -> str:
    return services.people.write("ada", "general", "@askback deploy").ts


def status_of(client: AsyncWebClient, thread_ts: str) -> Any:
    async def put(status: str, **more: Any) -> Any:
        return await client.agents_sessions_setStatus(
            channel_id="C0GENERAL", thread_ts=thread_ts, status=status, **more
        )

    return put


async def test_a_session_begins_with_its_first_status_and_goes_on_from_there(client, hands, root) -> None:
    put = status_of(client, root)
    began = await put("processing", title="Deploying", initiator_user_id="U0LOCALADA")
    assert (began["status"], began["title"]) == ("processing", "Deploying")
    # A title counts only when the session begins.
    assert (await put("suspended", title="Something else"))["title"] == "Deploying"
    renamed = await client.agents_sessions_rename(channel_id="C0GENERAL", thread_ts=root, title="Shipping")
    assert renamed["title"] == "Shipping"
    (session,) = (await hands.state())["sessions"]
    assert session == {
        "channel": "C0GENERAL",
        "thread_ts": root,
        "status": "suspended",
        "title": "Shipping",
        "stoppable": False,
        "stopping": False,
    }


async def test_a_wrong_session_is_refused_with_slacks_code(client, services, root) -> None:
    put = status_of(client, root)
    with pytest.raises(SlackApiError) as caught:
        await put("is thinking…")
    response = caught.value.response
    assert response["error"] == "invalid_arguments"
    assert response["errors"] == ["must be a valid enum value [json-pointer:/status]"]
    assert await refused(put("active", title="x" * 201)) == "invalid_arguments"
    assert await refused(put("active", initiator_user_id="U0NOBODY")) == "user_not_in_channel"
    assert await refused(status_of(client, "1.2")("active")) == "invalid_thread_ts"
    nowhere = client.agents_sessions_setStatus(channel_id="C0GENERAL", status="active")
    assert await refused(nowhere) == "invalid_arguments"
    unknown = client.agents_sessions_setStatus(channel_id="C0NOWHERE", thread_ts=root, status="active")
    assert await refused(unknown) == "channel_not_found"
    rename = client.agents_sessions_rename
    assert await refused(rename(channel_id="C0GENERAL", thread_ts=root, title="x")) == "session_not_found"
    await put("active")
    assert await refused(rename(channel_id="C0GENERAL", thread_ts=root, title="x" * 201)) == "invalid_arguments"
    assert services.workspace.session("C0GENERAL", root).title is None


@pytest.mark.parametrize("error", ["unknown_method", "missing_scope", "not_allowed_token_type"])
async def test_a_workspace_without_sessions_refuses_their_methods_for_good(client, services, root, error) -> None:
    methods = ("agents.sessions.setStatus", "agents.sessions.rename", "assistant.threads.setStatus")
    for method in methods:
        services.workspace.faults.fail(method, error, times=None)
    for _ in range(2):
        assert await refused(status_of(client, root)("processing")) == error
        assert await refused(client.agents_sessions_rename(channel_id="C0GENERAL", thread_ts=root, title="x")) == error
        shown = client.assistant_threads_setStatus(channel_id="C0GENERAL", thread_ts=root, status="is thinking…")
        assert await refused(shown) == error
    assert services.workspace.sessions == []


async def test_stop_tells_the_app_who_and_where_and_ends_what_was_streaming(bot, client, services, hands, root) -> None:
    told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    @bot.app.event(STOPPED)
    async def stopped(event: dict[str, Any]) -> None:
        told.put_nowait(event)

    await bot.connect()
    await status_of(client, root)("processing")
    stream = await client.chat_startStream(
        channel="C0GENERAL",
        thread_ts=root,
        recipient_user_id="U0LOCALADA",
        recipient_team_id="T0LOCAL",
        markdown_text="So far",
    )
    assert (await hands.post("/people/stop", person="ben", channel="general", thread_ts=root))["ok"]
    event = await asyncio.wait_for(told.get(), 10)
    assert {key: event[key] for key in ("channel", "thread_ts", "user", "streaming_message_ts")} == {
        "channel": "C0GENERAL",
        "thread_ts": root,
        "user": "U0LOCALBEN",
        "streaming_message_ts": [stream["ts"]],
    }
    late = client.chat_appendStream(channel="C0GENERAL", ts=stream["ts"], markdown_text=" and more")
    assert await refused(late) == "message_not_in_streaming_state"
    # Only the app changes the session's status.
    (session,) = (await hands.state())["sessions"]
    assert (session["status"], session["stopping"]) == ("processing", True)
    await status_of(client, root)("active")
    (session,) = (await hands.state())["sessions"]
    assert (session["status"], session["stopping"]) == ("active", False)


async def test_stop_is_there_only_while_the_agent_works_and_the_app_listens(client, services, hands, root) -> None:
    async def press(person: str = "ada") -> str | None:
        return (await hands.post("/people/stop", person=person, channel="general", thread_ts=root)).get("code")

    assert await press() == "nothing_to_stop"
    for status in ("active", "suspended", "closed"):
        await status_of(client, root)(status)
        assert await press() == "nothing_to_stop"
    services.workspace.hears_stop = False
    warned = await status_of(client, root)("processing")
    assert warned["warning"] == "missing_agent_session_stopped_event_subscription"
    assert await press() == "nothing_to_stop"
    assert not (await hands.state())["sessions"][0]["stoppable"]


async def test_the_end_of_a_stream_may_move_the_session(client, services, root) -> None:
    await status_of(client, root)("processing")
    stream = await client.chat_startStream(
        channel="C0GENERAL", thread_ts=root, recipient_user_id="U0LOCALADA", recipient_team_id="T0LOCAL"
    )
    stop = client.chat_stopStream
    wrong = stop(channel="C0GENERAL", ts=stream["ts"], session_status="asleep")
    assert await refused(wrong) == "invalid_arguments"
    await stop(channel="C0GENERAL", ts=stream["ts"], markdown_text="Which?", session_status="suspended")
    assert services.workspace.session("C0GENERAL", root).status == "suspended"


async def test_a_status_has_loading_messages_and_its_time(client, hands, clock, root) -> None:
    await client.assistant_threads_setStatus(
        channel_id="C0GENERAL", thread_ts=root, status="is thinking…", loading_messages=["Looking around…", "Hm…"]
    )
    clock.advance(20)
    (status,) = (await hands.state())["status"]
    assert (status["loading"], status["left"]) == (["Looking around…", "Hm…"], 100.0)
    clock.advance(100)
    assert (await hands.state())["status"] == []
    nowhere = client.assistant_threads_setStatus(channel_id="C0GENERAL", thread_ts="1.2", status="is thinking…")
    assert await refused(nowhere) == "invalid_thread_ts"
