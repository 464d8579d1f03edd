"""Work after an ack neither ends the connection nor outlives it."""

from __future__ import annotations

import asyncio

import pytest

from askback_slack.task_group import Background


async def test_an_error_behind_an_ack_ends_nothing_else_and_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    done: list[str] = []

    async def fails() -> None:
        raise LookupError("something that nobody thought of")

    async def works() -> None:
        await asyncio.sleep(0)
        done.append("this")

    async with Background() as behind:
        behind.start_soon(fails(), "first")
        behind.start_soon(works(), "second")
        await behind.settle(5)
        assert done == ["this"]
    assert "Work after an ack failed because of a bug." in caplog.text


async def test_what_does_not_end_in_time_is_ended() -> None:
    ended = asyncio.Event()

    async def hangs() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with asyncio.timeout(5), Background() as behind:
        behind.start_soon(hangs(), "never")
        await asyncio.sleep(0)
        await behind.settle(0)
    assert ended.is_set()


async def test_what_was_to_begin_when_the_connection_broke_off_is_ended_without_a_warning() -> None:
    """Warnings are errors here, so a coroutine that is never awaited would fail the test."""

    async def never_begins() -> None:
        raise AssertionError("it was cancelled before")

    async def breaks_off() -> None:
        async with Background() as behind:
            behind.start_soon(never_begins(), "late")
            raise ConnectionError("the connection broke off")

    with pytest.raises(ExceptionGroup) as broken:
        await breaks_off()
    assert broken.group_contains(ConnectionError)
