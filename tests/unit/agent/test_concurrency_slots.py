"""Slots for concurrent work: their number, the order in which they are given, and their release."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from askback.agent.concurrency_slots import Slot, SlotPool, SlotsClosed


async def test_sixteen_slots_are_held_at_the_same_time_and_half_of_them_by_one_person() -> None:
    slots = SlotPool()
    async with AsyncExitStack() as stack:
        for person, number in (("a", 8), ("b", 5), ("c", 3)):
            for _ in range(number):
                await asyncio.wait_for(stack.enter_async_context(slots.hold(person)), 5)
            if person == "a":
                assert await waits(slots, "a"), "others may"
        assert await waits(slots, "c"), "all are taken"


async def test_a_slot_goes_to_whoever_has_fewest_and_nobody_has_more_than_a_share() -> None:
    slots = SlotPool(4, each=3)
    held: list[str] = []
    leave: dict[str, asyncio.Event] = {}

    async def hold(name: str) -> None:
        async with slots.hold(name[0]):
            held.append(name)
            await leave.setdefault(name, asyncio.Event()).wait()

    async with AsyncExitStack() as stack:
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        for name in ("a1", "a2", "a3", "a4", "b1", "a5", "b2", "c1"):
            tasks.create_task(hold(name))
        await settle()
        assert held == ["a1", "a2", "a3", "b1"], "a has its share, and all are taken"
        for name, then in (("a1", "c1"), ("a2", "a4"), ("b1", "b2"), ("c1", "a5")):
            leave[name].set()
            await settle()
            assert held[-1] == then
        for name in held:
            leave[name].set()


async def test_whoever_gives_up_waiting_keeps_nothing() -> None:
    slots = SlotPool(1, each=1)
    held: list[str] = []

    async def hold(name: str) -> None:
        async with slots.hold(name):
            held.append(name)
            await asyncio.sleep(0)

    async with slots.hold("a"):
        waiting = [asyncio.create_task(hold(name)) for name in "bcd"]
        await settle()
        waiting[0].cancel()
        await settle()
    waiting[1].cancel()  # it already has the slot, and has not run since
    await asyncio.gather(*waiting, return_exceptions=True)
    assert held == ["d"]


async def test_one_who_lets_others_go_first_waits_for_a_slot_again() -> None:
    slots = SlotPool(1, each=1)
    async with slots.hold("a") as slot:
        slot.release()
        async with slots.hold("b"):
            pass
        await slot.acquire()
        await slot.acquire()
        blocked = asyncio.create_task(slots.hold("b").__aenter__())
        await settle()
        assert not blocked.done()
        slots.close()
        with pytest.raises(SlotsClosed):
            await blocked
    with pytest.raises(SlotsClosed):
        await slots.hold("b").__aenter__()


async def test_a_slot_that_is_let_go_twice_is_given_once() -> None:
    slots = SlotPool(2, each=2)
    async with slots.hold("a") as slot, slots.hold("a"):
        slot.release()
        slot.release()
        async with slots.hold("b"):
            assert await waits(slots, "c")
    async with slots.hold("c"), slots.hold("c"):
        assert await waits(slots, "a")


async def test_a_slot_stays_free_rather_than_go_to_whoever_has_a_share() -> None:
    slots = SlotPool(2, each=1)
    async with slots.hold("a"):
        further = asyncio.create_task(slots.acquire("a"))
        async with slots.hold("b"):
            await settle()
        await settle()
        assert not further.done()
        assert not await waits(slots, "b")
    await asyncio.wait_for(further, 5)


async def test_whoever_has_let_go_of_all_begins_anew() -> None:
    slots = SlotPool(2, each=1)
    for _ in range(3):
        async with slots.hold("a"):
            assert await waits(slots, "a")
            assert not await waits(slots, "b")


async def test_whatever_runs_alone_needs_no_slot() -> None:
    alone = Slot()
    alone.release()
    await asyncio.wait_for(alone.acquire(), 5)


async def test_at_the_end_nobody_waits_for_a_slot_and_those_who_hold_one_keep_it() -> None:
    slots = SlotPool(1, each=1)
    async with slots.hold("a"):
        waiting = [asyncio.create_task(slots.acquire(person)) for person in "bbcd"]
        await settle()
        waiting[0].cancel()
        await settle()
        slots.close()
        waiting[3].cancel()  # it was released with an error, and has not run since
        ended = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 5)
        assert [type(one) for one in ended] == [
            asyncio.CancelledError,
            SlotsClosed,
            SlotsClosed,
            asyncio.CancelledError,
        ]
    with pytest.raises(SlotsClosed):
        await slots.acquire("e")


async def waits(slots: SlotPool, person: str) -> bool:
    """Return True if this person would have to wait for a slot now; the attempt is cancelled."""
    task = asyncio.create_task(slots.acquire(person))
    await settle()
    if task.done():
        slots.release(person)
        return False
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return True


async def settle() -> None:
    """Let every task run as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)
