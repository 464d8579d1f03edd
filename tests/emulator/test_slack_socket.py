"""Socket Mode: the deliveries, their repetition, and the effect of a missing ack."""

from __future__ import annotations

import asyncio
import json

import aiohttp
import pytest

from askback_sandbox.services import Services
from askback_sandbox.slack.faults import Fault


class Socket:
    """A bare socket that acks only when the test says so."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def next(self) -> dict:
        return await self.socket.receive_json(timeout=30)

    async def ack(self, envelope: dict, payload: dict | None = None) -> None:
        body = {"envelope_id": envelope["envelope_id"]}
        if payload is not None:
            body["payload"] = payload
        await self.socket.send_json(body)


@pytest.fixture
async def connect(services, session):
    """Return a function that opens a bare socket and reads its hello."""
    opened: list[Socket] = []

    async def connect() -> Socket:
        address = await new_address(services, session)
        socket = Socket(await session.ws_connect(address))
        opened.append(socket)
        assert (await socket.next())["type"] == "hello"
        return socket

    yield connect
    for socket in opened:
        await socket.socket.close()


async def new_address(services: Services, session: aiohttp.ClientSession) -> str:
    headers = {"Authorization": "Bearer xapp-local"}
    async with session.post(f"{services.slack_api_url}apps.connections.open", headers=headers) as reply:
        return (await reply.json())["url"]


def card(services: Services) -> dict:
    """A card with one button, posted without the API."""
    from askback_sandbox.slack.blocks import check_message_blocks
    from askback_sandbox.slack.values import Message

    element = {"type": "button", "action_id": "yes", "text": {"type": "plain_text", "text": "Yes"}}
    message = Message(
        channel="C0GENERAL",
        ts=services.workspace.next_ts(),
        user=services.workspace.bot.id,
        text="card",
        bot=True,
        blocks=tuple(check_message_blocks([{"type": "actions", "block_id": "a", "elements": [element]}])),
    )
    services.workspace.put_message(message)
    return {
        "person": "ada",
        "channel": "general",
        "ts": message.ts,
        "block_id": "a",
        "action_id": "yes",
    }


async def test_hello_says_how_many_sockets_there_are_and_whose(services, session) -> None:
    first = await session.ws_connect(await new_address(services, session))
    hello = await first.receive_json(timeout=30)
    second = await session.ws_connect(await new_address(services, session))
    again = await second.receive_json(timeout=30)
    assert (hello["num_connections"], again["num_connections"]) == (1, 2)
    assert hello["connection_info"] == {"app_id": "A0LOCALAPP"}
    assert hello["debug_info"]["approximate_connection_time"] > 0
    await first.close()
    await second.close()


async def test_a_ticket_opens_one_socket(services, session) -> None:
    address = await new_address(services, session)
    async with session.ws_connect(address):
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(address)


async def test_an_eleventh_socket_is_sent_away(services, session, connect) -> None:
    for _ in range(10):
        await connect()
    eleventh = await session.ws_connect(await new_address(services, session))
    assert (await eleventh.receive_json(timeout=30))["reason"] == "too_many_websockets"
    await eleventh.close()


async def test_a_mention_arrives_as_two_events_with_one_ts(hands, connect) -> None:
    socket = await connect()
    ts = await hands.write("ada", "general", "@askback hi")
    envelopes = [await socket.next(), await socket.next()]
    events = [envelope["payload"]["event"] for envelope in envelopes]
    assert [event["type"] for event in events] == ["app_mention", "message"]
    assert {(event["channel"], event["ts"]) for event in events} == {("C0GENERAL", ts)}
    assert events[1]["channel_type"] == "channel"
    assert {(e["type"], e["retry_attempt"], e["retry_reason"]) for e in envelopes} == {("events_api", 0, "")}


async def test_a_direct_message_is_message_im_and_no_mention(hands, connect) -> None:
    socket = await connect()
    await hands.write("ada", "D0LOCALADA", "@askback hi")
    event = (await socket.next())["payload"]["event"]
    assert (event["type"], event["channel_type"], event["channel"]) == ("message", "im", "D0LOCALADA")
    await hands.write("ada", "D0LOCALADA", "next")
    assert (await socket.next())["payload"]["event"]["text"] == "next"


async def test_a_thread_reply_names_its_thread(hands, connect) -> None:
    socket = await connect()
    root = await hands.write("ada", "general", "root")
    await socket.next()
    reply = await hands.write("ben", "general", "reply", thread_ts=root)
    await hands.write("cy", "general", "reply to the reply", thread_ts=reply)
    events = [(await socket.next())["payload"]["event"] for _ in range(2)]
    assert [event["thread_ts"] for event in events] == [root, root]
    assert [event["parent_user_id"] for event in events] == ["U0LOCALADA"] * 2


async def test_edits_and_deletions_are_told_with_the_previous_version(hands, connect) -> None:
    socket = await connect()
    ts = await hands.write("ada", "general", "one")
    await socket.next()
    assert (await hands.post("/people/edit", person="ada", channel="general", ts=ts, text="two"))["ok"]
    changed = (await socket.next())["payload"]["event"]
    assert changed["subtype"] == "message_changed"
    assert (changed["message"]["text"], changed["previous_message"]["text"]) == ("two", "one")
    assert changed["message"]["edited"]["user"] == "U0LOCALADA"
    assert (await hands.post("/people/delete", person="ada", channel="general", ts=ts))["ok"]
    deleted = (await socket.next())["payload"]["event"]
    assert (deleted["subtype"], deleted["deleted_ts"]) == ("message_deleted", ts)


async def test_the_bot_hears_its_own_messages_with_its_bot_id(client, connect) -> None:
    socket = await connect()
    await client.chat_postMessage(channel="general", text="hello")
    event = (await socket.next())["payload"]["event"]
    assert (event["bot_id"], event["user"]) == ("B0LOCALBOT", "U0LOCALBOT")


async def test_nothing_is_told_of_a_channel_without_the_bot(services, hands, connect) -> None:
    socket = await connect()
    await hands.write("ada", "private-room", "@askback secret")
    await hands.write("ada", "general", "open")
    assert (await socket.next())["payload"]["event"]["text"] == "open"


async def test_an_unacked_event_is_sent_again_and_counted(hands, connect, clock) -> None:
    socket = await connect()
    await hands.write("ada", "general", "hi")
    first = await socket.next()
    await clock.until_sleeping()
    clock.advance(3)  # no ack
    await clock.until_sleeping()
    clock.advance(3)  # the pause before the next attempt
    second = await socket.next()
    assert (second["retry_attempt"], second["retry_reason"]) == (1, "timeout")
    assert second["payload"] == first["payload"]
    await socket.ack(second)


async def test_slack_gives_an_event_up_after_the_last_retry(services, hands, connect, clock) -> None:
    socket = await connect()
    await hands.write("ada", "general", "hi")
    for attempt in range(4):
        assert (await socket.next())["retry_attempt"] == attempt
        await clock.until_sleeping()
        clock.advance(3)
        if attempt < 3:
            await clock.until_sleeping()
            clock.advance(60)
    await services.workspace.until(lambda w: w.interactions[0].acked is False)
    assert services.workspace.interactions[0].error == "askback did not respond in time"


async def test_events_wait_for_the_bot_to_connect(hands, connect) -> None:
    for text in ("one", "two", "three"):
        await hands.write("ada", "general", text)
    socket = await connect()
    assert [(await socket.next())["payload"]["event"]["text"] for _ in range(3)] == ["one", "two", "three"]


async def test_a_click_without_a_bot_is_an_error_for_the_person(services, hands) -> None:
    answer = await hands.post("/people/act", **card(services))
    assert (answer["ok"], answer["error"]) == (False, "askback is not connected")
    interaction = (await hands.state())["interactions"][-1]
    assert (interaction["acked"], interaction["error"]) == (False, "askback is not connected")


async def test_an_unacked_click_is_an_error_after_three_seconds_and_never_sent_again(
    services, hands, connect, clock
) -> None:
    socket = await connect()
    click = asyncio.create_task(hands.post("/people/act", **card(services)))
    envelope = await socket.next()
    assert envelope["type"] == "interactive"
    assert (await hands.state())["interactions"][-1]["acked"] is None
    await clock.until_sleeping()
    clock.advance(2.9)
    assert not click.done()
    clock.advance(0.1)
    answer = await click
    assert (answer["ok"], answer["error"]) == (False, "askback did not respond in time")
    clock.advance(600)
    await hands.write("ada", "general", "next")
    assert (await socket.next())["type"] == "events_api"


async def test_any_socket_may_ack_any_envelope(services, hands, connect) -> None:
    sockets = [await connect(), await connect()]
    click = asyncio.create_task(hands.post("/people/act", **card(services)))
    waiting = [asyncio.create_task(socket.next()) for socket in sockets]
    done, pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    other = sockets[1] if waiting[0] in done else sockets[0]
    await other.ack(done.pop().result())
    assert (await click)["ok"]
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)


async def test_payloads_are_shared_between_the_sockets(hands, connect) -> None:
    one, two = await connect(), await connect()
    for number in range(4):
        await hands.write("ada", "general", str(number))
    got = [[(await socket.next())["payload"]["event"]["text"] for _ in range(2)] for socket in (one, two)]
    assert sorted(got[0] + got[1]) == ["0", "1", "2", "3"]


async def test_an_event_that_one_socket_leaves_unacked_comes_to_another(hands, connect, clock) -> None:
    one, two = await connect(), await connect()
    await hands.write("ada", "general", "hi")
    first = asyncio.create_task(one.next())
    await clock.until_sleeping()
    clock.advance(3)  # no ack
    await clock.until_sleeping()
    clock.advance(3)  # the pause before the next attempt
    second = await two.next()
    assert second["payload"] == (await first)["payload"]
    await two.ack(second)


async def test_a_socket_that_is_spared_hears_nothing_while_there_is_another(services, hands, connect) -> None:
    one = await connect()
    services.socket.spare()
    two = await connect()
    for number in range(3):
        await hands.write("ada", "general", str(number))
    assert [(await two.next())["payload"]["event"]["text"] for _ in range(3)] == ["0", "1", "2"]
    await two.socket.close()
    await services.workspace.until(lambda _: services.socket.connections == 1)
    await hands.write("ada", "general", "at last")
    assert (await one.next())["payload"]["event"]["text"] == "at last"


async def test_a_swallowed_ack_is_as_if_it_never_came(services, hands, connect, clock) -> None:
    fault = services.workspace.faults.add(Fault(kind="swallow_ack", method="interactive"))
    socket = await connect()
    click = asyncio.create_task(hands.post("/people/act", **card(services)))
    await socket.ack(await socket.next())
    await services.workspace.faults.until_gone(fault)
    clock.advance(3)
    assert (await click)["error"] == "askback did not respond in time"


async def test_an_event_can_be_delivered_twice_with_one_envelope_id(services, hands, connect) -> None:
    services.workspace.faults.add(Fault(kind="duplicate_events"))
    socket = await connect()
    await hands.write("ada", "general", "hi")
    first, second = await socket.next(), await socket.next()
    assert first == second


async def test_a_click_can_be_delivered_to_two_sockets(services, hands, connect) -> None:
    services.workspace.faults.add(Fault(kind="duplicate_events", method="interactive"))
    one, two = await connect(), await connect()
    click = asyncio.create_task(hands.post("/people/act", **card(services)))
    envelope = await one.next()
    assert await two.next() == envelope
    await two.ack(envelope)
    assert (await click)["ok"]


async def test_held_events_come_when_the_fault_is_gone(services, hands, connect) -> None:
    socket = await connect()
    fault = services.workspace.faults.add(Fault(kind="hold_events", times=None))
    await hands.write("ada", "general", "held")
    await client_is_idle(services)
    services.workspace.faults.remove(fault)
    assert (await socket.next())["payload"]["event"]["text"] == "held"


async def client_is_idle(services: Services) -> None:
    for _ in range(20):
        await asyncio.sleep(0)
    assert services.workspace.interactions[-1].acked is None


async def test_a_bolt_bot_comes_back_after_a_refresh_and_after_a_cut(services, bot, hands) -> None:
    heard: list[str] = []

    @bot.app.event("message")
    async def message(event) -> None:
        heard.append(event["text"])
        services.workspace.touch()

    await bot.connect(ping_interval=0.2)
    for number, lose in enumerate(("refresh_requested", "warning", "cut")):
        old = services.socket.ticket_count
        if lose == "cut":
            services.socket.drop()
        else:
            await services.socket.disconnect(lose)
        await services.workspace.until(lambda _, old=old: services.socket.ticket_count > old)
        await services.workspace.until(lambda _: services.socket.connections == 1)
        await hands.write("ada", "general", f"after {number}")
        await services.workspace.until(lambda _, number=number: f"after {number}" in heard)


async def test_a_message_that_is_no_json_changes_nothing(hands, connect) -> None:
    socket = await connect()
    await socket.socket.send_str("not json")
    await socket.socket.send_str(json.dumps(["not", "an", "object"]))
    await hands.write("ada", "general", "still here")
    assert (await socket.next())["payload"]["event"]["text"] == "still here"
