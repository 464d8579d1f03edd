"""Socket Mode when the other end hangs, refuses, or disappears: the bot reconnects, and no ack is lost in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import WSMsgType, web

from askback.errors import OperatorError
from askback.ports.platform import RetryableError
from askback_slack import socket_mode as module
from askback_slack.api_calls import SlackRejection
from askback_slack.socket_mode import Ack, SocketModeClient


class Slack:
    """The other end of the connections, controlled by a test."""

    def __init__(self) -> None:
        self.url = ""
        self.sockets: list[web.WebSocketResponse] = []
        self.acks: list[tuple[int, str]] = []
        """The socket and the envelope of each ack."""
        self.greets = True
        self.addresses = 0
        self.before: list[Callable[[], Awaitable[None]]] = []
        """Callbacks for the next requests for an address, one after the other."""

    async def address(self) -> str:
        self.addresses += 1
        if self.before:
            await self.before.pop(0)()
        return self.url

    async def link(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        if self.greets:
            await socket.send_str(json.dumps({"type": "hello"}))
        number = len(self.sockets)
        self.sockets.append(socket)
        async for frame in socket:
            if frame.type is WSMsgType.TEXT:
                self.acks.append((number, json.loads(frame.data)["envelope_id"]))
        return socket

    async def send(self, number: int, **message: Any) -> None:
        await self.sockets[number].send_str(json.dumps(message))

    async def event(self, number: int, envelope: str) -> None:
        await self.send(number, envelope_id=envelope, type="events_api", payload={})


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 - any condition
            await asyncio.sleep(0.005)


@pytest.fixture
async def slack() -> AsyncIterator[Slack]:
    found = Slack()
    application = web.Application()
    application.add_routes([web.get("/link", found.link)])
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    found.url = f"ws://127.0.0.1:{runner.addresses[0][1]}/link"
    yield found
    await runner.cleanup()


async def at_once(_: object) -> Ack:
    return Ack({}, lambda: None)


@asynccontextmanager
async def running(
    slack: Slack, take: Callable[[Any], Awaitable[Ack | None]] = at_once
) -> AsyncIterator[SocketModeClient]:
    lines = SocketModeClient(slack.address, take)
    task = asyncio.create_task(lines.run())
    try:
        yield lines
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
async def test_the_next_line_is_open_before_the_old_one_goes(slack: Slack, reason: str) -> None:
    async with running(slack) as lines:
        await until(lambda: lines.is_connected)
        await slack.send(0, type="disconnect", reason=reason)
        await until(lambda: len(slack.sockets) == 2 and lines.is_connected)
        # An event on the old socket is still handled, and acked.
        await slack.event(0, "old")
        await slack.event(1, "new")
        await until(lambda: len(slack.acks) == 2)
        await slack.sockets[0].close()
        await slack.event(1, "newer")
        await until(lambda: (1, "newer") in slack.acks)
    assert slack.addresses == 2


async def test_a_late_ack_goes_by_another_line_when_its_own_is_gone(slack: Slack) -> None:
    go_on = asyncio.Event()
    sent: list[str] = []

    async def slowly(envelope: Any) -> Ack:
        await go_on.wait()
        return Ack({}, lambda: sent.append(envelope["envelope_id"]))

    async with running(slack, slowly) as lines:
        await until(lambda: lines.is_connected)
        await slack.event(0, "late")
        await until(lambda: lines._at_work)
        await slack.sockets[0].close()
        await until(lambda: len(slack.sockets) == 2 and lines.is_connected)
        go_on.set()
        await until(lambda: (1, "late") in slack.acks)
        assert sent == ["late"]


async def test_an_ack_that_a_silent_line_swallowed_is_sent_again(slack: Slack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ACK_SECONDS", 60.0)  # the machine may stall for longer than Slack waits
    async with running(slack) as lines:
        await until(lambda: lines.is_connected)
        (line,) = lines._lines
        # It was sent after the last ping, so that no answer to one confirms that it arrived.
        await line.send(json.dumps({"envelope_id": "swallowed"}))
        line.cut()
        await until(lambda: (1, "swallowed") in slack.acks)


async def test_an_ack_that_no_line_takes_is_told(
    slack: Slack, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "ACK_SECONDS", 0.05)
    go_on = asyncio.Event()

    async def slowly(_: object) -> Ack:
        await go_on.wait()
        return Ack({}, lambda: pytest.fail("it was not sent"))

    async def never() -> None:
        await asyncio.Event().wait()

    async with running(slack, slowly) as lines:
        await until(lambda: lines.is_connected)
        await slack.event(0, "lost")
        await until(lambda: lines._at_work)
        slack.before = [never]
        await slack.sockets[0].close()
        await until(lambda: not lines.is_connected)
        go_on.set()
        await until(lambda: "Could not send an ack to Slack, which resends the event." in caplog.messages)


@pytest.mark.parametrize("where", ["address", "hello"])
async def test_an_opening_that_hangs_is_given_up(slack: Slack, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    monkeypatch.setattr(module, "OPEN_SECONDS", 0.1)

    async def never() -> None:
        await asyncio.Event().wait()

    if where == "address":
        slack.before = [never]
    slack.greets = where != "hello"
    async with running(slack) as lines:
        await until(lambda: slack.addresses >= 2)
        slack.greets = True
        monkeypatch.setattr(module, "OPEN_SECONDS", 10.0)
        await until(lambda: lines.is_connected)


async def test_an_envelope_in_place_of_the_hello_opens_the_socket(slack: Slack) -> None:
    slack.greets = False
    async with running(slack) as lines:
        await until(lambda: slack.sockets)
        await slack.event(0, "first")
        await until(lambda: (0, "first") in slack.acks and lines.is_connected)
        await slack.event(0, "second")
        await until(lambda: (0, "second") in slack.acks)
    assert slack.addresses == 1


async def test_an_address_that_is_refused_for_now_is_asked_for_when_slack_says(
    slack: Slack, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    sleep = asyncio.sleep

    async def noted(seconds: float, *more: Any) -> None:
        waits.append(seconds)
        await sleep(0 if seconds > 1 else seconds, *more)

    async def busy() -> None:
        raise RetryableError("Slack: ratelimited", 17.0)

    async def broken() -> None:
        raise RetryableError("Slack: HTTP 503")

    slack.before = [busy, broken, broken]
    monkeypatch.setattr(module.asyncio, "sleep", noted)
    async with running(slack) as lines:
        async with asyncio.timeout(30):
            while not lines.is_connected:
                await sleep(0.005)
    assert 17.0 in waits
    assert slack.addresses == 4


async def test_pauses_grow_where_lines_do_not_last(slack: Slack) -> None:
    async with running(slack) as lines:
        pauses: list[int] = []
        for number in range(4):
            await until(lambda number=number: len(slack.sockets) == number + 1 and lines.is_connected)
            pauses.append(lines._failures)
            await slack.sockets[number].close()
    assert pauses == [0, 1, 2, 3]


async def test_a_token_that_is_no_good_ends_the_start_and_nothing_later(slack: Slack) -> None:
    async def refused() -> None:
        raise SlackRejection("invalid_auth")

    slack.before = [refused]
    with pytest.raises(ExceptionGroup) as caught:
        await SocketModeClient(slack.address, at_once).run()
    (refusal,) = caught.value.exceptions
    assert isinstance(refusal, OperatorError)
    assert "invalid_auth" in str(refusal)
    async with running(slack) as lines:
        await until(lambda: lines.is_connected)
        slack.before = [refused]
        await slack.send(0, type="disconnect", reason="link_disabled")
        await slack.sockets[0].close()
        await until(lambda: len(slack.sockets) == 2 and lines.is_connected)


async def test_what_makes_no_sense_is_passed_over(slack: Slack) -> None:
    async with running(slack) as lines:
        await until(lambda: lines.is_connected)
        for text in ("no json", "[1]", '"text"', "[" * 100_000, '{"envelope_id": 5}', '{"type": "of_tomorrow"}'):
            await slack.sockets[0].send_str(text)
        await slack.sockets[0].send_bytes(b"\x00")
        await slack.event(0, "still there")
        await until(lambda: slack.acks)
        assert len(slack.sockets) == 1


async def test_draining_acks_what_came_in_and_closes(slack: Slack) -> None:
    go_on = asyncio.Event()

    async def slowly(_: object) -> Ack:
        await go_on.wait()
        return Ack({}, lambda: None)

    async with running(slack, slowly) as lines:
        await until(lambda: lines.is_connected)
        await slack.event(0, "last")
        await until(lambda: lines._at_work)
        draining = asyncio.create_task(lines.drain())
        go_on.set()
        await draining
        assert slack.acks == [(0, "last")]
        await until(lambda: slack.sockets[0].closed)
        assert not lines.is_connected
    assert slack.addresses == 1


async def test_a_line_is_told_apart_from_a_wall(slack: Slack) -> None:
    """The test's server answers the address, but does not speak Socket Mode."""
    good, slack.url = slack.url, slack.url.replace("/link", "/wall")
    async with running(slack) as lines:
        await until(lambda: slack.addresses >= 2)
        assert not lines.is_connected
        slack.url = good
        await until(lambda: lines.is_connected)


def test_a_timeout_of_the_library_is_one_that_is_caught() -> None:
    assert issubclass(aiohttp.ServerTimeoutError, TimeoutError)
