"""A connection's heartbeat: a dead one is noticed, a slow one tolerated, and the process's own stalls do not count."""

from __future__ import annotations

import asyncio
import time

import pytest

from askback.network.keepalive import LEAST_PATIENCE, LONGEST, SHORTEST, KeepAlive


class Peer:
    """The other end, which answers until it falls silent."""

    def __init__(self, pulse: KeepAlive, takes: float = 0.0) -> None:
        self.pulse = pulse
        self.takes = takes
        self.asked = 0
        self.heard = 0
        self.silent = False

    async def ask(self) -> None:
        self.asked += 1
        if not self.silent:
            asyncio.get_running_loop().call_later(self.takes, self.answer, time.monotonic())

    def answer(self, since: float) -> None:
        self.heard += 1
        self.pulse.record_round_trip(time.monotonic() - since)

    def watched(self) -> asyncio.Task[None]:
        return asyncio.create_task(self.pulse.wait_until_silent(self.ask, lambda: self.heard))

    async def asked_times(self, times: int) -> None:
        async with asyncio.timeout(30):
            while self.asked < times:  # noqa: ASYNC110 - like `until`
                await asyncio.sleep(0.005)


@pytest.mark.parametrize(
    ("round_trip", "interval", "patience"),
    [
        (0.0, SHORTEST, LEAST_PATIENCE),
        (0.001, SHORTEST, LEAST_PATIENCE),
        (0.1, 6.0, 2.0),
        (5.0, LONGEST, LONGEST),
    ],
)
def test_it_asks_often_where_answers_are_quick_and_seldom_where_they_are_not(
    round_trip: float, interval: float, patience: float
) -> None:
    pulse = KeepAlive(round_trip)
    assert pulse.interval == pytest.approx(interval)
    assert pulse.patience == pytest.approx(patience)


def test_the_quickest_answers_count_and_old_ones_are_forgotten() -> None:
    pulse = KeepAlive(3.0)
    pulse.record_round_trip(0.1)
    pulse.record_round_trip(2.0)  # a stall of either end
    assert pulse.round_trip == 0.1
    for _ in range(40):
        pulse.record_round_trip(0.2)
    assert pulse.round_trip == 0.2


def test_a_line_that_must_not_be_asked_often_is_not() -> None:
    assert KeepAlive(0.0, shortest=0.6).interval == 0.6
    assert 60 / (0.6 + LEAST_PATIENCE / 6) < 110, "Discord takes 120 frames a minute"


async def test_one_slow_answer_at_the_beginning_does_not_make_it_blind() -> None:
    pulse = KeepAlive(5.0)
    peer = Peer(pulse, takes=0.1)
    watch = peer.watched()
    await peer.asked_times(1)
    peer.takes = 0.0
    await peer.asked_times(3)
    assert pulse.interval < 6.0
    await peer.asked_times(5)
    assert pulse.interval < 1.0, "it was this process that was slow"
    watch.cancel()
    await asyncio.gather(watch, return_exceptions=True)


async def test_silence_is_noticed() -> None:
    pulse = KeepAlive(0.0)
    peer = Peer(pulse)
    watch = peer.watched()
    await peer.asked_times(2)
    assert not watch.done()
    peer.silent = True
    async with asyncio.timeout(10):
        await watch


async def test_a_peer_that_does_not_even_take_the_question_is_silent() -> None:
    async def stuck() -> None:
        await asyncio.Event().wait()

    async with asyncio.timeout(10):
        await KeepAlive(0.0).wait_until_silent(stuck, lambda: 0)


async def test_a_line_that_breaks_under_the_question_is_over() -> None:
    async def broken() -> None:
        raise ConnectionResetError

    async with asyncio.timeout(10):
        await KeepAlive(0.0).wait_until_silent(broken, lambda: 0)


async def test_a_stall_of_this_process_is_no_silence() -> None:
    """The answer is read only after a stall longer than any patience, although it had arrived long before."""
    pulse = KeepAlive(0.0)
    peer = Peer(pulse)
    watch = peer.watched()
    await peer.asked_times(1)
    for _ in range(3):
        before = peer.asked
        await peer.asked_times(before + 1)
        time.sleep(LEAST_PATIENCE * 1.2)  # noqa: ASYNC251 - the stall
        await asyncio.sleep(0)
    await peer.asked_times(before + 2)
    assert not watch.done()
    watch.cancel()
    await asyncio.gather(watch, return_exceptions=True)
