"""People's actions on messages and the visible result, through their endpoints."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError


def plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text}


async def test_metadata_is_kept_until_an_empty_object_comes(client) -> None:
    metadata = {"event_type": "asked", "event_payload": {"id": "1"}}
    ts = (await client.chat_postMessage(channel="C0GENERAL", text="x", metadata=metadata))["ts"]

    async def read(**more: Any) -> Any:
        history = await client.conversations_history(channel="C0GENERAL", **more)
        return history["messages"][0].get("metadata")

    assert await read() is None
    assert await read(include_all_metadata=True) == metadata
    await client.chat_update(channel="C0GENERAL", ts=ts, text="y")
    assert await read(include_all_metadata=True) == metadata
    await client.api_call("chat.update", json={"channel": "C0GENERAL", "ts": ts, "metadata": {}})
    assert await read(include_all_metadata=True) is None


async def test_history_has_no_replies_and_replies_come_in_pages(client, services) -> None:
    root = services.people.write("ada", "general", "root").ts
    for number in range(3):
        await client.chat_postMessage(channel="C0GENERAL", text=str(number), thread_ts=root)
    (only,) = (await client.conversations_history(channel="C0GENERAL"))["messages"]
    assert (only["text"], only["reply_count"], only["thread_ts"]) == ("root", 3, root)
    first = await client.conversations_replies(channel="C0GENERAL", ts=root, limit=3)
    assert [m["text"] for m in first["messages"]] == ["root", "0", "1"]
    assert first["has_more"] is True
    cursor = first["response_metadata"]["next_cursor"]
    rest = await client.conversations_replies(channel="C0GENERAL", ts=root, limit=3, cursor=cursor)
    assert [m["text"] for m in rest["messages"]] == ["2"]
    assert rest["has_more"] is False
    newer = await client.conversations_replies(channel="C0GENERAL", ts=root, oldest=first["messages"][1]["ts"])
    assert [m["text"] for m in newer["messages"]] == ["root", "1", "2"]


async def test_a_stream_grows_and_ends(client, hands, services) -> None:
    root = services.people.write("ada", "general", "tell me").ts
    await client.assistant_threads_setStatus(channel_id="C0GENERAL", thread_ts=root, status="is thinking…")
    (status,) = (await hands.state())["status"]
    assert (status["channel"], status["thread_ts"], status["text"]) == ("C0GENERAL", root, "is thinking…")
    stream = await client.chat_stream(
        channel="C0GENERAL",
        thread_ts=root,
        recipient_user_id="U0LOCALADA",
        recipient_team_id="T0LOCAL",
        buffer_size=1,
    )
    await stream.append(markdown_text="**one** ")
    message = (await hands.state())["messages"][-1]
    assert (message["streaming"], message["markdown"], message["thread_ts"]) == (True, "**one** ", root)
    assert (await hands.state())["status"] == []
    await stream.append(markdown_text="two")
    await stream.stop(blocks=[{"type": "divider"}])
    message = (await hands.state())["messages"][-1]
    assert (message["streaming"], message["markdown"]) == (False, "**one** two")
    assert [block["type"] for block in message["blocks"]] == ["divider"]


async def test_a_status_vanishes_after_two_minutes(client, hands, services, clock) -> None:
    root = services.people.write("ada", "general", "tell me").ts
    await client.assistant_threads_setStatus(channel_id="C0GENERAL", thread_ts=root, status="is thinking…")
    clock.advance(121)
    assert (await hands.state())["status"] == []


async def test_names_become_mentions_and_the_rest_is_escaped(hands) -> None:
    for written, sent in (
        ("@askback hi @ben, a@b.c", "<@U0LOCALBOT> hi <@U0LOCALBEN>, a@b.c"),
        ("@askback.", "<@U0LOCALBOT>."),
        ("<!channel> & <@U0LOCALADA>", "&lt;!channel&gt; &amp; &lt;@U0LOCALADA&gt;"),
        ("@nobody", "@nobody"),
    ):
        ts = await hands.write("ada", "general", written)
        found = next(m for m in (await hands.state())["messages"] if m["ts"] == ts)
        assert found["text"] == sent


async def test_people_write_only_where_they_are_and_only_their_own(hands) -> None:
    ts = await hands.write("ada", "general", "mine")
    for path, body in (
        ("write", {"person": "ada", "channel": "D0LOCALBEN", "text": "x"}),
        ("write", {"person": "ada", "channel": "nowhere", "text": "x"}),
        ("write", {"person": "nobody", "channel": "general", "text": "x"}),
        ("write", {"person": "ada", "channel": "general", "text": " "}),
        ("write", {"person": "ada", "channel": "general", "text": "x", "thread_ts": "1.0"}),
        ("edit", {"person": "ben", "channel": "general", "ts": ts, "text": "x"}),
        ("delete", {"person": "ben", "channel": "general", "ts": ts}),
    ):
        answer = await hands.post(f"/people/{path}", **body)
        assert answer["ok"] is False, (path, body)
        assert answer["error"]


async def test_changes_are_streamed_to_the_page(services, hands, session) -> None:
    async with session.get(f"{services.url}/people/events") as reply:
        assert reply.content_type == "text/event-stream"
        first = await reply.content.readline()
        await reply.content.readline()
        await hands.write("ada", "general", "x")
        second = await asyncio.wait_for(reply.content.readline(), 5)
    assert first.startswith(b'data: {"revision": ')
    assert second != first


async def test_ids_and_names_of_channels_and_people_work_alike(client, services, hands) -> None:
    direct = (await client.conversations_open(users="U0LOCALADA"))["channel"]["id"]
    assert (await client.chat_postMessage(channel="U0LOCALADA", text="x"))["channel"] == direct
    assert (await client.chat_postMessage(channel="#general", text="x"))["channel"] == "C0GENERAL"
    assert (await client.conversations_info(channel="C0GENERAL"))["channel"]["is_member"] is True
    assert (await client.users_info(user="U0LOCALCY"))["user"]["name"] == "cy"
    who = await client.auth_test()
    assert (who["user_id"], who["bot_id"], who["team_id"]) == ("U0LOCALBOT", "B0LOCALBOT", "T0LOCAL")
    link = await client.chat_getPermalink(channel="C0GENERAL", message_ts=(await hands.state())["messages"][-1]["ts"])
    assert link["permalink"].startswith("https://local.slack.com/archives/C0GENERAL/p")


async def test_a_moderator_deletes_what_others_wrote_and_leaves_a_tombstone_above_answers(
    hands, client, services
) -> None:
    told: list[dict[str, Any]] = []
    services.socket.tell = lambda payload, done=None: told.append(payload["event"])
    head = (await client.chat_postMessage(channel="C0GENERAL", text="head"))["ts"]
    answer = (await client.chat_postMessage(channel="C0GENERAL", text="answer", thread_ts=head))["ts"]
    refused = await hands.post("/people/delete", person="ada", channel="general", ts=answer)
    assert refused["code"] == "not_own_message"
    for ts in (head, answer):
        assert (await hands.post("/people/delete", person="ada", channel="general", ts=ts, moderator=True))["ok"]
    tombstone, deleted = told[-2:]
    assert (tombstone["subtype"], tombstone["message"]["subtype"]) == ("message_changed", "tombstone")
    assert (tombstone["message"]["ts"], tombstone["previous_message"]["user"]) == (head, "U0LOCALBOT")
    assert (deleted["subtype"], deleted["deleted_ts"], deleted["hidden"]) == ("message_deleted", answer, True)
    with pytest.raises(SlackApiError, match="cant_update_message"):
        await client.chat_update(channel="C0GENERAL", ts=head, text="again")


async def test_who_archives_a_channel_tells_the_bot(hands, services) -> None:
    told: list[dict[str, Any]] = []
    services.socket.tell = lambda payload, done=None: told.append(payload["event"])
    services.people.archive("ada", "general")
    assert [(event["type"], event["channel"]) for event in told] == [("channel_archive", "C0GENERAL")]
    assert (await hands.post("/people/write", person="ada", channel="general", text="hi"))["code"] == "is_archived"
