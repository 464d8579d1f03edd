"""Tokens in the store: the usage of a conversation and of a day, and the reservations of running calls."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from askback.domain.turn import TokenUsage
from askback.internal import clock
from askback.store.database import Database
from askback.store.queries import usage
from askback.store.store import Store

MORNING = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 21, tzinfo=UTC)
CALL = timedelta(minutes=10)
"""The longest time for which a running call counts; afterwards others no longer wait for its end."""


async def spends(database: Database, conversation: str, tokens: int, at: datetime = MORNING) -> None:
    await database.run(lambda c: usage.add_tokens(c, conversation, usage.get_day(at), tokens))


async def reserves(database: Database, conversation: str, name: str, tokens: int, at: datetime = MORNING) -> None:
    await database.run(lambda c: usage.reserve(c, conversation, name, tokens, at))


async def spent(database: Database, conversation: str, at: datetime = MORNING) -> tuple[int, int, int]:
    """Return the conversation's usage, the usage of that day, and the reserved part of it."""
    found: TokenUsage = await database.read(lambda c: usage.get_usage(c, conversation, at))
    return found.conversation, found.today, found.reserved


async def test_where_nothing_was_used_up_nothing_counts(database: Database) -> None:
    assert await spent(database, "one") == (0, 0, 0)


async def test_a_conversation_counts_for_ever_and_all_of_them_until_midnight_utc(database: Database) -> None:
    for conversation, tokens, at in (
        ("one", 5, MORNING),
        ("one", 20, MIDNIGHT - timedelta(microseconds=1)),
        ("two", 100, MORNING),
        ("one", 1_000, MIDNIGHT),
    ):
        await spends(database, conversation, tokens, at)
    assert await spent(database, "one") == (1_025, 125, 0)
    assert await spent(database, "two") == (100, 125, 0)
    assert await spent(database, "one", MIDNIGHT) == (1_025, 1_000, 0)


async def test_a_call_is_counted_in_advance_and_then_as_what_it_was(database: Database, store: Store) -> None:
    await reserves(database, "one", "r1", 4_000)
    await reserves(database, "two", "r2", 500)
    assert await spent(database, "one") == (4_000, 4_500, 4_500)
    await store.adjust("r1", 3_000)
    assert await spent(database, "one") == (3_000, 3_500, 3_500)
    await store.settle("r1", 700)
    assert await spent(database, "one") == (700, 1_200, 500)
    assert await spent(database, "two") == (500, 1_200, 500)
    await store.settle("r2", 0)
    assert await spent(database, "two") == (0, 700, 0)


async def test_after_its_end_a_call_counts_no_further(database: Database, store: Store) -> None:
    await reserves(database, "one", "r", 4_000)
    await store.settle("r", 700)
    await store.settle("r", 0)
    await store.adjust("r", 9_000)
    assert await spent(database, "one") == (700, 700, 0)


async def test_a_call_that_was_given_up_on_stays_counted_and_those_of_others_go_on(
    database: Database, store: Store
) -> None:
    await reserves(database, "one", "r1", 4_000)
    await reserves(database, "two", "r2", 500)
    await database.run(lambda c: usage.reserve_call(c, "one", "none", lambda _: 0))
    await store.settle("r1", 0)
    assert await spent(database, "one") == (4_000, 4_500, 500)


async def test_others_wait_ten_minutes_for_the_end_of_a_call_and_not_over_midnight(database: Database) -> None:
    await reserves(database, "one", "r1", 4_000)
    almost = MORNING + CALL - timedelta(microseconds=1)
    assert await spent(database, "two", almost) == (0, 4_000, 4_000)
    assert await spent(database, "two", MORNING + CALL) == (0, 4_000, 0)
    late = MIDNIGHT - timedelta(seconds=1)
    await reserves(database, "one", "r2", 300, late)
    assert await spent(database, "two", late) == (0, 4_300, 300)
    assert await spent(database, "two", MIDNIGHT) == (0, 0, 0)


@pytest.mark.parametrize("ahead", [-1, 1])
async def test_a_process_whose_clock_is_a_day_off_counts_the_same_day(
    database: Database, store: Store, monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    """The machines of one PostgreSQL database. An SQLite file has one machine, whose clock both processes read."""
    await database.run(lambda c: usage.reserve_call(c, "one", "r1", lambda _: 4_000))
    now = clock.now
    wrong = ahead if database.is_shared else 0
    monkeypatch.setattr(clock, "now", lambda: now() + wrong * 86_400 * clock.SECOND)
    assert await store.get_usage("one") == TokenUsage(conversation=4_000, today=4_000, reserved=4_000)
    await database.run(lambda c: usage.reserve_call(c, "two", "r2", lambda spent: 500 if spent.today == 4_000 else 0))
    monkeypatch.undo()
    assert await store.get_usage("two") == TokenUsage(conversation=500, today=4_500, reserved=4_500)


@pytest.mark.parametrize("used", [0, 30])
async def test_a_call_that_began_on_the_day_before_is_corrected_there(
    database: Database, store: Store, used: int
) -> None:
    await reserves(database, "one", "r", 4_000, MIDNIGHT - timedelta(seconds=1))
    await store.settle("r", used)
    assert await spent(database, "one", MORNING) == (used, used, 0)
    assert await spent(database, "one", MIDNIGHT) == (used, 0, 0)


async def test_nothing_is_given_back_of_what_was_deleted_since(database: Database, store: Store) -> None:
    await reserves(database, "one", "r", 4_000)
    await store.prune(MIDNIGHT + timedelta(days=2), 10)
    assert await spent(database, "one") == (0, 0, 4_000)
    await store.settle("r", 30)
    assert await spent(database, "one") == (0, 0, 0)
