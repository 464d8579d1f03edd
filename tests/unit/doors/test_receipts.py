"""An outcome counts as received once the response that contains it was written, and not before."""

from __future__ import annotations

import asyncio

from askback.doors.receipts import get_receipts, responding


def test_an_outcome_is_received_once_and_only_after_the_response_was_written() -> None:
    received: list[str] = []
    with responding() as response:
        get_receipts().add(lambda: received.append("first"))
        get_receipts().add(lambda: received.append("second"))
    assert received == []
    response.confirm()
    assert sorted(received) == ["first", "second"]
    response.confirm()
    assert len(received) == 2


async def test_tasks_of_one_request_share_its_receipts_and_no_other_request_sees_them() -> None:
    received: list[str] = []

    async def answer(name: str) -> None:
        get_receipts().add(lambda: received.append(name))

    async def respond(name: str, *, writes: bool) -> None:
        with responding() as response:
            await asyncio.gather(answer(name), answer(name))
        if writes:
            response.confirm()

    await asyncio.gather(respond("written", writes=True), respond("lost", writes=False))
    assert received == ["written", "written"]


async def test_without_such_a_block_the_task_that_writes_the_response_finds_its_receipts() -> None:
    received: list[str] = []

    async def answer_and_write() -> None:
        get_receipts().add(lambda: received.append("one"))
        assert get_receipts() is get_receipts()
        get_receipts().confirm()

    async def only_write() -> None:
        get_receipts().confirm()

    await asyncio.gather(asyncio.create_task(answer_and_write()), asyncio.create_task(only_write()))
    assert received == ["one"]
