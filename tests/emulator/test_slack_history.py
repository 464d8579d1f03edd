"""A bot's reads in Slack: earlier messages, members of groups, files, and offers to one person."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError

from askback_sandbox.slack.values import UserGroup

OFFER = [
    {"type": "section", "block_id": "q", "text": {"type": "plain_text", "text": "Is that your answer?"}},
    {
        "type": "actions",
        "block_id": "offer",
        "elements": [
            {"type": "button", "action_id": "use", "value": "1", "text": {"type": "plain_text", "text": "Use it"}},
            {"type": "button", "action_id": "skip", "text": {"type": "plain_text", "text": "Just a message"}},
        ],
    },
]


async def refused(call: Any) -> str:
    """Return the error code of a refused call."""
    with pytest.raises(SlackApiError) as caught:
        await call
    return caught.value.response["error"]


@pytest.fixture
async def thread(services) -> list[str]:
    """The ts of a message and of five replies to it."""
    root = services.people.write("ada", "general", "start").ts
    return [root, *(services.people.write("ben", "general", f"reply {n}", root).ts for n in range(5))]


def of(answer: Any) -> list[str]:
    return [message["ts"] for message in answer["messages"]]


async def test_replies_come_oldest_first_after_what_they_hang_from(client, thread) -> None:
    whole = await client.conversations_replies(channel="C0GENERAL", ts=thread[0])
    assert of(whole) == thread
    root = whole["messages"][0]
    assert (root["thread_ts"], root["reply_count"], root["latest_reply"]) == (thread[0], 5, thread[-1])
    assert (root["reply_users"], root["reply_users_count"]) == (["U0LOCALBEN"], 1)
    assert whole["messages"][1]["parent_user_id"] == "U0LOCALADA"
    # For a reply's ts, only that reply is returned.
    assert of(await client.conversations_replies(channel="C0GENERAL", ts=thread[2])) == [thread[2]]


async def test_replies_come_page_by_page_and_new_ones_move_nothing(client, services, thread) -> None:
    first = await client.conversations_replies(channel="C0GENERAL", ts=thread[0], limit=4)
    assert (of(first), first["has_more"]) == (thread[:4], True)
    late = services.people.write("cy", "general", "meanwhile", thread[0]).ts
    cursor = first["response_metadata"]["next_cursor"]
    second = await client.conversations_replies(channel="C0GENERAL", ts=thread[0], limit=4, cursor=cursor)
    assert (of(second), second["has_more"]) == ([*thread[4:], late], False)
    pages = [of(page) async for page in await client.conversations_replies(channel="C0GENERAL", ts=thread[0], limit=2)]
    assert [ts for page in pages for ts in page] == [*thread, late]


async def test_a_part_of_a_thread_is_told_by_its_times(client, thread) -> None:
    async def between(**more: Any) -> list[str]:
        return of(await client.conversations_replies(channel="C0GENERAL", ts=thread[0], **more))

    root = thread[:1]
    assert await between(oldest=thread[3]) == [*root, *thread[4:]]
    assert await between(oldest=thread[3], inclusive=True) == [*root, *thread[3:]]
    assert await between(latest=thread[3]) == thread[:3]
    assert await between(latest=thread[3], inclusive=True) == thread[:4]
    assert await between(oldest=thread[1], latest=thread[4]) == [*root, thread[2], thread[3]]


async def test_history_is_newest_first_and_holds_no_replies(client, services, thread) -> None:
    second = services.people.write("cy", "general", "second").ts
    third = services.people.write("cy", "general", "third").ts
    assert of(await client.conversations_history(channel="C0GENERAL")) == [third, second, thread[0]]
    first = await client.conversations_history(channel="C0GENERAL", limit=1)
    services.people.write("cy", "general", "meanwhile")
    cursor = first["response_metadata"]["next_cursor"]
    assert of(await client.conversations_history(channel="C0GENERAL", limit=1, cursor=cursor)) == [second]
    assert of(await client.conversations_history(channel="C0GENERAL", oldest=thread[0], latest=third)) == [second]


async def test_reading_is_refused_with_slacks_codes(client, services, thread) -> None:
    replies = client.conversations_replies
    assert await refused(replies(channel="C0GENERAL", ts="1.0")) == "thread_not_found"
    assert await refused(replies(channel="C0NOWHERE", ts=thread[0])) == "channel_not_found"
    # A private channel without the bot is not found; for a public one the bot is just not a member.
    assert await refused(replies(channel="C0PRIVATE", ts=thread[0])) == "channel_not_found"
    services.workspace.put_channel(replace(services.workspace.channels["C0DEPLOYS"], bot_in=False))
    assert await refused(replies(channel="C0DEPLOYS", ts=thread[0])) == "not_in_channel"
    assert await refused(client.conversations_history(channel="C0DEPLOYS")) == "not_in_channel"
    for limit in (0, 1_001, "many"):
        assert await refused(replies(channel="C0GENERAL", ts=thread[0], limit=limit)) == "invalid_limit"
    for cursor in ("x", "bmV4dF90czo=", "!"):
        assert await refused(replies(channel="C0GENERAL", ts=thread[0], cursor=cursor)) == "invalid_cursor"
    assert await refused(replies(channel="C0GENERAL", ts=thread[0], oldest="then")) == "invalid_ts_oldest"
    assert await refused(client.conversations_history(channel="C0GENERAL", latest="then")) == "invalid_ts_latest"
    services.workspace.faults.fail("conversations.replies", "missing_scope", times=None)
    for _ in range(2):
        assert await refused(replies(channel="C0GENERAL", ts=thread[0])) == "missing_scope"


async def test_a_group_has_people_unless_it_is_disabled(client, services) -> None:
    listed = client.usergroups_users_list
    assert (await listed(usergroup="S0LOCALREL"))["users"] == ["U0LOCALADA"]
    assert await refused(listed(usergroup="S0NOWHERE")) == "no_such_subteam"
    off = UserGroup(id="S0OLD", handle="old", name="Old", users=("U0LOCALBEN", "U0LOCALCY"), enabled=False)
    services.workspace.put_group(off)
    assert await refused(listed(usergroup="S0OLD")) == "no_such_subteam"
    assert (await listed(usergroup="S0OLD", include_disabled=True))["users"] == ["U0LOCALBEN", "U0LOCALCY"]
    groups = (await client.usergroups_list(include_users=True))["usergroups"]
    assert [(group["handle"], group["users"]) for group in groups] == [("release", ["U0LOCALADA"])]
    services.workspace.faults.fail("usergroups.users.list", "missing_scope")
    assert await refused(listed(usergroup="S0LOCALREL")) == "missing_scope"


async def test_a_message_with_files_is_a_file_share_and_a_mention_with_files_a_mention(bot, client, hands) -> None:
    heard: dict[str, asyncio.Future[dict[str, Any]]] = {
        kind: asyncio.get_running_loop().create_future() for kind in ("message", "app_mention")
    }

    @bot.app.event("app_mention")
    @bot.app.event("message")
    async def hear(event: dict[str, Any]) -> None:
        heard[event["type"]].set_result(event)

    await bot.connect()
    files = ["shot.png", {"name": "deploy.log", "size": 12}, "odd"]
    ts = await hands.write("ada", "general", "@askback look", files=files)
    async with asyncio.timeout(10):
        message, mention = await heard["message"], await heard["app_mention"]
    assert message["subtype"] == "file_share"
    assert "subtype" not in mention
    for event in (message, mention):
        assert (event["ts"], event["text"]) == (ts, "<@U0LOCALBOT> look")
        assert (event["upload"], event["display_as_bot"]) == (False, False)
        assert "team" not in event
        shot, log, odd = event["files"]
        assert (shot["name"], shot["mimetype"], shot["filetype"], shot["mode"]) == (
            "shot.png",
            "image/png",
            "png",
            "hosted",
        )
        assert (log["title"], log["filetype"], log["pretty_type"], log["size"]) == (
            "deploy.log",
            "text",
            "Plain Text",
            12,
        )
        assert (odd["mimetype"], odd["filetype"]) == ("application/octet-stream", "binary")
        assert "/files-pri/T0LOCAL-F" in shot["url_private"]
    (read,) = (await client.conversations_history(channel="C0GENERAL"))["messages"]
    assert [file["name"] for file in read["files"]] == ["shot.png", "deploy.log", "odd"]
    (shown,) = (await hands.state())["messages"]
    assert [file["name"] for file in shown["files"]] == ["shot.png", "deploy.log", "odd"]


async def test_a_file_needs_no_text(hands, services) -> None:
    ts = await hands.write("ada", "general", "", files="notes.md")
    message = services.workspace.message("C0GENERAL", ts)
    assert (message.text, message.blocks, message.files[0]["filetype"]) == ("", (), "markdown")
    assert (await hands.post("/people/write", person="ada", channel="general", text=""))["code"] == "no_text"


async def test_an_offer_to_one_person_is_answered_by_its_response_url_and_by_nothing_else(
    bot, client, services, session, hands, thread
) -> None:
    clicks: list[dict[str, Any]] = []

    @bot.app.action({"block_id": "offer"})
    async def click(ack: Any, body: dict[str, Any]) -> None:
        clicks.append(body)
        await ack()

    await bot.connect()

    async def offer() -> str:
        sent = await client.chat_postEphemeral(
            channel="C0GENERAL", thread_ts=thread[0], user="U0LOCALBEN", text="Is that your answer?", blocks=OFFER
        )
        return sent["message_ts"]

    async def press(person: str, ts: str, action: str) -> dict[str, Any]:
        return await hands.post(
            "/people/act", person=person, channel="general", ts=ts, block_id="offer", action_id=action
        )

    async def respond(**body: Any) -> int:
        async with session.post(clicks[-1]["response_url"], json=body) as reply:
            return reply.status

    first = await offer()
    # It is invisible to other people, and to the API.
    assert (await press("ada", first, "use"))["code"] == "message_not_found"
    assert first not in of(await client.conversations_replies(channel="C0GENERAL", ts=thread[0]))
    assert (await press("ben", first, "use"))["ok"]
    container = clicks[-1]["container"]
    assert container == {
        "type": "message",
        "message_ts": first,
        "channel_id": "C0GENERAL",
        "is_ephemeral": True,
        "thread_ts": thread[0],
    }
    assert "message" not in clicks[-1]
    assert (clicks[-1]["user"]["id"], clicks[-1]["actions"][0]["value"]) == ("U0LOCALBEN", "1")
    update = client.chat_update(channel="C0GENERAL", ts=first, text="Taken.", blocks=[])
    assert await refused(update) == "message_not_found"
    assert await respond(replace_original=True, text="Taken.") == 200
    replaced = services.workspace.message("C0GENERAL", first)
    assert (replaced.text, replaced.blocks, replaced.ephemeral_to) == ("Taken.", (), "U0LOCALBEN")

    second = await offer()
    assert (await press("ben", second, "skip"))["ok"]
    assert await respond(delete_original=True) == 200
    assert services.workspace.message("C0GENERAL", second) is None
    assert await respond(delete_original=True) == 404


async def test_searching_in_an_offer_tells_no_message_either(bot, client, hands) -> None:
    heard: list[dict[str, Any]] = []

    @bot.app.options("who")
    async def options(ack: Any, body: dict[str, Any]) -> None:
        heard.append(body)
        await ack(options=[{"text": {"type": "plain_text", "text": "Ada"}, "value": "ada"}])

    await bot.connect()
    menu = {"type": "external_select", "action_id": "who", "min_query_length": 1}
    sent = await client.chat_postEphemeral(
        channel="C0GENERAL", user="U0LOCALBEN", text="Who?", blocks=[{"type": "actions", "elements": [menu]}]
    )
    block = next(m for m in (await hands.state())["messages"])["blocks"][0]["block_id"]
    found = await hands.post(
        "/people/options",
        person="ben",
        channel="general",
        ts=sent["message_ts"],
        block_id=block,
        action_id="who",
        query="a",
    )
    assert found["ok"]
    assert heard[0]["container"]["is_ephemeral"] is True
    assert "message" not in heard[0]
