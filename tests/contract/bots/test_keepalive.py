"""The bot notices a silently dead connection and reconnects, and no event is lost. Living connections stay open."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import Any

import aiohttp.connector
import pytest

from askback_sandbox.model.script import turn

from .driver import ADA, Desk, line, settled, told, until
from .driver.conversations import fruit


async def test_a_silent_connection_is_opened_again_and_a_click_delivered_again_counts_once(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    before, began = desk.connection_count(), time.monotonic()
    await desk.fall_silent()
    again = await desk.press_into_silence(ADA, shown, "Pear")
    await desk.reconnected()
    took = time.monotonic() - began
    print(f"{desk.platform}: opened again {took:.3f} s after it fell silent")
    assert desk.connection_count() == before + 1
    assert took < 10
    assert (await again()).acked
    await settled(desk, talk, "Pear")
    await line(desk, talk, "So be it, then.")
    await desk.replay()
    assert sum(len(one.results) for one in told(desk, "fruit")) == 1
    assert len(desk.cards(talk)) == 1


async def test_what_is_written_into_the_silence_is_heard_once(desk: Desk) -> None:
    desk.model.script(turn("Over here."), turn("Still over here."), when="hello")
    talk = await desk.mention(ADA, "hello")
    await line(desk, talk, "Over here.")
    await desk.fall_silent()
    await desk.say(ADA, "are you there?", talk)
    await line(desk, talk, "Still over here.")
    assert [one.texts for one in told(desk, "hello")] == [["ada: hello"], ["ada: are you there?"]]


async def test_it_is_opened_again_as_often_as_it_falls_silent(desk: Desk) -> None:
    talk, shown = await fruit(desk)
    for _ in range(2):
        before = desk.connection_count()
        await desk.fall_silent()
        await until(lambda before=before: desk.connection_count() > before, "it is opened again")
        await desk.reconnected()
    await desk.press(ADA, shown, "Pear")
    await settled(desk, talk, "Pear")


async def test_a_connection_that_answers_is_left_alone(desk: Desk) -> None:
    """The test lasts longer than the tolerated silence."""
    talk, shown = await fruit(desk)
    before = desk.connection_count()
    asked = desk.signs_of_life()
    await until(lambda: desk.signs_of_life() >= asked + 3, "it is asked a few times whether it lives")
    assert desk.connection_count() == before
    await desk.press(ADA, shown, "Pear")
    await settled(desk, talk, "Pear")


async def test_a_click_after_quiet_minutes_needs_no_new_connection(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """People answer minutes later. A new connection would cost the click three round trips before its ack."""
    talk, shown = await fruit(desk)
    loop = asyncio.get_running_loop()
    connect = loop.sock_connect
    opened: list[Any] = []

    async def connecting(sock: socket.socket, address: Any) -> None:
        opened.append(address)
        await connect(sock, address)

    monkeypatch.setattr(loop, "sock_connect", connecting)
    monkeypatch.setattr(aiohttp.connector, "monotonic", lambda: time.monotonic() + 240)
    await desk.press(ADA, shown, "Pear")
    await settled(desk, talk, "Pear")
    assert opened == []
