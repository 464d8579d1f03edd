"""Tests of the rig: it notices the errors that it is made for."""

from __future__ import annotations

import pytest

from .rig import Rig
from .ship import COLOUR, ONE, TWO, all_well, answer_all, script

pytestmark = pytest.mark.only("slack", reason="what it counts is counted alike everywhere")


async def test_a_card_that_is_posted_twice_is_noticed(rig: Rig) -> None:
    script(rig, ONE)
    await rig.start("called:card")
    rig.write()
    await rig.killed()
    await rig.start(spoil="find_posted")
    await rig.until(lambda: len(rig.says(COLOUR)) == 2)
    await answer_all(rig, ONE)
    with pytest.raises(AssertionError, match=r"Which colour\?|'part': 0"):
        await all_well(rig, ONE)


async def test_a_text_that_is_begun_twice_is_noticed(rig: Rig) -> None:
    script(rig, ONE)
    await rig.start("called:text")
    rig.write()
    await rig.killed()
    await rig.start(spoil="find_posted")
    await answer_all(rig, ONE)
    with pytest.raises(AssertionError, match="Before I"):
        await all_well(rig, ONE)


async def test_a_click_that_is_acked_and_lost_is_noticed(rig: Rig) -> None:
    script(rig, ONE)
    await rig.start("before:decide", spoil="ack")
    rig.write()
    pressed = await rig.press(await rig.card(COLOUR), "Green")
    await rig.killed()
    assert pressed.acked is True
    await rig.start()
    with pytest.raises(AssertionError, match="not within"):
        await rig.until(lambda: rig.settled(COLOUR, "Green"), within=2)


async def test_a_card_that_is_never_settled_is_noticed(rig: Rig) -> None:
    script(rig, TWO)
    await rig.start("ack", spoil="outbox")
    rig.write()
    await rig.press(await rig.card(COLOUR), "Green")
    await rig.killed()
    await rig.start(spoil="outbox")
    with pytest.raises(AssertionError, match="not within"):
        await rig.until(lambda: rig.settled(COLOUR, "Green"), within=2)


async def test_a_message_that_is_kept_twice_is_noticed(rig: Rig) -> None:
    script(rig, ONE)
    await rig.start(spoil="once")
    rig.write()
    await answer_all(rig, ONE)
    with pytest.raises(AssertionError):
        await all_well(rig, ONE)
